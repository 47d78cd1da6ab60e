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
