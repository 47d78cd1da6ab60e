//! `GET /things`: the list, whole and in pages.

use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, agent, eventually, next_millisecond, nth};

fn with_things(count: usize) -> TestRegistry {
    let registry = TestRegistry::start();
    for number in 0..count {
        let id = format!("urn:example:{number:03}");
        registry.registry().put(agent(&id, &format!("Agent {number}"))).unwrap();
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
    assert_eq!(list.header("agentdex-seq"), nth(60).to_string());
    assert_eq!(list.header("link"), format!("</things>; rel=\"canonical\"; etag=\"{}\"", nth(60)));
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
        let canonical = format!("</things>; rel=\"canonical\"; etag=\"{}\"", nth(5));
        assert!(page.header("link").contains(&canonical), "{path}");
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
fn next_links_stay_valid_when_things_come_and_go() {
    let registry = with_things(6);
    for query in ["limit=2", "limit=2&consistent=true&capability=forecast"] {
        let link = next(&registry.get(&format!("/things?{query}")).expect(200)).unwrap();
        registry.delete("/things/urn:example:001").expect(204);
        registry.delete("/things/urn:example:003").expect(204);
        registry.put("/things/urn:example:000b", agent("urn:example:000b", "New")).expect(201);
        let page = registry.get(&link).expect(200);
        assert_eq!(ids(&page.json()), ["urn:example:002", "urn:example:004"], "{query}");
        assert_eq!(ids(&registry.get(&next(&page).unwrap()).json()), ["urn:example:005"], "{query}");
        registry.delete("/things/urn:example:000b").expect(204);
        for id in ["urn:example:001", "urn:example:003"] {
            registry.put(&format!("/things/{id}"), agent(id, "Back")).expect(201);
        }
    }
}

#[test]
fn client_reads_all_pages_of_a_large_limit() {
    let registry = TestRegistry::start();
    let line = |number: usize| agent(&format!("urn:example:{number:05}"), "A").replace('\n', " ") + "\n";
    let lines: String = (0..1030).map(line).collect();
    registry.call("POST", "/things/batch").body("application/x-ndjson", lines).send().expect(200);
    let client = agentdex_client::RegistryClient::new(&registry.url("")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (limit, expected) in [("5", 5), ("1020", 1020), ("2000", 1030)] {
        let summaries = runtime.block_on(client.summaries(&[("limit", limit)])).unwrap();
        let ids: Vec<_> = summaries.iter().map(|summary| summary.id.as_str()).collect();
        assert_eq!((ids.len(), ids.is_sorted(), ids[4]), (expected, true, "urn:example:00004"), "{limit}");
    }
}

#[test]
fn tokens_that_no_link_has_are_refused() {
    let registry = with_things(3);
    let link = next(&registry.get("/things?limit=1").expect(200)).unwrap();
    let token = link.split("after=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    for other in ["", "urn:example:000", &token[1..], &format!("{token}A")] {
        let problem = registry.get(&format!("/things?after={other}")).problem(400, "invalid-parameter");
        assert_eq!(problem["parameter"], "after");
    }
    for query in ["offset=1", "sort_by=title&limit=1", "sort_order=desc&limit=1"] {
        registry.get(&format!("/things?after={token}&{query}")).problem(400, "invalid-parameter");
    }
    let of_other = with_things(3);
    of_other.get(&link).problem(400, "invalid-parameter");
    assert_eq!(ids(&registry.get(&format!("/things?after={token}")).json()), ["urn:example:001", "urn:example:002"]);
}

#[test]
fn things_are_skipped_up_to_a_limit() {
    let registry = with_things(1);
    assert_eq!(registry.get("/things?offset=10000").expect(200).json(), json!([]));
    let problem = registry.get("/things?offset=10001").problem(400, "limit-exceeded");
    assert!(problem["detail"].as_str().unwrap().contains("next"), "{problem}");
}

#[test]
fn filtered_lists_are_read_in_parts() {
    let registry = TestRegistry::start();
    // More than are read from the index at once, over segments that overlap.
    let lines = |odd: usize| -> String {
        let numbers = (0..4200).map(|number| 2 * number + odd);
        numbers.map(|number| agent(&format!("urn:example:{number:05}"), "A").replace('\n', " ") + "\n").collect()
    };
    for odd in [0, 1] {
        let call = registry.call("POST", "/things/batch").body("application/x-ndjson", lines(odd));
        call.send().expect(200);
        eventually("the index", || registry.registry().refresh().is_ok());
    }
    let all = registry.get("/things?capability=forecast&view=summary").expect(200).json();
    let expected: Vec<String> = (0..8400).map(|number| format!("urn:example:{number:05}")).collect();
    assert_eq!(ids(&all), expected);
    let page = registry.get("/things?capability=forecast&view=summary&limit=3&offset=8000").expect(200);
    assert_eq!(ids(&page.json()), expected[8000..8003]);
    let page = registry.get(&format!("{}&format=collection", next(&page).unwrap())).expect(200).json();
    assert_eq!(
        (&page["total"], ids(&page["members"])),
        (&json!(8400), vec!["urn:example:08003", "urn:example:08004", "urn:example:08005"])
    );
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
    let link = page["next"].as_str().unwrap();
    assert!(link.starts_with("/things?after=") && link.ends_with("&limit=2&format=collection"), "{link}");
    let page = registry.get(link).expect(200).json();
    assert_eq!((&page["@id"], ids(&page["members"])), (&json!(link), vec!["urn:example:002"]));
    assert_eq!(page.get("next"), None);
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
    assert_eq!(page.header("agentdex-seq"), nth(4).to_string());
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
        "/search?q=agent&consistent=true",
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
        registry.registry().put(agent(&format!("urn:example:{id}"), title)).unwrap();
        next_millisecond();
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
