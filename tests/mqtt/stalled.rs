//! A subscriber that takes nothing is cut off, and holds nobody up.

use std::time::{Duration, Instant};

use agentdex_server::mqtt::EndpointOptions;

use super::{
    support::{PATIENCE, Server, Subscriber, has_mosquitto},
    wire::{Client, DISCONNECT, Hello, PINGRESP, Version::V5, packet},
};
use crate::support::eventually;

fn impatient(stall_timeout: Duration) -> Server {
    Server::with(EndpointOptions { stall_timeout, ..EndpointOptions::default() })
}

#[test]
fn stalled_subscriber_is_disconnected_while_others_go_on() {
    if !has_mosquitto() {
        return;
    }
    // Long enough for those that aren't frozen to get a processor.
    let server = impatient(Duration::from_secs(4));
    let mut others: Vec<Subscriber> =
        (0..2).map(|_| Subscriber::start(server.port(), &["-q", "1", "-t", "agentdex/events/#"])).collect();
    // One at QoS 0, held up by its socket; one at QoS 1, by its window.
    let frozen: Vec<Subscriber> = ["0", "1"]
        .iter()
        .map(|qos| Subscriber::start(server.port(), &["-k", "600", "-q", qos, "-t", "agentdex/#"]))
        .collect();
    frozen.iter().for_each(Subscriber::freeze);
    assert_eq!(server.endpoint.handle().connections(), 4);
    let large = "x".repeat(300_000);
    for number in 0..40 {
        server.put(&format!("urn:large:{number}"), &large);
    }
    for other in &mut others {
        assert_eq!(other.take(40).last().unwrap().number(), 40);
    }
    server.put_many(200);
    for other in &mut others {
        other.take(200);
    }
    eventually("the end of the stalled connections", || server.endpoint.handle().connections() == 2);
    server.put("urn:after", "after");
    for other in &mut others {
        assert_eq!(other.next().number(), 241);
        assert!(!other.has_ended());
    }
}

#[test]
fn subscriber_that_never_acknowledges_is_disconnected_with_a_reason() {
    let server = impatient(Duration::from_millis(700));
    server.put_many(300);
    let (mut client, _) = Client::connect(server.port(), V5, &Hello::default());
    client.subscribe(&[("agentdex/things/#", 1)]);
    let last = std::iter::from_fn(|| client.try_receive()).last().unwrap();
    assert_eq!((last.kind, last.body[0]), (DISCONNECT, 0x97));
}

#[test]
fn subscriber_that_pings_and_never_acknowledges_is_disconnected() {
    let server = impatient(Duration::from_millis(700));
    server.put_many(300);
    let (mut client, _) = Client::connect(server.port(), V5, &Hello::default());
    client.subscribe(&[("agentdex/things/#", 1)]);
    let deadline = Instant::now() + PATIENCE;
    'connected: loop {
        assert!(Instant::now() < deadline, "pings keep a stalled subscriber");
        if client.try_send(&packet(0xc0, &[])).is_err() {
            break;
        }
        loop {
            match client.try_receive().map(|packet| packet.kind) {
                Some(PINGRESP) => break,
                Some(DISCONNECT) | None => break 'connected,
                _ => {}
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn subscriber_with_nothing_to_take_is_left_alone() {
    let server = impatient(Duration::from_millis(700));
    server.put_many(300);
    let (mut client, _) = Client::connect(server.port(), V5, &Hello::default());
    client.subscribe(&[("agentdex/events/#", 1)]);
    server.put("urn:a", "A");
    let message = client.receive();
    // Another one that has more to take, since later, is cut off meanwhile.
    let (mut stalled, _) = Client::connect(server.port(), V5, &Hello::default());
    stalled.subscribe(&[("agentdex/things/#", 1)]);
    let last = std::iter::from_fn(|| stalled.try_receive()).last().unwrap();
    assert_eq!((last.kind, last.body[0]), (DISCONNECT, 0x97));
    client.acknowledge(message.publish_id());
    server.put("urn:b", "B");
    assert_eq!(client.receive().topic(), "agentdex/events/thing_created/urn:b");
}
