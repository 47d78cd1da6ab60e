//! Who was away gets everything since, in order, as long as retention reaches.

use std::path::Path;

use agentdex::{Registry, Timestamp, mqtt::EndpointOptions, store};

use super::{
    support::{Server, Subscriber, agent, has_mosquitto},
    wire::{
        Client, Hello, PINGRESP, PUBLISH,
        Version::{V3, V5},
        packet,
    },
};
use crate::{
    process::ServerProcess,
    support::{Call, eventually},
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
        assert_eq!(subscriber.next().seq(), 1);
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
            seqs.push(subscriber.next().seq());
        }
        // What it had acknowledged before may come once more.
        let first = seqs[0].min(2);
        assert_in_order(seqs, first..=last);
        assert!(subscriber.rest().is_empty());
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
    let seqs: Vec<u64> = subscriber.take(600).iter().map(super::support::Message::seq).collect();
    assert_in_order(seqs, 1..=600);
}

fn persistent(client_id: &str) -> Hello<'_> {
    Hello { client_id, clean: false, ..Hello::default() }
}

#[test]
fn what_was_not_acknowledged_is_sent_again() {
    let server = Server::start();
    let (mut client, connack) = Client::connect(server.port(), V3, &persistent("reader"));
    assert_eq!(connack, [0, 0]);
    client.subscribe(&[("agentdex/events/#", 1)]);
    server.put_many(5);
    let ids: Vec<u16> = (0..5).map(|_| client.receive().publish_id()).collect();
    // The third is missing: nothing after the second counts as done.
    for index in [0, 1, 3, 4] {
        client.acknowledge(ids[index]);
    }
    // Packets are taken in order: what came before the answer has been taken.
    client.send(&packet(0xc0, &[]));
    assert_eq!(client.receive().kind, PINGRESP);
    drop(client);
    let (mut client, connack) = Client::connect(server.port(), V3, &persistent("reader"));
    assert_eq!(connack, [1, 0], "the session was not there");
    for _ in 0..3 {
        assert_eq!(client.receive().kind, PUBLISH);
    }
    assert!(client.is_quiet());
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
    assert!(client.is_quiet());
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
    assert!(client.is_quiet());
}

#[test]
fn session_expiry_of_version_5_is_kept() {
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
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let (client, connack) = Client::connect(server.port(), V5, &expiring(0));
    assert_eq!(connack[0], 0, "the session did not expire");
    drop(client);
    let (_, connack) = Client::connect(server.port(), V5, &expiring(0));
    assert_eq!(connack[0], 0, "a session without expiry outlived its connection");
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
    eventually("the end of the connections", || server.endpoint.door().connections() == 0);
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
    let trimming = store::Options { retained_changes: 10, ..store::Options::default() };
    let store = store::Store::open(directory.path(), trimming).unwrap();
    store.trim_log(Timestamp::now()).unwrap();
    store.close();
    drop(store);
    let registry = Registry::builder(directory.path()).open().unwrap();
    let endpoint = agentdex::mqtt::Endpoint::bind("127.0.0.1:0", registry.clone(), EndpointOptions::default()).unwrap();
    let server = Server { endpoint, registry, directory };
    let mut subscriber = Subscriber::start(server.port(), &session);
    let event = subscriber.next();
    assert_eq!(event.topic, format!("agentdex/events/resync/urn:agentdex:registry:{}", server.registry.registry_id()));
    assert_eq!(event.json()["data"]["cursor"], format!("{}-101", server.registry.epoch()));
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
    assert_eq!(next.seq(), 102);
}
