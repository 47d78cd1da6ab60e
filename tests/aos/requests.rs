//! Requests: each method valid, with each parameter missing and of another type; what isn't JSON-RPC.

use agentdex::convert::aos::{
    Answer, Call, ErrorKind, Id, Method, Outcome, PingResult, PingStatus, Request, Response, RpcError,
};
use serde_json::{Value, json};

use super::{calls, request};

fn code(value: &Value) -> (i64, Value) {
    let refusal = Request::read(value).expect_err(&value.to_string());
    (refusal.error.code, json!(refusal.id))
}

#[test]
fn every_method_is_read() {
    let calls = calls();
    assert_eq!(calls.len(), Method::ALL.len());
    for (method, params) in calls {
        let read =
            Request::read(&request(7, method, &params)).unwrap_or_else(|refusal| panic!("{method}: {refusal:?}"));
        assert_eq!((read.id, read.call.method().as_str()), (Some(Id::Integer(7)), method));
        let is_of_context = method.starts_with("steps/");
        assert_eq!(read.call.context().is_some(), is_of_context, "{method}");
        assert_eq!(read.call.reasoning().is_some(), params.get("reasoning").is_some(), "{method}");
    }
}

#[test]
fn each_parameter_is_missed_and_refused_in_another_type() {
    for (method, params) in calls() {
        for (name, _) in params.as_object().unwrap() {
            let mut odd = params.clone();
            odd[name] = if name == "timeout" { "x".into() } else { 7.into() };
            let refusal = Request::read(&request(1, method, &odd)).expect_err(method);
            assert_eq!(refusal.error.code, -32602, "{method}.{name}");
            let data = refusal.error.data.unwrap();
            assert_eq!(data["violations"][0]["pointer"], format!("/params/{name}"), "{method}");
            let mut without = params.clone();
            without.as_object_mut().unwrap().remove(name);
            let is_required = !["reasoning", "citation", "timeout"].contains(&name.as_str());
            let read = Request::read(&request(1, method, &without));
            assert_eq!(read.is_err(), is_required, "{method}.{name}: {read:?}");
            if let Err(refusal) = read {
                let data = refusal.error.data.unwrap();
                assert_eq!(data["violations"][0]["rule"], "member-missing", "{method}.{name}");
            }
        }
        for odd in [json!([]), json!([1])] {
            assert_eq!(code(&request(1, method, &odd)), (-32602, json!(1)), "{method}");
        }
        assert_eq!(code(&json!({"jsonrpc": "2.0", "id": 1, "method": method})), (-32602, json!(1)), "{method}");
    }
}

#[test]
fn messages_of_a2a_are_read_beside_the_method_too() {
    let payload = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}});
    let beside = json!({"jsonrpc": "2.0", "id": "a", "method": "tasks/get", "payload": payload, "reasoning": "why"});
    let read = Request::read(&beside).unwrap();
    assert_eq!(read.call.reasoning(), Some("why"));
    assert!(matches!(&read.call, Call::A2a(Method::TaskGet, params) if Value::from(params.payload.clone()) == payload));
    let mut odd = beside;
    odd["payload"] = "x".into();
    let refusal = Request::read(&odd).unwrap_err();
    assert_eq!(refusal.error.data.unwrap()["violations"][0]["pointer"], "/payload");
}

#[test]
fn what_is_no_request_is_refused_by_the_codes_of_json_rpc() {
    let params = json!({"timestamp": "2026-11-22T10:00:00Z"});
    let with = |name: &str, value: Value| {
        let mut odd = request("a", "ping", &params);
        odd[name] = value;
        odd
    };
    for odd in [
        json!(1),
        json!("x"),
        json!(null),
        json!([]),
        with("id", json!(null)),
        with("id", json!(1.5)),
        with("id", json!({})),
    ] {
        assert_eq!(code(&odd), (-32600, Value::Null), "{odd}");
    }
    for odd in
        [with("jsonrpc", json!("1.0")), with("jsonrpc", json!(2)), with("method", json!(7)), with("params", json!("x"))]
    {
        assert_eq!(code(&odd), (-32600, json!("a")), "{odd}");
    }
    for method in ["steps/foo", "steps/knowledge", "messages/mcp", "", "PING"] {
        assert_eq!(code(&with("method", json!(method))), (-32601, json!("a")), "{method}");
    }
    let refusal = Request::read(&json!({"jsonrpc": "2.0", "method": "steps/foo"})).unwrap_err();
    assert!(refusal.is_notification);
    let notification = Request::read(&json!({"jsonrpc": "2.0", "method": "ping", "params": params})).unwrap();
    assert_eq!(notification.id, None);
}

#[test]
fn ids_are_echoed_as_they_are() {
    let params = json!({"timestamp": "2026-11-22T10:00:00Z"});
    for id in [json!(""), json!("a"), json!(0), json!(-7), json!(i64::MIN), json!(u64::MAX)] {
        let read = Request::read(&request(id.clone(), "ping", &params)).unwrap();
        let error = Response::error(read.id, RpcError::of(ErrorKind::Internal, "x"));
        assert_eq!(serde_json::to_value(error).unwrap()["id"], id);
    }
}

#[test]
fn a_response_has_a_result_or_an_error() {
    let at = agentdex::convert::aos::Moment::parse("2026-11-22T10:00:00Z").unwrap();
    let ping = PingResult { status: PingStatus::Connected, version: "1".into(), timestamp: at, metadata: None };
    let result = serde_json::to_value(Response::result(Some(Id::Integer(1)), Answer::Ping(ping))).unwrap();
    assert_eq!(
        result,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "status": "connected", "version": "1", "timestamp": "2026-11-22T10:00:00Z",
        }})
    );
    let response = Response::error(None, RpcError::of(ErrorKind::Parse, "line 1"));
    assert!(matches!(response.outcome, Outcome::Error(_)));
    assert_eq!(
        serde_json::to_value(response).unwrap(),
        json!({"jsonrpc": "2.0", "id": null, "error": {
            "code": -32700, "message": "Invalid JSON payload", "data": {"name": "JSONParseError", "detail": "line 1"},
        }})
    );
}
