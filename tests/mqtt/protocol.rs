//! What the protocol asks of a server, packet by packet.

use std::time::Duration;

use agentdex_server::mqtt::EndpointOptions;

use super::{
    support::Server,
    wire::{
        CONNACK, Client, DISCONNECT, Hello, PINGRESP, PUBACK, PUBCOMP, PUBLISH,
        Version::{self, V3, V5},
        connect, packet,
    },
};
use crate::support::eventually;

const BOTH: [Version; 2] = [V3, V5];
const MALFORMED_PACKET: u8 = 0x81;
const NOT_AUTHORIZED: u8 = 0x87;
const QOS_NOT_SUPPORTED: u8 = 0x9b;

/// Asserts that the server ends the connection; one of version 5 with a reason code.
fn assert_disconnected(client: &mut Client, reason: u8) {
    let last = client.try_receive().map(|packet| (packet.kind, packet.body[0]));
    assert_eq!(last, (client.version == V5).then_some((DISCONNECT, reason)));
    assert!(client.try_receive().is_none());
}

fn client(server: &Server, version: Version) -> Client {
    Client::connect(server.port(), version, &Hello::default()).0
}

#[test]
fn connack_states_what_is_granted_to_a_version_5_client() {
    let server = Server::start();
    let (_client, connack) = Client::connect(server.port(), V5, &Hello::default());
    assert_eq!(connack[..2], [0, 0]);
    let properties = &connack[3..];
    assert!(properties.windows(2).any(|window| window == [0x24, 1]), "no Maximum QoS 1 in {properties:02x?}");
    assert!(properties.windows(3).any(|window| window == [0x12, 0, 45]), "no assigned client id in {properties:02x?}");
    let (_client, connack) = Client::connect(server.port(), V3, &Hello { client_id: "named", ..Hello::default() });
    assert_eq!(connack, [0, 0]);
}

#[test]
fn keep_alive_that_is_too_long_is_lowered_and_stated() {
    let server =
        Server::with(EndpointOptions { max_keep_alive: Duration::from_secs(300), ..EndpointOptions::default() });
    for (asked, stated) in [(0, true), (301, true), (300, false)] {
        let (_client, connack) = Client::connect(server.port(), V5, &Hello { keep_alive: asked, ..Hello::default() });
        assert_eq!(connack.windows(3).any(|window| window == [0x13, 1, 44]), stated, "asked for {asked}");
    }
}

#[test]
fn client_that_sends_nothing_is_disconnected_at_one_and_a_half_keep_alives() {
    let server = Server::start();
    for version in BOTH {
        let (mut client, _) = Client::connect(server.port(), version, &Hello { keep_alive: 1, ..Hello::default() });
        let last = client.try_receive();
        match version {
            V3 => assert!(last.is_none()),
            V5 => assert_eq!(last.map(|packet| (packet.kind, packet.body[0])), Some((DISCONNECT, 0x8d))),
        }
    }
}

#[test]
fn connection_without_connect_is_closed() {
    let options = EndpointOptions { connect_timeout: Duration::from_millis(200), ..EndpointOptions::default() };
    let server = Server::with(options);
    let mut silent = Client::open(server.port(), V5);
    assert!(silent.try_receive().is_none());
    let mut eager = Client::open(server.port(), V5);
    eager.send(&packet(0xc0, &[]));
    assert!(eager.try_receive().is_none());
    let mut garbage = Client::open(server.port(), V5);
    garbage.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(garbage.try_receive().is_none());
    eventually("the end of the connections", || server.endpoint.handle().connections() == 0);
}

#[test]
fn unknown_protocol_version_is_refused() {
    let server = Server::start();
    let mut client = Client::open(server.port(), V3);
    let mut hello = connect(V3, &Hello::default());
    hello[8] = 9;
    client.send(&hello);
    let connack = client.receive();
    assert_eq!((connack.kind, connack.body.as_slice()), (CONNACK, &[0, 1][..]));
    assert!(client.try_receive().is_none());
}

#[test]
fn publishing_is_refused() {
    let server = Server::start();
    let mut five = client(&server, V5);
    five.publish(1);
    let puback = five.receive();
    assert_eq!((puback.kind, puback.packet_id(), puback.body[2]), (PUBACK, 9, NOT_AUTHORIZED));
    five.publish(0);
    assert_disconnected(&mut five, NOT_AUTHORIZED);
    let mut five = client(&server, V5);
    five.publish(2);
    assert_disconnected(&mut five, QOS_NOT_SUPPORTED);
    for qos in 0..=2 {
        let mut three = client(&server, V3);
        three.publish(qos);
        assert!(three.try_receive().is_none());
    }
}

#[test]
fn will_is_refused_since_nobody_may_publish() {
    let server = Server::start();
    for (version, code) in [(V3, 5), (V5, NOT_AUTHORIZED)] {
        let (mut client, connack) =
            Client::connect(server.port(), version, &Hello { will: Some(1), ..Hello::default() });
        assert_eq!(connack[..2], [0, code]);
        assert!(client.try_receive().is_none());
        eventually("the end of the connection", || server.endpoint.handle().connections() == 0);
    }
}

#[test]
fn will_beyond_the_maximum_qos_is_refused() {
    let server = Server::start();
    let (mut five, connack) = Client::connect(server.port(), V5, &Hello { will: Some(2), ..Hello::default() });
    assert_eq!(connack[..2], [0, QOS_NOT_SUPPORTED]);
    assert!(five.try_receive().is_none());
    // Version 3.1.1 has no maximum to exceed: any will is refused.
    let (_, connack) = Client::connect(server.port(), V3, &Hello { will: Some(2), ..Hello::default() });
    assert_eq!(connack, [0, 5]);
}

#[test]
fn connect_with_reserved_or_contradictory_flags_is_refused() {
    let server = Server::start();
    for version in BOTH {
        // Reserved; a QoS, then a retain flag of a will that is not there.
        for flags in [1, 2 | 1 << 3, 2 | 1 << 5] {
            let mut client = Client::open(server.port(), version);
            let mut hello = connect(version, &Hello::default());
            hello[9] = flags;
            client.send(&hello);
            let answer = client.try_receive().map(|packet| (packet.kind, packet.body[1]));
            assert_eq!(answer, (version == V5).then_some((CONNACK, MALFORMED_PACKET)), "flags {flags:#b}");
            assert!(client.try_receive().is_none());
        }
    }
}

#[test]
fn packet_with_wrong_flags_in_its_fixed_header_ends_the_connection() {
    let server = Server::start();
    for version in BOTH {
        let properties: &[u8] = if version == V5 { &[0] } else { &[] };
        let subscribe = [&[0, 7][..], properties, &[0, 1, b'a', 0]].concat();
        for (first, body) in [(0x80, &subscribe[..]), (0xa0, &[0, 7, 0, 1, b'a'][..]), (0x60, &[0, 1]), (0xc1, &[])] {
            let mut client = client(&server, version);
            client.send(&packet(first, body));
            assert_disconnected(&mut client, MALFORMED_PACKET);
        }
    }
}

#[test]
fn nul_in_a_string_is_refused() {
    let server = Server::start();
    for version in BOTH {
        let mut unnamed = Client::open(server.port(), version);
        unnamed.send(&connect(version, &Hello { client_id: "a\0b", ..Hello::default() }));
        let answer = unnamed.try_receive().map(|packet| (packet.kind, packet.body[1]));
        assert_eq!(answer, (version == V5).then_some((CONNACK, MALFORMED_PACKET)));
        let mut client = client(&server, version);
        let properties: &[u8] = if version == V5 { &[0] } else { &[] };
        client.send(&packet(0x82, &[&[0, 7][..], properties, &[0, 3, b'a', 0, b'b', 0]].concat()));
        assert_disconnected(&mut client, MALFORMED_PACKET);
    }
}

#[test]
fn pubrel_that_belongs_to_nothing_is_answered() {
    let server = Server::start();
    for version in BOTH {
        let mut client = client(&server, version);
        client.send(&packet(0x62, &[0, 5]));
        let pubcomp = client.receive();
        assert_eq!((pubcomp.kind, pubcomp.packet_id()), (PUBCOMP, 5));
        assert_eq!(pubcomp.body.get(2), (version == V5).then_some(&0x92));
    }
}

#[test]
fn subscription_at_qos_2_is_granted_1_and_invalid_filters_fail() {
    let server = Server::start();
    let filters = [("agentdex/events/#", 2), ("agentdex/#/x", 1), ("agentdex/things/a+", 0), ("agentdex/things/+", 0)];
    assert_eq!(client(&server, V5).subscribe(&filters), [1, 0x8f, 0x8f, 0]);
    assert_eq!(client(&server, V3).subscribe(&filters), [1, 0x80, 0x80, 0]);
}

#[test]
fn filters_that_no_topic_can_match_are_refused() {
    let server = Server::start();
    let never = ["$SYS/#", "foo/bar", "/agentdex/#", "agentdex", "agentdex/other/#", "agentdex/things/+/x", "+"];
    let shared = ["$share/g/foo/#", "$share/g/agentdex/guardian/#"];
    let may = ["#", "+/#", "agentdex/#", "+/events/#", "agentdex/guardian/#", "agentdex/guardian/+/deny", "$share/g/#"];
    let at_qos_1 = |filters: &[&'static str]| filters.iter().map(|filter| (*filter, 1)).collect::<Vec<_>>();
    for (version, refused) in [(V5, 0x8f), (V3, 0x80)] {
        let mut client = client(&server, version);
        assert_eq!(client.subscribe(&at_qos_1(&never)), [refused; 7]);
        assert_eq!(client.subscribe(&at_qos_1(&shared)), [refused; 2]);
        assert_eq!(client.subscribe(&at_qos_1(&may)), [1; 7]);
    }
}

#[test]
fn filter_longer_than_any_topic_is_refused() {
    let server = Server::start();
    let long = format!("agentdex/{}", "x".repeat(9000));
    assert_eq!(client(&server, V5).subscribe(&[(&long, 1)]), [0x8f]);
}

#[test]
fn subscribing_again_while_the_state_is_sent_loses_nothing() {
    let server = Server::start();
    server.put_many(50);
    // Three at a time, so that most are still to come.
    let (mut client, _) =
        Client::connect(server.port(), V5, &Hello { properties: vec![0x21, 0, 3], ..Hello::default() });
    client.subscribe(&[("agentdex/things/#", 1)]);
    let mut topics = std::collections::BTreeSet::new();
    let mut taken: Vec<_> = (0..3).map(|_| client.receive()).collect();
    // Retain handling 2: the subscription brings nothing itself.
    client.subscribe(&[("agentdex/things/#", 0x21)]);
    for _ in 3..50 {
        let message = taken.remove(0);
        client.acknowledge(message.publish_id());
        topics.insert(message.topic().to_owned());
        taken.push(client.receive());
    }
    topics.extend(taken.iter().map(|message| message.topic().to_owned()));
    assert_eq!(topics.len(), 50);
}

#[test]
fn subscriptions_beyond_the_limit_are_refused() {
    let server = Server::with(EndpointOptions { max_subscriptions: 2, ..EndpointOptions::default() });
    let mut client = client(&server, V5);
    assert_eq!(
        client.subscribe(&[("+/things/a", 0), ("+/things/b", 0), ("+/things/c", 0), ("+/things/a", 1)]),
        [0, 0, 0x97, 1]
    );
}

#[test]
fn subscriptions_beyond_the_quotas_of_bytes_are_refused() {
    let filter = |name: &str| format!("agentdex/events/+/{name}{}", "x".repeat(1000));
    let bytes = 2 * filter("a").len() + 512;
    let options = EndpointOptions {
        max_session_subscription_bytes: 2 * bytes,
        max_subscription_bytes: 3 * bytes,
        ..EndpointOptions::default()
    };
    let server = Server::with(options);
    let mut first = client(&server, V5);
    let codes = first.subscribe(&[(&filter("a"), 1), (&filter("b"), 1), (&filter("c"), 1), (&filter("a"), 0)]);
    assert_eq!(codes, [1, 1, 0x97, 0]);
    let mut second = client(&server, V3);
    assert_eq!(second.subscribe(&[(&filter("a"), 1), (&filter("b"), 1)]), [1, 0x80]);
    // What is unsubscribed, and what ends with its session, no longer counts.
    first.unsubscribe(&[&filter("a")]);
    assert_eq!(second.subscribe(&[(&filter("b"), 1)]), [1]);
    drop(first);
    eventually("the end of the connection", || server.endpoint.handle().connections() == 1);
    assert_eq!(client(&server, V5).subscribe(&[(&filter("d"), 1)]), [1]);
}

#[test]
fn unsubscribed_filter_matches_no_more() {
    let server = Server::start();
    for version in BOTH {
        let mut client = client(&server, version);
        client.subscribe(&[("agentdex/events/#", 0)]);
        let codes = client.unsubscribe(&["agentdex/events/#", "agentdex/other"]);
        assert_eq!(codes, if version == V5 { vec![0, 0x11] } else { vec![] });
        server.put("urn:a", version_name(version));
        client.assert_nothing_comes();
    }
}

fn version_name(version: Version) -> &'static str {
    if version == V5 { "five" } else { "three" }
}

#[test]
fn retain_handling_decides_what_is_sent_at_subscription() {
    let server = Server::start();
    server.put("urn:a", "A");
    let mut client = client(&server, V5);
    // 0: always; 1: if the subscription is new; 2: never.
    client.subscribe(&[("agentdex/things/#", 0x20)]);
    client.assert_nothing_comes();
    client.subscribe(&[("agentdex/things/#", 0x10)]);
    client.assert_nothing_comes();
    client.subscribe(&[("agentdex/things/+", 0x10)]);
    assert_eq!(client.receive().flags & 1, 1);
    client.assert_nothing_comes();
    client.subscribe(&[("agentdex/things/#", 0)]);
    assert_eq!(client.receive().flags & 1, 1);
    client.assert_nothing_comes();
}

#[test]
fn retain_flag_is_sent_where_that_is_asked_for() {
    let server = Server::start();
    let (mut plain, mut as_published) = (client(&server, V5), client(&server, V5));
    plain.subscribe(&[("agentdex/#", 0)]);
    as_published.subscribe(&[("agentdex/#", 0x08)]);
    server.registry.put(super::support::agent("urn:a", "A", &[])).unwrap();
    let flags = |client: &mut Client| [client.receive().flags & 1, client.receive().flags & 1];
    assert_eq!(flags(&mut plain), [0, 0]);
    assert_eq!(flags(&mut as_published), [0, 1]);
}

#[test]
fn overlapping_subscriptions_are_one_message_with_all_identifiers() {
    let server = Server::start();
    let mut client = client(&server, V5);
    client.subscribe_with(&[("agentdex/events/#", 0)], &[0x0b, 5]);
    client.subscribe_with(&[("agentdex/events/thing_created/+", 1)], &[0x0b, 6]);
    server.put("urn:a", "A");
    let message = client.receive();
    assert_eq!((message.kind, message.flags >> 1 & 3), (PUBLISH, 1));
    let has = |identifier: u8| message.body.windows(2).any(|window| window == [0x0b, identifier]);
    assert!(has(5) && has(6), "{:02x?}", message.body);
    client.acknowledge(message.publish_id());
    client.assert_nothing_comes();
}

#[test]
fn client_that_says_that_it_takes_no_topic_aliases_gets_messages_without() {
    let server = Server::start();
    server.put_many(2);
    let (mut client, _) =
        Client::connect(server.port(), V5, &Hello { properties: vec![0x22, 0, 0], ..Hello::default() });
    client.subscribe(&[("agentdex/things/#", 1)]);
    for _ in 0..2 {
        let message = client.receive();
        assert!(message.topic().starts_with("agentdex/things/"), "{message:?}");
        client.acknowledge(message.publish_id());
    }
    client.assert_nothing_comes();
}

#[test]
fn receive_maximum_of_the_client_is_respected() {
    let server = Server::start();
    server.put_many(50);
    let (mut client, _) =
        Client::connect(server.port(), V5, &Hello { properties: vec![0x21, 0, 3], ..Hello::default() });
    client.subscribe(&[("agentdex/things/#", 1)]);
    let mut ids: Vec<u16> = (0..3).map(|_| client.receive().publish_id()).collect();
    client.assert_nothing_comes();
    for _ in 3..50 {
        client.acknowledge(ids.remove(0));
        ids.push(client.receive().publish_id());
    }
    client.assert_nothing_comes();
}

#[test]
fn message_larger_than_the_client_takes_is_left_out() {
    let server = Server::start();
    let small_packets = Hello { properties: vec![0x27, 0, 0, 4, 0], ..Hello::default() };
    let (mut client, _) = Client::connect(server.port(), V5, &small_packets);
    client.subscribe(&[("agentdex/things/#", 1)]);
    server.put("urn:large", &"x".repeat(2000));
    server.put("urn:small", "small");
    let message = client.receive();
    assert_eq!(message.topic(), "agentdex/things/urn:small");
    client.acknowledge(message.publish_id());
    server.put("urn:small", "smaller");
    assert_eq!(client.receive().topic(), "agentdex/things/urn:small");
}

#[test]
fn packet_larger_than_the_server_takes_ends_the_connection() {
    let server = Server::start();
    let mut client = client(&server, V5);
    client.send(&[0x82, 0xff, 0xff, 0xff, 0x7f]);
    let disconnect = client.receive();
    assert_eq!((disconnect.kind, disconnect.body[0]), (DISCONNECT, 0x95));
    assert!(client.try_receive().is_none());
}

#[test]
fn second_connect_ends_the_connection() {
    let server = Server::start();
    for version in BOTH {
        let mut client = client(&server, version);
        client.send(&connect(version, &Hello::default()));
        let last = client.try_receive();
        assert_eq!(last.map(|packet| packet.kind), (version == V5).then_some(DISCONNECT));
    }
}

#[test]
fn connections_beyond_the_limit_are_refused_with_a_reason() {
    let server = Server::with(EndpointOptions { max_connections: 1, ..EndpointOptions::default() });
    let first = client(&server, V5);
    let (_, connack) = Client::connect(server.port(), V5, &Hello::default());
    assert_eq!(connack[1], 0x97);
    let (_, connack) = Client::connect(server.port(), V3, &Hello::default());
    assert_eq!(connack[1], 3);
    drop(first);
    eventually("the end of the first connection", || server.endpoint.handle().connections() == 0);
    let (_, connack) = Client::connect(server.port(), V3, &Hello::default());
    assert_eq!(connack[1], 0);
}

#[test]
fn client_that_takes_over_gets_in_and_the_other_is_notified() {
    let server = Server::start();
    for version in BOTH {
        let hello = Hello { client_id: "same", ..Hello::default() };
        let (mut first, _) = Client::connect(server.port(), version, &hello);
        let (mut second, connack) = Client::connect(server.port(), version, &hello);
        assert_eq!(connack[1], 0);
        let last = first.try_receive();
        match version {
            V3 => assert!(last.is_none()),
            V5 => assert_eq!(last.map(|packet| (packet.kind, packet.body[0])), Some((DISCONNECT, 0x8e))),
        }
        second.send(&packet(0xc0, &[]));
        assert_eq!(second.receive().kind, PINGRESP);
    }
}

#[test]
fn unnamed_client_of_version_3_cannot_keep_a_session() {
    let server = Server::start();
    let (mut client, connack) = Client::connect(server.port(), V3, &Hello { clean: false, ..Hello::default() });
    assert_eq!(connack, [0, 2]);
    assert!(client.try_receive().is_none());
}

#[test]
fn extended_authentication_is_refused() {
    let server = Server::start();
    let properties = vec![0x15, 0, 1, b'x'];
    let (_, connack) = Client::connect(server.port(), V5, &Hello { properties, ..Hello::default() });
    assert_eq!(connack[1], 0x8c);
}

#[test]
fn stop_notifies_version_5_clients_and_ends_all() {
    let server = Server::start();
    let (mut three, mut five) = (client(&server, V3), client(&server, V5));
    let port = server.port();
    server.endpoint.stop();
    let last = five.receive();
    assert_eq!((last.kind, last.body[0]), (DISCONNECT, 0x8b));
    assert!(five.try_receive().is_none() && three.try_receive().is_none());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}
