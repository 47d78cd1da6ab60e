//! `/queries`, and event streams of queries.

use std::collections::BTreeSet;

use agentdex::{
    Registry,
    registry::{MatchKind, Options},
};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, Event, TestRegistry, agent, eventually, nth};

fn save(registry: &TestRegistry, name: &str, query: &Value) -> Answer {
    registry.call("PUT", &format!("/queries/{name}")).body("application/json", query.to_string()).send()
}

/// A text in a URL.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn put(registry: &TestRegistry, id: &str, title: &str) {
    registry.registry().put(agent(&format!("urn:example:{id}"), title)).unwrap();
}

/// What one Thing goes through: it matches, is changed, doesn't match, matches again, and is removed.
fn live(registry: &TestRegistry) {
    put(registry, "other", "Billing");
    put(registry, "a", "Harbour pilot");
    registry.registry().patch("urn:example:a", r#"{"title": "Harbour master"}"#).unwrap();
    registry.registry().patch("urn:example:a", r#"{"title": "Master"}"#).unwrap();
    registry.registry().patch("urn:example:a", r#"{"title": "Harbour"}"#).unwrap();
    registry.registry().remove("urn:example:a").unwrap();
}

const KINDS: [&str; 5] = ["thing_created", "thing_updated", "thing_unmatched", "thing_matched", "thing_deleted"];

#[test]
fn queries_are_saved_listed_replaced_and_removed() {
    let registry = TestRegistry::start();
    let query = json!({"q": "harbour", "mode": "lexical", "protocol": ["http"]});
    let saved = save(&registry, "harbour", &query).expect(201).json();
    assert_eq!((&saved["name"], &saved["query"]), (&json!("harbour"), &query));
    assert_eq!(save(&registry, "harbour", &query).expect(200).json()["saved"], saved["saved"]);
    save(&registry, "all", &json!({})).expect(201);
    assert_eq!(
        save(&registry, "all", &json!({"type": ["lmos:Agent"]})).expect(200).json()["query"]["type"][0],
        "lmos:Agent"
    );
    let listed = registry.get("/queries").expect(200).json();
    assert_eq!((&listed[0]["name"], &listed[1]), (&json!("all"), &saved));
    assert_eq!(registry.get("/queries/harbour").expect(200).json(), saved);
    registry.delete("/queries/harbour").expect(204);
    registry.delete("/queries/harbour").problem(404, "not-found");
    registry.get("/queries/harbour/events").problem(404, "not-found");
}

#[test]
fn query_that_must_be_new_replaces_none() {
    let registry = TestRegistry::start();
    let save_new = |query: Value| {
        let call = registry.call("PUT", "/queries/harbour").header("if-none-match", "*");
        call.body("application/json", query.to_string()).send()
    };
    save_new(json!({"q": "harbour"})).expect(201);
    let refused = save_new(json!({"q": "tides"})).problem(412, "precondition-failed");
    assert!(refused["detail"].as_str().unwrap().contains("\"harbour\""), "{refused}");
    assert_eq!(registry.get("/queries/harbour").json()["query"]["q"], "harbour");
    save(&registry, "harbour", &json!({"q": "tides"})).expect(200);
    registry.delete("/queries/harbour").expect(204);
    save_new(json!({"q": "harbour"})).expect(201);
}

#[test]
fn bad_queries_are_refused_with_what_is_wrong() {
    let registry = TestRegistry::start();
    for (name, query, code, detail) in [
        (
            "a",
            json!({"p": "x"}),
            "invalid-query",
            "unknown member `p`; known members are q, mode, threshold, capability",
        ),
        ("a", json!({"tag": "x"}), "invalid-query", "expected a sequence"),
        ("a", json!({"capability": ["billing@^1.x.y"]}), "invalid-query", "version range"),
        ("a", json!({"q": "x".repeat(5000)}), "limit-exceeded", "length of the query"),
        ("a%2Fb", json!({}), "invalid-query", "letters, digits"),
        ("..a", json!({}), "invalid-query", "must not start with a dot"),
        ("a", json!({"q": null}), "invalid-query", "invalid type: null"),
        ("a", json!({"tag": null}), "invalid-query", "invalid type: null"),
        (
            "a",
            json!({"q": "x", "mode": "lexical", "threshold": 0.5}),
            "invalid-query",
            "requires the mode `hybrid` or `semantic`",
        ),
        ("a", json!({"threshold": 0.5}), "invalid-query", "`threshold` requires `q`"),
        ("a", json!({"q": "x", "mode": "semantic", "threshold": 1.5}), "invalid-query", "between 0 and 1"),
        ("a", json!({"mode": "semantic"}), "invalid-query", "requires `q`"),
        ("a", json!({"q": "tag:beta", "mode": "semantic"}), "invalid-query", "no words to compare"),
    ] {
        let problem = save(&registry, name, &query).problem(400, code);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{query}: {problem}");
    }
    assert_eq!(registry.get("/queries").json(), json!([]));
}

#[test]
fn events_of_a_query_say_what_changes_mean_for_it() {
    let registry = TestRegistry::start();
    save(&registry, "harbour", &json!({"q": "harbour"})).expect(201);
    let mut saved = registry.events("/queries/harbour/events", None);
    let mut stream = registry.events("/events?q=%2Bharbour", None);
    let mut unmatched = registry.events("/events/thing_unmatched?q=harbour&type=lmos:Agent", None);
    live(&registry);
    for events in [saved.take(5), stream.take(5)] {
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, KINDS);
        assert!(events.iter().all(|event| event.json() == json!({"id": "urn:example:a"})), "{events:?}");
    }
    assert_eq!(unmatched.next().unwrap().id, format!("{}-{}", registry.registry().epoch(), nth(4)));
    registry.get("/events/thing_matched").problem(400, "invalid-parameter");
}

#[test]
fn what_matched_before_the_query_was_saved_is_known() {
    let registry = TestRegistry::start();
    put(&registry, "a", "Harbour");
    save(&registry, "harbour", &json!({"q": "harbour"})).expect(201);
    let mut events = registry.events("/queries/harbour/events", None);
    registry.registry().patch("urn:example:a", r#"{"title": "Station"}"#).unwrap();
    assert_eq!(events.next().unwrap().kind, "thing_unmatched");
}

#[test]
fn streams_of_queries_resume_where_they_broke() {
    let registry = TestRegistry::start();
    let path = "/events?q=harbour";
    let start = registry.events(path, None).last_id;
    live(&registry);
    let events = registry.events(path, Some(&start)).take(5);
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, KINDS);
    let rest = registry.events(path, Some(&events[2].id)).take(2);
    assert_eq!(rest, events[3..]);
    // Nobody asked this before: what it matched then can't be told.
    assert_eq!(registry.events("/events?q=pilot", Some(&start)).next().unwrap().kind, "resync");
}

#[test]
fn saved_queries_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::builder(directory.path()).open().unwrap();
    registry.put(agent("urn:example:a", "Harbour")).unwrap();
    let query = serde_json::from_value(json!({"q": "harbour"})).unwrap();
    assert!(registry.save_query("harbour", query).unwrap());
    registry.close();
    drop(registry);
    let registry = TestRegistry::start_in(directory, Options::default(), http::Options::default());
    assert_eq!(registry.registry().saved_queries().len(), 1);
    let events = || registry.registry().query_events("harbour").unwrap();
    eventually("what it matches is known", || events().is_known_after(registry.registry().last_seq()));
    let mut stream = registry.events("/queries/harbour/events", None);
    registry.registry().remove("urn:example:a").unwrap();
    assert_eq!(stream.next().unwrap().kind, "thing_deleted");
}

/// Agents without a common word: two that are about places to sleep, and one that isn't.
const LODGINGS: [(&str, &str, &str, &str); 3] = [
    ("hotel", "Hotel booking", "Reserves rooms in hotels in all cities.", "travel"),
    ("hostel", "Hostels", "Cheap rooms for tourists and backpackers.", "travel"),
    ("invoice", "Invoices", "Writes and sends invoices to customers.", "finance"),
];

fn put_described(registry: &Registry, (id, title, description, tag): (&str, &str, &str, &str)) {
    let thing = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "id": format!("urn:example:{id}"), "title": title, "description": description, "tags": [tag],
        "security": "nosec_sc", "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}},
    });
    registry.put(thing.to_string()).unwrap();
}

#[test]
fn queries_by_meaning_match_what_is_alike_enough() {
    let registry = TestRegistry::start();
    for described in LODGINGS {
        put_described(registry.registry(), described);
    }
    let query = json!({"q": "accommodation for tourists -tag:beta", "mode": "semantic", "threshold": 0.4});
    let saved = save(&registry, "lodging", &query).expect(201).json();
    assert_eq!(saved["query"], query);
    let mut events = registry.events("/queries/lodging/events", None);
    // What matched before is known, and what changes is compared alike: nothing begins or ceases to match.
    for (id, title, description, tag) in LODGINGS {
        put_described(registry.registry(), (id, title, description, &format!("{tag}ling")));
    }
    put_described(registry.registry(), ("inn", "Inn", "A guest house with rooms for travellers.", "travel"));
    put_described(registry.registry(), ("beta", "Inn", "A guest house with rooms for travellers.", "beta"));
    put_described(registry.registry(), ("hotel", "Ledger", "Adds up what customers owe.", "finance"));
    put_described(registry.registry(), ("invoice", "Hotel", "Rooms for tourists.", "finance"));
    registry.registry().remove("urn:example:inn").unwrap();
    let events: Vec<(String, String)> =
        events.take(6).iter().map(|event| (event.kind.clone(), event.json()["id"].as_str().unwrap().into())).collect();
    let expected = [
        ("thing_updated", "hotel"),
        ("thing_updated", "hostel"),
        ("thing_created", "inn"),
        ("thing_unmatched", "hotel"),
        ("thing_matched", "invoice"),
        ("thing_deleted", "inn"),
    ];
    assert_eq!(events, expected.map(|(kind, id)| (kind.to_owned(), format!("urn:example:{id}"))));
}

/// Requests of all kinds: by words, by meaning, in quotes, restricted, in no word that anything has.
const REQUESTS: [&str; 10] = [
    "rooms",
    "accommodation for tourists",
    "vacation",
    "invoice",
    "money that customers owe",
    "+hotels rooms",
    "\"rooms in hotels\"",
    "rooms -backpackers",
    "tag:travel cheap",
    "zaptrix",
];

#[test]
fn a_change_is_announced_to_the_queries_whose_search_finds_the_thing() {
    let registry = TestRegistry::start();
    for described in LODGINGS {
        put_described(registry.registry(), described);
    }
    put_described(registry.registry(), ("rain", "Weather", "Tells rain and wind.", "sky"));
    put_described(registry.registry(), ("bank", "Bank", "Pays bills and moves money.", "finance"));
    let mut expected = BTreeSet::new();
    for mode in ["lexical", "semantic", "hybrid"] {
        for (number, request) in REQUESTS.iter().enumerate() {
            let name = format!("{mode}-{number}");
            let saved = save(&registry, &name, &json!({"q": request, "mode": mode}));
            if saved.status == 400 {
                assert_eq!(mode, "semantic", "{request}");
                continue;
            }
            let saved = saved.json();
            assert_eq!(save(&registry, &name, &json!({"q": request, "mode": mode})).expect(200).json(), saved);
            let query = encoded(request);
            let found = registry.get(&format!("/search?q={query}&mode={mode}&consistent=true")).expect(200).json();
            let ids = |found: &Value| -> BTreeSet<String> {
                found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
            };
            if let Some(threshold) = saved["query"]["threshold"].as_f64() {
                let same =
                    registry.get(&format!("/search?q={query}&mode={mode}&threshold={threshold}")).expect(200).json();
                assert_eq!(ids(&same), ids(&found), "{name} {request}");
            }
            expected.extend(ids(&found).into_iter().map(|id| (name.clone(), id)));
        }
    }
    let before = registry.registry().last_seq();
    let ids = LODGINGS.iter().map(|(id, ..)| *id).chain(["rain", "bank"]);
    for id in ids {
        registry.registry().patch(format!("urn:example:{id}").as_str(), r#"{"version": {"instance": "9"}}"#).unwrap();
    }
    let mut announced = BTreeSet::new();
    for change in registry.registry().changes(before, 100).unwrap().changes {
        for event in registry.registry().saved_query_events(&change).unwrap() {
            assert_eq!(event.kind, MatchKind::Updated, "{} matched before", event.name);
            announced.insert((event.name, change.id.to_string()));
        }
    }
    assert_eq!(announced, expected);
    let of = |mode: &str| announced.iter().filter(|(name, _)| name.starts_with(mode)).count();
    assert!(of("hybrid") > of("lexical"), "meaning counts");
}

/// `agentdex watch` and event streams, which need no saved query.
#[test]
fn a_stream_of_a_query_has_what_its_search_finds() {
    let registry = TestRegistry::start();
    for described in LODGINGS {
        put_described(registry.registry(), described);
    }
    let query = encoded("accommodation for tourists");
    let mut by_both = registry.events(&format!("/events?q={query}"), None);
    let mut by_words = registry.events(&format!("/events?q={query}&mode=lexical"), None);
    for id in ["invoice", "hotel", "hostel"] {
        registry.registry().patch(format!("urn:example:{id}").as_str(), r#"{"version": {"instance": "9"}}"#).unwrap();
    }
    let ids = |events: Vec<Event>| -> Vec<String> {
        events.iter().map(|event| event.json()["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(by_both.take(2)), ["urn:example:hotel", "urn:example:hostel"]);
    assert_eq!(ids(by_words.take(1)), ["urn:example:hostel"], "it has the word");
    registry.get("/events?q=x&threshold=2").problem(400, "invalid-parameter");
    registry.get("/search?q=x&threshold=-1").problem(400, "invalid-parameter");
}

#[test]
fn without_vectors_no_query_counts_by_meaning() {
    let directory = tempfile::tempdir().unwrap();
    let query: agentdex::registry::QueryParameters =
        serde_json::from_value(json!({"q": "lodging", "mode": "semantic"})).unwrap();
    let without = Options::default().model(None);
    let registry = Registry::builder(directory.path()).open().unwrap();
    assert!(registry.save_query("lodging", query.clone()).unwrap());
    registry.close();
    drop(registry);
    let registry = Registry::builder(directory.path()).options(without).open().unwrap();
    assert_eq!(registry.saved_queries(), [], "it can't be compared");
    assert!(registry.save_query("lodging", query).unwrap_err().to_string().contains("no vectors"));
    registry.close();
    drop(registry);
    let registry = Registry::builder(directory.path()).open().unwrap();
    assert_eq!(registry.saved_queries().len(), 1, "it stays stored");
}

#[test]
fn streams_of_a_range_of_versions_have_what_is_in_it() {
    let registry = TestRegistry::start();
    let mut events = registry.events("/events?capability=forecast@%5E1.2", None);
    for (id, version) in [("old", "1.1.0"), ("new", "2.0.0"), ("right", "1.4.0")] {
        let text = agent(&format!("urn:example:{id}"), id);
        let versioned =
            text.replace(r#""id": "forecast""#, &format!(r#""id": "forecast", "lmos:version": "{version}""#));
        assert_ne!(text, versioned);
        registry.registry().put(&versioned).unwrap();
    }
    let event = events.next().unwrap();
    assert_eq!((event.kind.as_str(), event.json()), ("thing_created", json!({"id": "urn:example:right"})));
}
