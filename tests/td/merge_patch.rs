//! Merge patches by RFC 7396 on texts.

use agentdex::td::{
    Error,
    merge_patch::{apply, diff},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[test]
fn the_examples_of_rfc_7396_hold() {
    // Appendix A, the rows whose patch is an object.
    for (target, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        (r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        assert_eq!(apply(target, patch).unwrap(), result, "{target} + {patch}");
    }
}

#[test]
fn order_and_number_tokens_survive() {
    let patched = apply(r#"{"z": 1.0, "y": 10e-1, "a": {"d": 1.50, "b": 2}}"#, r#"{"y": 1E0, "a": {"c": 3.10}}"#);
    assert_eq!(patched.unwrap(), r#"{"z":1.0,"y":1E0,"a":{"d":1.50,"b":2,"c":3.10}}"#);
    assert_eq!(diff(r#"{"a": 1.0}"#, r#"{"a": 1.00}"#).as_deref(), Some(r#"{"a":1.00}"#));
}

#[test]
fn of_a_name_that_a_patch_repeats_the_last_counts() {
    assert_eq!(apply(r#"{"a":1}"#, r#"{"a":2,"b":3,"a":4,"b":5}"#).unwrap(), r#"{"a":4,"b":5}"#);
    assert_eq!(apply(r#"{"a":1}"#, r#"{"a":2,"a":null}"#).unwrap(), "{}");
}

#[test]
fn what_is_no_patch_is_refused() {
    for patch in ["[]", "null", "\"x\"", "7"] {
        assert!(matches!(apply("{}", patch), Err(Error::InvalidPatch { .. })), "{patch}");
    }
    assert!(matches!(apply("{}", "{\"a\": 1\n x"), Err(Error::MalformedJson { line: 2, .. })));
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    assert!(matches!(apply("{}", &deep), Err(Error::LimitExceeded { .. })));
}

#[test]
fn equal_documents_need_no_patch() {
    assert_eq!(diff(r#"{"a": [{"x": 1, "y": "\u00e4"}], "b": {}}"#, r#"{"b":{},"a":[{"y":"ä","x":1}]}"#), None);
    assert_eq!(diff(r#"{"a": [1, 2]}"#, r#"{"a":[2,1]}"#).as_deref(), Some(r#"{"a":[2,1]}"#));
}

#[test]
fn a_null_member_can_not_be_said() {
    let patch = diff(r#"{"a":1}"#, r#"{"a":1,"b":null}"#).unwrap();
    assert_eq!(apply(r#"{"a":1}"#, &patch).unwrap(), r#"{"a":1}"#);
}

/// JSON without `null` members, few names, so that documents overlap.
fn null_free() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)).prop_filter("no double", |number| !number.is_null()),
        "[a\"\\\\ä\n]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab\"ä]{1,2}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn null_free_object() -> impl Strategy<Value = Value> {
    null_free().prop_map(|value| match value {
        Value::Object(_) => value,
        other => json!({ "a": other }),
    })
}

proptest! {
    #[test]
    fn a_difference_leads_from_one_document_to_the_other(a in null_free_object(), b in null_free_object()) {
        let (before, after) = (a.to_string(), b.to_string());
        match diff(&before, &after) {
            None => prop_assert_eq!(a, b),
            Some(patch) => {
                prop_assert_ne!(&a, &b);
                let patched: Value = serde_json::from_str(&apply(&before, &patch).unwrap()).unwrap();
                prop_assert_eq!(patched, b);
            }
        }
    }
}
