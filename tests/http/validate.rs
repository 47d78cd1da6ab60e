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
