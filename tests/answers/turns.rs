//! Questions that are answered: in a chat, in a run that was stored, and in a conversation over HTTP.

use serde_json::{Value, json};

use super::{Agent, register, registry};
use crate::{
    bindings::{
        mcp::{Server as McpServer, python},
        websocket,
    },
    consumer::{
        agentdex,
        server::{Said, Server},
    },
    support::TestRegistry,
};

fn printed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Says `first`, is asked `Which city?`, answers `Bonn`, and is told `answer`: in every way that goes on.
fn check(registry: &TestRegistry, agent: &Agent, action: &str, first: &str, answer: &str) {
    let id = agent.id();
    let chat = agentdex(registry, &["chat", id, "--action", action], &format!("{first}\nBonn\n"));
    let said = printed(&chat.stdout);
    assert!(chat.status.success() && said.contains("Which city?") && said.contains(answer), "{id} chat: {chat:?}");

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (chain, state) = (file("chain.json"), file("state.json"));
    let node = json!({"agent": id, "action": action, "input": first});
    std::fs::write(&chain, json!({"start": "a", "nodes": {"a": node}}).to_string()).unwrap();
    let asked = agentdex(registry, &["run", &chain, "--state", &state], "");
    assert_eq!(asked.status.code(), Some(2), "{id} run: {asked:?}");
    assert!(printed(&asked.stderr).contains("Which city?"), "{id} run: {asked:?}");
    let answered = agentdex(registry, &["run", &chain, "--state", &state, "--answer", "Bonn"], "");
    assert!(answered.status.success() && printed(&answered.stdout).contains(answer), "{id} run: {answered:?}");

    let say = |turn: Value| {
        let path = format!("/things/{id}/conversation");
        registry.call("POST", &path).body("application/json", turn.to_string()).send().expect(200).json()
    };
    let asked = say(json!({"message": first, "action": action}));
    assert_eq!((&asked["state"], &asked["text"]), (&json!("input-required"), &json!("Which city?")), "{id}: {asked}");
    let answered = say(json!({"message": "Bonn", "action": action, "conversation": asked["conversation"]}));
    assert_eq!(
        (&answered["state"], answered["text"].as_str()),
        (&json!("completed"), Some(answer)),
        "{id}: {answered}"
    );
}

fn agent(protocol: &'static str, members: Value) -> Agent {
    Agent { protocol, description: super::thing(protocol, members), kinds: Vec::new(), is_told: false }
}

#[test]
fn questions_over_a2a_are_answered() {
    let server = Server::start(|request| {
        let request = request.json();
        let message = &request["params"]["message"];
        let is_answer = message["taskId"] == "1";
        let status = match is_answer {
            true => {
                json!({"state": "TASK_STATE_COMPLETED", "message": {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": format!("Dry in {}.", message["parts"][0]["text"].as_str().unwrap())}]}})
            }
            false => {
                json!({"state": "TASK_STATE_INPUT_REQUIRED", "message": {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": "Which city?"}]}})
            }
        };
        let task = json!({"id": "1", "contextId": "c", "status": status});
        Said::json(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"task": task}}))
    });
    let form =
        json!({"href": &server.origin, "subprotocol": "a2a", "a2a:binding": "JSONRPC", "a2a:protocolVersion": "1.0"});
    let agent = agent("a2a", json!({"actions": {"ask": {"forms": [form]}}}));
    let registry = registry();
    register(&registry, &agent);
    check(&registry, &agent, "ask", "question", "Dry in Bonn.");
}

#[test]
fn questions_over_the_lmos_protocol_are_answered() {
    let Some(server) = websocket::Agent::start(&[]) else { return };
    let agent = agent("websocket", json!({"actions": {"which": {"forms": [server.form()]}}}));
    let registry = registry();
    register(&registry, &agent);
    check(&registry, &agent, "which", "question", "Dry in Bonn.");
}

#[test]
fn questions_over_mcp_are_answered() {
    let Some(python) = python() else { return };
    let server = McpServer::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answers/mcp_agent.py").as_ref(), &python);
    let form = json!({"href": server.url(), "subprotocol": "mcp", "mcp:method": "tools/call", "mcp:tool": "question"});
    let input = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let agent = agent("mcp", json!({"actions": {"question": {"input": input, "forms": [form]}}}));
    let registry = registry();
    register(&registry, &agent);
    check(&registry, &agent, "question", "question", "Dry in Bonn.");
}

#[test]
fn an_agent_without_conversations_is_told_what_was_said_if_its_action_takes_that() {
    let server = Server::start(|request| Said::json(json!({"said": request.json()})));
    let form = json!({"href": &server.origin});
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let agent = agent(
        "http",
        json!({"actions": {"clock": {"input": city, "forms": [form]}, "talk": {"input": {"type": "string"}, "forms": [form]}}}),
    );
    let registry = registry();
    register(&registry, &agent);
    for (action, expected) in [("clock", json!({"city": "Ulm"})), ("talk", json!(null))] {
        let chat = agentdex(&registry, &["chat", agent.id(), "--action", action], "Bonn\nUlm\n");
        assert!(chat.status.success(), "{chat:?}");
        let sent = server.received().pop().unwrap().json();
        match expected.is_null() {
            true => {
                let sent = sent.as_str().unwrap();
                assert!(sent.contains("User: Bonn") && sent.contains(r#"{"said":"Bonn"}"#), "{sent}");
            }
            false => assert_eq!(sent, expected),
        }
    }
}
