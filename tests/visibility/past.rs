//! Visibility of the past: the five histories of the rule, and each way in which it was once broken.

use serde_json::{Value, json};

use super::server::{
    Message, Server,
    Who::{self, Admin, Alice, Bob, Carol, Dana, Nobody},
    agent, connect_to, disconnect, messages_up_to, query_messages_up_to, read_up_to,
};
use crate::{
    mqtt::{broker::Broker, support::has_mosquitto},
    support::{Event, eventually},
};

const A: &str = "urn:past:a";

/// A server in which everybody has a session that has read up to now.
fn start() -> Server {
    let server = Server::start();
    Who::ALL.into_iter().for_each(|who| server.leave_session(who, "past", "agentdex/#"));
    server
}

/// Registers or replaces an agent whose text and capability are a word; returns its position.
fn put(server: &Server, who: Who, id: &str, word: &str, parameters: &str) -> u64 {
    let answer = server.put(who, id, &agent(id, word, word), parameters);
    assert!([201, 204].contains(&answer.status), "{}", answer.text());
    server.last()
}

fn set(server: &Server, who: Who, id: &str, visibility: &str) -> u64 {
    server.set_access(who, id, &json!({ "visibility": visibility })).expect(204);
    server.last()
}

fn remove(server: &Server, who: Who, id: &str) -> u64 {
    server.remove(who, id).expect(204);
    server.last()
}

fn members(server: &Server, who: Who, name: &str, members: &[Who]) -> u64 {
    let answer = server.set_members(who, name, members);
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
    server.last()
}

/// What `GET /changes` says of an agent, a line a change: its position, its kind, and the text that it has.
fn changes(server: &Server, who: Who, since: u64, id: &str) -> Vec<(u64, String)> {
    let page = server.changes(who, since);
    assert_eq!(page["truncated"], false, "{page}");
    let changes = page["changes"].as_array().unwrap().iter().filter(|change| change["id"] == id);
    let line = |change: &Value| {
        let text = change["td"]["description"].as_str().or(change["patch"]["description"].as_str());
        (change["seq"].as_u64().unwrap(), told(change["kind"].as_str().unwrap(), text))
    };
    changes.map(line).collect()
}

fn told(kind: &str, text: Option<&str>) -> String {
    format!("{} {}", kind.trim_start_matches("thing_"), text.unwrap_or("-"))
}

/// The same of an event stream.
fn lines_of_events(events: &[Event], id: &str) -> Vec<String> {
    let of_id = events.iter().filter(|event| event.json()["id"] == id);
    of_id.map(|event| told(&event.kind, event.json()["description"].as_str())).collect()
}

/// The same of the messages under `events`.
fn lines_of_messages(messages: &[Message], id: &str) -> Vec<String> {
    let events = messages.iter().filter_map(|message| {
        let (kind, about) = message.event()?;
        let event: Value = serde_json::from_str(&message.payload).unwrap();
        (about == id).then(|| told(&kind, event["data"]["description"].as_str()))
    });
    events.collect()
}

/// Asserts what each of these reads of an agent who resumes from before it, by all ways.
fn assert_told(server: &Server, id: &str, expected: &[(Who, &[(u64, &str)])]) {
    let mut wrong = Vec::new();
    for (who, expected) in expected {
        let lines: Vec<_> = expected.iter().map(|(_, line)| (*line).to_owned()).collect();
        let expected: Vec<_> = expected.iter().map(|(seq, line)| (*seq, (*line).to_owned())).collect();
        let told = changes(server, *who, 0, id);
        if told != expected {
            wrong.push(format!("/changes tells {who} {told:?}, not {expected:?}"));
        }
        let events = server.replay(*who, "/events?diff=true", 0);
        let messages = server.resume_session(*who, "past");
        for (way, told) in [("/events", lines_of_events(&events, id)), ("MQTT", lines_of_messages(&messages, id))] {
            if told != lines {
                wrong.push(format!("{way} tells {who} {told:?}, not {lines:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that none of these gets a word by any way from the beginning on: bodies, topics, and header fields.
fn assert_unknown(server: &Server, who: &[Who], id: &str, word: &str) {
    let mut shown = Vec::new();
    let queries = server.get(Admin, "/queries").expect(200).json();
    let owner = queries.as_array().unwrap().iter().find(|query| query["name"] == "all");
    let of_query = owner.map(|query| {
        assert_eq!(query["visibility"], Value::Null, "everybody may read it");
        format!("/queries/all/events?diff=true&owner={}", query["owner"].as_str().unwrap())
    });
    for who in who {
        let paths = [
            format!("/things/{id}"),
            format!("/things/{id}/history"),
            format!("/things/{id}/access"),
            "/things".to_owned(),
            "/changes?since=0&limit=1000".to_owned(),
            "/search?q=agent&consistent=true&facets=capability".to_owned(),
        ];
        for path in paths {
            let answer = server.get(*who, &path);
            if format!("{:?} {}", answer.headers, answer.text()).contains(word) {
                shown.push(format!("{path} to {who}"));
            }
        }
        for path in std::iter::once("/events?diff=true").chain(of_query.as_deref()) {
            if format!("{:?}", server.replay(*who, path, 0)).contains(word) {
                shown.push(format!("{path} to {who}"));
            }
        }
        if format!("{:?}", server.resume_session(*who, "past")).contains(word) {
            shown.push(format!("MQTT to {who}"));
        }
    }
    assert!(shown.is_empty(), "{word} is shown by\n{}", shown.join("\n"));
}

#[test]
fn what_was_private_in_between_begins_where_it_is_public_again() {
    let server = start();
    let v1 = put(&server, Alice, A, "v1", "");
    let v2 = put(&server, Alice, A, "v2", "?visibility=private");
    let v3 = put(&server, Alice, A, "v3", "?visibility=public");
    let stranger: &[(u64, &str)] = &[(v3, "created v3")];
    let all: &[(u64, &str)] = &[(v1, "created v1"), (v2, "updated v2"), (v3, "updated v3")];
    assert_told(
        &server,
        A,
        &[(Nobody, stranger), (Dana, stranger), (Bob, stranger), (Carol, stranger), (Alice, all), (Admin, all)],
    );
}

#[test]
fn what_was_public_and_is_gone_stays_readable_from_where_it_was_public() {
    let mut server = start();
    let v1 = put(&server, Alice, A, "v1", "?visibility=private");
    let v2 = set_and_put(&server, "v2");
    let v3 = put(&server, Alice, A, "v3", "");
    // It begins with the text of then, also while there is a later one.
    let begun = [(v2, "created v2".to_owned()), (v3, "updated v3".to_owned())];
    for who in [Nobody, Bob] {
        assert_eq!(changes(&server, who, 0, A), begun);
        let events = server.replay(who, "/events?diff=true", 0);
        assert_eq!(lines_of_events(&events, A), ["created v2", "updated v3"]);
    }
    let gone = remove(&server, Alice, A);
    let stranger: &[(u64, &str)] = &[(v2, "created v2"), (v3, "updated v3"), (gone, "deleted -")];
    let all: &[(u64, &str)] = &[(v1, "created v1"), (v2, "updated v2"), (v3, "updated v3"), (gone, "deleted -")];
    assert_told(&server, A, &[(Nobody, stranger), (Bob, stranger), (Alice, all), (Admin, all)]);
    // Where the log no longer has its creation, the texts can't be rebuilt.
    trim_up_to(&mut server, v1);
    assert_eq!(changes(&server, Bob, v1, A), [(gone, "deleted -".to_owned())]);
    let events = server.replay(Bob, "/events?diff=true", v1);
    assert_eq!(lines_of_events(&events, A), ["deleted -"]);
}

/// Makes an agent public with another text, in one write.
fn set_and_put(server: &Server, word: &str) -> u64 {
    put(server, Alice, A, word, "?visibility=public")
}

/// Stops the server, drops the entries of the log up to a position, and starts it again.
fn trim_up_to(server: &mut Server, seq: u64) {
    let entries = server.changes(Admin, 0)["changes"].as_array().unwrap().clone();
    let later = entries.iter().filter(|entry| entry["seq"].as_u64().unwrap() > seq).count();
    server.restart_after(|data| super::server::trim(data, later as u64));
    let oldest = server.changes(Admin, seq)["oldest"].as_u64().unwrap();
    assert!(oldest > seq, "the log still has {oldest}");
}

#[test]
fn former_member_gets_one_deletion_where_it_left() {
    let server = start();
    members(&server, Alice, "n", &[Bob]);
    put(&server, Alice, A, "early", "?visibility=namespace&namespace=n");
    let seen = server.resume_session(Bob, "past");
    assert_eq!(lines_of_messages(&seen, A), ["created early"]);
    let before = server.last();
    let left = members(&server, Alice, "n", &[]);
    // The deletion has the capabilities of the text that it saw, whatever there is later.
    put(&server, Alice, A, "later-secret", "?visibility=private");
    let messages = server.resume_session(Bob, "past");
    assert_eq!(lines_of_messages(&messages, A), ["deleted -"]);
    let of_key = |key: &str| messages.iter().filter(|message| message.topic.contains(key)).count();
    assert_eq!((of_key("capabilities/early/thing_deleted"), of_key("later-secret")), (1, 0), "{messages:?}");
    remove(&server, Alice, A);
    let told = changes(&server, Bob, before, A);
    assert!(matches!(&told[..], [(seq, line)] if line == "deleted -" && (before + 1..=left).contains(seq)), "{told:?}");
    let events = server.replay(Bob, "/events?diff=true", before);
    assert_eq!(lines_of_events(&events, A), ["deleted -"]);
    // Its end is none of Bob's business.
    let messages = server.resume_session(Bob, "past");
    assert!(lines_of_messages(&messages, A).is_empty(), "{messages:?}");
    // The same for who reads from the very beginning: it sees none of the texts any more.
    let told = changes(&server, Bob, 0, A);
    assert!(matches!(&told[..], [(seq, line)] if line == "deleted -" && (before + 1..=left).contains(seq)), "{told:?}");
    assert_unknown(&server, &[Nobody, Dana, Carol], A, "early");
    assert_unknown(&server, &[Nobody, Dana, Bob, Carol], A, "later-secret");
}

#[test]
fn former_member_reads_nothing_later_where_the_log_no_longer_has_the_creation() {
    for is_changed in [true, false] {
        let mut server = start();
        members(&server, Alice, "n", &[Bob]);
        let created = put(&server, Alice, A, "early", "?visibility=namespace&namespace=n");
        members(&server, Alice, "n", &[]);
        if is_changed {
            put(&server, Alice, A, "later-secret", "?visibility=namespace&namespace=n");
        }
        // What is left: that Bob is no longer a member, and what came after.
        server.restart_after(|data| super::server::trim(data, if is_changed { 2 } else { 1 }));
        let page = server.changes(Bob, created);
        let deleted = &page["changes"][0];
        assert_eq!((&deleted["id"], &deleted["kind"]), (&json!(A), &json!("thing_deleted")), "{page}");
        assert_eq!(deleted["capabilitiesBefore"], json!(["early"]), "{page}");
        let history = server.get(Bob, &format!("/things/{A}/history")).text().to_owned();
        assert!(!page.to_string().contains("later-secret") && !history.contains("later-secret"), "{page} {history}");
        assert_unknown(&server, &[Nobody, Dana, Bob, Carol], A, "later-secret");
    }
}

#[test]
fn what_has_expired_is_there_until_it_is_purged() {
    let server = start();
    let mut td = agent(A, "v1", "v1");
    td["registration"] = json!({"ttl": 2});
    server.put(Alice, A, &td, "").expect(201);
    let v1 = server.last();
    let v2 = put_with_ttl(&server, "v2");
    // Until the purge is in the log, nothing has happened to it.
    let purged = loop {
        let told = changes(&server, Nobody, 0, A);
        match &told[..] {
            [(first, one), (second, two)] => {
                assert_eq!((*first, &one[..], *second, &two[..]), (v1, "created v1", v2, "updated v2"));
            }
            [.., (purged, last)] if last == "deleted -" => break *purged,
            _ => panic!("{told:?}"),
        }
    };
    let all: &[(u64, &str)] = &[(v1, "created v1"), (v2, "updated v2"), (purged, "deleted -")];
    assert_told(&server, A, &[(Nobody, all), (Bob, all), (Alice, all), (Admin, all)]);
    // Private with a time to live: nobody else gets to know that there was anything.
    let mut td = agent("urn:past:b", "hidden", "hidden");
    td["registration"] = json!({"ttl": 1});
    server.put(Alice, "urn:past:b", &td, "?visibility=private").expect(201);
    eventually("the purge", || {
        changes(&server, Alice, 0, "urn:past:b").last().is_some_and(|(_, line)| line == "deleted -")
    });
    assert_unknown(&server, &[Nobody, Dana, Bob, Carol], "urn:past:b", "hidden");
    assert!([Nobody, Dana, Bob, Carol].iter().all(|who| changes(&server, *who, 0, "urn:past:b").is_empty()));
}

fn put_with_ttl(server: &Server, word: &str) -> u64 {
    let mut td = agent(A, word, word);
    td["registration"] = json!({"ttl": 2});
    server.put(Alice, A, &td, "").expect(204);
    server.last()
}

#[test]
fn member_who_joins_again_gets_one_creation_there() {
    let server = start();
    members(&server, Alice, "n", &[Bob]);
    put(&server, Alice, A, "early", "?visibility=namespace&namespace=n");
    members(&server, Alice, "n", &[]);
    let before = server.last();
    let joined = members(&server, Alice, "n", &[Bob]);
    let told = changes(&server, Bob, 0, A);
    assert!(
        matches!(&told[..], [(seq, line)] if line == "created early" && (before + 1..=joined).contains(seq)),
        "{told:?}"
    );
    let events = server.replay(Bob, "/events?diff=true", 0);
    assert_eq!(lines_of_events(&events, A), ["created early"]);
    let messages = server.resume_session(Bob, "past");
    assert_eq!(lines_of_messages(&messages, A), ["created early"]);
    assert_unknown(&server, &[Nobody, Dana, Carol], A, "early");
}

#[test]
fn present_text_of_a_private_agent_is_in_no_change_of_when_it_was_public() {
    let server = start();
    server
        .json(Bob, "PUT", "/queries/all?visibility=public", &json!({"q": "merger v1 v2-secret", "mode": "lexical"}))
        .expect(201);
    put(&server, Alice, A, "v1", "?visibility=private");
    set(&server, Alice, A, "public");
    set(&server, Alice, A, "private");
    put(&server, Alice, A, "v2-secret", "");
    assert_unknown(&server, &[Nobody, Dana, Bob, Carol], A, "v2-secret");
    // Another life of the same id, of somebody else.
    let server = start();
    server
        .json(Carol, "PUT", "/queries/all?visibility=public", &json!({"q": "merger v1 bobs-secret", "mode": "lexical"}))
        .expect(201);
    put(&server, Alice, A, "v1", "?visibility=private");
    set(&server, Alice, A, "public");
    remove(&server, Alice, A);
    put(&server, Bob, A, "bobs-secret", "?visibility=private");
    assert_unknown(&server, &[Nobody, Dana, Alice, Carol], A, "bobs-secret");
}

#[test]
fn payload_that_one_reader_caused_is_not_sent_to_another() {
    for owner_first in [true, false] {
        let server = start();
        put(&server, Alice, A, "v1", "");
        set(&server, Alice, A, "private");
        put(&server, Alice, A, "v2-secret", "");
        let first = [Alice, Nobody];
        let order = if owner_first { first } else { [Nobody, Alice] };
        for (who, number) in order.into_iter().zip(0..) {
            let messages = format!("{:?}", server.resume_session(who, "past"));
            assert!(who == Alice || !messages.contains("v2-secret"), "{messages}");
            if number == 0 {
                remove(&server, Alice, A);
            }
        }
        let messages = format!("{:?}", server.resume_session(Bob, "past"));
        assert!(!messages.contains("v2-secret"), "{messages}");
    }
}

#[test]
fn broker_that_was_away_gets_nothing_that_is_hidden_by_then() {
    if !has_mosquitto() {
        return;
    }
    let mut broker = Broker::open();
    let server = Server::with(&["--mqtt-url", &broker.url()]);
    let mut client = connect_to(&broker, "past", 3600);
    client.subscribe(&[("agentdex/#", 1)]);
    // What was there before the first connection is published without events.
    messages_up_to(&mut client, &server.put_end());
    put(&server, Alice, A, "first", "");
    put(&server, Alice, "urn:past:b", "seen", "");
    let end = server.put_end();
    assert_eq!(lines_of_messages(&messages_up_to(&mut client, &end), A), ["created first"]);
    disconnect(client);
    broker.halt();
    // What was public while the broker was away, and is hidden when it is there again, was never there for it.
    put(&server, Alice, A, "second", "");
    set(&server, Alice, A, "private");
    put(&server, Alice, A, "third-secret", "");
    put(&server, Alice, "urn:past:c", "fourth-secret", "");
    remove(&server, Alice, "urn:past:c");
    put(&server, Alice, "urn:past:c", "fifth-secret", "?visibility=private");
    put(&server, Alice, "urn:past:d", "sixth-secret", "?visibility=private");
    put(&server, Alice, "urn:past:d", "seventh", "?visibility=public");
    let end = server.put_end();
    broker.go_on();
    let mut client = connect_to(&broker, "past", 3600);
    let messages = messages_up_to(&mut client, &end);
    assert_eq!(lines_of_messages(&messages, A), ["deleted -"]);
    assert_eq!(lines_of_messages(&messages, "urn:past:d"), ["created seventh"]);
    // A life that was public to its end stays readable.
    assert_eq!(lines_of_messages(&messages, "urn:past:c"), ["created fourth-secret", "deleted -"]);
    let all = format!("{messages:?}");
    // The deletion has the capability of the last text that everybody saw, in its topic.
    assert!(messages.iter().all(|message| !message.payload.contains("second")), "{all}");
    for secret in ["third-secret", "fifth-secret", "sixth-secret"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    // What is retained is what everybody sees.
    let mut reader = connect_to(&broker, "reader", 0);
    reader.subscribe(&[("agentdex/things/#", 1)]);
    let retained = messages_up_to(&mut reader, &server.put_end());
    let mut ids: Vec<_> = retained.iter().map(|message| message.topic.replace("%3A", ":")).collect();
    ids.retain(|topic| topic.contains("past"));
    ids.sort();
    assert_eq!(ids, ["agentdex/things/urn:past:b", "agentdex/things/urn:past:d"]);
    disconnect(client);
    disconnect(reader);
}

/// Access and words before and after, and the events that a stranger gets of a query of `merger`, by both ways.
const MATCHES: [(&str, &str, &str, &str, &[&str]); 5] = [
    ("public", "nothing here", "private", "the merger with X", &[]),
    ("public", "the merger with X", "private", "nothing here", &["thing_created", "thing_deleted"]),
    ("private", "the merger with X", "public", "nothing here", &[]),
    ("private", "nothing here", "public", "the merger with X", &["thing_created"]),
    ("private", "the merger with X", "private", "another merger", &[]),
];

#[test]
fn query_tells_nobody_which_words_a_hidden_text_has() {
    let server = Server::start();
    server.json(Bob, "PUT", "/queries/guess?visibility=public", &json!({"q": "merger", "mode": "lexical"})).expect(201);
    let (mut client, _) = server.connect(Nobody, "guess");
    client.subscribe(&[("agentdex/queries/bob%2Fguess/#", 1), ("agentdex/things/#", 1)]);
    let paths = ["/events?q=merger&mode=lexical", "/queries/guess/events?owner=bob"];
    let mut streams = paths.map(|path| server.events(Nobody, path, None));
    let mut wrong = Vec::new();
    for (number, (before, first, after, second, expected)) in MATCHES.iter().enumerate() {
        let id = format!("urn:guess:{number}");
        // Who reads both at once sees nothing of what was public only in between.
        let mut kinds: [Vec<String>; 3] = Default::default();
        for (words, access, status) in [(first, before, 201), (second, after, 204)] {
            server.put(Alice, &id, &agent(&id, words, "c"), &format!("?visibility={access}")).expect(status);
            let end = server.put_end();
            for (stream, kinds) in streams.iter_mut().zip(&mut kinds) {
                let events = read_up_to(stream, &end).into_iter();
                kinds.extend(events.filter(|event| event.data.contains(&id)).map(|event| event.kind));
            }
            let messages = query_messages_up_to(&mut client, &end, Some("bob%2Fguess"));
            kinds[2].extend(messages.iter().filter_map(|message| {
                let topic = message.topic.replace("%3A", ":");
                let levels = topic.strip_prefix("agentdex/queries/bob%2Fguess/")?;
                levels.split_once('/').filter(|(_, about)| *about == id).map(|(kind, _)| kind.to_owned())
            }));
        }
        let mut compare = |way: &str, kinds: Vec<String>| {
            if kinds != *expected {
                wrong.push(format!("{way}: {kinds:?} of {before} {first:?}, {after} {second:?}"));
            }
        };
        for (way, kinds) in paths.into_iter().chain(["MQTT"]).zip(kinds) {
            compare(way, kinds);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    disconnect(client);
}

/// Asserts that nobody but its owner and admins reads an agent, by its own routes, lists, searches, the log and MQTT.
fn assert_only_alice_reads(server: &Server, id: &str, word: &str) {
    assert_unknown(server, &[Nobody, Dana, Bob, Carol], id, word);
    for who in [Bob, Carol] {
        server.get(who, &format!("/things/{id}")).expect(404);
        let (mut client, _) = server.connect(who, &format!("new-{word}"));
        client.subscribe(&[("agentdex/#", 1)]);
        let end = server.put_end();
        let messages = format!("{:?}", messages_up_to(&mut client, &end));
        assert!(!messages.contains(word), "retained, to {who}: {messages}");
        disconnect(client);
    }
    for who in [Alice, Admin] {
        assert!(server.get(who, &format!("/things/{id}")).expect(200).text().contains(word), "{who}");
    }
}

#[test]
fn who_claims_a_namespace_that_was_given_up_sees_nothing_of_before() {
    let server = start();
    let of_team = "?visibility=namespace&namespace=team";
    members(&server, Alice, "team", &[]);
    put(&server, Alice, A, "alices-secret", of_team);
    server.give_up(Alice, "team").expect(204);
    members(&server, Bob, "team", &[Carol]);
    assert_only_alice_reads(&server, A, "alices-secret");
    // What is written later without a word of a namespace is refused: nobody would see it.
    let refused = server.put(Alice, A, &agent(A, "alices-secret-too", "c"), "");
    assert_eq!((refused.status, refused.json()["code"].as_str()), (403, Some("not-member")), "{}", refused.text());
    put(&server, Alice, A, "alices-secret-too", "?visibility=private");
    assert_only_alice_reads(&server, A, "alices-secret-too");
    // The new namespace is one that works.
    put(&server, Bob, "urn:past:b", "bobs", of_team);
    server.get(Carol, "/things/urn:past:b").expect(200);
    server.get(Alice, "/things/urn:past:b").expect(404);
    // Claimed by an admin for others.
    let server = start();
    members(&server, Alice, "team", &[]);
    put(&server, Alice, A, "alices-secret", of_team);
    server.give_up(Admin, "team").expect(204);
    members(&server, Admin, "team", &[Bob, Carol]);
    assert_only_alice_reads(&server, A, "alices-secret");
}

#[test]
fn who_claims_a_namespace_where_records_came_to_sees_nothing_of_them() {
    let from = start();
    members(&from, Alice, "team", &[]);
    put(&from, Alice, A, "alices-secret", "?visibility=namespace&namespace=team");
    let records = from.get(Admin, "/records").expect(200).text().to_owned();
    assert!(records.contains("alices-secret"));
    let to = start();
    to.send(Admin, "POST", "/records", &[("content-type", "application/x-ndjson")], &records).expect(200);
    to.get(Alice, &format!("/things/{A}")).expect(200);
    members(&to, Bob, "team", &[Carol]);
    assert_only_alice_reads(&to, A, "alices-secret");
}

#[test]
fn new_member_reads_nothing_of_before_its_time() {
    let server = start();
    members(&server, Alice, "crew", &[]);
    put(&server, Alice, A, "early-secret", "?visibility=namespace&namespace=crew");
    set(&server, Alice, A, "private");
    members(&server, Alice, "crew", &[Bob]);
    assert_unknown(&server, &[Nobody, Dana, Bob, Carol], A, "early-secret");
    // What is there when it joins is created then, as it is then.
    let b = "urn:past:b";
    members(&server, Alice, "crew", &[]);
    put(&server, Alice, b, "first-secret", "?visibility=namespace&namespace=crew");
    put(&server, Alice, b, "second", "");
    members(&server, Alice, "crew", &[Bob]);
    let lines = |server: &Server| changes(server, Bob, 0, b).into_iter().map(|(_, line)| line).collect::<Vec<_>>();
    assert_eq!(lines(&server), ["created second"]);
    put(&server, Alice, b, "third", "");
    assert_eq!(lines(&server), ["created second", "updated third"]);
    assert_unknown(&server, &[Bob, Carol], b, "first-secret");
}

#[test]
fn joining_and_leaving_a_namespace_is_an_event() {
    let server = Server::start();
    members(&server, Alice, "crew", &[]);
    put(&server, Alice, A, "early", "?visibility=namespace&namespace=crew");
    put(&server, Alice, "urn:past:b", "hidden", "?visibility=private");
    let epoch = server.epoch();
    let watch = |server: &Server, who| {
        let (mut client, _) = server.connect(who, "watch");
        client.subscribe(&[("agentdex/events/#", 1), ("agentdex/things/#", 1)]);
        (server.events(who, "/events?diff=true", None), client)
    };
    let (mut stream, mut client) = watch(&server, Bob);
    let (mut others_stream, mut others_client) = watch(&server, Carol);
    // Makes these the members, and tells what Bob and Carol get of it, and of what came before.
    let mut steps = |members_now: &[Who], expected: &[&str], retained: &[&str]| {
        let since = server.last();
        let waited = std::thread::scope(|scope| {
            let path = format!("/changes?since={epoch}-{since}&wait=20");
            let server = &server;
            let poll = scope.spawn(move || server.get(Bob, &path).expect(200).json());
            members(server, Alice, "crew", members_now);
            let end = server.put_end();
            let events = read_up_to(&mut stream, &end);
            assert_eq!(lines_of_events(&events, A), expected, "SSE");
            let messages = messages_up_to(&mut client, &end);
            assert_eq!(lines_of_messages(&messages, A), expected, "MQTT");
            let things: Vec<&str> = messages
                .iter()
                .filter(|message| message.topic.replace("%3A", ":") == format!("agentdex/things/{A}"))
                .map(|message| message.payload.as_str())
                .collect();
            assert_eq!(things.len(), retained.len(), "{things:?}");
            for (thing, retained) in things.iter().zip(retained) {
                assert!(if retained.is_empty() { thing.is_empty() } else { thing.contains(retained) }, "{thing:?}");
            }
            for all in [format!("{events:?}"), format!("{messages:?}")] {
                assert!(!all.contains("hidden"), "{all}");
            }
            let events = read_up_to(&mut others_stream, &end);
            let messages = messages_up_to(&mut others_client, &end);
            for all in [format!("{events:?}"), format!("{messages:?}")] {
                assert!(!all.contains(A) && !all.contains("early") && !all.contains("later"), "Carol gets {all}");
            }
            poll.join().unwrap()
        });
        // A poll that waits is answered by it, or by what comes next; nothing is missing in what is read then.
        assert!(waited["last"].as_u64().unwrap() > since, "{waited}");
        let lines: Vec<_> = changes(&server, Bob, since, A).into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, expected, "/changes");
    };
    steps(&[Bob], &["created early"], &["early"]);
    steps(&[], &["deleted -"], &[""]);
    // What happens while it is no member is none of its business.
    put(&server, Alice, A, "later", "");
    steps(&[Bob], &["created later"], &["later"]);
    server.give_up(Alice, "crew").expect(204);
    let end = server.put_end();
    assert_eq!(lines_of_events(&read_up_to(&mut stream, &end), A), ["deleted -"]);
    assert_eq!(lines_of_messages(&messages_up_to(&mut client, &end), A), ["deleted -"]);
    disconnect(client);
    disconnect(others_client);
}
