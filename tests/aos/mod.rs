//! The Agent Observability Standard: its data objects, its agents as Things, and the guardian.

mod agents;
mod callers;
mod export;
mod guardian;
mod http;
mod objects;
mod policy;
mod requests;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

/// A fixture of ours, as it is written.
pub fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/aos");
    fs::read(folder.join(format!("{name}.json"))).unwrap()
}

/// The agent that most tests are about.
pub fn agent() -> Value {
    serde_json::from_slice(&fixture("travel")).unwrap()
}

/// The context of a step of that agent.
pub fn context() -> Value {
    json!({
        "agent": agent(), "session": {"id": "s-1", "metadata": {"channel": "web"}}, "turnId": "t-1", "stepId": "p-1",
        "timestamp": "2026-11-22T10:00:00Z",
        "user": {"id": "u-1", "name": "Ada", "organization": {"id": "example"}},
    })
}

pub fn message(role: &str, text: &str) -> Value {
    json!({"id": "m-1", "role": role, "content": [{"kind": "text", "text": text}]})
}

/// Every method with parameters that are in order.
pub fn calls() -> Vec<(&'static str, Value)> {
    let memory = json!({"context": context(), "memory": ["likes trains"], "reasoning": "asked for"});
    let mut calls = vec![
        (
            "steps/agentTrigger",
            json!({"context": context(), "trigger": {
                "type": "autonomous", "event": {"type": "email", "id": "e-1"}, "content": [{"kind": "text", "text": "Hello"}],
            }}),
        ),
        (
            "steps/knowledgeRetrieval",
            json!({"context": context(), "reasoning": "asked for", "knowledgeStep": {
                "query": "travel policy", "keywords": ["policy"], "results": [{"id": "policy", "content": "Second class"}],
            }}),
        ),
        ("steps/memoryStore", memory.clone()),
        ("steps/memoryContextRetrieval", memory),
        (
            "steps/message",
            json!({"context": context(), "message": message("user", "To Cologne, please"), "citation": [], "reasoning": "-"}),
        ),
        (
            "steps/toolCallRequest",
            json!({"context": context(), "reasoning": "asked for", "toolCallRequest": {
                "executionId": "x-1", "toolId": "find_trains",
                "inputs": [{"name": "from", "value": "Bonn"}, {"name": "to", "value": "Cologne"}],
            }}),
        ),
        (
            "steps/toolCallResult",
            json!({"context": context(), "executionId": "x-1", "result": {
                "outputs": [{"kind": "text", "text": "ICE 123"}], "isError": false,
            }}),
        ),
        ("ping", json!({"timestamp": "2026-11-22T10:00:00Z", "timeout": 500})),
        (
            "protocols/MCP",
            json!({"message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "reasoning": "asked for"}),
        ),
    ];
    let a2a = [
        ("message/send", json!({"message": a2a_message()})),
        ("message/stream", json!({"message": a2a_message()})),
        ("tasks/get", json!({"id": "task-1"})),
        ("tasks/cancel", json!({"id": "task-1"})),
        ("tasks/resubscribe", json!({"id": "task-1"})),
        (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": "task-1", "pushNotificationConfig": {"url": "https://a.example/hook"}}),
        ),
        ("tasks/pushNotificationConfig/get", json!({"id": "task-1"})),
    ];
    for (method, params) in a2a {
        calls.push((method, json!({"payload": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}})));
    }
    calls
}

fn a2a_message() -> Value {
    json!({"role": "user", "messageId": "a-1", "parts": [{"kind": "text", "text": "Hello"}]})
}

/// A request of a method.
pub fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}
