//! Configurations built with the SDK of the language: each is found by what a tool, member or step of it can
//! do, and what is exported is equal to what was sent when the SDK loads it.

use serde_json::{Value, json};

use crate::support::{TestRegistry, run_agent_spec};

#[test]
fn configurations_of_the_sdk_are_found_and_come_back_equal() {
    let program = include_str!("sdk.py");
    let Some(built) = run_agent_spec(program, "build", "") else { return };
    let registry = TestRegistry::start();
    let mut pairs = String::new();
    let mut count = 0;
    for line in built.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (capability, document) = (row["capability"].as_str().unwrap(), row["document"].as_str().unwrap());
        let import = registry.call("POST", "/import/agent-spec?publish_prompts=true&profile=sdk");
        let imported = import.body("application/json", document.to_owned()).send().expect(201).json();
        let id = imported["ids"][0].as_str().unwrap().to_owned();
        let found = registry.get(&format!("/search?consistent=true&limit=100&capability={capability}")).json();
        let ids: Vec<&Value> = found["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
        assert!(ids.contains(&&json!(id)), "{capability} doesn't find {id}: {found}");
        let exported = registry.get(&format!("/things/{id}/agent-spec")).expect(200).text().to_owned();
        pairs.push_str(&json!({"sent": document, "exported": exported}).to_string());
        pairs.push('\n');
        count += 1;
    }
    assert_eq!(count, 20);
    assert_eq!(run_agent_spec(program, "compare", &pairs).as_deref(), Some(""));
}

#[test]
fn yaml_that_is_exported_is_loaded_by_the_sdk() {
    let program = include_str!("sdk.py");
    let Some(built) = run_agent_spec(program, "build_yaml", "") else { return };
    let registry = TestRegistry::start();
    let mut pairs = String::new();
    for line in built.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let document = row["document"].as_str().unwrap();
        let import = registry.call("POST", "/import/agent-spec?publish_prompts=true&profile=sdk");
        let imported = import.body("application/yaml", document.to_owned()).send().expect(201).json();
        let exported =
            registry.get(&format!("/things/{}/agent-spec", imported["ids"][0].as_str().unwrap())).expect(200);
        assert!(exported.header("content-type").contains("yaml"), "{}", exported.header("content-type"));
        pairs.push_str(&json!({"sent": document, "exported": exported.text()}).to_string());
        pairs.push('\n');
    }
    assert_eq!(pairs.lines().count(), 21);
    assert_eq!(run_agent_spec(program, "compare_yaml", &pairs).as_deref(), Some(""));
}

/// Loads configurations, one a line, and prints which aren't.
const LOADER: &str = r#"
import json, sys
from pyagentspec.serialization import AgentSpecDeserializer
for line in sys.stdin:
    try:
        loaded = AgentSpecDeserializer().from_json(line)
        assert loaded.description == "Edited by hand", loaded.description
    except Exception as error:
        print(type(error).__name__, str(error)[:500], line[:300])
"#;

#[test]
fn what_was_edited_by_hand_is_loaded_by_the_sdk() {
    let Some(built) = run_agent_spec(include_str!("sdk.py"), "build", "") else { return };
    let registry = TestRegistry::start();
    let mut exported = String::new();
    for line in built.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let import = registry.call("POST", "/import/agent-spec?publish_prompts=true&profile=sdk");
        let document = row["document"].as_str().unwrap().to_owned();
        let imported = import.body("application/json", document).send();
        let imported = imported.json();
        let path = format!("/things/{}", imported["ids"][0].as_str().unwrap());
        let edit = json!({"description": "Edited by hand", "support": "mailto:me@example.org"});
        registry.patch(&path, edit.to_string()).expect(204);
        exported.push_str(&registry.get(&format!("{path}/agent-spec")).expect(200).json().to_string());
        exported.push('\n');
    }
    assert_eq!(exported.lines().count(), 20);
    assert_eq!(run_agent_spec(LOADER, "", &exported).as_deref(), Some(""));
}

#[test]
fn linear_flow_of_the_sdk_is_refused_by_the_text_alone_with_the_way_out() {
    let Some(flow) = run_agent_spec(include_str!("sdk.py"), "linear", "") else { return };
    let document: Value = serde_json::from_str(&flow).unwrap();
    assert_eq!(document["data_flow_connections"], json!([]), "{document}");
    let registry = TestRegistry::start();
    let import = |query: &str| {
        let call = registry.call("POST", &format!("/import/agent-spec{query}"));
        call.body("application/json", flow.clone()).send()
    };
    let problem = import("").problem(400, "invalid-document");
    let errors = problem["validationErrors"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["rule"] == "input-without-source"), "{problem}");
    let first = errors[0]["description"].as_str().unwrap();
    assert!(
        first.contains("required only by the text of the specification") && first.contains("`--profile sdk`"),
        "{first}"
    );
    import("?profile=sdk").expect(201);
}
