//! `POST /validate`.

use serde_json::json;

use crate::support::{TestRegistry, agent};

#[test]
fn valid_and_invalid_descriptions_are_both_answered() {
    let registry = TestRegistry::start();
    let report = registry.post("/validate", agent("urn:example:a", "A")).expect(200).json();
    assert_eq!((&report["valid"], &report["version"]), (&json!(true), &json!("1.1")), "{report}");
    assert_eq!(report["violations"], json!([]));

    let td = agent("urn:example:a", "A").replace("[\"nosec_sc\"]", "[\"none\"]");
    let report = registry.post("/validate", td).expect(200).json();
    assert_eq!(report["valid"], false);
    assert!(report["violations"][0]["pointer"].as_str().unwrap().starts_with("/security"), "{report}");
    assert!(registry.registry().is_empty());
    registry.post("/validate", "{").problem(400, "malformed-json");
}

#[test]
fn documents_of_other_formats_are_told_which_endpoint_takes_them() {
    let registry = TestRegistry::start();
    for (document, endpoint) in [
        (json!({"name": "A", "url": "https://a.example", "skills": []}), "/import/a2a"),
        (json!({"component_type": "Agent", "name": "a"}), "/import/agent-spec"),
        (json!({"server": {"name": "com.example/a", "remotes": []}}), "/import/mcp-server"),
        (json!({"id": "a", "supportedChannels": [], "capabilities": []}), "/import/lmos-capabilities"),
    ] {
        let report = registry.post("/validate", document.to_string()).expect(200).json();
        let first = &report["violations"][0];
        assert_eq!((&first["rule"], &first["pointer"]), (&json!("other-format"), &json!("")), "{report}");
        assert!(first["message"].as_str().unwrap().contains(&format!("POST it to {endpoint};")), "{report}");
    }
    let report = registry.post("/validate", r#"{"title": "x"}"#).expect(200).json();
    assert!(report["violations"].as_array().unwrap().iter().all(|one| one["rule"] != "other-format"), "{report}");
}
