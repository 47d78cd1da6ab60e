//! Thresholds of queries tell nothing of agents that those who get them don't see.

use agentdex::{
    Registry,
    registry::QueryParameters,
    search::Mode,
    store::{self, Store},
};
use serde_json::{Value, json};

use super::server::{
    Server,
    Who::{self, Admin, Alice, Bob, Carol, Nobody},
    agent, read_up_to,
};
use crate::support::eventually;

const HIDDEN: &str = "urn:hid:merger";
/// The least threshold: that of a query whose search finds nothing near.
const LOW: f64 = 0.3;

fn put(server: &Server, who: Who, id: &str, text: &str, parameters: &str) {
    let mut td = agent(id, text, "merger-desk");
    (td["title"], td["tags"]) = (json!(text), json!(["board"]));
    let answer = server.put(who, id, &td, parameters);
    assert!(answer.status < 300, "{}", answer.text());
}

/// Saves a query and returns it, without the time.
fn save(server: &Server, who: Who, path: &str, query: &Value) -> Value {
    let answer = server.json(who, "PUT", path, query);
    assert!(answer.status < 300, "{who} {path}: {}", answer.text());
    let mut saved = answer.json();
    saved.as_object_mut().unwrap().remove("saved");
    saved
}

fn threshold(saved: &Value) -> f64 {
    saved["query"]["threshold"].as_f64().unwrap_or_else(|| panic!("{saved} has no threshold"))
}

/// Fifty queries: by words, by meaning, and by filters that only the hidden agent passes.
fn queries() -> Vec<Value> {
    let texts = [
        "merger",
        "Acme",
        "merger with Acme",
        "weather",
        "city",
        "prepares",
        "acquisition",
        "board",
        "desk",
        "purchase",
    ];
    let filters =
        [json!({}), json!({"tag": ["board"]}), json!({"tag": ["bored"]}), json!({"capability": ["merger-desk"]})];
    let of_text = |text: &&str| {
        let mut queries: Vec<Value> = Vec::new();
        for filter in &filters {
            let mut query = json!({"q": text, "mode": "semantic"});
            query.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
            queries.push(query);
        }
        queries.push(json!({ "q": text }));
        queries
    };
    texts.iter().flat_map(of_text).collect()
}

#[test]
fn saving_a_query_is_answered_alike_with_and_without_a_hidden_agent() {
    let server = Server::start();
    put(&server, Admin, "urn:open", "Reports on companies", "");
    put(&server, Alice, HIDDEN, "prepares the merger with Acme", "?visibility=private");
    let save_all = |round: &str| {
        let save_one = |(number, query): (usize, Value)| {
            let visibility = ["private", "public"][number % 2];
            let saved = save(&server, Bob, &format!("/queries/{round}{number}?visibility={visibility}"), &query);
            saved.to_string().replace(round, "")
        };
        queries().into_iter().enumerate().map(save_one).collect::<Vec<_>>()
    };
    let with = save_all("one-");
    // Its owner's own are told of it.
    let own = save(&server, Alice, "/queries/own", &json!({"q": "merger", "mode": "semantic"}));
    assert!(threshold(&own) > LOW, "{own}");
    server.remove(Alice, HIDDEN).expect(204);
    assert_eq!(with.len(), 50);
    assert_eq!(with, save_all("two-"));
}

#[test]
fn threshold_is_computed_from_what_all_see_who_see_the_query() {
    let server = Server::start();
    server.set_members(Alice, "crew", &[Bob]).expect(201);
    put(&server, Alice, HIDDEN, "prepares the merger with Acme", "?visibility=private");
    let query = json!({"q": "merger", "mode": "semantic"});
    let read = |who: Who| server.get(who, "/queries/near?owner=alice").expect(200).json();
    assert!(threshold(&save(&server, Alice, "/queries/near", &query)) > LOW);
    // Bob doesn't see the agent, and is told nothing of it when he sees the query.
    save(&server, Alice, "/queries/near?visibility=namespace&namespace=crew", &query);
    assert!((threshold(&read(Bob)) - LOW).abs() < 1e-6, "{}", read(Bob));
    // What the namespace sees counts for it, and not for everybody.
    put(&server, Alice, "urn:hid:crew", "prepares the merger with Acme", "?visibility=namespace&namespace=crew");
    let shared = save(&server, Alice, "/queries/shared?visibility=namespace&namespace=crew", &query);
    assert!(threshold(&shared) > LOW, "{shared}");
    let public = save(&server, Alice, "/queries/shared?visibility=public", &query);
    assert!((threshold(&public) - LOW).abs() < 1e-6, "{public}");
    // One that is shown to fewer keeps its threshold, as does one that was given.
    assert_eq!(threshold(&save(&server, Alice, "/queries/shared?visibility=private", &query)), threshold(&public));
    let given = json!({"q": "merger", "mode": "semantic", "threshold": 0.5});
    save(&server, Alice, "/queries/given", &given);
    assert_eq!(threshold(&save(&server, Alice, "/queries/given?visibility=public", &given)), 0.5);
    // An admin tells an owner no more than that sees, and everybody what everybody sees.
    let for_carol = save(&server, Admin, "/queries/near?owner=carol", &query);
    let common = save(&server, Admin, "/queries/common?owner=", &query);
    for (who, saved) in [(Carol, &for_carol), (Nobody, &common)] {
        assert!((threshold(saved) - LOW).abs() < 1e-6, "{who}: {saved}");
    }
}

#[test]
fn query_keeps_its_streams_where_its_threshold_stays() {
    let server = Server::start();
    let query = json!({"q": "merger", "mode": "semantic"});
    save(&server, Alice, "/queries/near", &query);
    let mut stream = server.events(Alice, "/queries/near/events", None);
    // Everybody sees as little as Alice does.
    save(&server, Alice, "/queries/near?visibility=public", &query);
    put(&server, Bob, "urn:open", "merger", "");
    assert!(stream.next().unwrap().data.contains("urn:open"));
}

#[test]
fn hidden_texts_decide_on_no_event_of_a_stream() {
    const TEXTS: [&str; 10] = [
        "Reports on companies that join",
        "Buys and sells companies",
        "Merges files of accounts",
        "Partners of firms",
        "An agreement between two corporations",
        "Takes over businesses",
        "Stock market news",
        "Corporate law",
        "Joins tables",
        "Union of states",
    ];
    let server = Server::start();
    put(&server, Alice, HIDDEN, "merger", "?visibility=private");
    let own = threshold(&save(&server, Alice, "/queries/own", &json!({"q": "merger", "mode": "semantic"})));
    let paths = ["/events?q=merger&mode=semantic", "/events?q=merger"];
    let mut streams: Vec<_> = [Nobody, Bob]
        .into_iter()
        .flat_map(|who| paths.map(|path| (who, path, server.events(who, path, None))))
        .collect();
    for (number, text) in TEXTS.into_iter().enumerate() {
        let id = format!("urn:news:{number}");
        server.put(Admin, &id, &agent(&id, text, "news"), "").expect(201);
    }
    let found = server.get(Nobody, "/search?q=merger&mode=semantic&threshold=0.3&limit=100&consistent=true");
    let found = found.expect(200).json();
    let hits = found["hits"].as_array().unwrap();
    let near = |hit: &&Value| hit["cosine"].as_f64().is_some_and(|cosine| cosine < own - 0.01);
    let between: Vec<&str> = hits.iter().filter(near).map(|hit| hit["id"].as_str().unwrap()).collect();
    assert!(!between.is_empty(), "no text is as near as one that the hidden text outdoes ({own}): {found}");
    put(&server, Admin, "urn:zz:last", "merger", "");
    for (who, path, stream) in &mut streams {
        let events = format!("{:?}", read_up_to(stream, "urn:zz:last"));
        for id in &between {
            assert!(events.contains(*id), "{who} {path}: no {id} in {events}");
        }
    }
}

#[test]
fn threshold_that_an_older_version_stored_is_computed_again() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    registry.put(agent("urn:open", "Reports on companies", "desk")).unwrap();
    let query = |threshold: Option<f32>| QueryParameters {
        q: Some("merger".to_owned()),
        mode: Some(Mode::Semantic),
        threshold,
        ..QueryParameters::default()
    };
    let threshold_of =
        |registry: &Registry, name: &str| registry.saved_query(name).and_then(|saved| saved.query.threshold);
    registry.save_query("near", query(None)).unwrap();
    registry.save_query("given", query(Some(0.5))).unwrap();
    let computed = threshold_of(&registry, "near");
    assert!(computed.is_some());
    registry.close();
    drop(registry);
    // It was computed from an agent that is hidden from those who see the query.
    let store = Store::open(directory.path(), store::Options::default()).unwrap();
    let stored = store.local().queries().unwrap().into_iter().find(|stored| stored.name == "near").unwrap();
    let mut old: Value = serde_json::from_slice(&stored.query).unwrap();
    old["query"]["threshold"] = json!(0.75);
    old.as_object_mut().unwrap().remove("view");
    store.local().put_query(None, "near", old.to_string().into_bytes()).unwrap();
    store.close();
    drop(store);
    for _ in 0..2 {
        let registry = Registry::open(directory.path()).unwrap();
        eventually("the threshold is computed again", || threshold_of(&registry, "near") == computed);
        assert_eq!(threshold_of(&registry, "given"), Some(0.5));
        registry.close();
    }
}
