//! Decisions of the guardian over MQTT.

use agentdex::Registry;
use serde_json::json;

use super::support::{Server, Subscriber, agent, has_mosquitto};

const VERSIONS: [&str; 2] = ["mqttv311", "mqttv5"];

/// Lets the guardian decide about a step of an agent.
pub fn decide(registry: &Registry, agent: &str, session: &str) {
    let text = json!([{"kind": "text", "text": "Hello"}]);
    let about = json!({
        "id": agent, "name": "A", "version": "1", "instructions": "-",
        "provider": {"name": "Example", "url": "https://example.org"},
    });
    let context = json!({
        "agent": about, "session": {"id": session}, "turnId": "t", "stepId": "p", "timestamp": "2026-11-22T10:00:00Z",
    });
    let params = json!({"context": context, "message": {"id": "m", "role": "user", "content": text}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/message", "params": params});
    registry.guardian().answer(&request);
}

#[test]
fn decisions_are_published_to_those_who_subscribe_to_them() {
    if !has_mosquitto() {
        return;
    }
    for version in VERSIONS {
        let server = Server::start();
        server.registry.put(agent("urn:example:a/b", "A", &["chat"])).unwrap();
        pollster::block_on(server.registry.catch_up_guardian()).unwrap();
        let filter = |filter: &str| Subscriber::start(server.port(), &["-V", version, "-q", "1", "-t", filter]);
        let mut all = filter("agentdex/guardian/#");
        let mut denied = filter("agentdex/guardian/+/deny");
        let mut one = filter("agentdex/guardian/urn:example:a%2Fb/+");
        decide(&server.registry, "urn:example:a/b", "s-1");
        decide(&server.registry, "urn:example:other", "s-2");
        let messages = all.take(2);
        assert_eq!(messages[0].topic, "agentdex/guardian/urn:example:a%2Fb/allow");
        assert_eq!(messages[1].topic, "agentdex/guardian/urn:example:other/deny");
        assert_eq!((&messages[0].json()["session"], &messages[0].json()["decision"]), (&json!("s-1"), &json!("allow")));
        assert!(messages.iter().all(|message| message.qos == 0 && !message.retain));
        assert_eq!(denied.next().json()["agent"], "urn:example:other");
        assert_eq!(one.next().json()["agent"], "urn:example:a/b");
    }
}
