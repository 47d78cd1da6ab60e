//! The deletion of an agent that a reader no longer sees: with its capabilities for readers who were there, with the id alone
//! for all others.

use serde_json::{Value, json};

use super::server::{
    Message, Server,
    Who::{self, Alice, Bob, Nobody},
    agent,
};
use crate::support::Event;

const A: &str = "urn:retracted";

fn put(server: &Server, text: &str, parameters: &str) -> u64 {
    let answer = server.put(Alice, A, &agent(A, text, text), parameters);
    assert!(answer.status < 300, "{}", answer.text());
    server.last()
}

fn set(server: &Server, visibility: &str) -> u64 {
    server.set_access(Alice, A, &json!({"visibility": visibility})).expect(204);
    server.last()
}

/// The deletion among changes.
fn deletion(changes: &Value) -> Value {
    let all = changes["changes"].as_array().unwrap();
    let mut deletions = all.iter().filter(|change| change["id"] == A && change["kind"] == "thing_deleted");
    let deletion = deletions.next().unwrap_or_else(|| panic!("no deletion in {changes}"));
    assert_eq!(deletions.next(), None, "{changes}");
    deletion.clone()
}

/// The topics of messages about the agent, without the prefix.
fn topics(messages: &[Message]) -> Vec<String> {
    let id = A.replace(':', "%3A");
    let about = messages.iter().map(|message| message.topic.replace(A, &id)).filter(|topic| topic.contains(&id));
    about.map(|topic| topic.trim_start_matches("agentdex/").replace(&format!("/{id}"), "")).collect()
}

fn has_id(events: &[Event]) -> bool {
    events.iter().any(|event| event.data.contains(A))
}

#[test]
fn reader_from_before_gets_the_id_alone() {
    let server = Server::start();
    let query = json!({"q": "ocean", "mode": "lexical"});
    server.json(Bob, "PUT", "/queries/ocean", &query).expect(201);
    for who in [Nobody, Bob] {
        server.leave_session(who, "before", "agentdex/#");
        server.leave_session(who, "before-shared", "$share/group/agentdex/#");
    }
    let before = server.last();
    put(&server, "ocean", "");
    put(&server, "ocean-deep", "");
    set(&server, "private");
    for who in [Nobody, Bob] {
        for since in [0, before] {
            let deleted = deletion(&server.changes(who, since));
            let mut names: Vec<&str> = deleted.as_object().unwrap().keys().map(String::as_str).collect();
            names.sort_unstable();
            assert_eq!(names, ["at", "epoch", "id", "kind", "previous", "reason", "seq"], "{who} {deleted}");
            let epoch = server.epoch();
            let history = server.get(who, &format!("/things/{A}/history?since={epoch}-{since}")).expect(200).json();
            assert_eq!(deletion(&history), deleted, "{who}");
            assert!(has_id(&server.replay(who, "/events", since)), "{who}");
        }
        for session in ["before", "before-shared"] {
            assert_eq!(topics(&server.resume_session(who, session)), ["events/thing_deleted"], "{who} {session}");
        }
    }
    // Neither by a capability nor by a query.
    let end = server.put_end();
    server.put(Alice, "urn:zz:ocean", &agent("urn:zz:ocean", "ocean", "ocean"), "").expect(201);
    for path in ["/events?capability=ocean", "/queries/ocean/events"] {
        let events = server.replay_up_to(Bob, path, before, "urn:zz:ocean");
        assert!(!has_id(&events), "{path}: {events:?} {end}");
    }
}

#[test]
fn reader_who_was_there_gets_the_capabilities() {
    let server = Server::start();
    server.json(Bob, "PUT", "/queries/ocean", &json!({"q": "ocean", "mode": "lexical"})).expect(201);
    put(&server, "ocean", "");
    let inside = server.last();
    for who in [Nobody, Bob] {
        server.leave_session(who, "inside", "agentdex/#");
    }
    let live = |who: Who| server.events(who, "/events?capability=ocean", None);
    let mut streams = [Nobody, Bob].map(live);
    set(&server, "private");
    for stream in &mut streams {
        let event = stream.next().unwrap();
        assert_eq!((event.kind.as_str(), has_id(std::slice::from_ref(&event))), ("thing_deleted", true), "{event:?}");
    }
    for who in [Nobody, Bob] {
        let deleted = deletion(&server.changes(who, inside));
        assert_eq!(deleted["capabilitiesBefore"], json!(["ocean"]), "{who} {deleted}");
        let of_query = ["queries/bob%2Focean/thing_deleted"];
        let expected = ["events/thing_deleted", "capabilities/ocean/thing_deleted", "things"].iter();
        let expected: Vec<&str> = expected.chain(of_query.iter().filter(|_| who == Bob)).copied().collect();
        let query = (who == Bob).then_some("bob%2Focean");
        assert_eq!(topics(&server.resume_session_with(who, "inside", query)), expected, "{who}");
    }
    server.put(Alice, "urn:zz:ocean", &agent("urn:zz:ocean", "ocean", "ocean"), "").expect(201);
    let events = server.replay_up_to(Bob, "/events?capability=ocean", 0, "urn:zz:ocean");
    assert!(!has_id(&events), "who comes later is told nothing: {events:?}");
}

#[test]
fn reader_who_was_connected_gets_the_capabilities_of_a_life_that_came_and_went_meanwhile() {
    let server = Server::start();
    let mut client = server.connect_clean(Nobody, "connected");
    client.subscribe(&[("agentdex/capabilities/#", 1), ("agentdex/things/#", 1)]);
    let mut stream = server.events(Nobody, "/events?capability=ocean", None);
    put(&server, "ocean", "");
    set(&server, "private");
    let kinds = |events: Vec<Event>| events.into_iter().map(|event| event.kind).collect::<Vec<_>>();
    // It may have been slow: then the creation was over when it was read.
    let first = stream.next().unwrap();
    let all = if first.kind == "thing_created" { vec![first, stream.next().unwrap()] } else { vec![first] };
    assert_eq!(kinds(all).last().map(String::as_str), Some("thing_deleted"));
    let messages = super::server::messages_up_to(&mut client, &server.put_end());
    assert!(topics(&messages).contains(&"capabilities/ocean/thing_deleted".to_owned()), "{messages:?}");
}

#[test]
fn former_member_from_before_gets_the_id_alone() {
    let server = Server::start();
    server.set_members(Alice, "crew", &[Bob]).expect(201);
    let before = server.last();
    let inside = put(&server, "ocean", "?visibility=namespace&namespace=crew");
    server.leave_session(Bob, "inside", "agentdex/#");
    server.set_members(Alice, "crew", &[]).expect(200);
    put(&server, "ocean-deep", "?visibility=private");
    assert_eq!(deletion(&server.changes(Bob, inside))["capabilitiesBefore"], json!(["ocean"]));
    for since in [0, before] {
        let deleted = deletion(&server.changes(Bob, since));
        assert_eq!(
            (&deleted["capabilitiesBefore"], &deleted["accessBefore"]),
            (&Value::Null, &Value::Null),
            "{deleted}"
        );
        assert!(!deleted.to_string().contains("alice"), "{deleted}");
    }
    let resumed = topics(&server.resume_session(Bob, "inside"));
    assert!(resumed.contains(&"capabilities/ocean/thing_deleted".to_owned()), "{resumed:?}");
}
