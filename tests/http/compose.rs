//! `POST /search/compose`: chains, and their flows with the SDK of Agent Spec.

use serde_json::{Value, json};

use super::compatible::{agent, data};
use crate::support::{TestRegistry, run_agent_spec};

/// Loads one flow a line; prints those that can't be loaded.
const LOAD: &str = r#"
import json, sys
from pyagentspec.serialization import AgentSpecDeserializer

def references(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$component_ref" and inner.endswith((".sensitive_headers", ".key_file", ".cert_file", ".ca_file")):
                yield inner
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)

for line in sys.stdin:
    flow = json.loads(line)
    registry = {name: {} if name.endswith("headers") else "file.pem" for name in references(flow)}
    try:
        loaded = AgentSpecDeserializer().from_dict(flow, components_registry=registry)
        assert len(loaded.nodes) == len(flow["nodes"])
    except Exception as error:
        print(flow["name"], type(error).__name__, str(error)[:500])
"#;

/// Loads flows with the SDK; what it prints, or none without it.
pub(crate) fn load(flows: &[Value]) -> Option<String> {
    let lines: String = flows.iter().map(|flow| format!("{flow}\n")).collect();
    run_agent_spec(LOAD, "", &lines)
}

fn trip() -> TestRegistry {
    let registry = TestRegistry::start();
    let place = [("lat", "number"), ("lon", "number")];
    for document in [
        agent("geocoder", "Geocoder", &[("locate", data(&[("city", "string")]), data(&place))]),
        agent("weather", "Weather", &[("at", data(&place), data(&[("temperature", "number")]))]),
        agent(
            "advice",
            "Advice",
            &[("advise", data(&[("temperature", "number"), ("mood", "string")]), data(&[("clothes", "string")]))],
        ),
        agent(
            "forecast",
            "Forecast",
            &[("forecast", data(&[("city", "string")]), data(&[("temperature", "boolean")]))],
        ),
        agent("loop", "Loop", &[("turn", data(&[("clothes", "string")]), data(&[("clothes", "string")]))]),
    ] {
        registry.registry().put(&document).unwrap();
    }
    registry
}

fn compose(registry: &TestRegistry, body: &Value) -> Value {
    registry.call("POST", "/search/compose").body("application/json", body.to_string()).send().expect(200).json()
}

/// The capabilities of each chain.
fn chains(answer: &Value) -> Vec<Vec<&str>> {
    let chains = answer["chains"].as_array().unwrap();
    chains
        .iter()
        .map(|chain| {
            let steps = chain["steps"].as_array().unwrap();
            steps.iter().map(|step| step["capability"].as_str().unwrap()).collect()
        })
        .collect()
}

#[test]
fn chains_lead_from_what_there_is_to_what_is_wanted() {
    let registry = trip();
    let have = data(&[("City", "string"), ("mood", "string")]);
    let answer = compose(&registry, &json!({"have": have, "want": data(&[("clothes", "string")])}));
    assert_eq!(answer["complete"], true);
    assert_eq!(chains(&answer), [vec!["locate", "at", "advise"], vec!["forecast", "advise"]], "{answer}");
    let chain = &answer["chains"][0];
    assert_eq!(chain["fit"], 1.0);
    assert_eq!(chain["steps"][0]["input"], json!([{"from": "City", "to": "city"}]));
    assert_eq!(chain["steps"][2]["input"].as_array().unwrap().len(), 2);
    assert!(
        chain["steps"][2]["input"]
            .as_array()
            .unwrap()
            .contains(&json!({"step": 2, "from": "temperature", "to": "temperature"}))
    );
    assert_eq!(chain["output"], json!([{"step": 3, "from": "clothes", "to": "clothes"}]));
    let short = compose(&registry, &json!({"have": have, "want": data(&[("clothes", "string")]), "max_steps": 2}));
    assert_eq!(chains(&short), [["forecast", "advise"]]);
    let nothing =
        compose(&registry, &json!({"have": data(&[("mood", "string")]), "want": data(&[("clothes", "string")])}));
    assert_eq!((&nothing["chains"], &nothing["complete"]), (&json!([]), &json!(true)));
}

#[test]
fn flows_are_imported_and_loaded_by_the_sdk() {
    let registry = trip();
    let ask = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:assistant", "title": "Assistant",
        "security": "open", "securityDefinitions": {"open": {"scheme": "nosec"}, "key": {"scheme": "bearer"}},
        "actions": {
            "ask": {
                "input": {"type": "string"}, "output": data(&[("summary", "string")]),
                "forms": [{"href": "https://agents.example/a2a", "subprotocol": "a2a"}],
            },
            "look up": {
                "security": "key", "uriVariables": {"clothes": {"type": "string"}},
                "output": {"type": "object", "properties": {"price": {"type": "number"}, "shops": {"type": "array", "items": {"type": "string"}}}, "required": ["price"]},
                "forms": [{"href": "https://shop.example/{?clothes}", "htv:methodName": "GET"}],
            },
            "tell": {
                "input": data(&[("price", "string")]), "output": data(&[("speech", "string")]),
                "forms": [{"href": "https://agents.example/mcp", "subprotocol": "mcp", "mcp:tool": "tell"}],
            },
            "send": {"input": data(&[("speech", "string")]), "output": data(&[("sent", "boolean")]), "forms": [{"href": "mqtt://broker.example/send"}]},
        },
    });
    registry.registry().put(ask.to_string()).unwrap();
    let mut flows = Vec::new();
    for (have, want, kinds) in [
        (data(&[("clothes", "string")]), data(&[("sent", "string")]), vec!["RemoteTool", "MCPTool", "ServerTool"]),
        (json!({"type": "string"}), data(&[("summary", "string")]), vec!["A2AAgent"]),
        (data(&[("city", "string"), ("mood", "string")]), data(&[("clothes", "string")]), vec!["RemoteTool"; 3]),
        (data(&[("city", "string")]), json!({"type": "number", "title": "Temperature"}), vec!["RemoteTool"; 2]),
        (data(&[("clothes", "string")]), data(&[("shops", "array")]), vec!["RemoteTool"]),
    ] {
        let answer = compose(&registry, &json!({"have": have, "want": want}));
        let flow = &answer["chains"][0]["flow"];
        assert!(flow.is_object(), "{answer}");
        let nodes = flow["$referenced_components"].as_object().unwrap().values();
        let parts = nodes.filter_map(|node| node.get("tool").or_else(|| node.get("agent")));
        let mut found: Vec<&str> = parts.map(|part| part["component_type"].as_str().unwrap()).collect();
        let mut expected = kinds.clone();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{flow}");
        let import = registry.call("POST", "/import/agent-spec").body("application/json", flow.to_string());
        import.send().expect(201);
        flows.push(flow.clone());
    }
    if let Some(failures) = load(&flows) {
        assert_eq!(failures, "");
    }
}

#[test]
fn bad_queries_are_refused_with_what_is_wrong() {
    let registry = trip();
    for (body, detail) in [
        (json!({"have": {}}), "`want` is missing"),
        (json!({"have": {}, "want": {}, "max_steps": 5}), "`max_steps` is 5, but must be from 1 to 4"),
        (json!({"have": {}, "want": 1}), "`want` must be a data schema"),
    ] {
        let call = registry.call("POST", "/search/compose").body("application/json", body.to_string());
        let problem = call.send().problem(400, "invalid-query");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{body}: {problem}");
    }
}
