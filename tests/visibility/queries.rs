//! Saved queries: their words, events and topics are there for those who see them.

use serde_json::{Value, json};

use super::server::{
    Message, Server,
    Who::{self, Admin, Alice, Bob, Carol, Dana, Nobody},
    agent, disconnect, messages_up_to, query_messages_up_to, read_up_to,
};

/// A word of Alice's query, which no agent and no other query has.
const WORD: &str = "zanzibar";
/// Its topics.
const TOPIC: &str = "agentdex/queries/alice%2Ftides/";
/// All but its owner and admins.
const OTHERS: [Who; 4] = [Nobody, Dana, Bob, Carol];

/// A query by the word of all agents here, or by another one.
fn of(word: &str) -> Value {
    json!({"q": format!("ocean {word}").trim(), "mode": "lexical"})
}

fn save(server: &Server, who: Who, path: &str, query: &Value) -> crate::support::Answer {
    server.json(who, "PUT", path, query)
}

fn names(server: &Server, who: Who) -> Vec<String> {
    let listed = server.get(who, "/queries").expect(200).json();
    let name = |query: &Value| {
        let (owner, name) = (query["owner"].as_str(), query["name"].as_str().unwrap());
        owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}"))
    };
    listed.as_array().unwrap().iter().map(name).collect()
}

/// The kinds of events under a topic.
fn kinds(messages: &[Message], topic: &str) -> Vec<String> {
    let of_topic = messages.iter().filter_map(|message| message.topic.strip_prefix(topic));
    of_topic
        .filter(|levels| !levels.contains(":end:"))
        .map(|levels| levels.split('/').next().unwrap_or_default().to_owned())
        .collect()
}

fn put(server: &Server, id: &str) {
    server.put(Alice, id, &agent(id, "ocean", "c"), "").expect(201);
}

#[test]
fn two_owners_have_queries_of_one_name() {
    let server = Server::start();
    let (alices, bobs) = (of(WORD), of("bobs"));
    let saved = save(&server, Alice, "/queries/tides", &alices).expect(201).json();
    assert_eq!((&saved["owner"], &saved["visibility"], &saved["query"]), (&json!("alice"), &json!("private"), &alices));
    save(&server, Bob, "/queries/tides", &bobs).expect(201);
    for (who, own) in [(Alice, &alices), (Bob, &bobs)] {
        assert_eq!(&server.get(who, "/queries/tides").expect(200).json()["query"], own, "{who}");
        assert_eq!(names(&server, who), [format!("{}/tides", who.owner())]);
        assert_eq!(&server.get(Admin, &format!("/queries/tides?owner={}", who.owner())).json()["query"], own);
    }
    assert_eq!(names(&server, Admin), ["alice/tides", "bob/tides"]);
    server.get(Admin, "/queries/tides").problem(404, "not-found");
    // What is public is found by its owner and name; the name alone is the caller's own.
    let public = save(&server, Alice, "/queries/tides?visibility=public", &alices).expect(200).json();
    assert_eq!((&public["visibility"], &public["owner"]), (&Value::Null, &json!("alice")));
    for who in OTHERS {
        assert_eq!(server.get(who, "/queries/tides?owner=alice").expect(200).json(), public, "{who}");
        assert!(names(&server, who).contains(&"alice/tides".to_owned()), "{who}");
    }
    assert_eq!(server.get(Bob, "/queries/tides").expect(200).json()["query"], bobs);
    server.get(Carol, "/queries/tides").problem(404, "not-found");
    server.send(Bob, "DELETE", "/queries/tides", &[], "").expect(204);
    server.get(Bob, "/queries/tides").problem(404, "not-found");
    server.get(Alice, "/queries/tides").expect(200);
    // Saved again without a word of it, it keeps its visibility.
    assert_eq!(save(&server, Alice, "/queries/tides", &of("")).expect(200).json()["visibility"], Value::Null);
    server.get(Alice, "/queries/tides?owner=a%20b").problem(400, "invalid-parameter");
    server.get(Alice, "/queries?owner=alice").problem(400, "invalid-parameter");
}

#[test]
fn hidden_query_is_not_there() {
    let server = Server::start();
    save(&server, Alice, "/queries/tides", &of(WORD)).expect(201);
    let parts = [("GET", ""), ("GET", "/events"), ("DELETE", ""), ("PUT", "")];
    for who in OTHERS {
        for (method, part) in parts {
            let send = |name: &str| {
                let path = format!("/queries/{name}{part}?owner=alice");
                if method == "PUT" {
                    save(&server, who, &path, &of(""))
                } else {
                    server.send(who, method, &path, &[], "")
                }
            };
            let (hidden, missing) = (send("tides"), send("other"));
            // Who may not write at all is refused before.
            let status = match (who, method) {
                (Nobody, "PUT" | "DELETE") => 401,
                (Dana, "PUT" | "DELETE") => 403,
                _ => 404,
            };
            assert_eq!(hidden.status, status, "{who} {method} {part}: {}", hidden.text());
            assert_eq!(hidden.text().replace("tides", "other"), missing.text(), "{who} {method} {part}");
        }
        assert_eq!(names(&server, who), [""; 0], "{who}");
    }
    assert_eq!(server.get(Alice, "/queries/tides").expect(200).json()["query"], of(WORD));
    // The name is free for others.
    for who in [Bob, Carol] {
        save(&server, who, "/queries/tides", &of("")).expect(201);
    }
}

#[test]
fn query_is_changed_by_its_owner_and_admins() {
    let server = Server::start();
    save(&server, Alice, "/queries/tides?visibility=public", &of(WORD)).expect(201);
    for who in [Bob, Carol] {
        save(&server, who, "/queries/tides?owner=alice", &of("")).problem(403, "not-owner");
        server.send(who, "DELETE", "/queries/tides?owner=alice", &[], "").problem(403, "not-owner");
        save(&server, who, "/queries/tides?owner=", &of("")).problem(404, "not-found");
        save(&server, who, "/queries/new?owner=alice", &of("")).problem(404, "not-found");
        save(&server, who, "/queries/new?visibility=namespace&namespace=n", &of("")).problem(403, "access-refused");
    }
    let changed = save(&server, Admin, "/queries/tides?owner=alice&visibility=private", &of("")).expect(200).json();
    assert_eq!((&changed["owner"], &changed["visibility"]), (&json!("alice"), &json!("private")));
    server.get(Bob, "/queries/tides?owner=alice").problem(404, "not-found");
    assert_eq!(save(&server, Admin, "/queries/new?owner=bob", &of("")).expect(201).json()["owner"], "bob");
    server.get(Bob, "/queries/new").expect(200);
    crate::support::eventually("an entry that says whose it was", || {
        server.get(Admin, "/audit?limit=1000").text().contains("/queries/tides?owner=alice&visibility=private")
    });
    server.send(Admin, "DELETE", "/queries/tides?owner=alice", &[], "").expect(204);
    server.get(Alice, "/queries/tides").problem(404, "not-found");
    // One without an owner is everybody's to see, and the admins' to change.
    assert_eq!(save(&server, Admin, "/queries/common?owner=", &of("")).expect(201).json()["owner"], Value::Null);
    for who in Who::ALL {
        server.get(who, "/queries/common").expect(200);
    }
    for path in ["/queries/common", "/queries/common?owner="] {
        server.send(Bob, "DELETE", path, &[], "").problem(403, "not-owner");
    }
    save(&server, Bob, "/queries/common?owner=", &of("")).problem(403, "not-owner");
    // Under the same name Bob has its own, which he then finds.
    assert_eq!(save(&server, Bob, "/queries/common", &of("bobs")).expect(201).json()["owner"], "bob");
    assert_eq!(server.get(Bob, "/queries/common").json()["query"], of("bobs"));
    assert_eq!(server.get(Bob, "/queries/common?owner=").json()["query"], of(""));
    assert_eq!(save(&server, Admin, "/queries/common", &of("admins")).expect(200).json()["owner"], Value::Null);
    assert_eq!(server.get(Carol, "/queries/common").json()["query"], of("admins"));
    server.send(Admin, "DELETE", "/queries/common", &[], "").expect(204);
    server.get(Carol, "/queries/common").problem(404, "not-found");
    server.get(Bob, "/queries/common").expect(200);
}

#[test]
fn query_of_a_namespace_is_seen_by_its_members() {
    let server = Server::start();
    server.set_members(Alice, "crew", &[Bob]).expect(201);
    let path = "/queries/tides?visibility=namespace&namespace=crew";
    let saved = save(&server, Alice, path, &of(WORD)).expect(201).json();
    assert_eq!((&saved["visibility"], &saved["namespace"]), (&json!("namespace"), &json!("crew")));
    let of_alice = "/queries/tides?owner=alice";
    for (who, status) in [(Nobody, 404), (Dana, 404), (Carol, 404), (Alice, 200), (Bob, 200), (Admin, 200)] {
        server.get(who, of_alice).expect(status);
    }
    let mut stream = server.events(Bob, "/queries/tides/events?owner=alice", None);
    put(&server, "urn:tide:1");
    assert!(stream.next().unwrap().data.contains("urn:tide:1"));
    server.set_members(Alice, "crew", &[]).expect(200);
    server.get(Bob, of_alice).problem(404, "not-found");
    put(&server, "urn:tide:2");
    assert!(stream.next().is_none(), "the stream ends");
    // Who claims the name later is no member of that namespace.
    server.give_up(Alice, "crew").expect(204);
    server.set_members(Bob, "crew", &[Carol]).expect(201);
    for who in OTHERS {
        server.get(who, of_alice).problem(404, "not-found");
    }
    save(&server, Alice, "/queries/tides", &of("")).problem(403, "not-member");
    save(&server, Alice, "/queries/tides?visibility=private&namespace=", &of("")).expect(200);
}

#[test]
fn streams_of_a_query_that_is_made_private_or_removed_end() {
    let server = Server::start();
    let path = "/queries/tides?visibility=public";
    let open = |who| server.events(who, "/queries/tides/events?owner=alice", None);
    save(&server, Alice, path, &of("")).expect(201);
    let (mut bobs, mut alices) = (open(Bob), open(Alice));
    save(&server, Alice, "/queries/tides?visibility=private", &of("")).expect(200);
    put(&server, "urn:tide:1");
    assert!(bobs.next().is_none());
    assert!(alices.next().unwrap().data.contains("urn:tide:1"), "its owner goes on");
    server.send(Alice, "DELETE", "/queries/tides", &[], "").expect(204);
    put(&server, "urn:tide:2");
    assert!(alices.next().is_none());
}

#[test]
fn messages_of_a_query_are_for_those_who_see_it() {
    let server = Server::start();
    Who::ALL.into_iter().for_each(|who| server.leave_session(who, "own", "agentdex/#"));
    Who::ALL.into_iter().for_each(|who| server.leave_session(who, "shared", "$share/g/agentdex/#"));
    let mut live: Vec<_> = Who::ALL.map(|who| (who, server.connect(who, "live").0)).into();
    for (_, client) in &mut live {
        client.subscribe(&[("agentdex/queries/+/+/+", 1), ("agentdex/things/#", 1)]);
    }
    save(&server, Alice, "/queries/tides", &of("")).expect(201);
    save(&server, Admin, "/queries/common?owner=", &of("")).expect(201);
    for id in ["urn:tide:1", "urn:tide:2"] {
        put(&server, id);
    }
    let end = server.put_end();
    let created = vec!["thing_created"; 2];
    let is_told = |who: Who, way: &str, messages: &[Message]| {
        let expected = if matches!(who, Alice | Admin) { created.clone() } else { Vec::new() };
        assert_eq!(kinds(messages, TOPIC), expected, "{way}, {who}");
        assert_eq!(kinds(messages, "agentdex/queries/common/"), created, "{way}, {who}");
        if expected.is_empty() {
            assert!(!format!("{messages:?}").contains("tides"), "{way}, {who}: {messages:?}");
        }
    };
    for (who, mut client) in live {
        is_told(who, "live", &query_messages_up_to(&mut client, &end, Some("common")));
        disconnect(client);
    }
    for who in Who::ALL {
        is_told(who, "resumed", &server.resume_session_with(who, "own", Some("common")));
        is_told(who, "shared", &server.resume_session_with(who, "shared", Some("common")));
    }
}

#[test]
fn message_of_a_query_that_was_made_private_is_not_sent_again() {
    let server = Server::start();
    save(&server, Alice, "/queries/tides?visibility=public", &of("")).expect(201);
    for filter in ["agentdex/#", "$share/g/agentdex/#"] {
        let (mut client, _) = server.connect(Bob, "again");
        client.subscribe(&[(filter, 1)]);
        let id = format!("urn:again:{}", filter.len());
        put(&server, &id);
        let topics = std::iter::repeat_with(|| client.receive().topic().to_owned());
        assert!(topics.take(50).any(|topic| topic.starts_with(TOPIC)), "it was sent once");
        drop(client);
        save(&server, Alice, "/queries/tides?visibility=private", &of("")).expect(200);
        let (mut client, is_present) = server.connect(Bob, "again");
        assert!(is_present);
        let end = server.put_end();
        let messages = messages_up_to(&mut client, &end);
        assert!(messages.iter().any(|message| message.topic.ends_with(&id)), "{messages:?}");
        assert_eq!(kinds(&messages, TOPIC), [""; 0], "{filter}");
        client.unsubscribe(&[filter]);
        disconnect(client);
        save(&server, Alice, "/queries/tides?visibility=public", &of("")).expect(200);
    }
}

#[test]
fn words_of_a_hidden_query_are_nowhere() {
    let mut server = Server::start();
    Who::ALL.into_iter().for_each(|who| server.leave_session(who, "words", "agentdex/#"));
    save(&server, Alice, "/queries/tides", &json!({"q": format!("ocean OR {WORD}")})).expect(201);
    save(&server, Alice, "/queries/meaning", &json!({"q": format!("{WORD} ocean"), "mode": "semantic"})).expect(201);
    let before = server.last();
    let mut streams = OTHERS.map(|who| server.events(who, "/events?q=ocean&diff=true", None));
    put(&server, "urn:tide:1");
    let end = server.put_end();
    put(&server, "urn:tide:last");
    for (who, stream) in OTHERS.into_iter().zip(&mut streams) {
        let events = format!("{:?}", read_up_to(stream, "urn:tide:last"));
        assert!(
            events.contains("urn:tide:1") && !events.contains(WORD) && !events.contains("tides"),
            "{who}: {events}"
        );
        let paths = [
            "/queries",
            "/queries/tides?owner=alice",
            "/queries/tides/events?owner=alice",
            "/changes?since=0&limit=1000",
            "/search?q=ocean&consistent=true&explain=true",
            "/search?q=zanz&typing=true&consistent=true",
            "/metrics",
            "/health",
        ];
        for path in paths {
            let answer = server.get(who, path);
            let shown = format!("{:?} {}", answer.headers, answer.text());
            assert!(!shown.contains(WORD), "{path} to {who}: {shown}");
        }
        let messages = format!("{:?}", server.resume_session(who, "words"));
        assert!(
            messages.contains(&end) && !messages.contains(WORD) && !messages.contains("tides"),
            "{who}: {messages}"
        );
    }
    assert!(server.last() > before);
    let alices = server.resume_session_with(Alice, "words", Some("alice%2Ftides"));
    assert!(format!("{alices:?}").contains(TOPIC));
    let log = server.restart_after(|_| {});
    assert!(log.contains("/queries/tides"), "requests are logged: {log}");
    assert!(!log.contains(WORD), "{log}");
    // After the start its owner has it, and nobody else.
    for who in OTHERS {
        server.get(who, "/queries/tides?owner=alice").problem(404, "not-found");
    }
    assert_eq!(names(&server, Alice), ["alice/meaning", "alice/tides"]);
    let log = server.restart_after(|_| {});
    assert!(!log.contains(WORD), "{log}");
}
