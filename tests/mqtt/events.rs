//! Which messages come, where, with what in them.

use serde_json::json;

use super::support::{Server, Subscriber, agent, has_mosquitto};
use crate::support::nth;

const VERSIONS: [&str; 2] = ["mqttv311", "mqttv5"];

#[test]
fn change_is_published_as_event_for_its_capabilities_and_as_state() {
    if !has_mosquitto() {
        return;
    }
    for version in VERSIONS {
        let server = Server::start();
        let mut subscriber = Subscriber::start(server.port(), &["-V", version, "-q", "1", "-t", "agentdex/#"]);
        server.registry.put(agent("urn:example:a/b", "A", &["chat", "weather forecast"])).unwrap();
        let messages = subscriber.take(4);
        let topics: Vec<&str> = messages.iter().map(|message| message.topic.as_str()).collect();
        assert_eq!(
            topics,
            [
                "agentdex/events/thing_created/urn:example:a%2Fb",
                "agentdex/capabilities/chat/thing_created/urn:example:a%2Fb",
                "agentdex/capabilities/weather%20forecast/thing_created/urn:example:a%2Fb",
                "agentdex/things/urn:example:a%2Fb",
            ]
        );
        assert!(messages.iter().all(|message| message.qos == 1 && !message.retain));
        let event = messages[0].json();
        assert_eq!(event["type"], "io.agentdex.thing_created");
        assert_eq!(event["source"], format!("urn:agentdex:registry:{}", server.registry.registry_id()));
        assert_eq!(event["id"], format!("{}-{}", server.registry.epoch(), nth(1)));
        assert_eq!(event["subject"], "urn:example:a/b");
        assert_eq!(event["data"]["title"], "A");
        assert_eq!(messages[1].payload, messages[0].payload);
        assert_eq!(messages[3].json()["title"], "A");
        assert!(messages[3].json()["registration"]["created"].is_string());
    }
}

#[test]
fn update_carries_the_merge_patch_and_deletion_clears_the_state() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    server.put("urn:a", "before");
    let mut subscriber =
        Subscriber::start(server.port(), &["-V", "mqttv5", "-t", "agentdex/events/#", "-t", "agentdex/things/#"]);
    assert_eq!(subscriber.next().json()["title"], "before");
    server.put("urn:a", "after");
    let (event, state) = (subscriber.next(), subscriber.next());
    assert_eq!(event.topic, "agentdex/events/thing_updated/urn:a");
    assert_eq!(event.json()["data"], json!({"id": "urn:a", "title": "after"}));
    assert_eq!(state.json()["title"], "after");
    server.registry.remove("urn:a").unwrap();
    let (event, state) = (subscriber.next(), subscriber.next());
    assert_eq!(event.topic, "agentdex/events/thing_deleted/urn:a");
    assert_eq!((state.topic.as_str(), state.payload.as_str()), ("agentdex/things/urn:a", ""));
    let mut late = Subscriber::start(server.port(), &["-t", "agentdex/things/#"]);
    server.put("urn:b", "B");
    assert_eq!(late.next().topic, "agentdex/things/urn:b");
}

#[test]
fn what_changes_mean_for_saved_queries_is_published() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    let query = serde_json::from_value(json!({"q": "+harbour"})).unwrap();
    server.registry.save_query("my.harbour", query).unwrap();
    let mut subscriber =
        Subscriber::start(server.port(), &["-V", "mqttv5", "-q", "1", "-t", "agentdex/queries/my.harbour/#"]);
    server.put("urn:other", "Billing");
    for title in ["Harbour", "Harbour pilot", "Pilot", "Harbour"] {
        server.put("urn:a", title);
    }
    server.registry.remove("urn:a").unwrap();
    let messages = subscriber.take(5);
    let kinds = ["created", "updated", "unmatched", "matched", "deleted"];
    for (message, kind) in messages.iter().zip(kinds) {
        assert_eq!(message.topic, format!("agentdex/queries/my.harbour/thing_{kind}/urn:a"));
        assert_eq!((message.json()["subject"].as_str(), message.retain), (Some("urn:a"), false));
    }
    assert_eq!(messages[2].json()["type"], "io.agentdex.thing_updated");
}
