//! `agentdex serve` with a policy: what is wrong with it, and that it counts.

use std::{fs, process::Output};

use serde_json::{Value, json};

use super::stderr;
use crate::{
    process::{ServerProcess, agentdex},
    support::Call,
};

/// A start that fails and leaves nothing behind.
fn serve(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let common = ["serve", "--no-mqtt", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let output = agentdex().args(common).args(arguments).output().unwrap();
    assert!(!data.exists(), "{arguments:?} left something behind");
    output
}

#[test]
fn a_policy_that_is_wrong_ends_the_start_with_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.toml");
    let named = path.to_str().unwrap();
    for (policy, words) in [
        ("[rules]\n\ntools = \"warn\"", "line 3: unknown variant `tools`"),
        ("[rules]\ntool-result = \"on\"", "line 2: unknown variant `on`"),
        ("[[expression]]\nname = \"a\"\ndenies = \"step.\"", "expression 1 (a)"),
        ("[[for]]\nrules = {}", "entry 1 of `for`: it names no agents"),
    ] {
        fs::write(&path, policy).unwrap();
        let output = serve(&["--policy", named]);
        let message = stderr(&output);
        assert!(output.status.code() != Some(0) && message.contains(words), "{message}");
        assert!(message.contains("policy.toml"), "{message}");
    }
    let output = serve(&["--policy", directory.path().join("none.toml").to_str().unwrap()]);
    assert!(stderr(&output).contains("--policy"), "{}", stderr(&output));
    let output = serve(&["--otlp-url", "collector"]);
    assert!(stderr(&output).contains("http://127.0.0.1:4318"), "{}", stderr(&output));
}

#[test]
fn a_policy_counts_and_may_be_tried() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.toml");
    fs::write(&path, "[rules]\nagent-registered = \"enforce\"\n[[for]]\nagent = \"urn:x:b\"\nrules = { agent-registered = \"off\" }\n").unwrap();
    let data = directory.path().join("data");
    let decision = |server: &ServerProcess, agent: &str| -> Value {
        let about = json!({
            "id": agent, "name": "A", "version": "1", "instructions": "-",
            "provider": {"name": "Example", "url": "https://example.org"},
        });
        let context = json!({
            "agent": about, "session": {"id": "s"}, "turnId": "t", "stepId": "p", "timestamp": "2026-11-22T10:00:00Z",
        });
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "steps/memoryStore", "params": {"context": context, "memory": ["m"]},
        });
        let url = format!("{}/aos", server.url().trim_end_matches('/'));
        let answer = Call::new("POST", &url).body("application/json", request.to_string()).send().expect(200);
        answer.json()["result"].clone()
    };
    let policy = path.to_str().unwrap();
    let server = ServerProcess::start(&data, &["--policy", policy, "--store-content"]);
    assert_eq!(decision(&server, "urn:x:a")["decision"], "deny");
    assert_eq!(decision(&server, "urn:x:b")["decision"], "allow");
    let trail = Call::new("GET", &format!("{}/aos/decisions", server.url().trim_end_matches('/'))).send().expect(200);
    assert_eq!(trail.json()[0]["content"], json!({"memory": ["m"]}));
    assert_eq!(server.stop().code(), Some(0));
    let server = ServerProcess::start(&data, &["--policy", policy, "--dry-run-policy"]);
    let tried = decision(&server, "urn:x:a");
    assert_eq!((&tried["decision"], &tried["data"]["wouldBe"]), (&json!("allow"), &json!("deny")));
    assert_eq!(server.stop().code(), Some(0));
}
