//! `GET /changes`: the log by position.

use std::time::{Duration, Instant};

use agentdex::{
    access::{AccessRequest, Rules, Visibility},
    registry,
};
use agentdex_server::http;
use serde_json::json;

use crate::support::{TestRegistry, agent, eventually, nth};

fn put(registry: &TestRegistry, number: usize) {
    let id = format!("urn:example:{number}");
    registry.registry().put(agent(&id, "Agent")).unwrap();
}

fn wait_for_long_polls(registry: &TestRegistry, count: usize) {
    let line = format!("agentdex_long_polls {count}");
    eventually(&line, || registry.get("/metrics").text().lines().any(|other| other == line));
}

#[test]
fn changes_come_in_pages() {
    let registry = TestRegistry::start();
    (1..=5).for_each(|number| put(&registry, number));
    let first = registry.get("/changes?limit=2").expect(200);
    assert_eq!(first.header("agentdex-seq"), nth(5).to_string());
    assert_eq!(first.header("link"), format!("</changes?since={}&limit=2>; rel=\"next\"", position(&registry, 2)));
    let page = first.json();
    assert_eq!((&page["last"], &page["oldest"], &page["truncated"]), (&json!(nth(5)), &json!(nth(1)), &json!(false)));
    assert_eq!(page["epoch"], registry.registry().epoch().to_string());
    assert_eq!(page["changes"][1]["seq"], json!(nth(2)));
    assert_eq!(page["changes"][1]["kind"], "thing_created");
    assert_eq!(page["changes"][1]["td"]["id"], "urn:example:2");
    let rest = registry.get(&format!("/changes?since={}", nth(2))).json();
    assert_eq!(rest["changes"].as_array().unwrap().len(), 3);
    assert_eq!(registry.get(&format!("/changes?since={}", nth(5))).json()["changes"], json!([]));
}

/// The position of a change, as readers give it.
fn position(registry: &TestRegistry, number: u64) -> String {
    format!("{}-{}", registry.registry().epoch(), nth(number))
}

#[test]
fn a_position_that_names_no_log_is_answered_with_a_warning() {
    let registry = TestRegistry::start();
    (1..=3).for_each(|number| put(&registry, number));
    registry.registry().patch("urn:example:3", r#"{"title": "New"}"#).unwrap();
    for (path, number) in [("/changes", 3), ("/things/urn:example:3/history", 3)] {
        let warned = registry.get(&format!("{path}?since={}", nth(number))).expect(200);
        assert_eq!(warned.header("agentdex-warnings"), "1", "{path}");
        let position = position(&registry, number);
        assert!(warned.header("warning").contains(&format!("since={position}")), "{}", warned.header("warning"));
        let exact = registry.get(&format!("{path}?since={position}")).expect(200);
        assert_eq!(exact.text(), warned.text());
        assert_eq!(exact.json()["changes"].as_array().unwrap().len(), 1, "{path}");
        // Nobody is warned of the beginning.
        for answer in [exact, registry.get(path), registry.get(&format!("{path}?since=0"))] {
            assert_eq!((answer.header("agentdex-warnings"), answer.header("warning")), Default::default());
        }
        registry.get(&format!("{path}?since=x-1")).problem(400, "invalid-parameter");
    }
    for path in ["/things", "/changes"] {
        assert_eq!(registry.get(path).header("agentdex-position"), position(&registry, 4), "{path}");
    }
    // Of an agent, what a position of another log stands for isn't known: all is there.
    let history = registry.get(&format!("/things/urn:example:3/history?since=00000000000000ab-{}", nth(3))).json();
    assert_eq!(history["changes"].as_array().unwrap().len(), 2);
    let first = registry.get("/things/urn:example:3/history?limit=1");
    assert!(first.header("link").contains(&format!("?since={}&", position(&registry, 3))), "{}", first.header("link"));
}

#[test]
fn what_is_hidden_ends_no_page_before_the_first_change_that_is_not() {
    let rules = Rules { authentication: true, public_read: true, ..Rules::default() };
    let options = http::Options { access: rules, ..http::Options::default() };
    let registry = TestRegistry::start_with(registry::Options::default(), options);
    // More than an answer may weigh.
    for number in 0..10 {
        let access = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
        let thing = agent(&format!("urn:example:hidden:{number}"), "Agent");
        let thing = thing.replace("An agent for tests", &"x".repeat(900_000));
        registry.registry().write_blocking(registry::Write::put(thing).with_access(access)).unwrap();
    }
    put(&registry, 1);
    let page = registry.get("/changes?since=0");
    assert_eq!(page.json()["changes"][0]["id"], "urn:example:1", "{}", page.text());
}

#[test]
fn deletion_says_why_everywhere() {
    let registry = TestRegistry::start();
    put(&registry, 1);
    registry.registry().remove("urn:example:1").unwrap();
    assert_eq!(registry.get(&format!("/changes?since={}", nth(1))).json()["changes"][0]["reason"], "removed");
    assert_eq!(registry.get("/things/urn:example:1/history").json()["changes"][1]["reason"], "removed");
    let start = format!("{}-{}", registry.registry().epoch(), nth(1));
    let event = registry.events("/events", Some(&start)).take(1).remove(0);
    assert_eq!((event.kind.as_str(), event.json()), ("thing_deleted", json!({"id": "urn:example:1"})));
}

#[test]
fn list_and_the_changes_after_it_converge() {
    let registry = TestRegistry::start();
    put(&registry, 1);
    let seq = registry.get("/things").header("agentdex-seq");
    put(&registry, 2);
    let changes = registry.get(&format!("/changes?since={seq}")).json();
    assert_eq!(changes["changes"][0]["id"], "urn:example:2");
}

#[test]
fn positions_that_cannot_be_served_are_truncated() {
    let registry = TestRegistry::start();
    put(&registry, 1);
    for since in ["99", "00000000000000ab-0"] {
        let page = registry.get(&format!("/changes?since={since}")).expect(200).json();
        assert_eq!(page["truncated"], true, "{since}");
        assert_eq!(page["changes"], json!([]), "{since}");
    }
    let own = format!("/changes?since={}-0", registry.registry().epoch());
    assert_eq!(registry.get(&own).json()["changes"][0]["seq"], json!(nth(1)));
    registry.get("/changes?since=x").problem(400, "invalid-parameter");
}

#[test]
fn long_poll_ends_with_the_next_change() {
    let registry = TestRegistry::start();
    let poll = registry.call("GET", "/changes?since=0&wait=60");
    let began = Instant::now();
    let response = std::thread::spawn(move || poll.send());
    wait_for_long_polls(&registry, 1);
    put(&registry, 1);
    assert_eq!(response.join().unwrap().expect(200).json()["changes"][0]["seq"], json!(nth(1)));
    assert!(began.elapsed() < Duration::from_secs(55), "the poll waited to its end");
    wait_for_long_polls(&registry, 0);
}

#[test]
fn long_poll_ends_when_the_server_stops() {
    let options = http::Options::default();
    let stop = options.stop.clone();
    let registry = TestRegistry::start_with(Default::default(), options);
    let poll = registry.call("GET", "/changes?since=0&wait=60");
    let began = Instant::now();
    let response = std::thread::spawn(move || poll.send());
    wait_for_long_polls(&registry, 1);
    stop.stop();
    assert_eq!(response.join().unwrap().expect(200).json()["changes"], json!([]));
    assert!(began.elapsed() < Duration::from_secs(55), "the poll waited to its end");
}
