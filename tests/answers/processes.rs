//! Agents over MCP, the LMOS protocol, and MQTT: processes with the libraries of others.

use serde_json::{Map, Value, json};

use super::{Agent, check, kind::Kind, thing};
use crate::bindings::{
    mcp::{Server, python},
    mqtt, websocket,
};

const PLAN: &str = "# Plan\n\n- one\n- two";

fn agent(protocol: &'static str, kinds: Vec<Kind>, form: impl Fn(&str) -> Value) -> Agent {
    let action = |kind: &Kind| (kind.name.to_owned(), json!({"forms": [form(kind.name)]}));
    let actions: Map<String, Value> = kinds.iter().map(action).collect();
    Agent { protocol, description: thing(protocol, json!({"actions": actions})), kinds, is_told: false }
}

#[test]
fn every_command_shows_every_answer_over_mcp() {
    let Some(python) = python() else { return };
    let server = Server::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answers/mcp_agent.py").as_ref(), &python);
    let city = || json!({"city": "Bonn"});
    let kinds = vec![
        Kind::result("plain", "You said: x"),
        Kind::result("lines", PLAN),
        Kind::result("number", "").with(json!(3)),
        Kind::result("names", "").with(json!("Ada")).with(json!("Bob")),
        Kind::result("weather", "").with(json!({"rain": true, "mm": 4})),
        Kind::result("bare", "").with(json!({"status": "success", "rain": true})),
        Kind::result("sacp", "Found.").with(city()),
        Kind::result("sacp_data", "Found.").with(city()),
        Kind::question("sacp_question", "Which city?"),
        Kind::failure("failure", "Error executing tool failure"),
        Kind::result("steps", "All done."),
        Kind::question("question", "Which city?").with(json!({"requestedSchema": {
            "type": "object", "title": "City", "properties": {"city": {"type": "string", "title": "City"}}, "required": ["city"],
        }})),
    ];
    let kinds = kinds.into_iter().map(|kind| kind.given(json!({"q": "x"}))).collect();
    let mut agent = agent(
        "mcp",
        kinds,
        |name| json!({"href": server.url(), "subprotocol": "mcp", "mcp:method": "tools/call", "mcp:tool": name}),
    );
    for action in agent.description["actions"].as_object_mut().unwrap().values_mut() {
        action["input"] = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    }
    check(&agent);
}

#[test]
fn every_command_shows_every_answer_over_the_lmos_protocol() {
    let Some(server) = websocket::Agent::start(&[]) else { return };
    let kinds = vec![
        Kind::result("echo", "").with(json!({"echo": "x"})),
        Kind::result("pieces", "done").streamed(&format!("{PLAN}\ndone")),
        Kind::result("sacp", "Found.").with(json!({"city": "Bonn"})),
        Kind::question("ask", "Which Bonn?"),
        Kind::failure("sorry", "No station answers"),
        Kind::failure("fail", "no such city"),
        Kind::error("refuse", "not today"),
    ];
    check(&agent("websocket", kinds, |_| server.form()));
}

#[test]
fn every_command_shows_every_answer_over_mqtt() {
    let Some(setting) = mqtt::Setting::start() else { return };
    let kinds = vec![
        Kind::result("echo", "").with(json!({"echo": "x"})),
        Kind::result("pieces", "done").streamed("- one\n- two\ndone"),
        Kind::failure("fail", "no such city"),
    ];
    let topic = |name: &str| format!("{}/actions/{name}", mqtt::THING);
    check(&agent(
        "mqtt",
        kinds,
        |name| json!({"href": format!("mqtt://127.0.0.1:{}", setting.port), "mqv:topic": topic(name)}),
    ));
}
