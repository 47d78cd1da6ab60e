use agentdex::sacp::{Outputs, Template};
use serde_json::{Value, json};

use super::success;

fn fill(template: Value) -> Result<Value, String> {
    let outputs = Outputs::from([
        (
            "node_A".to_owned(),
            success(json!({"extracted_names": ["Alice", "Bob"], "score": 0.9, "deep": {"list": [{"x": null}]}})),
        ),
        ("node_B".to_owned(), success(json!({}))),
    ]);
    Template::new(template).fill(&outputs, Some(&json!({"question": "who?"}))).map_err(|error| error.to_string())
}

#[test]
fn one_reference_keeps_its_type() {
    assert_eq!(fill(json!("{{node_A.data.extracted_names}}")), Ok(json!(["Alice", "Bob"])));
    assert_eq!(fill(json!("{{ node_A.data.score }}")), Ok(json!(0.9)));
    assert_eq!(fill(json!("{{node_A.data.deep.list[0].x}}")), Ok(json!(null)));
    assert_eq!(fill(json!("{{node_A.message}}")), Ok(json!("m")));
    assert_eq!(fill(json!("{{node_B.data}}")), Ok(json!({})));
    assert_eq!(fill(json!("{{input.question}}")), Ok(json!("who?")));
}

#[test]
fn references_in_text_become_text() {
    let template =
        json!({"ask": ["{{node_A.status}}: {{node_A.data.score}} of {{node_A.data.extracted_names}}", 7, "{{ open"]});
    assert_eq!(fill(template), Ok(json!({"ask": ["success: 0.9 of [\"Alice\",\"Bob\"]", 7, "{{ open"]})));
}

#[test]
fn references_that_lead_nowhere_name_the_nearest() {
    for (reference, hint) in [
        ("{{node_A.data.extracted_name}}", "did you mean \"extracted_names\"?"),
        ("{{node_a.message}}", "did you mean \"node_A\"?"),
        ("{{node_A.mesage}}", "did you mean \"message\"?"),
        ("{{node_A.data.extracted_names[2]}}", "not an index below 2"),
        ("{{node_A.data.score.x}}", "a value without members"),
        ("{{node_A}}", "node_A.message"),
        ("{{node_B.data.anything}}", "no names are defined"),
        ("{{}}", "known names are"),
    ] {
        let error = fill(json!(reference)).expect_err(reference);
        assert!(error.contains(hint), "{reference}: {error}");
    }
}
