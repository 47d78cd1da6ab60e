//! A server that authenticates, with six callers, and what each of them can ask it.

use std::{collections::BTreeMap, fmt, path::Path, process::Stdio, time::Instant};

use agentdex::{Timestamp, store};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    mqtt::{
        broker::Broker,
        support::PATIENCE,
        wire::{Client, Hello, PUBLISH, Version},
    },
    process::{ServerProcess, agentdex},
    support::{Answer, Event, EventStream, client, eventually},
};

/// The callers: somebody without a key, the role `read`, three owners that register, and an admin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    Nobody,
    Dana,
    Alice,
    Bob,
    Carol,
    Admin,
}

impl Who {
    pub const ALL: [Who; 6] = [Who::Nobody, Who::Dana, Who::Alice, Who::Bob, Who::Carol, Who::Admin];

    /// The name of the owner that it is; nobody has none.
    pub fn owner(self) -> &'static str {
        match self {
            Who::Nobody => "",
            Who::Dana => "dana",
            Who::Alice => "alice",
            Who::Bob => "bob",
            Who::Carol => "carol",
            Who::Admin => "ops",
        }
    }

    fn role(self) -> &'static str {
        match self {
            Who::Nobody | Who::Dana => "read",
            Who::Alice | Who::Bob | Who::Carol => "register",
            Who::Admin => "admin",
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A running program over a data directory of its own, and the keys of all callers.
pub struct Server {
    process: Option<ServerProcess>,
    arguments: Vec<String>,
    keys: BTreeMap<Who, String>,
    runtime: Runtime,
    client: reqwest::Client,
    ends: std::sync::atomic::AtomicU64,
    pub directory: TempDir,
}

impl Server {
    pub fn start() -> Server {
        Server::with(&[])
    }

    /// Starts one with further arguments.
    pub fn with(arguments: &[&str]) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let create = ["keys", "create", "--role", "admin", "--owner", Who::Admin.owner(), "--data"];
        let created = agentdex().args(create).arg(&data).stderr(Stdio::null()).output().unwrap();
        let admin = String::from_utf8(created.stdout).unwrap().trim().to_owned();
        assert!(admin.starts_with("adx_"), "{admin:?}");
        let always = ["--auth", "--public-read", "--sparql", "--mqtt-listen", "127.0.0.1:0"];
        let arguments = always.iter().chain(arguments).map(|argument| (*argument).to_owned()).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut server = Server {
            process: None,
            arguments,
            keys: [(Who::Admin, admin)].into(),
            runtime,
            client: client(),
            ends: Default::default(),
            directory,
        };
        server.go_on(&data);
        for who in Who::ALL.into_iter().filter(|who| !matches!(who, Who::Nobody | Who::Admin)) {
            let body = json!({"role": who.role(), "owner": who.owner()});
            let key = server.json(Who::Admin, "POST", "/keys", &body).expect(201).json();
            server.keys.insert(who, key["key"].as_str().unwrap().to_owned());
        }
        server
    }

    fn go_on(&mut self, data: &Path) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.process = Some(ServerProcess::start_with_log(data, &arguments, "debug"));
        let answers = |path: &str| self.get(Who::Nobody, path).status == 200;
        eventually("a server that is ready", || answers("/health/ready"));
        eventually("statements", || answers("/search/sparql?query=ASK%20%7B%3Fs%20%3Fp%20%3Fo%7D&consistent=true"));
    }

    /// Where the data are.
    pub fn data(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    /// Stops the program, does something with its data directory, and starts it again; returns what was logged.
    pub fn restart_after(&mut self, meanwhile: impl FnOnce(&Path)) -> String {
        // A server that stops waits for connections that are open.
        self.client = client();
        let process = self.process.take().unwrap();
        let log = process.log();
        assert!(process.stop().success());
        let data = self.data();
        meanwhile(&data);
        self.go_on(&data);
        log
    }

    /// The lines that the program has logged since it started.
    pub fn log(&self) -> String {
        self.process.as_ref().unwrap().log()
    }

    pub fn port(&self) -> u16 {
        self.process.as_ref().unwrap().mqtt().unwrap().port()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.process.as_ref().unwrap().url())
    }

    fn request(&self, who: Who, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, self.url(path));
        match self.keys.get(&who) {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends a request with headers and a body, and reads the whole answer.
    pub fn send(&self, who: Who, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = self.request(who, method, path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_empty() {
            request = request.body(body.to_owned());
        }
        self.runtime.block_on(async {
            let response = request.timeout(std::time::Duration::from_secs(90)).send().await.unwrap();
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
        })
    }

    pub fn get(&self, who: Who, path: &str) -> Answer {
        self.send(who, "GET", path, &[], "")
    }

    pub fn json(&self, who: Who, method: &str, path: &str, body: &Value) -> Answer {
        self.send(who, method, path, &[("content-type", "application/json")], &body.to_string())
    }

    pub fn put(&self, who: Who, id: &str, td: &Value, parameters: &str) -> Answer {
        let path = format!("/things/{id}{parameters}");
        self.send(who, "PUT", &path, &[("content-type", "application/td+json")], &td.to_string())
    }

    pub fn remove(&self, who: Who, id: &str) -> Answer {
        self.send(who, "DELETE", &format!("/things/{id}"), &[], "")
    }

    /// Changes the access to an agent.
    pub fn set_access(&self, who: Who, id: &str, access: &Value) -> Answer {
        self.json(who, "PUT", &format!("/things/{id}/access"), access)
    }

    /// Claims a namespace, or says who its members are.
    pub fn set_members(&self, who: Who, name: &str, members: &[Who]) -> Answer {
        let members: Vec<&str> = members.iter().map(|member| member.owner()).collect();
        self.json(who, "PUT", &format!("/namespaces/{name}"), &json!({ "members": members }))
    }

    pub fn give_up(&self, who: Who, name: &str) -> Answer {
        self.send(who, "DELETE", &format!("/namespaces/{name}"), &[], "")
    }

    /// A page of the change log.
    pub fn changes(&self, who: Who, since: u64) -> Value {
        let since = if since == 0 { "0".to_owned() } else { format!("{}-{since}", self.epoch()) };
        self.get(who, &format!("/changes?since={since}&limit=1000")).expect(200).json()
    }

    /// The end of the log.
    pub fn last(&self) -> u64 {
        self.get(Who::Admin, "/changes?limit=1").expect(200).json()["last"].as_u64().unwrap()
    }

    pub fn epoch(&self) -> String {
        self.get(Who::Admin, "/changes?limit=1").json()["epoch"].as_str().unwrap().to_owned()
    }

    /// Registers a public agent and returns its id: what a reader gets before is all that there was for it.
    pub fn put_end(&self) -> String {
        let number = self.ends.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // It comes last where ids are in order.
        let id = format!("urn:zz:end:{number:06}");
        self.put(Who::Admin, &id, &agent(&id, "the end of merger, blue and ocean", "end"), "").expect(201);
        id
    }

    /// An event stream, open at a position or at the end.
    pub fn events(&self, who: Who, path: &str, since: Option<&str>) -> EventStream {
        let mut call = crate::support::Call::new("GET", &self.url(path));
        if let Some(key) = self.keys.get(&who) {
            call = call.header("authorization", &format!("Bearer {key}"));
        }
        EventStream::open(match since {
            Some(since) => call.header("last-event-id", since),
            None => call,
        })
    }

    /// All events of a stream after a position, up to an end that is put now.
    pub fn replay(&self, who: Who, path: &str, since: u64) -> Vec<Event> {
        self.replay_up_to(who, path, since, &self.put_end())
    }

    /// All events of a stream after a position, up to an end.
    pub fn replay_up_to(&self, who: Who, path: &str, since: u64, end: &str) -> Vec<Event> {
        let since = format!("{}-{since}", self.epoch());
        read_up_to(&mut self.events(who, path, Some(&since)), end)
    }

    /// An MQTT connection with a session that outlives it, and true if it was there.
    pub fn connect(&self, who: Who, client_id: &str) -> (Client, bool) {
        self.connect_for(who, client_id, 3600)
    }

    /// An MQTT connection with a session that ends with it.
    pub fn connect_clean(&self, who: Who, client_id: &str) -> Client {
        self.connect_for(who, client_id, 0).0
    }

    fn connect_for(&self, who: Who, client_id: &str, seconds: u32) -> (Client, bool) {
        let key = self.keys.get(&who);
        let hello = Hello {
            client_id,
            clean: seconds == 0,
            credentials: key.map(|key| (key.split('_').nth(1).unwrap(), key.as_str())),
            // Session expiry interval.
            properties: [&[0x11][..], &seconds.to_be_bytes()].concat(),
            ..Hello::default()
        };
        let (client, connack) = Client::connect(self.port(), Version::V5, &hello);
        assert_eq!(connack[1], 0, "{who} is refused");
        (client, connack[0] == 1)
    }

    /// A session that has read up to now, and whose client is away.
    pub fn leave_session(&self, who: Who, client_id: &str, filter: &str) {
        let (mut client, _) = self.connect(who, client_id);
        client.subscribe(&[(filter, 1)]);
        let end = self.put_end();
        messages_up_to(&mut client, &end);
        disconnect(client);
    }

    /// The messages that a session gets that was away.
    pub fn resume_session(&self, who: Who, client_id: &str) -> Vec<Message> {
        self.resume_session_with(who, client_id, None)
    }

    /// The same, with those of saved queries up to the last one by its level, which the end matches.
    pub fn resume_session_with(&self, who: Who, client_id: &str, query: Option<&str>) -> Vec<Message> {
        let end = self.put_end();
        let (mut client, is_present) = self.connect(who, client_id);
        assert!(is_present, "the session of {who} is gone");
        let messages = query_messages_up_to(&mut client, &end, query);
        disconnect(client);
        messages
    }
}

/// A connection to a broker that the server publishes to, with a session that outlives it by so many seconds.
pub fn connect_to(broker: &Broker, client_id: &str, seconds: u32) -> Client {
    // Session expiry interval.
    let properties = [&[0x11][..], &seconds.to_be_bytes()].concat();
    let hello = Hello { client_id, clean: seconds == 0, keep_alive: 0, properties, ..Hello::default() };
    let (client, connack) = Client::connect(broker.port, Version::V5, &hello);
    assert_eq!(connack[1], 0, "the broker refuses");
    client
}

/// Drops all but the last entries of the log of a server that is stopped.
pub fn trim(data: &Path, retained: u64) {
    let store = store::Store::open(data, store::Options::default().retained_changes(retained)).unwrap();
    store.trim_log(Timestamp::now()).unwrap();
    store.close();
}

/// A PUBLISH as it came.
#[derive(Debug, Clone)]
pub struct Message {
    pub topic: String,
    pub payload: String,
}

impl Message {
    /// Kind and id of the event that it is; none for a description.
    pub fn event(&self) -> Option<(String, String)> {
        let levels: Vec<&str> = self.topic.split('/').collect();
        let [_, "events", kind, id] = levels[..] else { return None };
        Some((kind.to_owned(), id.replace("%3A", ":")))
    }
}

/// Ends a connection, so that its session is away when this returns.
pub fn disconnect(mut client: Client) {
    client.send(&[0xe0, 0]);
    while client.try_receive().is_some() {}
}

/// The messages of a client up to the description of an agent that everybody sees.
pub fn messages_up_to(client: &mut Client, end: &str) -> Vec<Message> {
    query_messages_up_to(client, end, None)
}

/// The same, and up to the event of that agent for the saved query with this level: those of queries come later.
pub fn query_messages_up_to(client: &mut Client, end: &str, query: Option<&str>) -> Vec<Message> {
    let (mut messages, deadline) = (Vec::new(), Instant::now() + PATIENCE);
    let mut missing = vec![format!("agentdex/things/{end}")];
    missing.extend(query.map(|query| format!("agentdex/queries/{query}/thing_created/{end}")));
    loop {
        assert!(Instant::now() < deadline, "{missing:?} did not come after {messages:?}");
        let packet = client.receive();
        if packet.kind != PUBLISH {
            continue;
        }
        let topic = packet.topic().to_owned();
        if packet.flags & 6 != 0 {
            client.acknowledge(packet.publish_id());
        }
        let payload = payload(&packet.body[2 + topic.len()..], packet.flags & 6 != 0);
        missing.retain(|missing| *missing != topic.replace("%3A", ":"));
        messages.push(Message { topic, payload });
        if missing.is_empty() {
            return messages;
        }
    }
}

/// The payload of a PUBLISH of version 5, of what comes after its topic.
fn payload(rest: &[u8], has_id: bool) -> String {
    let rest = &rest[if has_id { 2 } else { 0 }..];
    // No server here sends more than 127 bytes of properties.
    let properties = usize::from(rest[0]);
    assert!(properties < 128);
    String::from_utf8_lossy(&rest[1 + properties..]).into_owned()
}

/// The events of a stream up to one about an agent that everybody sees.
pub fn read_up_to(stream: &mut EventStream, end: &str) -> Vec<Event> {
    let (mut events, deadline) = (Vec::new(), Instant::now() + PATIENCE);
    loop {
        assert!(Instant::now() < deadline, "{end} did not come after {events:?}");
        let event = stream.next().expect("the stream ended");
        // After a resync comes what happens from now on.
        let is_end = event.data.contains(end) || event.kind == "resync";
        events.push(event);
        if is_end {
            return events;
        }
    }
}

/// An agent with a text and a capability.
pub fn agent(id: &str, text: &str, capability: &str) -> Value {
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": id, "title": "Agent", "description": text,
        "lmos:capabilities": [{"id": capability, "name": capability}],
        "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
    })
}
