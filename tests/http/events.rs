//! `/events`: Server-Sent Events, live and replayed.

use std::time::Duration;

use agentdex::{Registry, Seq, Timestamp, store};
use agentdex_server::http;
use serde_json::json;

use crate::support::{TestRegistry, agent, nth, number_of};

fn put(registry: &TestRegistry, id: &str, title: &str) {
    registry.registry().put(agent(id, title)).unwrap();
}

#[test]
fn events_come_as_things_change() {
    let registry = TestRegistry::start();
    let mut events = registry.events("/events", None);
    put(&registry, "urn:example:a", "A");
    registry.registry().patch("urn:example:a", r#"{"title": "B"}"#).unwrap();
    registry.registry().remove("urn:example:a").unwrap();
    let events = events.take(3);
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["thing_created", "thing_updated", "thing_deleted"]);
    let epoch = registry.registry().epoch();
    for (event, number) in events.iter().zip(1..) {
        assert_eq!(event.id, format!("{epoch}-{}", nth(number)));
        assert_eq!(event.json(), json!({"id": "urn:example:a"}));
    }
}

#[test]
fn diff_tells_what_changed() {
    let registry = TestRegistry::start();
    let mut events = registry.events("/events?diff=true", None);
    put(&registry, "urn:example:a", "A");
    registry.registry().patch("urn:example:a", r#"{"title": "B"}"#).unwrap();
    registry.registry().remove("urn:example:a").unwrap();
    let events = events.take(3);
    assert_eq!(events[0].json()["title"], "A");
    assert_eq!(events[0].json()["id"], "urn:example:a");
    assert_eq!(events[1].json(), json!({"id": "urn:example:a", "title": "B"}));
    assert_eq!(events[2].json(), json!({"id": "urn:example:a"}));
}

#[test]
fn type_filters_events() {
    let registry = TestRegistry::start();
    let mut deleted = registry.events("/events/thing_deleted", None);
    put(&registry, "urn:example:a", "A");
    put(&registry, "urn:example:b", "B");
    registry.registry().remove("urn:example:b").unwrap();
    let event = deleted.next().unwrap();
    assert_eq!((event.kind.as_str(), event.json()), ("thing_deleted", json!({"id": "urn:example:b"})));
    registry.get("/events/thing_eaten").problem(404, "unknown-path");
}

#[test]
fn capability_filters_events_also_where_it_was_lost() {
    let registry = TestRegistry::start();
    let mut events = registry.events("/events?capability=forecast&capability=greet", None);
    let with = |id: &str, capability: &str| {
        let id_of_capability = format!(r#""id": "{capability}""#);
        registry.registry().put(agent(id, "A").replace(r#""id": "forecast""#, &id_of_capability)).unwrap();
    };
    with("urn:example:a", "forecast");
    with("urn:example:b", "translate");
    with("urn:example:a", "translate");
    registry.registry().remove("urn:example:a").unwrap();
    with("urn:example:c", "greet");
    let events = events.take(3);
    let received: Vec<_> = events.iter().map(|event| (event.kind.as_str(), event.json()["id"].clone())).collect();
    let expected = [("thing_created", "a"), ("thing_updated", "a"), ("thing_created", "c")];
    assert_eq!(received, expected.map(|(kind, name)| (kind, json!(format!("urn:example:{name}")))));
}

#[test]
fn client_that_reconnects_gets_what_it_missed() {
    let registry = TestRegistry::start();
    let mut events = registry.events("/events", None);
    put(&registry, "urn:example:0", "A");
    let last = events.next().unwrap().id;
    drop(events);
    (1..200).for_each(|number| put(&registry, &format!("urn:example:{number}"), "A"));
    let mut again = registry.events("/events", Some(&last));
    for (event, number) in again.take(199).into_iter().zip(1..) {
        assert_eq!(event.json()["id"], format!("urn:example:{number}"));
    }
    put(&registry, "urn:example:live", "A");
    assert_eq!(again.next().unwrap().json()["id"], "urn:example:live");
}

#[test]
fn position_moves_along_while_much_is_read_of_which_nothing_is_selected() {
    let options = http::Options { heartbeat: Duration::from_nanos(1), ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    (0..300).for_each(|number| put(&registry, &format!("urn:example:{number}"), "A"));
    let epoch = registry.registry().epoch();
    let mut events = registry.events("/events?capability=none", Some(&format!("{epoch}-0")));
    for read in [64, 128, 192, 256, 300] {
        events.wait_for_text(&format!(": alive\nid: {epoch}-{}\n\n", nth(read)));
    }
}

#[test]
fn position_is_known_before_the_first_event() {
    let registry = TestRegistry::start();
    put(&registry, "urn:example:a", "A");
    let events = registry.events("/events", None);
    let position = format!("{}-{}", registry.registry().epoch(), nth(1));
    assert_eq!(events.last_id, position);
    drop(events);
    put(&registry, "urn:example:b", "B");
    assert_eq!(registry.events("/events", Some(&position)).next().unwrap().json()["id"], "urn:example:b");
}

#[test]
fn ids_that_cannot_be_served_resync_once_then_go_on_live() {
    let registry = TestRegistry::start();
    put(&registry, "urn:example:a", "A");
    let epoch = registry.registry().epoch();
    for id in ["nonsense".to_owned(), "00000000000000ab-1".to_owned(), format!("{epoch}-99")] {
        let mut events = registry.events("/events", Some(&id));
        let last = registry.registry().last_seq();
        let resync = events.next().unwrap();
        assert_eq!(resync.kind, "resync", "{id}");
        assert_eq!(resync.id, format!("{epoch}-{last}"));
        assert_eq!(resync.json()["oldest"], format!("{epoch}-0"));
        put(&registry, &format!("urn:example:{last}"), "B");
        assert_eq!(events.next().unwrap().kind, "thing_created", "{id}");
    }
}

#[test]
fn client_behind_the_log_can_resume_from_the_oldest_change() {
    let directory = tempfile::tempdir().unwrap();
    {
        let registry = Registry::builder(directory.path()).open().unwrap();
        (0..50).for_each(|number| drop(registry.put(agent(&format!("urn:example:{number}"), "A")).unwrap()));
        registry.close();
    }
    {
        let options = store::Options::default().retained_changes(5);
        let store = store::Store::open(directory.path(), options).unwrap();
        store.trim_log(Timestamp::now()).unwrap();
        store.close();
    }
    let registry = TestRegistry::start_in(directory, Default::default(), http::Options::default());
    let epoch = registry.registry().epoch();
    let mut events = registry.events("/events", Some(&format!("{epoch}-1")));
    let resync = events.next().unwrap();
    assert_eq!(resync.kind, "resync");
    let oldest = registry.registry().changes(Seq::ZERO, 1).unwrap().oldest;
    assert!(oldest > nth(2), "nothing was trimmed");
    put(&registry, "urn:example:live", "A");
    assert_eq!(events.next().unwrap().json()["id"], "urn:example:live");
    // The id in the event skips none of the changes that are left, and asks for no other resync.
    let mut resumed = registry.events("/events", resync.json()["oldest"].as_str());
    for number in number_of(oldest)..=50 {
        assert_eq!(resumed.next().unwrap().id, format!("{epoch}-{}", nth(number)));
    }
    assert_eq!(resumed.next().unwrap().json()["id"], "urn:example:live");
}

#[test]
fn silence_is_broken_by_comments() {
    let options = http::Options { heartbeat: Duration::from_millis(20), ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    let mut events = registry.events("/events/thing_deleted", None);
    put(&registry, "urn:example:a", "A");
    // The position moves along although the event itself is not selected.
    events.wait_for_text(&format!(": alive\nid: {}-{}\n\n", registry.registry().epoch(), nth(1)));
}

#[test]
fn stream_ends_when_the_server_stops() {
    let mut registry = TestRegistry::start();
    let mut events = registry.events("/events", None);
    put(&registry, "urn:example:a", "A");
    registry.stop();
    assert_eq!(events.next().unwrap().kind, "thing_created");
    assert_eq!(events.next(), None);
}

#[test]
fn many_readers_at_different_positions_get_everything_in_order() {
    let registry = TestRegistry::start();
    let epoch = registry.registry().epoch();
    (1..=150).for_each(|number| put(&registry, &format!("urn:example:{number}"), "A"));
    let open = |number| (number, registry.events("/events?diff=true", Some(&format!("{epoch}-{}", nth(number)))));
    let mut readers = [150, 0, 75, 149, 150].map(open);
    (151..=300).for_each(|number| put(&registry, &format!("urn:example:{number}"), "A"));
    for (read, reader) in &mut readers {
        for number in *read + 1..=300 {
            let event = reader.next().unwrap();
            assert_eq!(event.id, format!("{epoch}-{}", nth(number)));
            assert_eq!(event.json()["id"], format!("urn:example:{number}"));
        }
    }
}

#[test]
fn head_of_an_event_stream_has_no_body() {
    let registry = TestRegistry::start();
    let head = registry.head("/events").expect(200);
    assert_eq!(head.header("content-type"), "text/event-stream");
    assert!(head.body.is_empty());
}

#[test]
fn nothing_comes_before_the_first_event_compressed_or_not() {
    use std::io::{Read, Write};
    let registry = TestRegistry::start();
    let mut socket = std::net::TcpStream::connect(registry.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, br\r\n\r\n").unwrap();
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    let mut wait_for = |received: &mut Vec<u8>, wanted: &[u8]| {
        while !received.windows(wanted.len()).any(|window| window == wanted) {
            let read = socket.read(&mut buffer).unwrap();
            assert_ne!(read, 0, "the stream ended");
            received.extend_from_slice(&buffer[..read]);
        }
    };
    wait_for(&mut received, b"\r\n\r\n");
    let start = format!("last-event-id: {}-0\r\n", registry.registry().epoch());
    wait_for(&mut received, start.as_bytes());
    put(&registry, "urn:example:a", "A");
    wait_for(&mut received, b"thing_created");
    let received = String::from_utf8(received).unwrap();
    let (_, body) = received.split_once("\r\n\r\n").unwrap();
    let (_, chunk) = body.split_once("\r\n").unwrap();
    let epoch = registry.registry().epoch();
    let begin = format!("retry: 2000\nid: {epoch}-{}\nevent: thing_created\ndata: ", nth(1));
    assert!(chunk.starts_with(&begin), "{chunk}");
}

#[test]
fn events_have_no_name_for_those_who_ask_for_that() {
    let registry = TestRegistry::start();
    let mut events = registry.events("/events/thing_created?unnamed=true&diff=true", None);
    put(&registry, "urn:example:a", "A");
    let event = events.next().unwrap();
    assert_eq!((event.kind.as_str(), &event.json()["title"]), ("", &json!("A")));
    registry.get("/events?unnamed=true").problem(400, "invalid-parameter");
}
