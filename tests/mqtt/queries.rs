//! Saved queries that take long to compare: what else is published doesn't wait for them.

use std::collections::BTreeMap;

use agentdex::registry::QueryParameters;

use super::support::{Server, Subscriber, has_mosquitto};
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
