//! Shared subscriptions: one reader of a group a message.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{
    support::{PATIENCE, Server, Subscriber, agent, has_mosquitto},
    wire::{
        Client, Hello,
        Version::{V3, V5},
    },
};

#[test]
fn each_message_goes_to_one_reader_of_a_group() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    server.put("urn:before", "before");
    let shared = ["-q", "1", "-t", "$share/readers/agentdex/events/#"];
    let mut readers: Vec<Subscriber> = ["mqttv311", "mqttv5", "mqttv5"]
        .iter()
        .map(|version| Subscriber::start(server.port(), &[&["-V", version], &shared[..]].concat()))
        .collect();
    let mut other = Subscriber::start(server.port(), &["-q", "1", "-t", "$share/others/agentdex/events/#"]);
    server.put_many(600);
    let mut seqs: Vec<u64> = Vec::new();
    let mut read = |seqs: &mut Vec<u64>, count| {
        let deadline = Instant::now() + PATIENCE;
        while seqs.len() < count && Instant::now() < deadline {
            let come = readers.iter_mut().filter_map(|reader| reader.next_within(Duration::from_millis(1)));
            seqs.extend(come.map(|message| message.number()));
        }
    };
    read(&mut seqs, 600);
    // Had one come twice, this wouldn't be the next.
    server.put("urn:last", "last");
    read(&mut seqs, 601);
    assert_eq!(seqs.len(), 601);
    assert_eq!(seqs.into_iter().collect::<BTreeSet<_>>(), (2..=602).collect());
    assert_eq!(other.take(600).len(), 600);
}

#[test]
fn what_a_reader_leaves_unacknowledged_goes_to_another() {
    let server = Server::start();
    let filter = [("$share/readers/agentdex/events/#", 1)];
    let (mut first, _) = Client::connect(server.port(), V5, &Hello::default());
    assert_eq!(first.subscribe(&filter), [1]);
    for number in 0..3 {
        server.registry.put(agent(&format!("urn:{number}"), "A", &[])).unwrap();
    }
    let taken: Vec<_> = (0..3).map(|_| first.receive()).collect();
    first.acknowledge(taken[1].publish_id());
    first.ping();
    let (mut second, _) = Client::connect(server.port(), V3, &Hello::default());
    second.subscribe(&filter);
    second.assert_nothing_comes();
    drop(first);
    let topics = [second.receive(), second.receive()].map(|message| message.topic().to_owned());
    assert_eq!(topics, ["agentdex/events/thing_created/urn:0", "agentdex/events/thing_created/urn:2"]);
    second.assert_nothing_comes();
}

#[test]
fn group_of_a_session_waits_for_it() {
    let server = Server::start();
    let hello = Hello { client_id: "reader", clean: false, ..Hello::default() };
    let (mut client, _) = Client::connect(server.port(), V3, &hello);
    client.subscribe(&[("$share/readers/agentdex/events/#", 1)]);
    server.put("urn:0", "A");
    let message = client.receive();
    client.acknowledge(message.publish_id());
    // Its answer comes once the acknowledgement was read.
    client.ping();
    drop(client);
    server.put("urn:1", "A");
    let server = server.restart();
    server.put("urn:2", "A");
    let (mut client, _) = Client::connect(server.port(), V3, &hello);
    let topics = [client.receive(), client.receive()].map(|message| message.topic().to_owned());
    assert_eq!(topics, ["agentdex/events/thing_created/urn:1", "agentdex/events/thing_created/urn:2"]);
    client.assert_nothing_comes();
}

#[test]
fn group_ends_with_its_last_reader() {
    let server = Server::start();
    let filter = "$share/readers/agentdex/events/#";
    let (mut client, _) = Client::connect(server.port(), V5, &Hello::default());
    client.subscribe(&[(filter, 1)]);
    assert_eq!(client.unsubscribe(&[filter]), [0]);
    server.put("urn:missed", "A");
    client.subscribe(&[(filter, 1)]);
    client.assert_nothing_comes();
}

#[test]
fn no_local_cannot_be_asked_of_a_group() {
    let server = Server::start();
    let (mut client, _) = Client::connect(server.port(), V5, &Hello::default());
    client.send(&super::wire::packet(0x82, b"\x00\x07\x00\x00\x0a$share/g/a\x05"));
    let disconnect = client.receive();
    assert_eq!((disconnect.kind, disconnect.body[0]), (super::wire::DISCONNECT, 0x82));
}
