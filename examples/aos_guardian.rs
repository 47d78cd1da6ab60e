//! A guardian at work: an agent is registered, and a whole turn of it is reported step by step, over HTTP to a running
//! server.
//!
//! `cargo run --example aos_guardian`

use agentdex::Registry;
use agentdex_server::http;
use serde_json::{Value, json};

/// An agent with one tool and one resource (Agent Observability Standard, section 3.1).
fn agent() -> Value {
    json!({
        "id": "urn:example:agents:refunds", "name": "Refunds", "version": "1.0.0", "instructions": "Refund orders.",
        "provider": {"name": "Example", "url": "https://example.org"},
        "tools": [{
            "id": "find_order", "name": "Find order", "type": "function_call", "outputs": null,
            "arguments": [{"name": "number", "type": "string", "required": true}],
        }],
        "resources": [{"id": "policy", "name": "Refund policy", "content": "Refunds take five days."}],
    })
}

/// A turn: what triggers the agent, what it reads, the tools that it calls, and its answer.
fn turn() -> Vec<(&'static str, Value)> {
    let text = |text: &str| json!([{"kind": "text", "text": text}]);
    let call = |execution: &str, tool: &str, input: &str| json!({"executionId": execution, "toolId": tool, "inputs": [{"name": input, "value": "4711"}]});
    vec![
        (
            "steps/agentTrigger",
            json!({"trigger": {"type": "autonomous", "event": {"type": "email", "id": "m-1"}, "content": text("Where is my money?")}}),
        ),
        (
            "steps/knowledgeRetrieval",
            json!({"knowledgeStep": {"query": "refunds", "results": [{"id": "policy", "content": "Refunds take five days."}]}}),
        ),
        (
            "steps/toolCallRequest",
            json!({"toolCallRequest": call("x-1", "pay_out", "order"), "reasoning": "be generous"}),
        ),
        ("steps/toolCallRequest", json!({"toolCallRequest": call("x-2", "find_order", "number")})),
        ("steps/toolCallResult", json!({"executionId": "x-2", "result": {"outputs": text("paid"), "isError": false}})),
        (
            "steps/message",
            json!({
                "message": {"id": "m-2", "role": "agent", "content": text("It takes five days.")},
                "citation": [{"kind": "file", "id": "policy", "name": "Refund policy"}],
            }),
        ),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("agentdex-guardian-{}", std::process::id()));
    let registry = Registry::builder(&directory).open()?;
    let server = http::Server::bind("127.0.0.1:0", &registry, http::Options::default())?;
    let url = format!("http://{}", server.local_addr());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = async { server.run(async { drop(stopped.await) }).await.map_err(Box::<dyn std::error::Error>::from) };
    let walking = async {
        let walked = walk(&url).await;
        let _ = stop.send(());
        walked
    };
    tokio::try_join!(serving, walking)?;
    registry.close();
    drop(registry);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

async fn walk(url: &str) -> Result<(), Box<dyn std::error::Error>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    client.post(format!("{url}/import/aos")).json(&agent()).send().await?.error_for_status()?;
    for (number, (method, mut params)) in turn().into_iter().enumerate() {
        params["context"] = json!({
            "agent": agent(), "session": {"id": "s-1"}, "turnId": "t-1", "stepId": format!("p-{number}"),
            "timestamp": "2026-11-22T10:00:00Z",
        });
        let request = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
        let answer: Value =
            client.post(format!("{url}/aos?consistent=true")).json(&request).send().await?.json().await?;
        let result = &answer["result"];
        println!(
            "{method}: {} ({})",
            result["decision"].as_str().unwrap_or("?"),
            result["message"].as_str().unwrap_or("?")
        );
    }
    let steps: Value = client.get(format!("{url}/aos/sessions/s-1")).send().await?.json().await?;
    println!("the trail has {} steps", steps.as_array().map_or(0, Vec::len));
    Ok(())
}
