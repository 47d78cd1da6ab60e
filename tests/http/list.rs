//! `GET /things`: the list, whole and in pages.

use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, agent, eventually};

fn with_things(count: usize) -> TestRegistry {
    let registry = TestRegistry::start();
    for number in 0..count {
        let id = format!("urn:example:{number:03}");
        registry.registry().put(&agent(&id, &format!("Agent {number}"))).unwrap();
    }
    registry
}

fn ids(things: &Value) -> Vec<&str> {
    things.as_array().unwrap().iter().map(|thing| thing["id"].as_str().unwrap()).collect()
}

/// The path of the link with `rel="next"`.
fn next(answer: &Answer) -> Option<String> {
    let link = answer.header("link");
    let before = link.split("; rel=\"next\"").next().filter(|before| before.len() < link.len())?;
    Some(before.rsplit('<').next().unwrap().trim_end_matches('>').to_owned())
}

#[test]
fn whole_list_is_in_order_of_ids() {
    let registry = with_things(60);
    let list = registry.get("/things").expect(200);
    assert_eq!(list.header("content-type"), "application/ld+json");
    assert_eq!(list.header("agentdex-seq"), "60");
    assert_eq!(list.header("link"), "</things>; rel=\"canonical\"; etag=\"60\"");
    let list = list.json();
    let ids = ids(&list);
    assert_eq!(ids.len(), 60);
    assert!(ids.is_sorted());
    assert!(list[0]["registration"]["created"].is_string());
}

#[test]
fn pages_link_to_the_next_with_all_arguments() {
    let registry = with_things(5);
    let mut path = "/things?limit=2&view=summary".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = registry.get(&path).expect(200);
        assert!(page.header("link").contains("</things>; rel=\"canonical\"; etag=\"5\""), "{path}");
        seen.extend(ids(&page.json()).into_iter().map(str::to_owned));
        let Some(link) = next(&page) else { break };
        assert!(link.contains("view=summary"), "{link}");
        path = link;
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted());
    assert_eq!(registry.get("/things?offset=99").expect(200).json(), json!([]));
}

#[test]
fn pages_follow_the_collection_when_it_changes() {
    let registry = with_things(6);
    registry.get("/things?limit=2").expect(200);
    registry.delete("/things/urn:example:001").expect(204);
    let page = || ids(&registry.get("/things?limit=2&offset=2").json()).join(" ");
    assert_eq!(page(), "urn:example:003 urn:example:004");
    // Served once by counting, once from where the page before it ended.
    registry.get("/things?limit=2").expect(200);
    assert_eq!(page(), "urn:example:003 urn:example:004");
}

#[test]
fn collection_has_total_and_members() {
    let registry = with_things(3);
    let page = registry.get("/things?format=collection&limit=2&offset=1").expect(200).json();
    assert_eq!(page["@context"], "https://www.w3.org/2022/wot/discovery");
    assert_eq!(page["@type"], "ThingCollection");
    assert_eq!(page["total"], 3);
    assert_eq!(page["@id"], "/things?offset=1&limit=2&format=collection");
    assert_eq!(ids(&page["members"]), ["urn:example:001", "urn:example:002"]);
    assert_eq!(page.get("next"), None);
    let page = registry.get("/things?format=collection&limit=2").expect(200).json();
    assert_eq!(page["next"], "/things?offset=2&limit=2&format=collection");
}

#[test]
fn summaries_are_short() {
    let registry = with_things(1);
    let list = registry.get("/things?view=summary").expect(200).json();
    let capability = json!({"id": "forecast", "name": "Weather forecast", "description": "Tells the weather"});
    let summary = json!({
        "id": "urn:example:000",
        "title": "Agent 0",
        "description": "An agent for tests",
        "capabilities": [capability],
    });
    assert_eq!(list, json!([summary]));
}

#[test]
fn filters_choose_what_is_listed() {
    let registry = with_things(3);
    let other = agent("urn:example:other", "Other").replace("forecast", "translation");
    registry.put("/things/urn:example:other", other).expect(201);
    let list = |query: &str| registry.get(&format!("/things?consistent=true&{query}")).expect(200);
    assert_eq!(ids(&list("capability=translation").json()), ["urn:example:other"]);
    assert_eq!(ids(&list("q=other").json()), ["urn:example:other"]);
    let page = list("capability=forecast&limit=2");
    assert_eq!(ids(&page.json()), ["urn:example:000", "urn:example:001"]);
    assert_eq!(page.header("agentdex-seq"), "4");
    let rest = registry.get(&next(&page).unwrap()).expect(200);
    assert_eq!(ids(&rest.json()), ["urn:example:002"]);
    assert_eq!(next(&rest), None);
}

#[test]
fn unchanged_collection_is_not_sent_again() {
    let registry = with_things(1);
    let tag = registry.get("/things").header("etag");
    let again = || registry.call("GET", "/things").header("if-none-match", &tag).send();
    again().expect(304);
    registry.put("/things/urn:example:new", agent("urn:example:new", "New")).expect(201);
    again().expect(200);
}

#[test]
fn collection_tag_changes_when_something_expires() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let tag = registry.get("/things").header("etag");
    registry.patch("/things/urn:example:a", r#"{"registration": {"ttl": 1}}"#).expect(204);
    eventually("the expiry", || registry.get("/things").json().as_array().unwrap().is_empty());
    assert_ne!(registry.get("/things").header("etag"), tag);
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let registry = with_things(3);
    for path in [
        "/things",
        "/things?limit=2",
        "/things/urn:example:001",
        "/things/urn:example:001/history",
        "/search?q=agent",
        "/changes",
        "/",
        "/health/live",
        "/health/ready",
        "/metrics",
    ] {
        let (get, head) = (registry.get(path).expect(200), registry.head(path).expect(200));
        assert!(head.body.is_empty(), "{path}");
        for name in ["content-type", "etag", "link", "agentdex-seq", "vary"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
    registry.head("/things/urn:example:none").expect(404);
}

#[test]
fn other_orders_are_listed_in_pages() {
    let registry = TestRegistry::start();
    for (id, title) in [("a", "Zebra"), ("b", "Ant"), ("c", "Mole"), ("d", "Ant")] {
        registry.registry().put(&agent(&format!("urn:example:{id}"), title)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    registry.registry().patch("urn:example:b", r#"{"description": "changed"}"#).unwrap();
    let list = |query: &str| {
        let page = registry.get(&format!("/things?limit=10&{query}")).expect(200).json();
        ids(&page).iter().map(|id| id.trim_start_matches("urn:example:")).collect::<String>()
    };
    assert_eq!(list("sort_by=title"), "bdca");
    assert_eq!(list("sort_by=title&sort_order=desc"), "acbd");
    assert_eq!(list("sort_order=desc"), "dcba");
    assert_eq!(list("sort_by=created&sort_order=desc"), "dcba");
    assert_eq!(list("sort_by=modified"), "acdb");
    assert_eq!(list("sort_by=title&capability=forecast&consistent=true"), "bdca");

    let first = registry.get("/things?sort_by=title&limit=2").expect(200);
    let link = next(&first).unwrap();
    assert!(link.contains("sort_by=title"), "{link}");
    assert_eq!(ids(&registry.get(&link).json()), ["urn:example:c", "urn:example:a"]);

    registry.get("/things?sort_by=title").problem(400, "invalid-parameter");
    registry.get("/things?sort_by=colour&limit=1").problem(400, "invalid-parameter");
    registry.get("/things?sort_by=title&limit=1&offset=10000").problem(400, "invalid-parameter");
}
