//! Saved queries that take long to compare: what else is published doesn't wait for them.

use std::collections::BTreeMap;

use agentdex::registry::QueryParameters;
use agentdex_server::mqtt::{Endpoint, EndpointOptions};

use super::{
    support::{Server, Subscriber, has_mosquitto},
    wire::{Client, Hello, PUBLISH, Packet, Version::V5},
};
use crate::support::eventually;

/// Number of the queries, and size of each in bytes.
const QUERIES: usize = 1_000;
const QUERY_BYTES: usize = 4_090;
const WRITES: usize = 4;

/// A query of some 800 negated beginnings, none of which a word of the agents here has.
fn costly() -> QueryParameters {
    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
    let beginnings = (0..26 * 26).map(|number| format!("-{}{}* ", letter(number / 26), letter(number)));
    let unknown: Vec<String> =
        beginnings.filter(|beginning| !["-ag", "-wr", "-ch"].contains(&&beginning[..3])).collect();
    let text: String = unknown.iter().cycle().take(QUERY_BYTES / unknown[0].len()).map(String::as_str).collect();
    serde_json::from_value(serde_json::json!({"q": text, "mode": "lexical"})).unwrap()
}

#[test]
fn plain_events_do_not_wait_for_queries_that_lag() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    for number in 0..QUERIES {
        server.registry.save_query(&*format!("costly{number}"), costly()).unwrap();
    }
    server.registry.save_query("cheap", serde_json::from_value(serde_json::json!({"q": "write"})).unwrap()).unwrap();
    let arguments = ["-q", "1", "-t", "agentdex/events/#", "-t", "agentdex/queries/cheap/#"];
    let mut plain = Subscriber::start(server.port(), &arguments);
    let mut all = Subscriber::start(server.port(), &["-q", "1", "-t", "agentdex/#"]);
    for number in 0..WRITES {
        server.put(&format!("urn:agent:{number}"), "Write");
    }
    // Of each write its event, and that for the query which keeps up.
    let topics: Vec<String> = plain.take(2 * WRITES).into_iter().map(|message| message.topic).collect();
    let behind = |name: &str| server.registry.saved_query(name).unwrap().behind;
    let is_behind = (0..QUERIES).any(|number| behind(&format!("costly{number}")).is_some_and(|behind| behind > 0));
    assert!(is_behind, "the queries were compared before the events came: {topics:?}");
    assert_eq!(behind("cheap"), None);
    assert_eq!(topics.iter().filter(|topic| topic.starts_with("agentdex/queries/cheap/")).count(), WRITES);
    // Whoever reads everything gets what the changes say first, and each event of a query once.
    let first: Vec<String> = all.take(3 * WRITES).into_iter().map(|message| message.topic).collect();
    let queries = |topic: &&String| topic.starts_with("agentdex/queries/");
    assert!(first.iter().filter(queries).count() < WRITES * QUERIES / 2, "{first:?}");
    let rest = all.take(WRITES * (3 + QUERIES + 1) - first.len());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for topic in first.into_iter().chain(rest.into_iter().map(|message| message.topic)) {
        *counts.entry(topic).or_default() += 1;
    }
    for number in 0..WRITES {
        for query in (0..QUERIES).map(|number| format!("costly{number}")).chain(["cheap".to_owned()]) {
            let topic = format!("agentdex/queries/{query}/thing_created/urn:agent:{number}");
            assert_eq!(counts.get(&topic), Some(&1), "{topic}");
        }
    }
    eventually("all queries have caught up", || behind("costly999").is_none());
}

/// Reads the events of [`QUERIES`] costly queries and of a cheap one, and asserts that the cheap one waits for no other, and
/// that the events of each query come once, in the order of the log.
fn assert_each_query_has_its_own_position(subscriber: &mut Subscriber, queries: usize) {
    let mut numbers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut before_cheap = 0;
    for count in 1..=WRITES * (queries + 1) {
        let topic = subscriber.next().topic;
        let levels: Vec<&str> = topic.split('/').collect();
        let [_, _, query, _, id] = levels[..] else { panic!("{topic}") };
        if query == "cheap" {
            before_cheap = count;
        }
        numbers.entry(query.to_owned()).or_default().push(id.to_owned());
    }
    let expected: Vec<String> = (0..WRITES).map(|number| format!("urn:agent:{number}")).collect();
    for (query, ids) in &numbers {
        assert_eq!(*ids, expected, "{query}");
    }
    let all = WRITES * (queries + 1);
    assert!(before_cheap < all * 2 / 3, "the cheap query's last event came as number {before_cheap} of {all}");
}

#[test]
fn events_of_a_query_do_not_wait_for_other_queries() {
    if !has_mosquitto() {
        return;
    }
    const COSTLY: usize = 400;
    let server = Server::start();
    for number in 0..COSTLY {
        server.registry.save_query(&*format!("costly{number}"), costly()).unwrap();
    }
    server.registry.save_query("cheap", serde_json::from_value(serde_json::json!({"q": "write"})).unwrap()).unwrap();
    let filters = ["agentdex/queries/#", "$share/readers/agentdex/queries/#"];
    let mut subscribers = filters.map(|filter| Subscriber::start(server.port(), &["-q", "1", "-t", filter]));
    for number in 0..WRITES {
        server.put(&format!("urn:agent:{number}"), "Write");
    }
    for subscriber in &mut subscribers {
        assert_each_query_has_its_own_position(subscriber, COSTLY);
    }
}

#[test]
fn a_session_is_notified_of_events_that_a_query_misses_while_it_starts() {
    let server = Server::start();
    server.registry.save_query("cheap", serde_json::from_value(serde_json::json!({"q": "write"})).unwrap()).unwrap();
    server.put_many(3_000);
    let hello =
        Hello { client_id: "reader", clean: false, properties: vec![0x11, 0, 0, 0x0e, 0x10], ..Hello::default() };
    let filter = "agentdex/queries/cheap/#";
    let (mut client, _) = Client::connect(server.port(), V5, &hello);
    client.subscribe(&[(filter, 1)]);
    client.assert_nothing_comes();
    drop(client);
    // What a query matches is known once the index is built again.
    let directory = server.stop();
    std::fs::remove_dir_all(directory.path().join("search")).unwrap();
    let server = Server::open(directory, EndpointOptions::default());
    server.put("urn:written", "Write");
    let (mut client, _) = Client::connect(server.port(), V5, &hello);
    let packet = client.receive();
    assert_eq!(packet.kind, PUBLISH);
    let is_notified = packet.topic().starts_with("agentdex/events/resync/");
    assert!(is_notified || packet.topic() == "agentdex/queries/cheap/thing_created/urn:written", "{}", packet.topic());
}

fn is_resync(packet: &Packet) -> bool {
    packet.topic().starts_with("agentdex/events/resync/")
}

const FILTER: &str = "agentdex/queries/cheap/#";

/// A session that is kept for an hour.
fn persistent() -> Hello<'static> {
    Hello { client_id: "reader", clean: false, properties: vec![0x11, 0, 0, 0x0e, 0x10], ..Hello::default() }
}

/// A server with a query that matches what is titled `Write`, and whose events a persistent session subscribes to.
fn server_with_session(filter: &str) -> (Server, Client) {
    let server = Server::start();
    server.registry.save_query("cheap", serde_json::from_value(serde_json::json!({"q": "write"})).unwrap()).unwrap();
    let (mut client, _) = Client::connect(server.port(), V5, &persistent());
    assert_eq!(client.subscribe(&[(filter, 1)]), [1]);
    (server, client)
}

#[test]
fn a_session_is_notified_of_unacknowledged_events_that_are_lost_with_a_restart() {
    let (server, mut client) = server_with_session(FILTER);
    for number in 0..2 {
        server.put(&format!("urn:{number}"), "Write");
        assert_eq!(client.receive().topic(), format!("agentdex/queries/cheap/thing_created/urn:{number}"));
    }
    client.ping();
    drop(client);
    let server = server.restart();
    let (mut client, _) = Client::connect(server.port(), V5, &persistent());
    assert!(is_resync(&client.receive()));
    client.assert_nothing_comes();
}

#[test]
fn an_endpoint_that_is_bound_again_sends_no_event_of_a_query_again() {
    let (server, mut client) = server_with_session(FILTER);
    server.put("urn:a", "Write");
    let packet = client.receive();
    assert_eq!(packet.topic(), "agentdex/queries/cheap/thing_created/urn:a");
    client.acknowledge(packet.publish_id());
    client.ping();
    drop(client);
    let Server { endpoint, registry, directory } = server;
    endpoint.stop();
    let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), EndpointOptions::default()).unwrap();
    let server = Server { endpoint, registry, directory };
    let (mut client, _) = Client::connect(server.port(), V5, &persistent());
    client.assert_nothing_comes();
    server.put("urn:b", "Write");
    assert_eq!(client.receive().topic(), "agentdex/queries/cheap/thing_created/urn:b");
}

#[test]
fn a_group_gets_events_that_came_while_no_member_was_there() {
    let (server, client) = server_with_session("$share/readers/agentdex/queries/#");
    drop(client);
    eventually("the end of the connection", || server.endpoint.handle().connections() == 0);
    server.put("urn:a", "Write");
    let change = server.registry.entry(server.registry.last_seq()).unwrap().unwrap();
    assert_eq!(server.registry.saved_query_events(change.change().unwrap()).unwrap().len(), 1);
    server.registry.forget_query_events();
    let (mut client, _) = Client::connect(server.port(), V5, &persistent());
    server.put("urn:b", "Write");
    for id in ["urn:a", "urn:b"] {
        assert_eq!(client.receive().topic(), format!("agentdex/queries/cheap/thing_created/{id}"));
    }
}

#[test]
fn one_write_after_a_restart_notifies_a_session_once_however_many_queries_there_are() {
    const STARTING: usize = 20;
    let (server, mut client) = server_with_session("agentdex/queries/#");
    let query = serde_json::json!({"q": "write"});
    for number in 1..STARTING {
        server.registry.save_query(&*format!("q{number}"), serde_json::from_value(query.clone()).unwrap()).unwrap();
    }
    server.put_many(3_000);
    let last = server.registry.last_seq();
    let are_all_compared = |server: &Server, last| server.registry.queries_position(|_, _| true) == last;
    eventually("all queries are compared", || are_all_compared(&server, last));
    client.assert_nothing_comes();
    drop(client);
    // What the queries match is known once the index is built again.
    let directory = server.stop();
    std::fs::remove_dir_all(directory.path().join("search")).unwrap();
    let server = Server::open(directory, EndpointOptions::default());
    server.put("urn:early", "Write");
    let (mut client, _) = Client::connect(server.port(), V5, &persistent());
    let last = server.registry.last_seq();
    eventually("all queries have started", || are_all_compared(&server, last));
    server.put("urn:late", "Write");
    let (mut resyncs, mut events) = (0, 0);
    while events < STARTING {
        let packet = client.receive();
        resyncs += usize::from(is_resync(&packet));
        events += usize::from(packet.topic().ends_with("/urn:late"));
    }
    assert!(resyncs <= 1, "{resyncs} times");
}

#[test]
fn a_backlog_of_queries_does_not_hold_up_a_stop() {
    let server = Server::start();
    for number in 0..QUERIES {
        server.registry.save_query(&*format!("costly{number}"), costly()).unwrap();
    }
    server.put_many(200);
    let delayed = || {
        let metrics = server.registry.metrics();
        metrics.iter().find(|metric| metric.name == "agentdex_delayed_queries").unwrap().value
    };
    eventually("queries are behind", || delayed() > 0);
    server.endpoint.stop();
    server.registry.close();
    assert!(delayed() > 0, "all changes were compared before the end");
}
