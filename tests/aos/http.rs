//! `/aos` over HTTP: JSON-RPC to the letter, and what the trail shows.

use agentdex::registry;
use agentdex_server::http;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{calls, fixture, request};
use crate::support::{Answer, TestRegistry};

const TRAVEL: &str = "urn:example:agents:travel";

fn start() -> TestRegistry {
    let registry = TestRegistry::start();
    let import = registry.call("POST", "/import/aos").body("application/json", fixture("travel"));
    import.send().expect(201);
    registry
}

fn ask(registry: &TestRegistry, body: impl Into<Vec<u8>>) -> Answer {
    registry.call("POST", "/aos?consistent=true").body("application/json", body).send()
}

/// Whether something is a response of JSON-RPC: with a result or an error, never both.
fn is_response(value: &Value) -> bool {
    let Some(members) = value.as_object() else { return false };
    let id = members.get("id");
    let is_error = members.get("error").is_some_and(|error| error["code"].is_i64() && error["message"].is_string());
    members.get("jsonrpc") == Some(&json!("2.0"))
        && id.is_some_and(|id| id.is_null() || id.is_string() || id.is_i64() || id.is_u64())
        && (members.contains_key("result") != is_error)
        && (members.contains_key("error") == is_error)
        && members.len() == 3
}

#[test]
fn every_method_is_answered_with_its_id_as_json() {
    let registry = start();
    for (method, params) in calls() {
        let answer = ask(&registry, request(method, method, &params).to_string()).expect(200);
        assert_eq!(answer.header("content-type"), "application/json");
        let response = answer.json();
        assert!(is_response(&response), "{response}");
        assert_eq!(response["id"], method);
        assert!(response["result"]["decision"] == "allow" || method == "ping", "{response}");
    }
}

#[test]
fn errors_have_the_codes_of_json_rpc() {
    let registry = TestRegistry::start();
    let code = |body: &str| {
        let answer = ask(&registry, body).expect(200).json();
        assert!(is_response(&answer), "{answer}");
        (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())
    };
    for body in ["", "{", "{\"jsonrpc\": \"2.0\",", "[1,", "\u{feff}x"] {
        assert_eq!(code(body), (-32700, Value::Null), "{body:?}");
    }
    for body in ["[]", "1", "null", "{}", r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#] {
        assert_eq!(code(body), (-32600, Value::Null), "{body}");
    }
    assert_eq!(code(r#"{"jsonrpc": "2.0", "id": "a", "method": "steps/foo"}"#), (-32601, json!("a")));
    assert_eq!(code(r#"{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {}}"#), (-32602, json!(7)));
    // What the server can't do is an error of its own.
    registry.registry().close();
    let answer =
        ask(&registry, request(7, "ping", &json!({"timestamp": "2026-11-22T10:00:00Z"})).to_string()).expect(503);
    assert!(is_response(&answer.json()), "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], -32603);
}

#[test]
fn batches_are_answered_but_for_their_notifications() {
    let registry = start();
    let ping = json!({"timestamp": "2026-11-22T10:00:00Z"});
    let mut notification = request(1, "ping", &ping);
    notification.as_object_mut().unwrap().remove("id");
    let batch = json!([request("a", "ping", &ping), notification, 1, request(2, "steps/foo", &ping)]);
    let answers = ask(&registry, batch.to_string()).expect(200).json();
    let answers = answers.as_array().unwrap();
    assert!(answers.iter().all(is_response), "{answers:?}");
    let found: Vec<_> = answers.iter().map(|one| (one["id"].clone(), one["error"]["code"].clone())).collect();
    assert_eq!(found, [(json!("a"), Value::Null), (Value::Null, json!(-32600)), (json!(2), json!(-32601))]);
    for body in [notification.clone(), json!([notification, notification])] {
        let answer = ask(&registry, body.to_string()).expect(204);
        assert_eq!(answer.text(), "");
    }
    // What is wrong in a notification is answered by nothing either.
    ask(&registry, r#"{"jsonrpc": "2.0", "method": "steps/foo"}"#).expect(204);
    let many = Value::Array(vec![request(1, "ping", &ping); 257]);
    assert_eq!(ask(&registry, many.to_string()).expect(200).json()["error"]["code"], -32600);
}

#[test]
fn a_notification_is_a_step_too() {
    let registry = start();
    let (_, params) = calls().into_iter().find(|(method, _)| *method == "steps/message").unwrap();
    let mut step = request(1, "steps/message", &params);
    step.as_object_mut().unwrap().remove("id");
    ask(&registry, step.to_string()).expect(204);
    assert_eq!(registry.get("/aos/decisions").expect(200).json()[0]["method"], "steps/message");
}

#[test]
fn what_http_refuses_is_answered_in_json_rpc_too() {
    let options = http::Options { body_limit: 10_000, ..http::Options::default() };
    let registry = TestRegistry::start_with(registry::Options::default(), options);
    let post = |path: &str| registry.call("POST", path);
    for (answer, status) in [
        (post("/aos").body("text/plain", "{}").send(), 415),
        (post("/aos").bare_body("{}").send(), 415),
        (post("/aos").body("application/json", "x".repeat(20_000)).send(), 413),
        (post("/aos?odd=1").body("application/json", "{}").send(), 400),
        (post("/aos?consistent=maybe").body("application/json", "{}").send(), 400),
    ] {
        let answer = answer.expect(status);
        assert!(is_response(&answer.json()), "{}", answer.text());
        assert_eq!(answer.json()["error"]["code"], -32600);
        assert_eq!(answer.header("content-type"), "application/json");
    }
    registry.get("/aos").problem(405, "method-not-allowed");
}

#[test]
fn the_trail_and_live_sessions_are_read() {
    let registry = start();
    let steps = ["steps/agentTrigger", "steps/toolCallRequest", "steps/toolCallResult"];
    for (method, mut params) in calls().into_iter().filter(|(method, _)| steps.contains(method)) {
        params["context"]["session"]["id"] = "a/b c".into();
        ask(&registry, request(1, method, &params).to_string()).expect(200);
    }
    let (_, mut unknown) = calls().into_iter().find(|(method, _)| *method == "steps/message").unwrap();
    unknown["context"]["agent"]["id"] = "urn:x:unknown".into();
    ask(&registry, request(1, "steps/message", &unknown).to_string()).expect(200);
    let sessions = registry.get(&format!("/aos/sessions?agent={TRAVEL}")).expect(200).json();
    assert_eq!((sessions[0]["id"].as_str(), sessions[0]["steps"].as_u64()), (Some("a/b c"), Some(3)));
    let read = registry.get("/aos/sessions/a%2Fb%20c").expect(200).json();
    let methods: Vec<&str> = read.as_array().unwrap().iter().map(|step| step["method"].as_str().unwrap()).collect();
    assert_eq!(methods, steps);
    assert!(read[0]["microseconds"].is_u64() && read[0]["hash"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(registry.get("/aos/sessions/a%2Fb%20c?since=2").expect(200).json()[0]["seq"], 3);
    registry.get("/aos/sessions/other").problem(404, "not-found");
    let of = |query: &str| registry.get(&format!("/aos/decisions{query}")).expect(200).json().as_array().unwrap().len();
    assert_eq!((of(""), of("?decision=deny"), of("?agent=urn:x:unknown"), of("?limit=2")), (4, 1, 1, 2));
    assert_eq!((of("?since=3"), of("?since=2999-01-01T00:00:00Z"), of("?since=2000-01-01T00:00:00Z")), (1, 0, 4));
    registry.get("/aos/decisions?decision=maybe").problem(400, "invalid-parameter");
    registry.get("/aos/decisions?since=now").problem(400, "invalid-parameter");
    let metrics = registry.get("/metrics").expect(200);
    assert!(metrics.text().contains("agentdex_guardian_denied_total 1"), "{}", metrics.text());
}

#[test]
fn decisions_are_sent_to_subscribers_as_they_are_made() {
    let registry = start();
    let mut denied = registry.events("/aos/events?decision=deny", None);
    let (_, mut params) = calls().into_iter().find(|(method, _)| *method == "steps/toolCallRequest").unwrap();
    ask(&registry, request(1, "steps/toolCallRequest", &params).to_string()).expect(200);
    params["toolCallRequest"]["toolId"] = "refund".into();
    ask(&registry, request(2, "steps/toolCallRequest", &params).to_string()).expect(200);
    let event = denied.next().unwrap();
    assert_eq!((event.kind.as_str(), event.id.as_str()), ("decision", "2"));
    let entry: Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!((&entry["tool"], &entry["findings"][0]["rule"]), (&json!("refund"), &json!("tool-declared")));
}

/// Any JSON, not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z]{1,9}", inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// A request with something else somewhere in it.
fn odd_request() -> impl Strategy<Value = Value> {
    let calls = calls();
    let count = calls.len();
    (0..count, any::<prop::sample::Index>(), any_json(), any::<bool>()).prop_map(
        move |(index, place, odd, is_removed)| {
            let (method, params) = &calls[index];
            let mut request = request(1, method, params);
            let mut pointers = Vec::new();
            collect(&request, String::new(), &mut pointers);
            let pointer = place.get(&pointers).clone();
            let (owner, name) = pointer.rsplit_once('/').unwrap();
            match request.pointer_mut(owner) {
                Some(Value::Object(members)) if is_removed => drop(members.remove(name)),
                _ => *request.pointer_mut(&pointer).unwrap() = odd,
            }
            request
        },
    )
}

fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.replace('/', "~1"), value)).collect(),
        Value::Array(elements) => elements.iter().enumerate().map(|(index, one)| (index.to_string(), one)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let pointer = format!("{pointer}/{name}");
        pointers.push(pointer.clone());
        collect(value, pointer, pointers);
    }
}

#[test]
fn whatever_is_sent_is_answered_in_json_rpc() {
    let registry = start();
    let post = |body: String| registry.call("POST", "/aos").body("application/json", body).send();
    let bodies = prop_oneof![
        4 => odd_request(),
        2 => any_json(),
        1 => proptest::collection::vec(prop_oneof![odd_request(), any_json()], 0..5).prop_map(Value::from),
    ];
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(body in bodies)| {
        let answer = post(body.to_string());
        let answers = match answer.status {
            204 => Vec::new(),
            200 => match answer.json() {
                Value::Array(answers) => answers,
                one => vec![one],
            },
            other => panic!("{other}: {body}"),
        };
        for answer in answers {
            prop_assert!(is_response(&answer), "{} to {}", answer, body);
            prop_assert_ne!(answer["error"]["code"].as_i64(), Some(-32603), "{}", body);
        }
    });
    for body in [
        "",
        " ",
        "{\"a\":",
        "\u{0}",
        "[[[[[[",
        &"[".repeat(5000),
        "{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}",
    ] {
        let answer = post(body.to_owned()).expect(200);
        assert!(is_response(&answer.json()), "{}", answer.text());
    }
}
