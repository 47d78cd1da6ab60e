//! `/things/{id}/actions/{name}/sacp`.

use serde_json::{Value, json};

use crate::support::TestRegistry;

const PATH: &str = "/things/urn:example:orders/actions/find%20order/sacp";

fn registry() -> TestRegistry {
    let registry = TestRegistry::start();
    let output = json!({
        "@type": "sacp:Response",
        "type": "object",
        "properties": {"data": {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}},
    });
    let form = |name: &str| json!([{"href": format!("https://orders.example/{name}")}]);
    let td = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1",
        "id": "urn:example:orders",
        "title": "Orders",
        "securityDefinitions": {"none": {"scheme": "nosec"}},
        "security": "none",
        "actions": {
            "find order": {"output": output, "forms": form("find")},
            "cancel": {"output": {"type": "string"}, "forms": form("cancel")},
        },
    });
    registry.put("/things/urn:example:orders", td.to_string()).expect(201);
    registry
}

fn check(registry: &TestRegistry, path: &str, media_type: &str, answer: &str) -> crate::support::Answer {
    registry.call("POST", path).body(media_type, answer).send()
}

#[test]
fn answers_are_held_to_what_the_action_declares() {
    let registry = registry();
    let answer = |data: Value| {
        let response = json!({"thought": "t", "status": "success", "data": data, "message": "m"});
        format!("Here it is:\n```json\n{response}\n```")
    };
    let report = check(&registry, PATH, "text/plain", &answer(json!({"total": 5}))).expect(200).json();
    assert_eq!((&report["valid"], &report["found"]), (&json!(true), &json!("fenced")), "{report}");
    assert_eq!(report["response"]["data"]["total"], 5);
    let report = check(&registry, PATH, "text/plain", &answer(json!({"total": "5"}))).expect(200).json();
    assert_eq!((&report["valid"], &report["repaired"]), (&json!(true), &json!(true)), "{report}");
    assert_eq!(
        (&report["repairs"][0]["pointer"], &report["response"]["data"]["total"]),
        (&json!("/data/total"), &json!(5))
    );
    let report = check(&registry, PATH, "text/plain", &answer(json!({"total": "5%"}))).expect(200).json();
    assert_eq!((&report["valid"], &report["violations"][0]["pointer"]), (&json!(false), &json!("/data/total")));
    let report = check(&registry, PATH, "text/plain", "I could not find it.").expect(200).json();
    assert_eq!((&report["valid"], &report["response"]["status"]), (&json!(false), &json!("failure")), "{report}");
}

#[test]
fn instructions_name_the_data_that_the_action_declares() {
    let registry = registry();
    let answer = registry.get(PATH).expect(200);
    let text = answer.text();
    assert!(text.contains("- data.total (number, required)"), "{text}");
}

#[test]
fn what_has_no_such_answers_says_what_there_is() {
    let registry = registry();
    let problem = registry.get("/things/urn:example:orders/actions/find/sacp").problem(404, "no-such-action");
    assert!(problem["detail"].as_str().unwrap().contains("its actions are cancel, find order"), "{problem}");
    let problem = registry.get("/things/urn:example:orders/actions/cancel/sacp").problem(404, "no-such-action");
    assert!(problem["detail"].as_str().unwrap().contains("\"@type\": \"sacp:Response\""), "{problem}");
    registry.get("/things/urn:example:none/actions/a/sacp").problem(404, "not-found");
    check(&registry, PATH, "application/x-www-form-urlencoded", "a=b").expect(415);
    registry.call("DELETE", PATH).send().problem(405, "method-not-allowed");
}

#[test]
fn agents_that_answer_in_it_are_found() {
    let registry = registry();
    registry.put("/things/urn:example:other", crate::support::agent("urn:example:other", "Other")).expect(201);
    for path in ["/search?speaks=sacp&consistent=true", "/things?speaks=sacp&format=collection"] {
        let found = registry.get(path).expect(200);
        assert!(found.text().contains("urn:example:orders") && !found.text().contains("urn:example:other"), "{path}");
    }
    registry.get("/search?speaks=latin").problem(400, "invalid-parameter");
}

#[test]
fn a_thing_may_be_called_like_that() {
    let registry = TestRegistry::start();
    let td = crate::support::agent("http://example.org/sacp", "A");
    registry.put("/things/http:%2F%2Fexample.org%2Fsacp", td).expect(201);
    registry.get("/things/http://example.org/sacp").expect(200);
}
