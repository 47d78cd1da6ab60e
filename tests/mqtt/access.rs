//! Who may connect.

use agentdex::access::{NewKey, Role, Rules};
use agentdex_server::mqtt::EndpointOptions;

use super::{
    support::{Server, Subscriber, has_mosquitto},
    wire::{Client, DISCONNECT, Hello, Version},
};

fn guarded(public_read: bool) -> Server {
    let access = Rules { authentication: true, public_read, ..Rules::default() };
    Server::with(EndpointOptions { access, ..EndpointOptions::default() })
}

/// A key: its id, and the whole.
fn key(server: &Server, owner: &str, role: Role) -> (String, String) {
    let (key, text) = server.registry.keys().create(NewKey { role, owner: owner.parse().unwrap(), ttl: None }).unwrap();
    (key.id, text)
}

/// The reason code that CONNACK has.
fn connack(server: &Server, version: Version, credentials: Option<(&str, &str)>) -> u8 {
    let hello = Hello { client_id: "client", credentials, ..Hello::default() };
    let (_client, connack) = Client::connect(server.port(), version, &hello);
    connack[1]
}

#[test]
fn only_a_valid_key_of_its_id_connects() {
    let server = guarded(false);
    let (id, key_text) = key(&server, "team", Role::Read);
    let (other, _) = key(&server, "other", Role::Read);
    for (version, unauthenticated, invalid) in [(Version::V3, 5, 4), (Version::V5, 0x87, 0x86)] {
        assert_eq!(connack(&server, version, None), unauthenticated);
        assert_eq!(connack(&server, version, Some((&id, &key_text))), 0);
        for (user_name, password) in [(&*id, "x"), (&*other, &*key_text), ("", &key_text), (&id, "")] {
            assert_eq!(connack(&server, version, Some((user_name, password))), invalid, "{user_name}");
        }
    }
    server.registry.keys().revoke(&id).unwrap();
    assert_eq!(connack(&server, Version::V5, Some((&id, &key_text))), 0x86);
}

#[test]
fn decisions_of_the_guardian_are_refused_to_who_never_gets_them() {
    let server = guarded(false);
    for (role, expected) in [(Role::Read, [0x87, 1]), (Role::Register, [0x87, 1]), (Role::Admin, [1, 1])] {
        let (id, text) = key(&server, "team", role);
        let hello = Hello { client_id: role.as_str(), credentials: Some((&id, &text)), ..Hello::default() };
        let (mut client, _) = Client::connect(server.port(), Version::V5, &hello);
        // The other also matches what everybody may get.
        assert_eq!(client.subscribe(&[("agentdex/guardian/#", 1), ("agentdex/#", 1)]), expected, "{role}");
    }
}

#[test]
fn with_public_read_everybody_connects() {
    let server = guarded(true);
    assert_eq!(connack(&server, Version::V5, None), 0);
    assert_eq!(connack(&server, Version::V5, Some(("x", "y"))), 0x86);
}

#[test]
fn an_owner_does_not_take_over_the_session_of_another() {
    let server = guarded(false);
    let keys = [key(&server, "one", Role::Read), key(&server, "other", Role::Read)];
    let hello = |index: usize| {
        let (id, text): &(String, String) = &keys[index];
        // A session of one hour.
        let properties = vec![0x11, 0, 0, 0x0e, 0x10];
        Hello { client_id: "client", clean: false, credentials: Some((id, text)), properties, ..Hello::default() }
    };
    let (mut first, _) = Client::connect(server.port(), Version::V5, &hello(0));
    assert_eq!(first.subscribe(&[("agentdex/events/#", 1)]), [1]);
    let (_second, connack) = Client::connect(server.port(), Version::V5, &hello(1));
    assert_eq!(connack[0], 0, "a session of somebody else is present");
    // It is still connected.
    first.ping();
    drop(first);
    let (_again, connack) = Client::connect(server.port(), Version::V5, &hello(0));
    assert_eq!(connack[0], 1, "its own session is gone");
}

#[test]
fn a_client_that_others_wrote_connects_with_a_key() {
    if !has_mosquitto() {
        return;
    }
    let server = guarded(false);
    let (id, text) = key(&server, "team", Role::Read);
    let mut subscriber =
        Subscriber::start(server.port(), &["-u", &id, "-P", &text, "-q", "1", "-t", "agentdex/events/#"]);
    server.put("urn:agent:a", "A");
    assert!(subscriber.next().topic.contains("thing_created"));
}

#[test]
fn a_key_that_is_revoked_ends_its_connections_and_leaves_their_sessions() {
    let server = guarded(false);
    let (id, text) = key(&server, "team", Role::Read);
    let hello = |credentials| {
        let properties = vec![0x11, 0, 0, 0x0e, 0x10];
        Hello { client_id: "client", clean: false, credentials: Some(credentials), properties, ..Hello::default() }
    };
    let (mut client, _) = Client::connect(server.port(), Version::V5, &hello((&id, &text)));
    assert_eq!(client.subscribe(&[("agentdex/events/#", 1)]), [1]);
    server.registry.keys().revoke(&id).unwrap();
    let last = client.receive();
    assert_eq!((last.kind, last.body[0]), (DISCONNECT, 0x87), "not authorized");
    // Its owner goes on with another key.
    let (id, text) = key(&server, "team", Role::Read);
    let (_client, connack) = Client::connect(server.port(), Version::V5, &hello((&id, &text)));
    assert_eq!(connack[0], 1, "the session is gone");
}
