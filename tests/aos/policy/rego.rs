//! Own rules in Rego, side by side with those in CEL.

use super::*;

const CHANGES: &str = r#"package travel

deny contains message if {
    input.step.tool == "find_trains"
    input.step.inputs.changes > 3
    message := sprintf("%d changes are too many", [input.step.inputs.changes])
}

deny contains {"msg": "not to Bonn"} if input.step.inputs.to == "Bonn"
"#;

fn decided(expressions: Value, inputs: Value) -> Verdict {
    let policy = with_expressions(expressions);
    decide(&call("find_trains", inputs), Some(&description()), None, &policy, &nothing_to_edit)
}

fn refusal(module: &str) -> String {
    let file = json!({"expression": [{"name": "own", "rego": module}]});
    Policy::compile(serde_json::from_value(file).unwrap()).unwrap_err().to_string()
}

#[test]
fn messages_of_deny_are_findings() {
    let rules = json!([
        {"name": "changes", "rego": CHANGES},
        {"name": "cel", "denies": "step.inputs.changes > 4"},
        {"name": "warns", "mode": "warn", "rego": "package a\n\ndeny contains \"always\" if true"},
    ]);
    let verdict = decided(rules.clone(), json!({"to": "Cologne", "changes": 5}));
    assert_eq!((verdict.decision, verdict.reason_codes()), (Decision::Deny, vec!["changes", "cel"]));
    assert_eq!(verdict.findings[0].message, "5 changes are too many");
    let verdict = decided(rules.clone(), json!({"to": "Bonn", "changes": 1}));
    assert_eq!((verdict.reason_codes(), verdict.findings[0].message.as_str()), (vec!["changes"], "not to Bonn"));
    let verdict = decided(rules, json!({"to": "Cologne", "changes": 1}));
    assert_eq!((verdict.decision, verdict.reason_codes()), (Decision::Allow, vec!["warns"]));
}

#[test]
fn modules_read_step_agent_and_session() {
    for (body, is_denied) in [
        ("deny if input.agent.vendor == \"Example\"", true),
        ("deny if \"beta\" in input.agent.tags", true),
        ("deny if input.agent.registered == false", false),
        ("deny if input.session.steps > 0", false),
        ("deny if not input.step.reasoning", true),
        ("deny if startswith(input.step.method, \"steps/\")", true),
        ("deny if regex.match(\"^find\", input.step.tool)", true),
        ("deny := \"a text\"", true),
        // What isn't true, a message or a set of them can't be decided.
        ("deny := 7", true),
        ("default deny := false", false),
        ("deny if input.step.inputs.nothing > 3", false),
    ] {
        let module = format!("package own\n\n{body}\n");
        let verdict = decided(json!([{"name": "own", "rego": module}]), json!({"to": "Bonn"}));
        assert_eq!(verdict.decision == Decision::Deny, is_denied, "{body}: {:?}", verdict.findings);
    }
    let said = json!([{"name": "own", "rego": "package own\n\ndeny if true", "message": "not today"}]);
    assert_eq!(decided(said, json!({"to": "Bonn"})).findings[0].message, "not today");
}

#[test]
fn what_is_wrong_with_a_module_is_named() {
    for (module, words) in [
        ("deny if true", "expecting `package`"),
        ("package a\n\ndeny if {", "own.rego"),
        ("package a\n\nallow if true", "it has no rule `deny`"),
        ("package a\n\ndeny if http.send({})", "http.send"),
    ] {
        let error = refusal(module);
        assert!(error.contains("expression 1 (own)") && error.contains(words), "{module}: {error}");
    }
    assert!(refusal(&format!("package a\n# {}", "x".repeat(70_000))).contains("longer than"));
}

#[test]
fn a_module_that_takes_too_long_is_not_allowed() {
    let list: Vec<u32> = (0..5000).collect();
    let module = "package own\n\ndeny if {\n    some a in input.step.inputs.any\n    some b in input.step.inputs.any\n    a + b < 0\n}\n";
    let verdict = decided(json!([{"name": "own", "rego": module}]), json!({"to": "Bonn", "any": list}));
    assert_eq!((verdict.decision, verdict.reason_codes()), (Decision::Deny, vec!["own"]));
    assert!(verdict.findings[0].message.contains("`own` can't be decided"), "{:?}", verdict.findings);
    let many = json!({"to": "Bonn", "any": vec![0; agentdex::expression::MAX_VALUES]});
    let verdict = decided(json!([{"name": "own", "rego": module}]), many);
    assert!(verdict.findings[0].message.contains("too many for Rego"), "{:?}", verdict.findings);
}
