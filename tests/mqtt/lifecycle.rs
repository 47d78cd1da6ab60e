//! Starting and stopping.

use std::{net::TcpListener, time::Instant};

use agentdex::Error;
use agentdex_server::mqtt::{Endpoint, EndpointOptions};

use super::{
    super::support::eventually,
    support::{PATIENCE, Server},
    wire::{Client, Hello, PUBLISH, Version::V5},
};

#[test]
fn address_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let server = Server::start();
    let error = Endpoint::bind(&address, server.registry.clone(), EndpointOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    let text = error.to_string();
    assert!(text.contains(&address) && text.contains("in use"), "{text}");
}

#[test]
fn address_that_is_none_is_an_error() {
    let server = Server::start();
    for address in ["", "localhost", "localhost:port", "999.0.0.1:1883"] {
        let bound = Endpoint::bind(address, server.registry.clone(), EndpointOptions::default());
        assert!(matches!(bound, Err(Error::Io { .. })), "{address:?} was bound");
    }
}

#[test]
fn prefix_that_cannot_start_a_topic_is_an_error() {
    let server = Server::start();
    let options = EndpointOptions { prefix: "a/+".into(), ..EndpointOptions::default() };
    assert!(matches!(
        Endpoint::bind("127.0.0.1:0", server.registry.clone(), options),
        Err(Error::InvalidSetting { .. })
    ));
}

#[test]
fn port_0_takes_a_free_one() {
    let (one, other) = (Server::start(), Server::start());
    assert_ne!(one.port(), 0);
    assert_ne!(one.port(), other.port());
}

#[test]
fn what_an_endpoint_does_can_be_measured() {
    let server = Server::start();
    let number = |name: &str| server.registry.metrics().iter().find(|metric| metric.name == name).map(|m| m.value);
    let (mut client, _) = Client::connect(server.port(), V5, &Hello::default());
    client.subscribe(&[("agentdex/events/#", 0)]);
    let before = number("agentdex_mqtt_sent_bytes_total");
    server.put("urn:a", "A");
    assert_eq!(client.receive().kind, PUBLISH);
    eventually("the count of the message", || number("agentdex_mqtt_messages_sent_total") == Some(1));
    eventually("the count of its bytes", || number("agentdex_mqtt_sent_bytes_total") > before);
    assert!(number("agentdex_mqtt_received_bytes_total").is_some_and(|bytes| bytes > 20));
    let open = (number("agentdex_mqtt_connections"), number("agentdex_mqtt_sessions"));
    assert_eq!(open, (Some(1), Some(1)));
    drop(client);
    eventually("the end of the connection", || number("agentdex_mqtt_connections") == Some(0));
}

#[test]
fn stop_waits_for_nobody_who_takes_nothing() {
    let server = Server::start();
    server.put_many(3000);
    let mut clients: Vec<Client> = (0..5).map(|_| Client::connect(server.port(), V5, &Hello::default()).0).collect();
    for client in &mut clients {
        client.subscribe(&[("agentdex/things/#", 0)]);
    }
    let begun = Instant::now();
    server.endpoint.stop();
    assert!(begun.elapsed() < PATIENCE);
    // Once more does no harm.
    server.endpoint.stop();
}

#[test]
fn endpoint_can_be_stopped_inside_a_runtime() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(server) });
}
