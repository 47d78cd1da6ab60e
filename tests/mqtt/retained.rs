//! Late subscribers get the current descriptions, however many there are.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use agentdex::Registry;
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS};

use super::support::{Server, Subscriber, agent, has_mosquitto, put_many};
use crate::process::ServerProcess;

const AGENTS: usize = 10_000;

#[test]
fn late_subscriber_gets_all_of_10_000_agents() {
    let server = Server::start();
    server.put_many(AGENTS);
    if has_mosquitto() {
        for arguments in [["-V", "mqttv311", "-q", "1"], ["-V", "mqttv5", "-q", "1"], ["-V", "mqttv5", "-q", "0"]] {
            let filter = ["-t", "agentdex/things/#"];
            let mut subscriber = Subscriber::start(server.port(), &[&arguments[..], &filter].concat());
            let messages = subscriber.take(AGENTS);
            assert!(messages.iter().all(|message| message.retain));
            let topics: BTreeSet<String> = messages.into_iter().map(|message| message.topic).collect();
            assert_eq!(topics.len(), AGENTS, "with {arguments:?}");
            server.put("urn:agent:0", &format!("{arguments:?}"));
            assert!(!subscriber.next().retain, "an agent came twice");
        }
    }
    assert_eq!(topics_by_rumqttc(server.port()).len(), AGENTS);
}

#[tokio::main(flavor = "current_thread")]
async fn topics_by_rumqttc(port: u16) -> BTreeSet<String> {
    let mut options = MqttOptions::new("rumqttc", "127.0.0.1", port);
    options.set_max_packet_size(1 << 20, 1 << 20);
    let (client, mut event_loop) = AsyncClient::new(options, 10);
    client.subscribe("agentdex/+/+", QoS::AtLeastOnce).await.unwrap();
    let mut topics = BTreeSet::new();
    while topics.len() < AGENTS {
        let event =
            tokio::time::timeout(Duration::from_secs(60), event_loop.poll()).await.expect("nothing came").unwrap();
        if let Event::Incoming(Packet::Publish(publish)) = event {
            assert!(publish.retain && !publish.payload.is_empty());
            topics.insert(publish.topic);
        }
    }
    topics
}

#[test]
fn twenty_late_subscribers_at_once_cost_little_memory() {
    if !has_mosquitto() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let registry = Registry::builder(data.path()).open().unwrap();
    // 3 KB each.
    std::thread::scope(|scope| {
        for part in 0..32 {
            let registry = registry.clone();
            scope.spawn(move || {
                for number in (part..AGENTS).step_by(32) {
                    let title = format!("Agent {number} {}", "x".repeat(2600));
                    registry.put(agent(&format!("urn:agent:{number}"), &title, &["chat"])).unwrap();
                }
            });
        }
    });
    registry.close();
    drop(registry);
    let server = ServerProcess::start(data.path(), &["--mqtt-listen", "127.0.0.1:0"]);
    let port = server.mqtt().unwrap().port().to_string();
    let before = anonymous_memory(server.id());
    let mut subscribers: Vec<_> = (0..20)
        .map(|_| {
            let mut command = Command::new("mosquitto_sub");
            command.args(["-h", "127.0.0.1", "-p", &port, "-q", "1", "-t", "agentdex/things/#"]);
            command.args(["-C", &AGENTS.to_string(), "-W", "120"]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut peak = 0;
    while subscribers.iter_mut().any(|subscriber| subscriber.try_wait().unwrap().is_none()) {
        peak = peak.max(anonymous_memory(server.id()));
        std::thread::sleep(Duration::from_millis(5));
    }
    for mut subscriber in subscribers {
        assert!(subscriber.wait().unwrap().success(), "a subscriber did not get all");
    }
    let added = peak.saturating_sub(before) / 1024;
    eprintln!("20 subscribers of {AGENTS} agents added {added} MB to {} MB", before / 1024);
    assert!(added <= 100, "20 subscribers added {added} MB");
}

/// RssAnon of a process in KB.
fn anonymous_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn wildcards_and_exact_filters_select() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    server.put_many(5);
    server.put("https://example.org/agents/a", "elsewhere");
    for (filter, expected) in [
        ("agentdex/things/#", 6),
        ("agentdex/things/+", 6),
        ("agentdex/+/+", 6),
        ("+/things/#", 6),
        ("#", 6),
        ("agentdex/things/urn:agent:3", 1),
        ("agentdex/+/urn:agent:3/#", 1),
        ("agentdex/things/https:%2F%2Fexample.org%2Fagents%2Fa", 1),
        ("agentdex/things/urn:agent:9", 0),
        ("agentdex/things/not-a-uri", 0),
        ("agentdex/things", 0),
        ("agentdex/things/+/+", 0),
        ("agentdex/events/#", 0),
        ("$share/group/agentdex/things/#", 0),
        ("agentdex", 0),
    ] {
        let marker = "agentdex/events/thing_updated/urn:agent:4";
        let mut subscriber = Subscriber::start(server.port(), &["-t", filter, "-t", marker]);
        assert!(subscriber.take(expected).iter().all(|message| message.retain), "{filter}");
        server.put("urn:agent:4", filter);
        assert!(!subscriber.next().retain, "{filter}");
    }
}

#[test]
fn subscriber_converges_while_agents_come_and_go() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    server.put_many(2000);
    let mut subscriber = Subscriber::start(server.port(), &["-q", "1", "-t", "agentdex/things/#"]);
    for number in (0..2000).step_by(3) {
        server.registry.remove(&format!("urn:agent:{number}")).unwrap();
    }
    put_many(&server.registry, 2000..2100);
    for number in (1..2000).step_by(300) {
        server.put(&format!("urn:agent:{number}"), "renamed");
    }
    server.put("urn:last", "last");
    let mut state = std::collections::BTreeMap::new();
    loop {
        let message = subscriber.next();
        if message.topic.ends_with("urn:last") {
            break;
        }
        match message.payload.as_str() {
            "" => state.remove(&message.topic),
            _ => state.insert(message.topic.clone(), message.json()["title"].as_str().unwrap().to_owned()),
        };
    }
    let expected: std::collections::BTreeMap<_, _> = server
        .registry
        .list()
        .map(Result::unwrap)
        .filter(|thing| thing.id() != "urn:last")
        .map(|thing| {
            let title =
                serde_json::from_str::<serde_json::Value>(thing.text()).unwrap()["title"].as_str().unwrap().to_owned();
            (format!("agentdex/things/{}", thing.id()), title)
        })
        .collect();
    // The rest of the descriptions that were there at the beginning.
    while state != expected {
        let message = subscriber.next();
        state.insert(message.topic.clone(), message.json()["title"].as_str().unwrap().to_owned());
    }
}

#[test]
fn expired_agent_clears() {
    if !has_mosquitto() {
        return;
    }
    let server = Server::start();
    server.put("urn:brief", "brief");
    let mut subscriber = Subscriber::start(server.port(), &["-q", "1", "-t", "agentdex/things/#"]);
    assert_eq!(subscriber.next().json()["title"], "brief");
    // Not before: nobody knows how long a subscriber takes to start.
    server.registry.patch("urn:brief", r#"{"registration": {"ttl": 1}}"#).unwrap();
    let cleared = subscriber.next();
    assert_eq!((cleared.topic.as_str(), cleared.payload.as_str()), ("agentdex/things/urn:brief", ""));
}
