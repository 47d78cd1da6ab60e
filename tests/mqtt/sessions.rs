//! Who was away gets everything since, in order, as long as retention reaches.

use std::{collections::BTreeSet, path::Path, thread, time::Duration};

use agentdex::{Registry, Timestamp, store};
use agentdex_server::mqtt::{Endpoint, EndpointOptions};
use serde_json::Value;

use super::{
    support::{Server, Subscriber, agent, has_mosquitto},
    wire::{
        Client, Hello, Packet,
        Version::{self, V3, V5},
        packet,
    },
};
use crate::{
    process::ServerProcess,
    support::{Call, eventually, nth},
};

const CHANGES: usize = 1000;

/// Changes over HTTP, as any client makes them.
fn put_over_http(server: &ServerProcess, numbers: std::ops::Range<usize>) {
    for part in numbers.collect::<Vec<_>>().chunks(100) {
        let lines: Vec<String> =
            part.iter().map(|number| agent(&format!("urn:agent:{number}"), "A", &["chat"])).collect();
        let url = format!("{}/things/batch", server.url());
        let answer = Call::new("POST", &url).body("application/x-ndjson", lines.join("\n")).send();
        assert_eq!(answer.status, 200);
    }
}

fn serve(data: &Path) -> ServerProcess {
    ServerProcess::start(data, &["--mqtt-listen", "127.0.0.1:0"])
}

/// Asserts that each event came once or more, the first time in order.
fn assert_in_order(seqs: impl IntoIterator<Item = u64>, expected: std::ops::RangeInclusive<u64>) {
    let mut next = *expected.start();
    for seq in seqs {
        assert!(seq <= next, "the event of change {seq} came before the one of {next}");
        next = next.max(seq + 1);
    }
    assert_eq!(next, expected.end() + 1);
}

#[test]
fn session_away_through_1_000_changes_and_kill_9_gets_each() {
    if !has_mosquitto() {
        return;
    }
    for version in [&["-V", "mqttv311"][..], &["-V", "mqttv5", "-x", "3600"]] {
        let data = tempfile::tempdir().unwrap();
        let session = [version, &["-c", "-i", "reader", "-q", "1", "-t", "agentdex/events/#"]].concat();
        let server = serve(data.path());
        let mut subscriber = Subscriber::start(server.mqtt().unwrap().port(), &session);
        put_over_http(&server, 0..1);
        assert_eq!(subscriber.next().number(), 1);
        subscriber.leave();
        put_over_http(&server, 1..CHANGES / 2);
        server.kill();
        let server = serve(data.path());
        put_over_http(&server, CHANGES / 2..CHANGES + 1);
        server.kill();
        let server = serve(data.path());
        let mut subscriber = Subscriber::start(server.mqtt().unwrap().port(), &session);
        let last = CHANGES as u64 + 1;
        let mut seqs = Vec::new();
        while seqs.last() != Some(&last) {
            seqs.push(subscriber.next().number());
        }
        // What it had acknowledged before may come once more.
        let first = seqs[0].min(2);
        assert_in_order(seqs, first..=last);
        put_over_http(&server, CHANGES + 1..CHANGES + 2);
        assert_eq!(subscriber.next().number(), last + 1);
    }
}

#[test]
fn session_connected_through_kill_9_gets_each() {
    if !has_mosquitto() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let session = ["-c", "-i", "reader", "-q", "1", "-t", "agentdex/events/#"];
    let server = serve(data.path());
    let subscriber = Subscriber::start(server.mqtt().unwrap().port(), &session);
    subscriber.freeze();
    put_over_http(&server, 0..600);
    server.kill();
    drop(subscriber);
    let server = serve(data.path());
    let mut subscriber = Subscriber::start(server.mqtt().unwrap().port(), &session);
    let seqs: Vec<u64> = subscriber.take(600).iter().map(super::support::Message::number).collect();
    assert_in_order(seqs, 1..=600);
}

fn persistent(client_id: &str) -> Hello<'_> {
    Hello { client_id, clean: false, ..Hello::default() }
}

/// One that version 5 keeps for an hour.
fn persistent_as(version: Version, client_id: &str) -> Hello<'_> {
    let properties = if version == V5 { vec![0x11, 0, 0, 14, 16] } else { Vec::new() };
    Hello { properties, ..persistent(client_id) }
}

#[test]
fn what_was_not_acknowledged_is_sent_again() {
    for (version, is_restarted) in [(V3, false), (V5, false), (V3, true), (V5, true)] {
        let mut server = Server::start();
        let (mut client, connack) = Client::connect(server.port(), version, &persistent_as(version, "reader"));
        assert_eq!(connack[..2], [0, 0]);
        client.subscribe(&[("agentdex/events/#", 1)]);
        (0..5).for_each(|number| server.put(&format!("urn:{number}"), "A"));
        let first: Vec<(String, u16)> = (0..5).map(|_| client.receive()).map(|message| name(&message)).collect();
        // The third is missing.
        for index in [0, 1, 3, 4] {
            client.acknowledge(first[index].1);
        }
        client.ping();
        drop(client);
        if is_restarted {
            server = server.restart();
        }
        let (mut client, connack) = Client::connect(server.port(), version, &persistent_as(version, "reader"));
        assert_eq!(connack[..2], [1, 0], "the session was not there");
        // It alone, marked, and under its old packet id (5.0, section 4.4).
        let again = client.receive();
        assert!(again.is_duplicate());
        assert_eq!(name(&again), first[2]);
        server.put("urn:later", "A");
        let later = client.receive();
        assert_eq!(later.topic(), "agentdex/events/thing_created/urn:later");
        assert!(!later.is_duplicate());
        assert_ne!(later.publish_id(), again.publish_id());
    }
}

fn name(message: &Packet) -> (String, u16) {
    (message.topic().to_owned(), message.publish_id())
}

#[test]
fn position_is_saved_by_a_clean_disconnect() {
    for version in [V3, V5] {
        let server = Server::start();
        let hello = persistent_as(version, "reader");
        let (mut client, _) = Client::connect(server.port(), version, &hello);
        client.subscribe(&[("agentdex/events/#", 1)]);
        server.put("urn:a", "A");
        let mut last = packet(0x40, &client.receive().publish_id().to_be_bytes());
        // The acknowledgement and the end in one piece.
        last.extend(packet(0xe0, &[]));
        client.send(&last);
        assert!(client.try_receive().is_none());
        let server = server.restart();
        let (mut client, connack) = Client::connect(server.port(), version, &hello);
        assert_eq!(connack[..2], [1, 0]);
        server.put("urn:b", "B");
        let next = client.receive();
        assert_eq!(next.topic(), "agentdex/events/thing_created/urn:b");
        assert!(!next.is_duplicate());
    }
}

#[test]
fn descriptions_that_were_acknowledged_are_not_sent_again() {
    let server = Server::start();
    server.put_many(50);
    let hello = Hello { properties: [&[0x11, 0, 0, 14, 16][..], &[0x21, 0, 5]].concat(), ..persistent("reader") };
    let (mut client, _) = Client::connect(server.port(), V5, &hello);
    client.subscribe(&[("agentdex/things/#", 1)]);
    let mut taken: Vec<(String, u16)> = (0..20)
        .map(|_| {
            let message = client.receive();
            client.acknowledge(message.publish_id());
            name(&message)
        })
        .collect();
    let in_flight: Vec<(String, u16)> = (0..5).map(|_| name(&client.receive())).collect();
    client.ping();
    drop(client);
    let server = server.restart();
    let (mut client, _) = Client::connect(server.port(), V5, &hello);
    for expected in in_flight {
        let message = client.receive();
        assert!(message.is_duplicate());
        assert_eq!(name(&message), expected);
        client.acknowledge(message.publish_id());
        taken.push(expected);
    }
    for _ in taken.len()..50 {
        let message = client.receive();
        assert!(!message.is_duplicate());
        client.acknowledge(message.publish_id());
        taken.push(name(&message));
    }
    let topics: BTreeSet<String> = taken.into_iter().map(|(topic, _)| topic).collect();
    assert_eq!(topics.len(), 50);
}

#[test]
fn sessions_and_their_subscriptions_outlive_the_server() {
    let server = Server::start();
    let (mut client, _) = Client::connect(server.port(), V3, &persistent("reader"));
    client.subscribe(&[("agentdex/events/#", 1), ("agentdex/things/urn:never", 0)]);
    client.unsubscribe(&["agentdex/things/urn:never"]);
    let server = server.restart();
    server.put("urn:never", "A");
    let (mut client, connack) = Client::connect(server.port(), V3, &persistent("reader"));
    assert_eq!(connack, [1, 0]);
    assert_eq!(client.receive().topic(), "agentdex/events/thing_created/urn:never");
    client.assert_nothing_comes();
}

#[test]
fn clean_start_discards_the_session() {
    let server = Server::start();
    let (mut client, _) = Client::connect(server.port(), V3, &persistent("reader"));
    client.subscribe(&[("agentdex/events/#", 1)]);
    drop(client);
    let (client, connack) = Client::connect(server.port(), V3, &Hello { client_id: "reader", ..Hello::default() });
    assert_eq!(connack, [0, 0]);
    drop(client);
    server.put("urn:a", "A");
    let (mut client, connack) = Client::connect(server.port(), V3, &persistent("reader"));
    assert_eq!(connack, [0, 0]);
    client.assert_nothing_comes();
}

/// When the stored session `reader` ends; none while its client is connected, and before it is stored.
fn end_of_session(registry: &Registry) -> Option<Timestamp> {
    let sessions = registry.sessions().unwrap();
    let (_, state) = sessions.iter().find(|(name, _)| name == "reader")?;
    let state: Value = serde_json::from_slice(state).unwrap();
    let away_since = Timestamp::parse_rfc3339(state["awaySince"].as_str()?).unwrap();
    Some(away_since.plus_seconds(state["expiry"].as_u64().unwrap()))
}

fn has_passed(moment: Option<Timestamp>) -> bool {
    moment.is_some_and(|moment| moment <= Timestamp::now())
}

#[test]
fn session_expiry_of_version_5_is_honoured() {
    let server = Server::start();
    let expiring = |seconds: u8| Hello {
        client_id: "reader",
        clean: false,
        properties: vec![0x11, 0, 0, 0, seconds],
        ..Hello::default()
    };
    let (client, _) = Client::connect(server.port(), V5, &expiring(100));
    drop(client);
    let (client, connack) = Client::connect(server.port(), V5, &expiring(1));
    assert_eq!(connack[0], 1);
    drop(client);
    // A connection that the server still takes for open would hand its session over.
    let no_connection = || server.endpoint.handle().connections() == 0;
    eventually("the end of the connection", no_connection);
    thread::sleep(Duration::from_millis(1001));
    let (client, connack) = Client::connect(server.port(), V5, &expiring(0));
    assert_eq!(connack[0], 0, "the session did not expire");
    drop(client);
    eventually("the end of the connection", no_connection);
    let (_, connack) = Client::connect(server.port(), V5, &expiring(0));
    assert_eq!(connack[0], 0, "a session without expiry outlived its connection");
}

#[test]
fn session_expires_while_the_server_is_down() {
    for (seconds, is_there) in [(1, false), (100, true)] {
        let server = Server::start();
        let hello =
            Hello { client_id: "reader", clean: false, properties: vec![0x11, 0, 0, 0, seconds], ..Hello::default() };
        let (mut client, _) = Client::connect(server.port(), V5, &hello);
        client.subscribe(&[("agentdex/events/#", 1)]);
        client.send(&packet(0xe0, &[]));
        assert!(client.try_receive().is_none());
        let mut end = None;
        eventually("the session in the store", || {
            end = end_of_session(&server.registry);
            end.is_some()
        });
        let Server { endpoint, registry, directory } = server;
        drop(endpoint);
        registry.close();
        drop(registry);
        if !is_there {
            eventually("the expiry", || has_passed(end));
        }
        let registry = Registry::builder(directory.path()).open().unwrap();
        let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), EndpointOptions::default()).unwrap();
        let server = Server { endpoint, registry, directory };
        let (_, connack) = Client::connect(server.port(), V5, &hello);
        assert_eq!(connack[0] == 1, is_there, "with {seconds} s");
    }
}

#[test]
fn session_of_version_3_expires_by_the_setting() {
    for (seconds, is_there) in [(600, true), (1, false)] {
        let default_session_expiry = Duration::from_secs(seconds);
        let server = Server::with(EndpointOptions { default_session_expiry, ..EndpointOptions::default() });
        let (mut client, _) = Client::connect(server.port(), V3, &persistent("reader"));
        client.subscribe(&[("agentdex/events/#", 1)]);
        drop(client);
        if !is_there {
            eventually("the expiry", || has_passed(end_of_session(&server.registry)));
        }
        let (_, connack) = Client::connect(server.port(), V3, &persistent("reader"));
        assert_eq!(connack, [u8::from(is_there), 0], "with {seconds} s");
    }
}

#[test]
fn subscription_lost_with_its_session_is_not_in_the_store() {
    let server = Server::start();
    let stored = || server.registry.sessions().unwrap().len();
    let (mut client, _) = Client::connect(server.port(), V3, &persistent("reader"));
    client.subscribe(&[("agentdex/events/#", 1), ("+/things/a", 0), ("$share/readers/agentdex/things/#", 1)]);
    // The state, three subscriptions and the position of the group.
    assert_eq!(stored(), 5);
    client.unsubscribe(&["+/things/a", "$share/readers/agentdex/things/#"]);
    assert_eq!(stored(), 2);
    drop(client);
    let (_client, _) = Client::connect(server.port(), V3, &Hello { client_id: "reader", ..Hello::default() });
    assert_eq!(stored(), 0);
}

#[test]
fn moving_a_position_does_not_write_the_subscriptions() {
    let server = Server::start();
    let (mut client, _) = Client::connect(server.port(), V3, &persistent("reader"));
    let filters: Vec<String> =
        (0..100).map(|number| format!("agentdex/events/+/{number}{}", "x".repeat(1000))).collect();
    let filters: Vec<(&str, u8)> = filters.iter().map(|filter| (filter.as_str(), 1)).collect();
    filters.chunks(40).for_each(|part| assert!(client.subscribe(part).iter().all(|code| *code == 1)));
    let sessions = server.registry.sessions().unwrap();
    let state = sessions.iter().find(|(name, _)| name == "reader").unwrap();
    assert!(state.1.len() < 500, "{} bytes", state.1.len());
    assert_eq!(sessions.len(), 101);
}

#[test]
fn disconnect_can_change_when_the_session_expires() {
    let server = Server::start();
    let kept = Hello { client_id: "reader", clean: false, properties: vec![0x11, 0, 0, 0, 100], ..Hello::default() };
    let (mut client, _) = Client::connect(server.port(), V5, &kept);
    client.send(&[0xe0, 7, 0, 5, 0x11, 0, 0, 0, 0]);
    assert!(client.try_receive().is_none());
    let (_, connack) = Client::connect(server.port(), V5, &kept);
    assert_eq!(connack[0], 0);
}

#[test]
fn sessions_are_kept_no_longer_than_the_server_allows() {
    let options =
        EndpointOptions { max_session_expiry: std::time::Duration::from_secs(60), ..EndpointOptions::default() };
    let server = Server::with(options);
    let hello =
        Hello { client_id: "reader", clean: false, properties: vec![0x11, 0xff, 0xff, 0xff, 0xff], ..Hello::default() };
    let (_client, connack) = Client::connect(server.port(), V5, &hello);
    assert!(connack.windows(5).any(|window| window == [0x11, 0, 0, 0, 60]), "{connack:02x?}");
}

#[test]
fn sessions_beyond_the_limit_are_refused() {
    let server = Server::with(EndpointOptions { max_sessions: 2, ..EndpointOptions::default() });
    for name in ["one", "two"] {
        assert_eq!(Client::connect(server.port(), V3, &persistent(name)).1, [0, 0]);
    }
    eventually("the end of the connections", || server.endpoint.handle().connections() == 0);
    assert_eq!(Client::connect(server.port(), V3, &persistent("three")).1, [0, 3]);
    assert_eq!(Client::connect(server.port(), V3, &persistent("two")).1, [1, 0]);
}

#[test]
fn session_away_for_longer_than_retention_gets_the_state_and_a_resync_event() {
    if !has_mosquitto() {
        return;
    }
    let session = ["-c", "-i", "reader", "-q", "1", "-t", "agentdex/events/#", "-t", "agentdex/things/#"];
    let server = Server::start();
    let mut subscriber = Subscriber::start(server.port(), &session);
    server.put("urn:a", "A");
    subscriber.take(2);
    subscriber.leave();
    server.put_many(100);
    let Server { endpoint, registry, directory } = server;
    endpoint.stop();
    drop(endpoint);
    registry.close();
    drop(registry);
    let trimming = store::Options::default().retained_changes(10);
    let store = store::Store::open(directory.path(), trimming).unwrap();
    store.trim_log(Timestamp::now()).unwrap();
    store.close();
    drop(store);
    let registry = Registry::builder(directory.path()).open().unwrap();
    let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), EndpointOptions::default()).unwrap();
    let server = Server { endpoint, registry, directory };
    let mut subscriber = Subscriber::start(server.port(), &session);
    let event = subscriber.next();
    assert_eq!(event.topic, format!("agentdex/events/resync/urn:agentdex:registry:{}", server.registry.registry_id()));
    assert_eq!(event.json()["data"]["cursor"], format!("{}-{}", server.registry.epoch(), nth(101)));
    let state = subscriber.take(101);
    assert!(state.iter().all(|message| message.topic.starts_with("agentdex/things/") && message.retain));
    server.put("urn:b", "B");
    let next = loop {
        // Subscribing once more has brought the state once more.
        let message = subscriber.next();
        if message.topic.starts_with("agentdex/events/") {
            break message;
        }
    };
    assert_eq!(next.number(), 102);
}
