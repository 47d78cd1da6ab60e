//! `GET /search/jsonpath`.

use agentdex::registry::Write;
use serde_json::{Value, json};

use crate::support::{TestRegistry, agent};

fn registry() -> TestRegistry {
    let registry = TestRegistry::start();
    for (id, title) in [("a", "Weather"), ("b", "Billing"), ("c", "Weather")] {
        registry.registry().put(agent(&format!("urn:example:{id}"), title)).unwrap();
    }
    registry
}

fn found(registry: &TestRegistry, query: &str) -> Value {
    registry.get(&format!("/search/jsonpath?query={query}")).expect(200).json()
}

#[test]
fn descriptions_are_found_as_they_are_read() {
    let registry = registry();
    let answer = registry.get("/search/jsonpath?query=$[?(@.title=='Weather')]").expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let things = answer.json();
    let things = things.as_array().unwrap();
    assert_eq!(things.len(), 2);
    for (thing, id) in things.iter().zip(["urn:example:a", "urn:example:c"]) {
        let mut read = registry.get(&format!("/things/{id}")).expect(200).json();
        let mut thing = thing.clone();
        for thing in [&mut thing, &mut read] {
            assert!(thing["registration"]["retrieved"].take().is_string());
        }
        assert_eq!(thing, read);
    }
}

#[test]
fn queries_need_not_be_encoded() {
    let registry = registry();
    let encoded = "%24%5B%3F%40.title%20%3D%3D%20%22Billing%22%20%26%26%20%40.id%5D.id";
    assert_eq!(found(&registry, encoded), json!(["urn:example:b"]));
    assert_eq!(found(&registry, "$[?@.title=='Billing'&&@.id].id"), json!(["urn:example:b"]));
    assert_eq!(found(&registry, "$[?search(@.title,'^B')].id"), json!(["urn:example:b"]));
    assert_eq!(found(&registry, "$[*].id"), json!(["urn:example:a", "urn:example:b", "urn:example:c"]));
    assert_eq!(found(&registry, "$[?@.registration.created].title").as_array().unwrap().len(), 3);
    assert_eq!(found(&registry, "$[?@.title=='None']"), json!([]));
}

#[test]
fn order_is_that_of_ids_however_many_there_are() {
    let registry = TestRegistry::start();
    let ids: Vec<String> = (0..500).map(|number| format!("urn:example:{number:03}")).collect();
    for id in ids.iter().rev() {
        pollster::block_on(registry.registry().write(Write::put(agent(id, "A")))).unwrap();
    }
    assert_eq!(found(&registry, "$[*].id"), json!(ids));
}

#[test]
fn what_can_not_be_asked_is_said() {
    let registry = registry();
    for (query, code) in [
        ("", "invalid-query"),
        ("title", "invalid-query"),
        ("$[0]", "invalid-query"),
        ("$[?@.title%20==]", "invalid-query"),
        ("$[?@.title=='x", "invalid-query"),
        ("$[?@.a==$[0].a]", "invalid-query"),
        ("$..a..b..c", "limit-exceeded"),
    ] {
        registry.get(&format!("/search/jsonpath?query={query}")).problem(400, code);
    }
    registry.get("/search/jsonpath").problem(400, "invalid-parameter");
    registry.get("/search/jsonpath?q=$[*]").problem(400, "invalid-parameter");
    registry.get(&format!("/search/jsonpath?query=$[?@.a=='{}']", "x".repeat(1100))).problem(400, "limit-exceeded");
    registry.call("POST", "/search/jsonpath").send().problem(405, "method-not-allowed");
}

#[test]
fn hostile_queries_are_refused_and_the_server_goes_on() {
    let registry = registry();
    let nested = |open: &str, close: &str, count: usize| format!("{}{}", open.repeat(count), close.repeat(count));
    for query in [
        format!("$[?{}@.a{}]", "(".repeat(450), ")".repeat(450)),
        format!("$[?@.a{}]", nested("[?@.a", "]", 150)),
        format!("$[*]{}", "[*,*]".repeat(150)),
        format!("$[?{}@.a]", "!".repeat(900)),
        format!("$[?match(@.title,'{}')]", "(a{1000}){1000}"),
        format!("$[?{}@.a]", "-".repeat(900)),
        format!("$[{}]", "?".repeat(900)),
    ] {
        let answer = registry.get(&format!("/search/jsonpath?query={query}"));
        assert!(matches!(answer.status, 200 | 400), "{query}: {}", answer.status);
    }
    registry.get("/health/live").expect(200);
}
