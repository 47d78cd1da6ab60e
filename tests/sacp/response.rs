use agentdex::sacp::{DataContract, Response, SCHEMA, Status, read};
use serde_json::{Value, json};

use super::success;

fn object(value: Value) -> serde_json::Map<String, Value> {
    serde_json::from_value(value).expect("an object")
}

#[test]
fn each_required_member_that_is_missing_is_reported() {
    let whole = object(json!({"thought": "t", "status": "success", "data": {}, "message": "m"}));
    assert_eq!(Response::from_object(whole.clone()).map(|(_, violations)| violations), Ok(Vec::new()));
    for member in ["thought", "status", "data", "message"] {
        let mut partial = whole.clone();
        partial.remove(member);
        let violations = match Response::from_object(partial) {
            Ok((_, violations)) if member != "status" => violations,
            Err(violations) if member == "status" => violations,
            other => panic!("{member}: {other:?}"),
        };
        let found: Vec<_> = violations.iter().map(|found| (found.pointer.as_str(), found.rule.as_ref())).collect();
        assert_eq!(found, [(format!("/{member}").as_str(), "sacp/required")]);
    }
}

#[test]
fn a_member_of_the_wrong_type_makes_it_unreadable() {
    for (member, value) in
        [("thought", json!(1)), ("status", json!(true)), ("data", json!([1])), ("message", json!({}))]
    {
        let mut wrong = object(json!({"thought": "t", "status": "success", "data": {}, "message": "m"}));
        wrong.insert(member.to_owned(), value);
        let violations = Response::from_object(wrong).expect_err(member);
        assert_eq!(violations[0].pointer, format!("/{member}"));
    }
}

#[test]
fn the_schema_accepts_what_is_written_and_has_all_statuses() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let names: Vec<_> = Status::ALL.iter().map(|status| json!(status)).collect();
    assert_eq!(schema["properties"]["status"]["enum"], Value::from(names));
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    assert!(validator.is_valid(&Response::unreadable("x").to_value()));
    assert!(!validator.is_valid(&json!({"status": "success"})));
}

#[test]
fn a_status_in_other_letters_is_read_and_reported() {
    let reading = read(r#"{"thought": "", "status": "Clarification Needed", "data": {}, "message": ""}"#);
    assert_eq!(reading.response.status, Status::ClarificationNeeded);
    assert_eq!(reading.violations[0].rule, "sacp/status");
}

#[test]
fn unknown_members_survive() {
    let text = r#"{"thought":"t","status":"completed","data":{},"message":"m","next_step_hint":"h","cost":3}"#;
    let response = read(text).response;
    assert_eq!(response.to_value(), serde_json::from_str::<Value>(text).expect("JSON"));
    assert_eq!(serde_json::from_value::<Response>(response.to_value()).expect("a response"), response);
}

#[test]
fn data_is_held_to_its_contract() {
    let action = json!({"output": {
        "@type": "sacp:Response",
        "properties": {"data": {"type": "object", "required": ["email"], "properties": {"email": {"type": "string"}}}},
    }});
    let contract = DataContract::of_action(&action).expect("a schema").expect("a contract");
    assert_eq!(contract.check(&success(json!({"email": "a@example.org"}))), []);
    assert_eq!(contract.check(&success(json!({"email": 1})))[0].pointer, "/data/email");
    assert_eq!(contract.check(&success(json!({})))[0].pointer, "/data");
    assert_eq!(contract.check(&Response::unreadable("x")), [], "a failure promises no data");
    assert!(DataContract::of_action(&json!({"output": {"type": "string"}})).expect("no schema").is_none());
    assert!(DataContract::new(json!({"type": "nonsense"})).is_err());
}

#[test]
fn a_failure_with_sensitive_data_hides_its_message_only() {
    let mut response = Response::unreadable("the key is 12345");
    assert!(response.withhold_message("withheld", |text| text.contains("key")));
    assert_eq!((response.message.as_str(), &response.data["raw_output"]), ("withheld", &json!("the key is 12345")));
    let mut fine = success(json!({"key": 1}));
    assert!(!fine.withhold_message("withheld", |text| text.contains("key")));
    fine.force_failure();
    assert_eq!(fine.status, Status::Failure);
}
