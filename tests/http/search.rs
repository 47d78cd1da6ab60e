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
fn the_mode_says_what_counts() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "Weather agent")).expect(201);
    let answer = |mode: &str| {
        registry.get(&format!("/search?q=meteorological+prediction{mode}&consistent=true")).expect(200).json()
    };
    for mode in ["", "&mode=hybrid", "&mode=semantic"] {
        let page = answer(mode);
        let hit = &page["hits"][0];
        assert_eq!((&hit["id"], &page["total"], &hit["bm25"]), (&json!("urn:example:a"), &json!(1), &json!(0.0)));
        assert!(hit["cosine"].as_f64().is_some_and(|cosine| cosine > 0.2), "{mode}: {hit}");
    }
    assert_eq!(answer("&mode=lexical")["total"], 0);
    let problem = registry.get("/search?q=weather&mode=fuzzy").problem(400, "invalid-parameter");
    assert!(problem["detail"].as_str().unwrap().contains("lexical, semantic, hybrid"), "{problem}");
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
    for path in ["/search?status=broken", "/things?status=broken", "/things?status=stale&signature=none"] {
        let problem = registry.get(path).problem(400, "invalid-parameter");
        assert!(problem["detail"].as_str().unwrap().contains("must be one of"), "{problem}");
    }
    registry.get("/search?offset=9999&limit=10").problem(400, "limit-exceeded");
    registry.get(&format!("/search?q={}", "x".repeat(4097))).problem(400, "limit-exceeded");
    registry.get("/search/xpath?query=//title").problem(501, "query-language-not-offered");
    registry.get("/search/sparql?query=ASK%7B%7D").problem(501, "query-language-not-offered");
    registry.get("/search/cobol").problem(404, "unknown-path");
}

#[test]
fn capabilities_are_asked_for_in_a_range_of_versions() {
    let registry = TestRegistry::start();
    for (id, version, tenant) in [("urn:a", "1.2.0", "de"), ("urn:b", "1.10.0", "at"), ("urn:c", "2.0.0", "de")] {
        let agent = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent", "id": id, "title": "Billing",
            "lmos:capabilities": [{"name": "billing", "version": version}],
            "lmos:supportedTenants": [tenant], "lmos:supportedChannels": ["web"],
        });
        registry.put(&format!("/things/{id}"), agent.to_string()).expect(201);
    }
    let found = |path: &str| {
        let page = registry.get(path).expect(200).json();
        let hits = if page.is_array() { page } else { page["hits"].clone() };
        hits.as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("/search?capability=billing@^1.2&consistent=true"), ["urn:b", "urn:a"]);
    assert_eq!(found("/search?capability=billing%40%3E%3D1.5%20%7C%7C%201.2.x"), ["urn:c", "urn:b", "urn:a"]);
    assert_eq!(found("/search?capability=billing@1&tenant=de&channel=web"), ["urn:a"]);
    assert_eq!(found("/things?capability=billing@1&channel=web&tenant=at"), ["urn:b"]);
    assert_eq!(found("/search?channel=phone"), [""; 0]);
    for path in ["/search?capability=billing@%3E%3D1.2.0,%3C2", "/things?capability=billing@1.2.3.4"] {
        let problem = registry.get(path).problem(400, "invalid-query");
        assert!(problem["detail"].as_str().unwrap().contains(">=1 <3"), "{problem}");
    }
}
