//! `GET /search`.

use serde_json::json;

use crate::support::{TestRegistry, agent};

#[test]
fn hits_come_with_capabilities_and_links() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a%2Fb", agent("urn:example:a/b", "Weather agent")).expect(201);
    let answer = registry.get("/search?q=weather+forecast&facets=vendor,capability&consistent=true").expect(200);
    assert_eq!(answer.header("agentdex-seq"), "1");
    let page = answer.json();
    assert_eq!(page["total"], 1);
    assert_eq!(page["seq"], 1);
    assert_eq!(page["suggestions"], json!([]));
    assert!(page["facets"]["vendor"].is_array(), "{page}");
    let hit = &page["hits"][0];
    assert_eq!((&hit["id"], &hit["title"]), (&json!("urn:example:a/b"), &json!("Weather agent")));
    assert!(hit["score"].as_f64().unwrap() > 0.0);
    assert!(hit["capabilities"][0]["snippet"].as_str().unwrap().contains("<b>"), "{hit}");
    let link = &hit["links"][0];
    assert_eq!(link["type"], "application/td+json");
    assert_eq!(registry.get(link["href"].as_str().unwrap()).expect(200).json()["id"], "urn:example:a/b");
}

#[test]
fn pages_link_to_the_next() {
    let registry = TestRegistry::start();
    for number in 0..3 {
        let id = format!("urn:example:{number}");
        registry.put(&format!("/things/{id}"), agent(&id, "Weather agent")).expect(201);
    }
    let page = registry.get("/search?q=weather&limit=2&consistent=true").expect(200);
    assert_eq!(page.header("link"), "</search?offset=2&limit=2&q=weather&consistent=true>; rel=\"next\"");
    assert_eq!(registry.get("/search?q=weather&limit=2&offset=2").json()["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn stray_operators_are_text() {
    let registry = TestRegistry::start();
    for query in ["%22", "%2B", "-", "*", "title%3A", "%22a%22%22", "AND", "(((", "%5B", "~%5E"] {
        registry.get(&format!("/search?q={query}")).expect(200);
    }
}

#[test]
fn what_search_cannot_do_is_said() {
    let registry = TestRegistry::start();
    registry.get("/search?facets=colour").problem(400, "invalid-parameter");
    registry.get("/search?limit=0").problem(400, "invalid-parameter");
    registry.get("/search?offset=9999&limit=10").problem(400, "limit-exceeded");
    registry.get(&format!("/search?q={}", "x".repeat(1025))).problem(400, "limit-exceeded");
    registry.get("/search/jsonpath?query=$[?(@.tag=='x')]").problem(501, "query-language-not-offered");
    registry.get("/search/sparql?query=ASK%7B%7D").problem(501, "query-language-not-offered");
    registry.get("/search/cobol").problem(404, "unknown-path");
}
