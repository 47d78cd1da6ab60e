use agentdex::sacp::Condition;
use serde_json::json;

use super::success;

fn holds(condition: &str, data: serde_json::Value) -> Result<bool, String> {
    let condition: Condition = condition.parse().map_err(|error: agentdex::sacp::ConditionError| error.to_string())?;
    condition.holds(&success(data)).map_err(|error| error.to_string())
}

#[test]
fn conditions_of_the_specification_are_decided() {
    assert_eq!(holds(r#"response.status == "success""#, json!({})), Ok(true));
    assert_eq!(holds(r#"response.status == "failure""#, json!({})), Ok(false));
    assert_eq!(holds("response.data.score > 0.8", json!({"score": 0.9})), Ok(true));
    assert_eq!(holds("response.data.score > 0.8", json!({"score": 0.8})), Ok(false));
}

#[test]
fn numbers_compare_whatever_their_kind() {
    assert_eq!(holds("response.data.score > 0.8", json!({"score": 1})), Ok(true));
    assert_eq!(holds("response.data.n == 3", json!({"n": 3})), Ok(true));
    assert_eq!(holds("response.data.n == 3", json!({"n": 3.0})), Ok(true));
    assert_eq!(holds("response.data.n < -1", json!({"n": -2})), Ok(true));
}

#[test]
fn values_are_compared_as_the_type_of_the_literal() {
    for (condition, value, expected) in [
        ("response.data.x > 0.8", json!("0.9"), true),
        ("response.data.x > 0.8", json!(" 5e-1 "), false),
        ("0.8 < response.data.x", json!("1"), true),
        ("response.data.x == 0.9", json!("0.9"), true),
        ("response.data.x == 3", json!("3.0"), true),
        ("response.data.x != -3", json!("-3"), false),
        ("response.data.x == 18446744073709551615u", json!("18446744073709551615"), true),
        ("response.data.x == true", json!("true"), true),
        ("response.data.x == '200'", json!(200), true),
        ("response.data.x == '0.5'", json!(0.5), true),
        ("response.data.x == 'true'", json!(true), true),
        ("response.data.x.exists(one, one >= 3)", json!(["1", 3]), true),
        ("response.data.x in [0.9, 1.0]", json!("0.9"), true),
        ("response.data.x in ['200', '204']", json!(204), true),
        ("response.data.x in [0.9, '1']", json!("0.9"), false),
        ("response.data.x == 0.9", json!("90%"), false),
        ("response.data.x == 0", json!(""), false),
        ("response.data.x == true", json!("yes"), false),
        ("response.data.x == '{}'", json!({}), false),
        ("response.data.y > 0.8", json!("0.9"), false),
    ] {
        assert_eq!(holds(condition, json!({"x": value})), Ok(expected), "{condition} with {value}");
    }
    for condition in ["response.data.x > 0.8", "response.data.x < '2'", "response.data.x > response.data.y"] {
        let error =
            holds(condition, json!({"x": if condition.ends_with('8') { json!("high") } else { json!(1) }, "y": "0"}));
        assert!(error.as_ref().is_err_and(|error| error.contains("overload")), "{condition}: {error:?}");
    }
}

#[test]
fn words_and_operators_combine() {
    let data = json!({"a": true, "kind": "x", "list": ["x", "y"]});
    assert_eq!(holds("response.data.a and not (response.data.kind == 'z')", data.clone()), Ok(true));
    assert_eq!(
        holds("response.data.kind == 'and' or response.data.kind in response.data.list", data.clone()),
        Ok(true)
    );
    assert_eq!(holds("response.data.kind in ['p', 'q'] || !response.data.a", data.clone()), Ok(false));
    assert_eq!(holds("response.data.list.exists(item, item == 'y')", data), Ok(true));
}

#[test]
fn what_is_missing_does_not_hold() {
    assert_eq!(holds("response.data.score > 0.8", json!({})), Ok(false));
    assert_eq!(holds("exists(response.data.score)", json!({"score": null})), Ok(true));
    assert_eq!(holds("exists(response.data.score)", json!({})), Ok(false));
    assert_eq!(holds("not exists(response.data.score)", json!({})), Ok(true));
    assert_eq!(holds("response.data.list[3] == 1", json!({"list": [1]})), Ok(false));
}

#[test]
fn bad_conditions_are_refused_with_a_reason() {
    for (condition, reason) in [
        ("response.status ==", "condition `response.status ==`"),
        ("respons.status == 'success'", "`respons` is unknown"),
        ("response.data.l.all(a, response.data.l.all(b, a == b))", "only once in total"),
        ("response.data.message", "not true or false"),
    ] {
        let error = holds(condition, json!({"message": "text", "l": []})).expect_err(condition);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn conditions_at_and_beyond_the_limits_do_not_abort_the_process() {
    let nested = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(holds(&nested(16), json!({})), Ok(true));
    assert!(holds(&nested(17), json!({})).is_err());
    let repeated =
        ["!", "-", "(", "[", "{", "a.", "1+", "true&&", "true?", "not ", "true and ", "a(", "\"", "'\\", "\u{1}"];
    for part in repeated {
        for count in [10, 60, 100, 340] {
            let _ = holds(&format!("{}1", part.repeat(count)), json!({}));
        }
    }
    assert_eq!(holds(&format!("{}1 == 21", "1+".repeat(20)), json!({})), Ok(true));
    let error = holds(&" ".repeat(1025), json!({})).expect_err("too long");
    assert!(error.contains("1024 bytes"), "{error}");
}

#[test]
fn what_the_data_make_expensive_is_ended() {
    let list: Vec<u32> = (0..20_000).collect();
    // Each goes through the list once for each element: 200 million comparisons.
    for condition in [
        "response.data.list.all(x, x in response.data.list)",
        "response.data.list.exists(x, !(x in response.data.list))",
        "response.data.list.exists_one(x, x in response.data.list)",
        "size(response.data.list.filter(x, x in response.data.list)) > 0",
        "size(response.data.list.map(x, x in response.data.list)) > 0",
        "size(response.data.list.map(x, x in response.data.list, x)) > 0",
    ] {
        let error = holds(condition, json!({"list": list})).expect_err(condition);
        assert!(error.contains("took too long"), "{error}");
    }
    assert_eq!(holds("response.data.list.all(x, x >= 0)", json!({"list": &list[..100]})), Ok(true));
    assert_eq!(holds("size(response.data.list.filter(x, x > 97)) == 2", json!({"list": &list[..100]})), Ok(true));
    assert_eq!(holds("response.data.list.map(x, x)[1] == 1", json!({"list": &list[..100]})), Ok(true));
    let many = vec![0; agentdex::expression::MAX_VALUES];
    let error = holds("response.status == 'success'", json!({"list": many})).expect_err("too many values");
    assert!(error.contains("exceeds this limit"), "{error}");
}

#[test]
fn patterns_are_those_of_the_condition() {
    assert_eq!(holds("response.message.matches('^[a-z]$')", json!({})), Ok(true));
    assert_eq!(holds("matches(response.message, '^\\\\d')", json!({})), Ok(false));
    for (condition, reason) in [
        ("response.message.matches(response.data.pattern)", "must be a string literal"),
        ("response.message.matches('(((a{100}){100}){100})')", "size limit"),
        ("response.message.matches('(')", "pattern"),
    ] {
        let error = holds(condition, json!({"pattern": "."})).expect_err(condition);
        assert!(error.contains(reason), "{error}");
    }
}
