//! Every bad request has a status and a problem document.

use std::io::{Read, Write};

use serde_json::json;

use crate::support::{TestRegistry, agent};

#[test]
fn malformed_json_is_located() {
    let registry = TestRegistry::start();
    let problem = registry.put("/things/urn:example:a", "{\n  \"id\": }").problem(400, "malformed-json");
    assert_eq!((&problem["line"], &problem["column"]), (&json!(2), &json!(9)));
}

#[test]
fn body_that_is_no_text_is_named_for_what_it_is() {
    let registry = TestRegistry::start();
    let utf_16: Vec<u8> = "{\"id\": 1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_mark = [&[0xff, 0xfe][..], &utf_16].concat();
    let gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xff];
    for (body, word) in [
        (Vec::new(), "is empty"),
        (b" \n".to_vec(), "is empty"),
        (utf_16, "UTF-16"),
        (with_mark, "UTF-16"),
        (gzip, "gzip"),
    ] {
        for (method, path, media_type, code) in [
            ("PUT", "/things/urn:example:a", "application/json", "malformed-json"),
            ("POST", "/import/a2a", "application/json", "malformed-json"),
            ("POST", "/import/mcp-server", "application/json", "malformed-json"),
            ("POST", "/import/agent-spec", "application/json", "malformed-json"),
            ("POST", "/import/agent-spec", "application/yaml", "malformed-yaml"),
        ] {
            let problem = registry.call(method, path).body(media_type, body.clone()).send().problem(400, code);
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(word), "{path} {media_type}: {detail}");
        }
    }
}

#[test]
fn validation_errors_name_fields() {
    let registry = TestRegistry::start();
    let td = agent("urn:example:a", "A").replace(
        "\"title\": \"A\"",
        r#""title": 5, "properties": {"status": {"type": "string", "forms": [{"href": 7}]}}"#,
    );
    let problem = registry.put("/things/urn:example:a", td).problem(400, "invalid-thing-description");
    let errors = problem["validationErrors"].as_array().unwrap();
    let fields: Vec<_> = errors.iter().map(|error| error["field"].as_str().unwrap()).collect();
    assert!(fields.contains(&"title"), "{problem}");
    assert!(fields.contains(&"properties.status.forms.0.href"), "{problem}");
    assert!(errors.iter().all(|error| error["description"].is_string()));

    let td = agent("urn:example:a", "A").replace("\"title\": \"A\",", "");
    let problem = registry.put("/things/urn:example:a", td).problem(400, "invalid-thing-description");
    assert_eq!(problem["validationErrors"][0]["field"], "(root)", "{problem}");
}

#[test]
fn media_types_are_checked() {
    let registry = TestRegistry::start();
    let put = |media_type: &str| {
        let call = registry.call("PUT", "/things/urn:example:a");
        call.body(media_type, agent("urn:example:a", "A")).send()
    };
    let refused = put("text/plain");
    refused.problem(415, "unsupported-media-type");
    assert_eq!(refused.header("accept"), "application/td+json, application/ld+json, application/json");
    for media_type in ["application/td+json; charset=utf-8", "application/ld+json", "Application/JSON"] {
        assert!(put(media_type).status < 300, "{media_type}");
    }
    for (method, path) in [("PUT", "/things/urn:example:a"), ("POST", "/things"), ("POST", "/things/batch")] {
        let bare = registry.call(method, path).bare_body(agent("urn:example:a", "B")).send();
        bare.problem(415, "unsupported-media-type");
    }
    let patch = registry.call("PATCH", "/things/urn:example:a").body("application/td+json", "{}");
    patch.send().problem(415, "unsupported-media-type");
    for coding in ["rot13", "br", "deflate", "gzip, gzip"] {
        let coded = registry.call("PUT", "/things/urn:example:a").header("content-encoding", coding);
        let refused = coded.body("application/td+json", "{}").send();
        refused.problem(415, "unsupported-media-type");
        assert_eq!(refused.header("accept-encoding"), "gzip", "{coding}");
    }
}

#[test]
fn large_and_deep_bodies_are_refused() {
    let registry = TestRegistry::start();
    let large = agent("urn:example:a", &"x".repeat(1024 * 1024));
    registry.put("/things/urn:example:a", large.clone()).problem(413, "body-too-large");
    registry.post("/validate", large).problem(413, "body-too-large");
    let deep = format!(r#"{{"x": {}1{}}}"#, "[".repeat(100), "]".repeat(100));
    registry.put("/things/urn:example:a", deep).problem(400, "limit-exceeded");
}

#[test]
fn large_bodies_without_a_length_are_refused() {
    let registry = TestRegistry::start();
    let mut socket = std::net::TcpStream::connect(registry.address()).unwrap();
    socket
        .write_all(
            b"PUT /things/urn:a:b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/td+json\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        socket.write_all(chunk.as_bytes()).unwrap();
    }
    let _ = socket.write_all(b"0\r\n\r\n");
    let mut answer = String::new();
    let _ = socket.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
}

#[test]
fn routing_errors_are_problems() {
    let registry = TestRegistry::start();
    registry.get("/nowhere").problem(404, "unknown-path");
    registry.call("BREW", "/nowhere").send().problem(404, "unknown-path");
    for (method, path, allow) in [
        ("DELETE", "/things", "GET, HEAD, POST"),
        ("POST", "/things/urn:example:a", "GET, HEAD, PUT, PATCH, DELETE"),
        ("PUT", "/things/urn:example:a/history", "GET, HEAD"),
        ("POST", "/search", "GET, HEAD"),
        ("GET", "/validate", "POST"),
        ("OPTIONS", "/events", "GET, HEAD"),
    ] {
        let refused = registry.call(method, path).send();
        refused.problem(405, "method-not-allowed");
        assert_eq!(refused.header("allow"), allow, "{method} {path}");
    }
}

#[test]
fn unknown_parameters_are_refused_with_the_known_ones() {
    let registry = TestRegistry::start();
    let problem = registry.get("/things?limits=3").problem(400, "invalid-parameter");
    assert_eq!(problem["parameter"], "limits");
    assert!(problem["known"].as_array().unwrap().contains(&json!("limit")));
    for path in ["/things/urn:example:a?x=1", "/search?x=1", "/changes?x=1", "/events?x=1", "/?x=1", "/metrics?x=1"] {
        registry.get(path).problem(400, "invalid-parameter");
    }
    registry.get("/things?limit=0").problem(400, "invalid-parameter");
    registry.get("/things?limit=-1").problem(400, "invalid-parameter");
    registry.get("/things?format=xml").problem(400, "invalid-parameter");
}

#[test]
fn long_texts_of_clients_are_not_repeated_in_full() {
    let registry = TestRegistry::start();
    let long = "x".repeat(8 * 1024);
    for path in [
        format!("/things?{long}=1"),
        format!("/things?limit={long}"),
        format!("/things?format={long}"),
        format!("/events/{long}"),
        format!("/nowhere/{long}"),
        format!("/things?sort_by={long}"),
        format!("/search?facets={long}"),
    ] {
        let refused = registry.get(&path);
        assert!(
            (400..=404).contains(&refused.status) && refused.body.len() < 1536,
            "{} bytes for {}",
            refused.body.len(),
            &path[..20]
        );
    }
}

#[test]
fn response_that_is_not_acceptable_is_a_problem_too() {
    let registry = TestRegistry::start();
    let call = registry.call("GET", "/").header("accept-encoding", "identity;q=0, *;q=0");
    let refused = call.send().expect(406);
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert_eq!(
        refused.json(),
        json!({"type": "about:blank", "title": "Not Acceptable", "status": 406, "code": "not-acceptable"})
    );
}

#[test]
fn request_ids_are_returned() {
    let registry = TestRegistry::start();
    let given = registry.call("GET", "/health/live").header("x-request-id", "abc-1").send();
    assert_eq!(given.header("x-request-id"), "abc-1");
    let odd = registry.call("GET", "/health/live").header("x-request-id", "a b").send();
    assert_ne!(odd.header("x-request-id"), "a b");
    let [first, second] = [(); 2].map(|()| registry.get("/nowhere").header("x-request-id"));
    assert!(!first.is_empty() && first != second);
}

#[test]
fn document_in_another_format_hears_which_endpoint_takes_it() {
    let registry = TestRegistry::start();
    let card = serde_json::json!({
        "name": "Weather", "description": "d", "version": "1", "url": "https://weather.example/a2a", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "forecast", "name": "Forecast", "description": "d", "tags": []}],
    });
    let td = serde_json::json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "Lamp"});
    for (path, document, endpoint) in [
        ("/things", &card, "/import/a2a"),
        ("/import/agent-spec", &card, "/import/a2a"),
        ("/import/mcp-server", &card, "/import/a2a"),
        ("/import/a2a", &td, "/things"),
    ] {
        let call = registry.call("POST", path).body("application/json", document.to_string());
        let problem = call.send().json();
        assert_eq!(problem["status"], 400, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("POST it to {endpoint};")), "{path}: {problem}");
    }
    let unclear = registry.call("POST", "/things").body("application/json", r#"{"title": "x"}"#).send().json();
    assert!(unclear["detail"].as_str().unwrap().contains("@context"), "{unclear}");
}
