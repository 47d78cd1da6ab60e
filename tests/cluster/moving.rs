//! Clients that move from one node to another.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::{Cluster, cursor, get, put, title};
use crate::{
    mqtt::{
        broker::Broker,
        support::{Message, Subscriber, has_mosquitto},
        wire::{Client, Hello, Version},
    },
    process::ServerProcess,
    support::{Call, EventStream, eventually},
};

/// Type of a DISCONNECT, and the reason code "use another server" (MQTT 5.0, section 2.4).
const DISCONNECT: u8 = 14;
const USE_ANOTHER_SERVER: u8 = 0x9c;

fn events(server: &ServerProcess, last_id: Option<&str>) -> EventStream {
    let call = Call::new("GET", &format!("{}/events", server.url()));
    EventStream::open(match last_id {
        Some(last_id) => call.header("last-event-id", last_id),
        None => call,
    })
}

#[test]
fn an_event_stream_continues_at_another_node() {
    let Some(cluster) = Cluster::start() else { return };
    let (first, second) = (cluster.node(1, &[]), cluster.node(2, &[]));
    let mut stream = events(&first, None);
    let mut written = 0;
    let mut write = |server: &ServerProcess, count: usize| {
        for _ in 0..count {
            written += 1;
            let answer = put(server, &format!("urn:example:{written}"), "Agent");
            assert_eq!(answer.status, 201, "{}", answer.text());
        }
    };
    write(&first, 3);
    write(&second, 3);
    let mut seen = stream.take(5);
    // One was sent, but not read.
    let last_id = stream.last_id.clone();
    first.kill();
    write(&second, 3);
    let mut stream = events(&second, Some(&last_id));
    write(&second, 2);
    seen.extend(stream.take(6));
    let ids: Vec<Value> = seen.iter().map(|event| event.json()["id"].clone()).collect();
    let expected: Vec<String> = (1..=11).map(|number| format!("urn:example:{number}")).collect();
    assert_eq!(ids, expected);
    let positions: BTreeSet<&str> = seen.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(positions.len(), 11);
}

/// Receives messages until there is one with this topic. Returns their topics, and the texts.
fn receive_until(client: &mut Client, topic: &str) -> Vec<(String, String)> {
    let mut messages: Vec<(String, String)> = Vec::new();
    while messages.last().is_none_or(|(last, _)| last != topic) {
        let packet = client.receive();
        client.acknowledge(packet.publish_id());
        let text = packet.body[4 + packet.topic().len()..].to_vec();
        messages.push((packet.topic().to_owned(), String::from_utf8(text).unwrap()));
    }
    messages
}

#[test]
fn an_mqtt_client_starts_anew_at_another_node() {
    let Some(cluster) = Cluster::start() else { return };
    let nodes = [1, 2].map(|node| cluster.node(node, &["--mqtt-listen", "127.0.0.1:0"]));
    let hello = Hello { client_id: "reader", clean: false, ..Hello::default() };
    let filters = [("agentdex/things/#", 1), ("agentdex/events/#", 1)];
    let connect = |node: &ServerProcess| Client::connect(node.mqtt().unwrap().port(), Version::V3, &hello);
    for (id, title) in [("urn:example:kept", "One"), ("urn:example:changed", "One"), ("urn:example:removed", "One")] {
        put(&nodes[0], id, title).expect(201);
    }
    let (mut client, connack) = connect(&nodes[0]);
    assert_eq!(connack[0], 0);
    client.subscribe(&filters);
    put(&nodes[1], "urn:example:last", "One").expect(201);
    let seen = receive_until(&mut client, "agentdex/events/thing_created/urn:example:last");
    let event: Value = serde_json::from_str(&seen.last().unwrap().1).unwrap();
    let position = event["id"].as_str().unwrap().to_owned();
    // The node knows the session.
    drop(client);
    let (client, connack) = connect(&nodes[0]);
    assert_eq!(connack[0], 1, "session present");
    drop(client);
    let [first, second] = nodes;
    first.kill();
    put(&second, "urn:example:changed", "Two").expect(204);
    let removal = Call::new("DELETE", &format!("{}/things/urn:example:removed", second.url()));
    removal.send().expect(204);
    put(&second, "urn:example:new", "One").expect(201);

    let (mut client, connack) = connect(&second);
    assert_eq!(connack[0], 0, "no session");
    client.subscribe(&filters);
    put(&second, "urn:example:end", "One").expect(201);
    let seen = receive_until(&mut client, "agentdex/events/thing_created/urn:example:end");
    // The state of each agent is that of the registry, and events continue at the present.
    let topic = |id: &str| format!("agentdex/things/urn:example:{id}");
    let last = |id: &str| seen.iter().rev().find(|(other, _)| *other == topic(id)).map(|(_, text)| text.as_str());
    for (id, expected) in [("kept", "One"), ("changed", "Two"), ("last", "One"), ("new", "One")] {
        let description: Value = serde_json::from_str(last(id).unwrap()).unwrap();
        assert_eq!(description["title"], expected, "{id}");
    }
    assert!(last("removed").is_none_or(str::is_empty));
    let events = seen.iter().filter(|(topic, _)| topic.starts_with("agentdex/events/"));
    assert_eq!(events.count(), 1, "{seen:?}");
    // The changes in between.
    let changes = get(&second, &format!("/changes?since={position}")).expect(200).json();
    let ids: Vec<&Value> = changes["changes"].as_array().unwrap().iter().map(|change| &change["id"]).collect();
    assert_eq!(ids, ["urn:example:changed", "urn:example:removed", "urn:example:new", "urn:example:end"]);
    assert_eq!(changes["truncated"], false);
}

#[test]
fn streams_and_connections_end_at_a_node_that_is_cut_off() {
    let Some(mut cluster) = Cluster::start() else { return };
    let node = cluster.node(1, &["--cluster-stale-limit", "5", "--mqtt-listen", "127.0.0.1:0"]);
    put(&node, "urn:example:a", "One").expect(201);
    let mut stream = events(&node, None);
    let port = node.mqtt().unwrap().port();
    let hello = Hello { client_id: "reader", ..Hello::default() };
    let (mut client, _) = Client::connect(port, Version::V5, &hello);
    client.subscribe(&[("agentdex/events/#", 0)]);
    cluster.etcd.kill();
    assert_eq!(stream.next(), None, "the stream ends");
    let packet = client.receive();
    assert_eq!((packet.kind, packet.body[0]), (DISCONNECT, USE_ANOTHER_SERVER));
    // Nobody gets in.
    let (_, connack) = Client::connect(port, Version::V5, &hello);
    assert_eq!(connack[1], USE_ANOTHER_SERVER);
    get(&node, "/events").problem(503, "cut-off");
    cluster.etcd.run();
    eventually("it serves again", || title(&node, "urn:example:a").is_some());
    let (mut client, _) = Client::connect(port, Version::V5, &hello);
    client.ping();
}

#[test]
fn an_answer_of_a_node_can_be_the_minimum_at_another() {
    let Some(cluster) = Cluster::start() else { return };
    let (first, second) = (cluster.node(1, &[]), cluster.node(2, &[]));
    let read = |server: &ServerProcess, position: &str| {
        let call = Call::new("GET", &format!("{}/things/urn:example:a", server.url()));
        call.header("agentdex-min-position", position).send()
    };
    let mut last = String::new();
    for number in 0..30 {
        let (title, nodes) = (format!("Title {number}"), [&first, &second]);
        let (writer, reader) = (nodes[number % 2], nodes[(number + 1) % 2]);
        last = put(writer, "urn:example:a", &title).header("agentdex-position");
        assert_eq!(read(reader, &last).expect(200).json()["title"], title.as_str());
    }
    assert_eq!(last, cursor(&second).as_str().unwrap());
    let (epoch, seq) = last.split_once('-').unwrap();
    let ahead = read(&second, &format!("{epoch}-{}", seq.parse::<u64>().unwrap() + 1_000_000));
    assert_eq!(ahead.header("retry-after"), "1");
    ahead.problem(503, "position-ahead");
    read(&second, "0123456789abcdef-1").problem(409, "other-epoch");
    read(&second, "17").problem(400, "malformed-request");
    assert_eq!(get(&second, "/things/urn:example:a").header("agentdex-position"), "", "only writes show it");
}

#[test]
fn conditions_hold_for_changes_acknowledged_by_another_node() {
    let Some(cluster) = Cluster::start() else { return };
    let nodes = [cluster.node(1, &[]), cluster.node(2, &[])];
    for number in 0..30 {
        let (writer, other) = (&nodes[number % 2], &nodes[(number + 1) % 2]);
        let etag = put(writer, "urn:example:a", "One").expect(201).header("etag");
        let removal = Call::new("DELETE", &format!("{}/things/urn:example:a", other.url()));
        let answer = removal.header("if-match", &etag).send();
        assert_eq!(answer.status, 204, "removal {number}: {}", answer.text());
    }
}

#[test]
fn only_the_leader_publishes_and_the_next_one_continues() {
    if !has_mosquitto() {
        return;
    }
    let Some(cluster) = Cluster::start() else { return };
    let broker = Broker::open();
    let url = format!("mqtt://127.0.0.1:{}", broker.port);
    let arguments = ["--no-mqtt", "--mqtt-url", &url];
    let mut subscriber = Subscriber::start(broker.port, &["-q", "1", "-t", "agentdex/events/#"]);
    let (first, second) = (cluster.node(1, &arguments), cluster.node(2, &arguments));
    let leader_of = |server: &ServerProcess| super::cluster(server)["leader"].as_str().map(str::to_owned);
    eventually("both know the leader", || leader_of(&first).is_some() && leader_of(&first) == leader_of(&second));
    let write = |server: &ServerProcess, numbers: std::ops::Range<usize>| {
        for number in numbers {
            eventually("it is written", || put(server, &format!("urn:example:{number}"), "Agent").status == 201);
        }
    };
    let of = |message: &Message| message.json()["subject"].as_str().unwrap_or_default().to_owned();
    // Events of the time before the first connection aren't published.
    eventually("the leader publishes", || {
        put(&first, "urn:probe", "Probe");
        put(&first, "urn:probe", "Other");
        subscriber.next_within(Duration::from_millis(500)).is_some()
    });
    let mut seen = Vec::new();
    let mut until = |subscriber: &mut Subscriber, id: &str| {
        while seen.last().is_none_or(|last: &String| last != id) {
            seen.extend(Some(of(&subscriber.next())).filter(|id| id != "urn:probe"));
        }
    };
    write(&first, 0..10);
    write(&second, 10..20);
    until(&mut subscriber, "urn:example:19");
    let is_first = leader_of(&first).as_deref() == Some("node-1");
    let (leader, other, name) = if is_first { (first, second, "node-2") } else { (second, first, "node-1") };
    leader.kill();
    write(&other, 20..30);
    // The lease of the former leader expires first.
    eventually("the other node leads", || leader_of(&other).as_deref() == Some(name));
    until(&mut subscriber, "urn:example:29");
    let before: Vec<String> = (0..20).map(|number| format!("urn:example:{number}")).collect();
    assert_eq!(seen[..20], before, "each once, and in order");
    let all: BTreeSet<&String> = seen.iter().collect();
    assert!((0..30).all(|number| all.contains(&format!("urn:example:{number}"))), "{seen:?}");
    let mut retained = broker.retained();
    retained.retain(|topic| topic.starts_with("agentdex/things/urn:example:"));
    assert_eq!(retained.len(), 30);
}
