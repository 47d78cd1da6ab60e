//! The directory as a Thing that node-wot consumes: its properties, actions and events by its own description.

use serde_json::{Value, json};

use crate::support::{TestRegistry, run_node_wot};

#[test]
fn node_wot_uses_every_affordance_of_the_directory() {
    let registry = TestRegistry::start();
    let Some(printed) = run_node_wot(include_str!("node_wot.mjs"), &registry.url("")) else { return };
    let line = printed.lines().last().unwrap_or_default();
    let result: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {printed}"));

    let anonymous = result["anonymous"]["id"].as_str().unwrap();
    assert!(anonymous.starts_with("urn:uuid:"), "{result}");
    assert_eq!(result["created"]["id"], "urn:example:a/b");
    assert_eq!(result["retrieved"]["title"], "A");
    assert!(result["retrieved"]["registration"]["created"].is_string(), "{result}");
    assert_eq!(result["explored"], json!(["C", "Anonymous"]));
    assert_eq!(result["explorationError"], Value::Null);
    assert_eq!(result["things"], 1);
    assert_eq!(
        (&result["collection"]["total"], &result["collection"]["members"][0]["title"]),
        (&json!(2), &json!("C"))
    );
    assert_eq!(result["search"]["hits"][0]["id"], anonymous);
    assert_eq!(result["missing"], "Error: Client error: Not Found");

    let events = result["events"].as_array().unwrap();
    let received = |name: &str, data: Value| {
        let matches = |event: &&Value| {
            event[0] == name && data.as_object().unwrap().iter().all(|(member, value)| event[1][member] == *value)
        };
        assert_eq!(events.iter().filter(matches).count(), 1, "{name} {data} in {events:?}");
    };
    received("thingCreated", json!({"id": anonymous, "title": "Anonymous"}));
    received("thingCreated", json!({"id": "urn:example:a/b", "title": "A"}));
    received("thingUpdated", json!({"id": "urn:example:a/b", "title": "B"}));
    received("thingUpdated", json!({"id": "urn:example:a/b", "title": "C"}));
    received("thingDeleted", json!({"id": "urn:example:a/b"}));
    assert_eq!(events.len(), 5);
}
