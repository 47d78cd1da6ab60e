//! `agentdex ask`, `chat` and `call`, against an agent of a running registry.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use super::server::{Said, Server};
use crate::support::TestRegistry;

fn agentdex(registry: &TestRegistry, arguments: &[&str], input: &str) -> Output {
    agentdex_allowing("127.0.0.1", registry, arguments, input)
}

fn agentdex_allowing(allowed: &str, registry: &TestRegistry, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentdex"));
    command.args(arguments).env("AGENTDEX_URL", registry.url("")).env("AGENTDEX_ALLOW_FETCH", allowed);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn agent_is_asked_talked_with_and_called() {
    let server = Server::start(|request| match request.body.as_str() {
        "" => Said::json(json!("nothing")),
        body => Said::json(json!(format!("You said {}", body.trim_matches('"')))),
    });
    let registry = TestRegistry::start();
    let agent = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:weather", "title": "Weather",
        "description": "Weather forecast", "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
        "actions": {"ask": {"input": {"type": "string"}, "forms": [{"href": &server.origin}]}},
    });
    registry.put("/things/urn:example:weather", agent.to_string()).expect(201);
    registry.get("/search?q=weather&consistent=true").expect(200);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();

    let found = agentdex(&registry, &["ask", "weather forecast", "Will it rain?", "--explain"], "");
    assert_eq!(text(&found.stdout), "You said Will it rain?\n", "{}", text(&found.stderr));
    let why = text(&found.stderr);
    assert!(
        why.contains("urn:example:weather") && why.contains("http, ") && why.contains("credentials: none"),
        "{why}"
    );

    let named = agentdex(&registry, &["ask", "--agent", "urn:example:weather", "Rain?", "--json"], "");
    let answer: Value = serde_json::from_slice(&named.stdout).unwrap();
    assert_eq!((&answer["state"], &answer["history"][0]["parts"][0]["text"]), (&json!("completed"), &json!("Rain?")));

    let streamed = agentdex(&registry, &["ask", "--agent", "urn:example:weather", "Rain?", "--stream"], "");
    assert_eq!(text(&streamed.stdout), "You said Rain?\n");

    let chat = agentdex(&registry, &["chat", "urn:example:weather"], "hello\n/history\n/quit\n");
    let lines = text(&chat.stdout);
    assert!(lines.starts_with("You said hello\n{\"agent\":\"urn:example:weather\""), "{lines} {}", text(&chat.stderr));

    let called = agentdex(&registry, &["call", "urn:example:weather", "ask", "--input", "\"x\""], "");
    assert_eq!(text(&called.stdout), "You said x\n");
    let wrong = agentdex(&registry, &["call", "urn:example:weather", "ask", "--input", "3"], "");
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("actions.ask"), "{}", text(&wrong.stderr));
    let refused = agentdex_allowing("", &registry, &["call", "urn:example:weather", "ask", "--input", "\"x\""], "");
    assert!(text(&refused.stderr).contains("--allow-fetch 127.0.0.1"), "{}", text(&refused.stderr));
    let nobody = agentdex(&registry, &["ask", "xylophone tuning", "Hello?"], "");
    assert!(!nobody.status.success() && text(&nobody.stderr).contains("no agent matches"), "{}", text(&nobody.stderr));
}
