//! The publisher, with a real Mosquitto as the existing broker.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use agentdex::{
    Epoch, Error, Position, Registry, Seq,
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    registry::{QueryParameters, Write},
};
use agentdex_server::mqtt::{self, Publisher, PublisherOptions, Resynced};
use tempfile::TempDir;

use super::{
    decisions::decide,
    support::{Subscriber, agent, has_mosquitto, put_many},
};
use crate::support::{closed_address, eventually, nth, skipped};

/// Where something is published that isn't retained, to see that everything else has come.
const LAST: &str = "test/last";

/// A Mosquitto of its own, with its state in a directory.
pub struct Broker {
    directory: TempDir,
    pub port: u16,
    process: Option<Child>,
}

impl Broker {
    pub fn open() -> Broker {
        Broker::start("allow_anonymous true", |_| {})
    }

    /// Starts it with settings in which DIR is its directory, once `prepare` has put there what they name.
    fn start(settings: &str, prepare: impl Fn(&Path)) -> Broker {
        let directory = tempfile::tempdir().unwrap();
        prepare(directory.path());
        let port = free_port();
        let path = directory.path().display();
        let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
        let settings = settings.replace("DIR", &path.to_string());
        let configuration = format!(
            "user {}\nlistener {port} 127.0.0.1\npersistence true\npersistence_location {path}/\n{settings}\n",
            user.trim()
        );
        fs::write(directory.path().join("mosquitto.conf"), configuration).unwrap();
        let mut broker = Broker { directory, port, process: None };
        broker.go_on();
        broker
    }

    pub fn go_on(&mut self) {
        let child = Command::new("mosquitto")
            .arg("-c")
            .arg(self.directory.path().join("mosquitto.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(child);
        eventually("the start of mosquitto", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    /// Ends it as an operator does: it keeps its state.
    pub fn halt(&mut self) {
        let mut process = self.process.take().unwrap();
        Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap();
        process.wait().unwrap();
    }

    /// Forgets everything it retains and knows of its clients.
    fn wipe(&self) {
        fs::remove_file(self.directory.path().join("mosquitto.db")).unwrap();
    }

    pub fn url(&self) -> String {
        format!("mqtt://127.0.0.1:{}", self.port)
    }

    fn publish_retained(&self, topics: &[String]) {
        for topic in topics {
            let arguments = ["-p", &self.port.to_string(), "-r", "-q", "1", "-t", topic, "-m", "stale"];
            assert!(Command::new("mosquitto_pub").args(arguments).status().unwrap().success());
        }
    }

    pub fn retained(&self) -> Vec<String> {
        let mut subscriber = Subscriber::start(self.port, &["-V", "mqttv5", "-t", "agentdex/things/#", "-t", LAST]);
        let mut topics = Vec::new();
        loop {
            // What is published now comes after all that is retained; it may be dropped where that is much.
            let arguments = ["-p", &self.port.to_string(), "-t", LAST, "-m", "last"];
            assert!(Command::new("mosquitto_pub").args(arguments).status().unwrap().success());
            while let Some(message) = subscriber.next_within(Duration::from_secs(1)) {
                match message.topic.as_str() {
                    LAST => {
                        topics.sort();
                        return topics;
                    }
                    _ if message.retain => topics.push(message.topic),
                    _ => {}
                }
            }
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A port that no outgoing connection gets meanwhile, as those of the ephemeral range (from 32768) do.
fn free_port() -> u16 {
    static OFFSET: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 1000).unwrap() * 10;
    let ports = std::iter::repeat_with(|| 20_000 + (start + OFFSET.fetch_add(1, Ordering::Relaxed)) % 12_000);
    ports.take(12_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("no port is free")
}

fn registry() -> (Registry, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Registry::builder(directory.path()).open().unwrap(), directory)
}

fn publish(broker: &Broker, registry: &Registry) -> Publisher {
    let publisher = Publisher::start(&broker.url(), registry.clone(), options()).unwrap();
    eventually("the connection to the broker", || publisher.is_connected());
    publisher
}

fn options() -> PublisherOptions {
    PublisherOptions { max_backoff: Duration::from_millis(400), ..PublisherOptions::default() }
}

/// Waits until the broker has acknowledged everything.
fn wait_for_acknowledgements(broker: &Broker, registry: &Registry) {
    let follower = format!("mqtt:127.0.0.1:{}/agentdex", broker.port);
    eventually("the last PUBACK", || {
        registry.position(&follower).unwrap().is_some_and(|cursor| cursor.seq == registry.last_seq())
    });
}

/// Reads events until the change `last` is there, and asserts that each came, in order, once or more.
fn assert_all_events(subscriber: &mut Subscriber, last: u64) {
    let mut next = 1;
    while next <= last {
        let seq = subscriber.next().number();
        assert!(seq <= next, "the event of change {seq} came before the one of {next}");
        next = next.max(seq + 1);
    }
}

#[test]
fn nothing_is_missing_after_the_broker_was_down() {
    if !has_mosquitto() {
        return;
    }
    let mut broker = Broker::open();
    let (registry, _directory) = registry();
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    let session = ["-c", "-i", "reader", "-q", "1", "-t", "agentdex/events/#"];
    let mut subscriber = Subscriber::start(broker.port, &session);
    put_many(&registry, 0..10);
    wait_for_acknowledgements(&broker, &registry);
    broker.halt();
    put_many(&registry, 10..300);
    registry.remove("urn:agent:7").unwrap();
    broker.go_on();
    assert_all_events(&mut subscriber, 301);
    wait_for_acknowledgements(&broker, &registry);
    let retained = broker.retained();
    assert_eq!(retained.len(), 299);
    assert!(!retained.contains(&"agentdex/things/urn:agent:7".to_owned()));
    publisher.stop();
}

#[test]
fn registry_that_was_down_publishes_what_was_missed() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    publisher.stop();
    let mut subscriber = Subscriber::start(broker.port, &["-q", "1", "-t", "agentdex/events/#"]);
    put_many(&registry, 0..50);
    let publisher = publish(&broker, &registry);
    assert_all_events(&mut subscriber, 50);
    wait_for_acknowledgements(&broker, &registry);
    assert_eq!(broker.retained().len(), 50);
    drop(publisher);
}

#[test]
fn broker_that_forgot_everything_gets_the_state_again() {
    if !has_mosquitto() {
        return;
    }
    let mut broker = Broker::open();
    let (registry, _directory) = registry();
    put_many(&registry, 0..200);
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    eventually("the retained state", || broker.retained().len() == 200);
    broker.halt();
    broker.wipe();
    registry.remove("urn:agent:0").unwrap();
    broker.go_on();
    eventually("the retained state", || broker.retained().len() == 199);
    publisher.stop();
}

#[test]
fn resync_that_was_interrupted_is_done_again() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    put_many(&registry, 0..3);
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    publisher.stop();
    broker.publish_retained(&["agentdex/things/urn:gone".into()]);
    // As it is kept from the beginning of a resync to its end; the broker has a session all the while.
    let name = format!("mqtt-resync:127.0.0.1:{}/agentdex", broker.port);
    registry
        .set_position(&name, registry.position(&format!("mqtt:127.0.0.1:{}/agentdex", broker.port)).unwrap().unwrap())
        .unwrap();
    let _publisher = publish(&broker, &registry);
    eventually("the end of the resync", || registry.position(&name).unwrap().is_none());
    assert_eq!(broker.retained().len(), 3);
}

#[test]
fn messages_that_the_broker_refuses_hold_up_no_others() {
    if !has_mosquitto() {
        return;
    }
    // The one is stated in CONNACK, the other by the reason code of the first message that is too large.
    for limit in ["max_packet_size 200000", "message_size_limit 200000"] {
        let broker = Broker::start(&format!("allow_anonymous true\n{limit}"), |_| {});
        let (registry, _directory) = registry();
        let publisher = publish(&broker, &registry);
        wait_for_acknowledgements(&broker, &registry);
        registry.put(agent("urn:before", "small", &[])).unwrap();
        registry.put(agent("urn:large", &"x".repeat(300_000), &["chat"])).unwrap();
        registry.put(agent("urn:after", "small", &["chat"])).unwrap();
        wait_for_acknowledgements(&broker, &registry);
        assert_eq!(broker.retained(), ["agentdex/things/urn:after", "agentdex/things/urn:before"], "{limit}");
        // Event, capability and description; a limit that is learned takes several attempts.
        let quarantined = publisher.quarantined();
        assert!(quarantined >= 3 && (quarantined == 3 || limit.starts_with("message")), "{quarantined} with {limit}");
        // Also while everything is published again.
        broker.publish_retained(&["agentdex/things/urn:gone".into()]);
        publisher.resync();
        eventually("the clearing", || broker.retained().len() == 2);
        eventually("the end of the resync", || publisher.quarantined() > quarantined);
    }
}

#[test]
fn messages_that_are_not_allowed_hold_up_no_others() {
    if !has_mosquitto() {
        return;
    }
    let rules = "topic deny agentdex/events/#\ntopic readwrite agentdex/#\ntopic readwrite test/#\n";
    let broker = Broker::start("allow_anonymous true\nacl_file DIR/acl", |directory| {
        fs::write(directory.join("acl"), rules).unwrap();
    });
    let (registry, _directory) = registry();
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    put_many(&registry, 0..5);
    wait_for_acknowledgements(&broker, &registry);
    assert_eq!(publisher.quarantined(), 5);
    let metrics = registry.metrics();
    let number = |name| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
    assert_eq!(number("agentdex_mqtt_broker_connected"), Some(1));
    assert_eq!(number("agentdex_mqtt_broker_quarantined_total"), Some(5));
    assert!(number("agentdex_mqtt_broker_published_total") > Some(5));
    assert_eq!(broker.retained().len(), 5);
}

#[test]
fn messages_have_their_media_type() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    let arguments = ["-h", "127.0.0.1", "-p", &broker.port.to_string(), "-V", "mqttv5", "-W", "60", "-C", "2"];
    let reader = Command::new("mosquitto_sub")
        .args(arguments)
        .args(["-t", "agentdex/events/#", "-t", "agentdex/things/#", "-F", "%C %t"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let _publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    // Published until the reader, of which nobody knows how long it takes to start, has its two messages.
    let mut number = 0;
    let lines = std::thread::scope(|scope| {
        let output = scope.spawn(|| reader.wait_with_output().unwrap());
        while !output.is_finished() {
            number += 1;
            registry.put(agent("urn:a", &format!("A {number}"), &[])).unwrap();
            wait_for_acknowledgements(&broker, &registry);
        }
        String::from_utf8(output.join().unwrap().stdout).unwrap()
    });
    for line in lines.lines() {
        let expected = if line.contains("/events/") { "application/cloudevents+json" } else { "application/td+json" };
        assert!(line.starts_with(expected), "{line}");
    }
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn broker_gets_messages_of_queries_that_everybody_sees() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    let principal =
        Principal { owner: "alice".parse().unwrap(), role: Role::Register, key: String::new(), expires: None };
    let alice = registry.as_caller(Caller::Principal(Arc::new(principal)));
    let query = QueryParameters { q: Some("+harbour".into()), ..QueryParameters::default() };
    let public = AccessRequest { visibility: Some(Visibility::Public), ..AccessRequest::default() };
    registry.save_query("common", query.clone()).unwrap();
    alice.save_query("hidden", query.clone()).unwrap();
    alice.save_query_with("shown", query.clone(), public.clone()).unwrap();
    // The last of a change's messages is one that isn't published: the position moves all the same.
    alice.save_query("zz", query.clone()).unwrap();
    let mut subscriber = Subscriber::start(broker.port, &["-q", "1", "-t", "agentdex/queries/#"]);
    let _publisher = publish(&broker, &registry);
    registry.put(agent("urn:a", "Harbour", &[])).unwrap();
    wait_for_acknowledgements(&broker, &registry);
    let mut messages = subscriber.take(2);
    alice.save_query_with("hidden", query, public).unwrap();
    registry.remove("urn:a").unwrap();
    wait_for_acknowledgements(&broker, &registry);
    messages.extend(subscriber.take(3));
    let topics: Vec<String> = messages.into_iter().map(|message| message.topic).collect();
    let topic = |query: &str, kind: &str| format!("agentdex/queries/{query}/thing_{kind}/urn:a");
    let mut expected: Vec<String> = ["alice%2Fshown", "common"].map(|query| topic(query, "created")).into();
    expected.extend(["alice%2Fhidden", "alice%2Fshown", "common"].map(|query| topic(query, "deleted")));
    assert_eq!(topics, expected);
}

#[test]
fn resync_clears_what_no_longer_exists() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    put_many(&registry, 0..3000);
    let stale: Vec<String> = (0..20).map(|number| format!("agentdex/things/urn:gone:{number}")).collect();
    broker.publish_retained(&stale);
    broker.publish_retained(&["agentdex/things/urn:agent:1".into(), "agentdex/things/urn%3Aagent:1".into()]);
    let resynced = mqtt::resync(&broker.url(), registry.clone(), options()).unwrap();
    assert_eq!(resynced, Resynced { published: 3000, cleared: 21 });
    let mut expected: Vec<String> = (0..3000).map(|number| format!("agentdex/things/urn:agent:{number}")).collect();
    expected.sort();
    assert_eq!(broker.retained(), expected);
    // More than Mosquitto queues for a client.
    for number in 0..2500 {
        registry.remove(&format!("urn:agent:{number}")).unwrap();
    }
    let resynced = mqtt::resync(&broker.url(), registry.clone(), options()).unwrap();
    assert_eq!(resynced, Resynced { published: 500, cleared: 2500 });
    assert_eq!(broker.retained().len(), 500);
}

#[test]
fn publisher_that_fell_out_of_the_log_resyncs_and_says_so() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    put_many(&registry, 0..20);
    broker.publish_retained(&["agentdex/things/urn:gone".into()]);
    let foreign = Position { epoch: Epoch(1), seq: Seq(5) };
    registry.set_position(&format!("mqtt:127.0.0.1:{}/agentdex", broker.port), foreign).unwrap();
    let mut subscriber = Subscriber::start(broker.port, &["-q", "1", "-t", "agentdex/events/+/+"]);
    let _publisher = publish(&broker, &registry);
    let event = subscriber.next();
    assert_eq!(event.json()["type"], "io.agentdex.resync");
    assert_eq!(event.json()["data"]["cursor"], format!("{}-{}", registry.epoch(), nth(20)));
    assert_eq!(broker.retained().len(), 20);
    registry.put(agent("urn:late", "late", &[])).unwrap();
    assert_eq!(subscriber.next().number(), 21);
}

#[test]
fn subscribers_are_notified_of_events_of_queries_that_are_not_known() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, directory) = registry();
    let query = QueryParameters { q: Some("+harbour".into()), ..QueryParameters::default() };
    registry.save_query("harbour", query).unwrap();
    let publisher = publish(&broker, &registry);
    registry.put(agent("urn:a", "Harbour", &[])).unwrap();
    wait_for_acknowledgements(&broker, &registry);
    publisher.stop();
    registry.put(agent("urn:b", "Harbour", &[])).unwrap();
    registry.close();
    drop((publisher, registry));
    let registry = Registry::builder(directory.path()).open().unwrap();
    let mut subscriber =
        Subscriber::start(broker.port, &["-q", "1", "-t", "agentdex/events/+/+", "-t", "agentdex/queries/#"]);
    let publisher = publish(&broker, &registry);
    let mut topics = subscriber.take(2).into_iter().map(|message| message.topic).collect::<Vec<_>>();
    topics.sort();
    assert_eq!(topics[1], "agentdex/events/thing_created/urn:b");
    assert!(topics[0].starts_with("agentdex/events/resync/"), "{topics:?}");
    // Once: whoever connects again goes on.
    publisher.stop();
    let publisher = publish(&broker, &registry);
    registry.put(agent("urn:c", "Harbour", &[])).unwrap();
    let topics = subscriber.take(2).into_iter().map(|message| message.topic).collect::<Vec<_>>();
    assert!(topics.contains(&"agentdex/events/thing_created/urn:c".to_owned()), "{topics:?}");
    assert!(topics.contains(&"agentdex/queries/harbour/thing_created/urn:c".to_owned()), "{topics:?}");
    publisher.stop();
}

#[test]
fn events_of_queries_that_were_not_acknowledged_are_made_up_for() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, directory) = registry();
    let query = QueryParameters { q: Some("+harbour".into()), ..QueryParameters::default() };
    registry.save_query("harbour", query).unwrap();
    let before = Position { epoch: registry.epoch(), seq: registry.last_seq() };
    let mut subscriber =
        Subscriber::start(broker.port, &["-q", "1", "-t", "agentdex/events/resync/#", "-t", "agentdex/queries/#"]);
    let publisher = publish(&broker, &registry);
    registry.put(agent("urn:a", "Harbour", &[])).unwrap();
    wait_for_acknowledgements(&broker, &registry);
    assert_eq!(subscriber.next().topic, "agentdex/queries/harbour/thing_created/urn:a");
    publisher.stop();
    // As if the query had been behind.
    let follower = format!("mqtt-queries:127.0.0.1:{}/agentdex", broker.port);
    registry.set_position(&follower, before).unwrap();
    let publisher = publish(&broker, &registry);
    assert_eq!(subscriber.next().topic, "agentdex/queries/harbour/thing_created/urn:a");
    let last = Position { seq: registry.last_seq(), ..before };
    eventually("the last PUBACK", || registry.position(&follower).unwrap() == Some(last));
    publisher.stop();
    registry.set_position(&follower, before).unwrap();
    registry.close();
    drop((publisher, registry));
    let registry = Registry::builder(directory.path()).open().unwrap();
    let publisher = publish(&broker, &registry);
    assert!(subscriber.next().topic.starts_with("agentdex/events/resync/"));
    eventually("the last PUBACK", || registry.position(&follower).unwrap() == Some(last));
    publisher.stop();
}

#[test]
fn position_moves_with_changes_that_nobody_sees() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    let _publisher = publish(&broker, &registry);
    registry.put(agent("urn:public", "Public", &[])).unwrap();
    wait_for_acknowledgements(&broker, &registry);
    for number in 0..3 {
        let private = AccessRequest {
            owner: Some("alice".parse().unwrap()),
            visibility: Some(Visibility::Private),
            ..AccessRequest::default()
        };
        let write = Write::put(agent(&format!("urn:private:{number}"), "Private", &[])).with_access(private);
        registry.write_blocking(write).unwrap();
    }
    wait_for_acknowledgements(&broker, &registry);
}

#[test]
fn resync_can_be_asked_for_while_publishing() {
    if !has_mosquitto() {
        return;
    }
    let broker = Broker::open();
    let (registry, _directory) = registry();
    put_many(&registry, 0..3);
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    broker.publish_retained(&["agentdex/things/urn:gone".into()]);
    publisher.resync();
    eventually("the clearing", || broker.retained().len() == 3);
}

#[test]
fn broker_may_ask_for_credentials_and_tls() {
    if !has_mosquitto() || !has_openssl() {
        return;
    }
    let settings = "allow_anonymous false\npassword_file DIR/passwords\ncertfile DIR/cert.pem\nkeyfile DIR/key.pem";
    let broker = Broker::start(settings, make_secrets);
    let directory = broker.directory.path();
    let (registry, _directory) = registry();
    put_many(&registry, 0..3);
    let trusting = PublisherOptions { trusted_certificates: Some(directory.join("cert.pem")), ..options() };
    let url = format!("mqtts://user:p%40ss@localhost:{}", broker.port);
    let resynced = mqtt::resync(&url, registry.clone(), trusting.clone()).unwrap();
    assert_eq!(resynced.published, 3);
    let wrong = format!("mqtts://user:wrong@localhost:{}", broker.port);
    assert!(matches!(mqtt::resync(&wrong, registry.clone(), trusting), Err(Error::Broker { .. })));
    assert!(
        matches!(mqtt::resync(&url, registry, options()), Err(Error::Broker { .. })),
        "an unknown issuer was trusted"
    );
}

fn has_openssl() -> bool {
    let found = Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_ok();
    if !found {
        skipped("openssl", "the program openssl");
    }
    found
}

fn make_secrets(directory: &Path) {
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let done = command.args(arguments).current_dir(directory).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(done.unwrap().success(), "{program} {arguments:?}");
    };
    run("mosquitto_passwd", &["-c", "-b", "passwords", "user", "p@ss"]);
    run(
        "openssl",
        &[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ],
    );
}

#[test]
fn broker_that_cannot_be_reached_is_named_without_its_password() {
    let (registry, _directory) = registry();
    let address = closed_address();
    let error = mqtt::resync(&format!("mqtt://user:secret@{address}"), registry, options()).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains(&address.to_string()) && !text.contains("secret"), "{text}");
}

#[test]
fn decisions_reach_the_broker_also_those_made_while_it_was_away() {
    if !has_mosquitto() {
        return;
    }
    let mut broker = Broker::open();
    let (registry, _directory) = registry();
    registry.put(agent("urn:example:a/b", "A", &["chat"])).unwrap();
    pollster::block_on(registry.catch_up_guardian()).unwrap();
    let publisher = publish(&broker, &registry);
    wait_for_acknowledgements(&broker, &registry);
    let session = ["-c", "-i", "reader", "-V", "mqttv5", "-x", "3600", "-q", "1", "-t", "agentdex/guardian/+/+"];
    let mut subscriber = Subscriber::start(broker.port, &session);
    decide(&registry, "urn:example:a/b", "s-1");
    decide(&registry, "urn:example:other", "s-2");
    let messages = subscriber.take(2);
    assert_eq!(messages[0].topic, "agentdex/guardian/urn:example:a%2Fb/allow");
    assert_eq!(messages[1].topic, "agentdex/guardian/urn:example:other/deny");
    assert_eq!(
        (messages[1].json()["session"].as_str(), messages[1].json()["decision"].as_str()),
        (Some("s-2"), Some("deny"))
    );
    assert!(messages.iter().all(|message| message.qos == 1 && !message.retain));
    broker.halt();
    eventually("the loss of the connection", || !publisher.is_connected());
    decide(&registry, "urn:example:a/b", "s-3");
    broker.go_on();
    assert_eq!(next_session(&mut subscriber, &["s-1", "s-2"]), "s-3");
    // Changes and decisions go on side by side.
    put_many(&registry, 0..20);
    decide(&registry, "urn:example:a/b", "s-4");
    assert_eq!(next_session(&mut subscriber, &["s-3"]), "s-4");
    wait_for_acknowledgements(&broker, &registry);
    publisher.stop();
}

/// The session of the next decision that isn't one of `before`: what wasn't acknowledged when a connection was lost comes
/// again (QoS 1).
fn next_session(subscriber: &mut Subscriber, before: &[&str]) -> String {
    loop {
        let message = subscriber.next().json();
        let session = message["session"].as_str().unwrap();
        if !before.contains(&session) {
            return session.into();
        }
    }
}
