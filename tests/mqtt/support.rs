//! A registry with an endpoint on a free port, and `mosquitto_sub` as a client that others wrote.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use agentdex::{Registry, Seq};
use agentdex_server::mqtt::{Endpoint, EndpointOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{number_of, skipped};

/// Far longer than anything here takes, so that only what never comes fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Server {
    pub endpoint: Endpoint,
    pub registry: Registry,
    pub directory: TempDir,
}

impl Server {
    pub fn start() -> Server {
        Server::with(EndpointOptions::default())
    }

    pub fn with(options: EndpointOptions) -> Server {
        Server::open(tempfile::tempdir().unwrap(), options)
    }

    /// Ends and starts again on the same directory, on another port.
    pub fn restart(self) -> Server {
        self.restart_with(EndpointOptions::default())
    }

    /// The same with other options.
    pub fn restart_with(self, options: EndpointOptions) -> Server {
        Server::open(self.stop(), options)
    }

    /// Ends it, and returns its directory.
    pub fn stop(self) -> TempDir {
        let Server { endpoint, registry, directory } = self;
        endpoint.stop();
        drop(endpoint);
        registry.close();
        directory
    }

    /// Starts on a directory.
    pub fn open(directory: TempDir, options: EndpointOptions) -> Server {
        let registry = Registry::builder(directory.path()).open().unwrap();
        let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), options).unwrap();
        Server { endpoint, registry, directory }
    }

    pub fn port(&self) -> u16 {
        self.endpoint.local_addr().port()
    }

    pub fn put(&self, id: &str, title: &str) {
        self.registry.put(agent(id, title, &["chat"])).unwrap();
    }

    /// Registers `count` agents named `urn:agent:<n>`.
    pub fn put_many(&self, count: usize) {
        put_many(&self.registry, 0..count);
    }
}

/// Registers agents named `urn:agent:<n>`, many at a time.
pub fn put_many(registry: &Registry, numbers: std::ops::Range<usize>) {
    let numbers: Vec<usize> = numbers.collect();
    std::thread::scope(|scope| {
        for part in numbers.chunks(numbers.len().div_ceil(32).max(1)) {
            scope.spawn(move || {
                for number in part {
                    registry.put(agent(&format!("urn:agent:{number}"), &format!("Agent {number}"), &["chat"])).unwrap();
                }
            });
        }
    });
}

pub fn agent(id: &str, title: &str, capabilities: &[&str]) -> String {
    let capabilities: Vec<Value> = capabilities.iter().map(|key| json!({"id": key, "name": key})).collect();
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent",
        "id": id,
        "title": title,
        "security": "none",
        "securityDefinitions": {"none": {"scheme": "nosec"}},
        "lmos:capabilities": capabilities
    })
    .to_string()
}

/// True if the Mosquitto programs are there; else the test is recorded as skipped.
pub fn has_mosquitto() -> bool {
    let found = ["mosquitto", "mosquitto_sub"].iter().all(|program| {
        let tried = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
        tried.is_ok()
    });
    if !found {
        skipped("mosquitto", "mosquitto and mosquitto_sub (Debian: mosquitto, mosquitto-clients)");
    }
    found
}

#[derive(Debug, Clone)]
pub struct Message {
    pub topic: String,
    pub retain: bool,
    pub qos: u64,
    pub payload: String,
}

impl Message {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_else(|error| panic!("{error} in {}", self.payload))
    }

    /// The number of the change that an event is about.
    pub fn number(&self) -> u64 {
        let event = self.json();
        let id = event["id"].as_str().unwrap();
        number_of(Seq(id.rsplit('-').next().unwrap().parse().unwrap()))
    }
}

/// A running `mosquitto_sub`.
pub struct Subscriber {
    child: Child,
    lines: Receiver<String>,
    /// Messages that came before the subscription was acknowledged, as those of a session do.
    early: VecDeque<Message>,
}

impl Subscriber {
    /// Starts it, and returns once its subscription is acknowledged.
    pub fn start(port: u16, arguments: &[&str]) -> Subscriber {
        let mut subscriber = Subscriber::spawn(port, arguments);
        subscriber.wait_for_line(|line| line.starts_with("Subscribed"));
        subscriber
    }

    pub fn spawn(port: u16, arguments: &[&str]) -> Subscriber {
        let mut child = Command::new("stdbuf")
            .args(["-oL", "mosquitto_sub", "-h", "127.0.0.1", "-d", "-F", "%j", "-p", &port.to_string()])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Subscriber { child, lines, early: VecDeque::new() }
    }

    pub fn wait_for_line(&mut self, matches: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.expect("mosquitto_sub did not print the line that was waited for");
            if line.starts_with('{') {
                self.early.push_back(read_message(&line));
            }
            if matches(&line) {
                return line;
            }
        }
    }

    /// The next message; none if there is none for a while, or it has ended.
    pub fn next_within(&mut self, patience: Duration) -> Option<Message> {
        if let Some(message) = self.early.pop_front() {
            return Some(message);
        }
        let deadline = Instant::now() + patience;
        loop {
            let line = match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            };
            if line.starts_with('{') {
                return Some(read_message(&line));
            }
        }
    }

    pub fn next(&mut self) -> Message {
        self.next_within(PATIENCE).expect("no message came")
    }

    pub fn take(&mut self, count: usize) -> Vec<Message> {
        (0..count)
            .map(|number| self.next_within(PATIENCE).unwrap_or_else(|| panic!("only {number} of {count} came")))
            .collect()
    }

    /// Ends it as a client that disconnects.
    pub fn leave(mut self) {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it from reading, so that it is there and takes nothing.
    pub fn freeze(&self) {
        Command::new("kill").args(["-STOP", &self.child.id().to_string()]).status().unwrap();
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_message(line: &str) -> Message {
    let message: Value = serde_json::from_str(line).unwrap();
    Message {
        topic: message["topic"].as_str().unwrap().into(),
        retain: message["retain"] == 1,
        qos: message["qos"].as_u64().unwrap(),
        payload: message["payload"].as_str().unwrap_or_default().into(),
    }
}
