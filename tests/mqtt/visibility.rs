//! What a client may not see doesn't exist for it: live, retained, in sessions and in groups.

use agentdex::{
    access::{AccessRequest, NewKey, Role, Rules, Visibility},
    registry::Write,
};
use agentdex_server::mqtt::EndpointOptions;

use super::{
    support::{Server, agent},
    wire::{Client, Hello, PUBLISH, Packet, Version},
};

const PRIVATE: &str = "urn:example:private";
const PUBLIC: &str = "urn:example:public";

fn guarded() -> EndpointOptions {
    let access = Rules { authentication: true, public_read: true, ..Rules::default() };
    EndpointOptions { access, ..EndpointOptions::default() }
}

fn put(server: &Server, id: &str, visibility: Visibility) {
    let access =
        AccessRequest { owner: Some("us".parse().unwrap()), visibility: Some(visibility), ..AccessRequest::default() };
    server
        .registry
        .write_blocking(Write::put(agent(id, &format!("Title of {id}"), &["ask"])).with_access(access))
        .unwrap();
}

fn set(server: &Server, id: &str, visibility: Visibility) {
    let access = AccessRequest { visibility: Some(visibility), ..AccessRequest::default() };
    server.registry.write_blocking(Write::access(id, access)).unwrap();
}

/// Who connects: the id of a key and the key, or nobody.
type Credentials = Option<(String, String)>;

fn key(server: &Server, owner: &str, role: Role) -> Credentials {
    let (key, text) = server.registry.keys().create(NewKey { role, owner: owner.parse().unwrap(), ttl: None }).unwrap();
    Some((key.id, text))
}

/// A client with a session of one hour, and whether there was one.
fn connect(server: &Server, client_id: &str, credentials: &Credentials) -> (Client, bool) {
    let hello = Hello {
        client_id,
        clean: false,
        credentials: credentials.as_ref().map(|(id, text)| (id.as_str(), text.as_str())),
        properties: vec![0x11, 0, 0, 0x0e, 0x10],
        ..Hello::default()
    };
    let (client, connack) = Client::connect(server.port(), Version::V5, &hello);
    assert_eq!(connack[1], 0, "refused");
    (client, connack[0] == 1)
}

/// The messages up to one about a Thing, acknowledged: topic and payload.
fn up_to(client: &mut Client, end: &str) -> Vec<(String, String)> {
    let mut messages = Vec::new();
    loop {
        let packet: Packet = client.receive();
        if packet.kind != PUBLISH {
            continue;
        }
        let (topic, body) = (packet.topic().to_owned(), String::from_utf8_lossy(&packet.body).into_owned());
        client.acknowledge(packet.publish_id());
        let is_end = topic.starts_with("agentdex/things/") && body.contains(end);
        messages.push((topic, body));
        if is_end {
            return messages;
        }
    }
}

fn mentions(messages: &[(String, String)], id: &str) -> bool {
    let level = id.replace(':', "%3A");
    messages.iter().any(|(topic, body)| body.contains(id) || topic.contains(id) || topic.contains(&level))
}

#[test]
fn clients_get_what_they_see_live_retained_and_after_an_absence() {
    let mut server = Server::with(guarded());
    put(&server, PRIVATE, Visibility::Private);
    put(&server, PUBLIC, Visibility::Public);
    let who = [
        (None, false),
        (key(&server, "others", Role::Register), false),
        (key(&server, "us", Role::Read), true),
        (key(&server, "root", Role::Admin), true),
    ];
    for (index, (credentials, sees)) in who.iter().enumerate() {
        let (mut client, _) = connect(&server, "c", credentials);
        client.subscribe(&[("agentdex/#", 1)]);
        let end = format!("urn:example:retained{index}");
        put(&server, &format!("urn:example:hidden{index}"), Visibility::Private);
        put(&server, &end, Visibility::Public);
        let messages = up_to(&mut client, &end);
        assert!(mentions(&messages, PUBLIC), "{index}: {messages:?}");
        assert_eq!(mentions(&messages, PRIVATE), *sees, "{index}: {messages:?}");
        assert_eq!(mentions(&messages, &format!("urn:example:hidden{index}")), *sees, "{index}: {messages:?}");
    }
    // While they are away, also while the server is: one comes into sight, the other leaves it.
    server = server.restart_with(guarded());
    set(&server, PRIVATE, Visibility::Public);
    set(&server, PUBLIC, Visibility::Private);
    put(&server, "urn:example:still-hidden", Visibility::Private);
    put(&server, "urn:example:end", Visibility::Public);
    for (index, (credentials, sees)) in who.iter().enumerate() {
        let (mut client, is_present) = connect(&server, "c", credentials);
        assert!(is_present, "the session of {index} is gone");
        let messages = up_to(&mut client, "urn:example:end");
        let has = |part: &str, id: &str| {
            let level = id.replace(':', "%3A");
            messages.iter().any(|(topic, _)| topic.contains(part) && (topic.contains(id) || topic.contains(&level)))
        };
        assert_eq!(mentions(&messages, "urn:example:still-hidden"), *sees, "{index}: {messages:?}");
        assert_eq!(has("events/thing_created", PRIVATE), !sees, "{index}: {messages:?}");
        assert_eq!(has("events/thing_updated", PRIVATE), *sees, "{index}: {messages:?}");
        assert_eq!(has("events/thing_deleted", PUBLIC), !sees, "{index}: {messages:?}");
        // Its retained description is cleared where it isn't seen any more.
        let title = format!("Title of {PUBLIC}");
        assert_eq!(messages.iter().any(|(_, body)| body.contains(&title)), *sees, "{index}: {messages:?}");
    }
}

#[test]
fn groups_are_those_of_one_owner() {
    let server = Server::with(guarded());
    let who = [(key(&server, "others", Role::Read), false), (key(&server, "us", Role::Read), true)];
    let mut clients: Vec<_> =
        who.iter().map(|(credentials, sees)| (connect(&server, "c", credentials).0, *sees)).collect();
    for (client, _) in &mut clients {
        client.subscribe(&[("$share/workers/agentdex/things/#", 1)]);
    }
    put(&server, PRIVATE, Visibility::Private);
    put(&server, "urn:example:end", Visibility::Public);
    for (client, sees) in &mut clients {
        let messages = up_to(client, "urn:example:end");
        assert_eq!(mentions(&messages, PRIVATE), *sees, "{messages:?}");
    }
}

/// The events that two clients get together, until there are that many; each is acknowledged.
fn events_of_both(clients: &mut [Client; 2], count: usize) -> [Vec<String>; 2] {
    let mut got: [Vec<String>; 2] = Default::default();
    while got[0].len() + got[1].len() < count {
        for (client, got) in clients.iter_mut().zip(&mut got) {
            // Whatever is due comes before the answer to a ping.
            client.send(&super::wire::packet(0xc0, &[]));
            loop {
                let packet = client.receive();
                if packet.kind == super::wire::PINGRESP {
                    break;
                }
                got.push(packet.topic().to_owned());
                client.acknowledge(packet.publish_id());
            }
        }
    }
    got
}

#[test]
fn a_group_loses_nothing_that_one_of_its_members_sees() {
    let server = Server::with(guarded());
    let (admin, reader) = (key(&server, "ops", Role::Admin), key(&server, "ops", Role::Read));
    let mut clients = [connect(&server, "admin", &admin).0, connect(&server, "reader", &reader).0];
    for client in &mut clients {
        client.subscribe(&[("$share/g/agentdex/events/#", 1)]);
    }
    for number in 0..40 {
        put(&server, &format!("urn:example:private:{number:02}"), Visibility::Private);
        put(&server, &format!("urn:example:public:{number:02}"), Visibility::Public);
    }
    let got = events_of_both(&mut clients, 80);
    clients.iter_mut().for_each(Client::assert_nothing_comes);
    let private = |topics: &[String]| topics.iter().filter(|topic| topic.contains(":private:")).count();
    assert_eq!((private(&got[0]), private(&got[1])), (40, 0), "{got:?}");
    let mut all = got.concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 80, "some came twice: {got:?}");

    // What is an update for one and a creation for the other goes to whom it matches.
    let created = "$share/g/agentdex/events/thing_created/#";
    for client in &mut clients {
        client.unsubscribe(&["$share/g/agentdex/events/#"]);
        client.subscribe(&[(created, 1)]);
    }
    set(&server, "urn:example:private:00", Visibility::Public);
    let got = events_of_both(&mut clients, 1);
    assert_eq!(got, [vec![], vec!["agentdex/events/thing_created/urn:example:private:00".to_owned()]]);
    clients.iter_mut().for_each(Client::assert_nothing_comes);
}

#[test]
fn what_one_member_of_a_group_does_not_see_waits_for_another_that_is_away_and_for_nobody_else() {
    let mut server = Server::with(guarded());
    let (admin, reader) = (key(&server, "ops", Role::Admin), key(&server, "ops", Role::Read));
    let filter = "$share/g/agentdex/events/#";
    let mut clients = [connect(&server, "admin", &admin).0, connect(&server, "reader", &reader).0];
    for client in &mut clients {
        client.subscribe(&[(filter, 1)]);
    }
    let [client, mut other] = clients;
    leave(client);
    put(&server, "urn:example:private:1", Visibility::Private);
    put(&server, "urn:example:public:1", Visibility::Public);
    let topic = |packet: Packet| packet.topic().to_owned();
    let packet = other.receive();
    other.acknowledge(packet.publish_id());
    assert_eq!(topic(packet), "agentdex/events/thing_created/urn:example:public:1");
    other.assert_nothing_comes();
    // Also over a restart; what the member that is here got goes to nobody else.
    drop(other);
    server = server.restart_with(guarded());
    let (mut client, is_present) = connect(&server, "admin", &admin);
    assert!(is_present);
    let packet = client.receive();
    assert_eq!(topic(packet), "agentdex/events/thing_created/urn:example:private:1");
    client.assert_nothing_comes();
    // What it leaves unacknowledged waits for it too.
    drop(client);
    let (mut other, _) = connect(&server, "reader", &reader);
    other.assert_nothing_comes();
    let (mut client, _) = connect(&server, "admin", &admin);
    let packet = client.receive();
    let id = packet.publish_id();
    assert_eq!(topic(packet), "agentdex/events/thing_created/urn:example:private:1");
    client.acknowledge(id);
    client.ping();
    // Once nobody is left who sees it, it is dropped: a later member gets what comes later.
    client.unsubscribe(&[filter]);
    put(&server, "urn:example:private:2", Visibility::Private);
    other.assert_nothing_comes();
    client.subscribe(&[(filter, 1)]);
    put(&server, "urn:example:private:3", Visibility::Private);
    let packet = client.receive();
    client.acknowledge(packet.publish_id());
    assert_eq!(topic(packet), "agentdex/events/thing_created/urn:example:private:3");
    client.assert_nothing_comes();
}

/// Disconnects a client, and waits until its session is away.
fn leave(mut client: Client) {
    client.send(&super::wire::packet(0xe0, &[]));
    assert!(client.try_receive().is_none());
}

#[test]
fn what_one_member_of_a_group_was_not_due_goes_to_another() {
    let server = Server::with(guarded());
    let (admin, reader) = (key(&server, "ops", Role::Admin), key(&server, "ops", Role::Read));
    let filter = "$share/g/agentdex/#";
    let mut clients = [connect(&server, "admin", &admin).0, connect(&server, "reader", &reader).0];
    for client in &mut clients {
        client.subscribe(&[(filter, 1)]);
    }
    let [mut client, other] = clients;
    leave(other);
    let topics = |client: &mut Client, count: usize| {
        let mut topics: Vec<String> = Vec::new();
        while topics.len() < count {
            let packet = client.receive();
            client.acknowledge(packet.publish_id());
            topics.push(packet.topic().to_owned());
        }
        client.assert_nothing_comes();
        topics
    };
    put(&server, PUBLIC, Visibility::Public);
    topics(&mut client, 3);
    leave(client);
    set(&server, PUBLIC, Visibility::Private);
    // It was away while the agent was public, and is told nothing but the id.
    let (mut other, _) = connect(&server, "reader", &reader);
    assert_eq!(topics(&mut other, 1), [format!("agentdex/events/thing_deleted/{PUBLIC}")]);
    let (mut client, _) = connect(&server, "admin", &admin);
    let rest = [format!("agentdex/capabilities/ask/thing_updated/{PUBLIC}"), format!("agentdex/things/{PUBLIC}")];
    assert_eq!(topics(&mut client, 2), rest);
}

#[test]
fn what_one_member_of_a_group_leaves_tells_another_nothing_that_it_was_not_due() {
    let server = Server::with(guarded());
    let (admin, reader) = (key(&server, "ops", Role::Admin), key(&server, "ops", Role::Read));
    let filter = [("$share/g/agentdex/capabilities/#", 1)];
    let (mut client, mut other) = (connect(&server, "admin", &admin).0, connect(&server, "reader", &reader).0);
    client.subscribe(&filter);
    other.subscribe(&filter);
    leave(other);
    put(&server, PUBLIC, Visibility::Public);
    let packet = client.receive();
    client.acknowledge(packet.publish_id());
    set(&server, PUBLIC, Visibility::Private);
    let left = client.receive();
    assert_eq!(left.topic(), format!("agentdex/capabilities/ask/thing_updated/{PUBLIC}"));
    leave(client);
    let (mut other, _) = connect(&server, "reader", &reader);
    other.assert_nothing_comes();
    // One that was due it gets it, however often it comes back.
    let (mut client, _) = connect(&server, "admin", &admin);
    assert_eq!(client.receive().topic(), left.topic());
}

#[test]
fn no_payload_that_one_reader_caused_goes_to_another() {
    for nobody_first in [false, true] {
        let server = Server::with(guarded());
        let id = "urn:example:once-public";
        let ours = key(&server, "us", Role::Register);
        let who = [None, ours];
        for credentials in &who {
            connect(&server, "p", credentials).0.subscribe(&[("agentdex/things/#", 1)]);
        }
        let write = |title: &str, visibility| {
            let owner = Some("us".parse().unwrap());
            let access = AccessRequest { owner, visibility, ..AccessRequest::default() };
            server.registry.write_blocking(Write::put(agent(id, title, &["ask"])).with_access(access)).unwrap();
        };
        write("Version one", Some(Visibility::Public));
        set(&server, id, Visibility::Private);
        write("SECRET", None);
        let end = "urn:example:end";
        let read = |credentials: &Credentials, number: usize| {
            put(&server, &format!("{end}{number}"), Visibility::Public);
            let mut client = connect(&server, "p", credentials).0;
            up_to(&mut client, &format!("{end}{number}"))
        };
        let secret = |messages: &[(String, String)]| messages.iter().any(|(_, body)| body.contains("SECRET"));
        if nobody_first {
            assert!(!secret(&read(&who[0], 0)));
            assert!(secret(&read(&who[1], 1)), "what nobody's session was shown was sent to the owner");
        } else {
            assert!(secret(&read(&who[1], 0)));
            server.registry.remove(id).unwrap();
            assert!(!secret(&read(&who[0], 1)), "sent to somebody without a key");
        }
        // What is public again, in another version, is shown as it is now.
        write("Version three", Some(Visibility::Public));
        let messages = read(&who[0], 2);
        assert!(messages.iter().any(|(_, body)| body.contains("Version three")) && !secret(&messages), "{messages:?}");
    }
}

#[test]
fn session_that_saw_everything_and_comes_back_with_less_reads_the_state_again() {
    let server = Server::with(guarded());
    let (admin, reader) = (key(&server, "ops", Role::Admin), key(&server, "ops", Role::Read));
    put(&server, PRIVATE, Visibility::Private);
    put(&server, PUBLIC, Visibility::Public);
    let (mut client, _) = connect(&server, "one", &admin);
    client.subscribe(&[("agentdex/#", 1)]);
    let held = up_to(&mut client, PUBLIC);
    assert!(held.iter().any(|(topic, _)| topic.contains(PRIVATE)), "{held:?}");
    // What it has acknowledged has arrived before it goes.
    client.assert_nothing_comes();
    drop(client);
    // With the same role it goes on.
    let (mut client, has_session) = connect(&server, "one", &admin);
    assert!(has_session);
    client.assert_nothing_comes();
    drop(client);
    let (mut client, has_session) = connect(&server, "one", &reader);
    assert!(has_session);
    let first = client.receive();
    assert_eq!(first.kind, PUBLISH);
    assert!(first.topic().starts_with("agentdex/events/resync/"), "{}", first.topic());
}
