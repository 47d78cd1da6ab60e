//! Everything that a reader gets by any way.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    markers::{Marker, markers},
    oracle::Moment,
    server::{Message, Server, Who, connect_to, disconnect, messages_up_to, read_up_to},
    world::World,
};
use crate::{
    mqtt::{broker::Broker, wire::Client},
    support::{Answer, Event, EventStream},
};

/// Something that somebody got between two moments.
pub struct Seen {
    pub who: Who,
    /// The way, the same for all requests of its kind.
    pub way: &'static str,
    pub request: String,
    pub from: Moment,
    pub to: Moment,
    /// It tells of what happens while it happens.
    pub is_live: bool,
    /// It tells of what a saved query matches.
    pub is_of_query: bool,
    pub markers: BTreeSet<Marker>,
}

/// Where all that readers get is gathered, until it is known what had happened by then.
#[derive(Default)]
pub struct Gathered(Vec<Seen>);

impl Gathered {
    /// Adds what somebody got; the markers that it has asked with tell it nothing.
    pub fn add(&mut self, who: Who, way: &'static str, request: &str, text: &str) {
        let asked = markers(request);
        let markers = markers(text).into_iter().filter(|marker| !asked.contains(marker)).collect();
        let (is_live, is_of_query) = (way.contains("live"), way.contains("query"));
        let nowhen = Moment::default();
        self.0.push(Seen {
            who,
            way,
            request: request.to_owned(),
            from: nowhen,
            to: nowhen,
            is_live,
            is_of_query,
            markers,
        });
    }

    fn add_answer(&mut self, who: Who, way: &'static str, request: &str, answer: &Answer) {
        assert_ne!(answer.status, 500, "{request}: {}", answer.text());
        let text = format!("{:?} {}", answer.headers, String::from_utf8_lossy(&answer.body));
        self.add(who, way, request, &text);
    }

    fn add_events(&mut self, who: Who, way: &'static str, request: &str, events: &[Event]) {
        events.iter().for_each(|event| self.add(who, way, request, &format!("{event:?}")));
    }

    fn add_messages(&mut self, who: Who, way: &'static str, queries: &'static str, messages: &[Message]) {
        for message in messages {
            let way = if message.topic.starts_with("agentdex/queries/") { queries } else { way };
            self.add(who, way, "", &format!("{} {}", message.topic, message.payload));
        }
    }

    /// What was got up to now, from a moment on.
    pub fn between(self, from: Moment, to: Moment) -> Vec<Seen> {
        self.0.into_iter().map(|seen| Seen { from, to, ..seen }).collect()
    }
}

/// What can be asked without an id, each with the way that it is.
const PATHS: [(&str, &str); 18] = [
    ("lists", "/things"),
    ("lists", "/things?format=collection&limit=3"),
    ("lists", "/things?view=summary&sort_by=title&limit=50"),
    ("search", "/search?q=agent+blue&consistent=true&facets=capability,type&explain=true&limit=50"),
    ("search", "/search?q=zqt&typing=true&mode=lexical&limit=50"),
    ("search", "/search?q=red&mode=semantic&limit=50"),
    ("search", "/things?q=blue+red&limit=50"),
    ("search", "/search/jsonpath?query=%24%5B%2A%5D"),
    ("search", "/search/sparql?query=SELECT%20%2A%20%7B%3Fs%20%3Fp%20%3Fo%7D&consistent=true"),
    ("lists", "/v0.1/servers?version=latest&limit=100"),
    ("search", "/v0.1/servers?search=blue+red&version=latest&limit=100"),
    ("versions", "/v0.1/servers?limit=100"),
    ("changes", "/changes?since=0&limit=1000"),
    ("others", "/metrics"),
    ("others", "/"),
    ("others", "/namespaces"),
    ("others", "/imports"),
    ("others", "/queries"),
];

/// What can be asked of an id.
const OF_ID: [(&str, &str); 9] = [
    ("things", ""),
    ("things", "/access"),
    ("history", "/history?limit=1000"),
    ("exports", "/agent-card"),
    ("exports", "/agent-spec"),
    ("exports", "/mcp-server"),
    ("exports", "/aos"),
    ("search", "/compatible"),
    ("exports", "/actions/ask/sacp"),
];

/// What can be asked of the versions of an id.
const VERSIONS: [&str; 6] = [
    "/versions",
    "?version=latest",
    "?version=1.0.0",
    "?version=2.0.0",
    "/agent-card?thing_version=1.0.0",
    "/agent-spec?edits=false",
];

/// Lets all callers read at once.
pub fn all(gathered: &mut Gathered, read: impl Fn(Who, &mut Gathered) + Sync) {
    let read = &read;
    let of_each = |who| {
        let mut gathered = Gathered::default();
        read(who, &mut gathered);
        gathered
    };
    std::thread::scope(|scope| {
        let readers = Who::ALL.map(|who| scope.spawn(move || of_each(who)));
        readers.into_iter().for_each(|reader| gathered.0.extend(reader.join().unwrap().0));
    });
}

/// Asks one of the routes without an id.
pub fn ask_at_random(server: &Server, who: Who, number: usize, gathered: &mut Gathered) {
    let (way, path) = PATHS[number % PATHS.len()];
    gathered.add_answer(who, way, path, &server.get(who, path));
}

/// Asks everything that there is by REST.
pub fn ask_all(server: &Server, who: Who, gathered: &mut Gathered) {
    for (way, path) in PATHS {
        gathered.add_answer(who, way, path, &server.get(who, path));
    }
    for id in World::ids() {
        // What was imported in a format is exported in each; the others in one will do.
        let is_asked = |way: &str, end: &str| way != "exports" || id.contains("agentspec") || end == "/agent-card";
        for (way, end) in OF_ID.into_iter().filter(|(way, end)| is_asked(way, end)) {
            let path = format!("/things/{id}{end}");
            gathered.add_answer(who, way, &path, &server.get(who, &path));
        }
    }
    let found = json!({"have": {"type": "object"}, "near_misses": true});
    for id in World::ids() {
        for version in VERSIONS {
            let path = format!("/things/{id}{version}");
            gathered.add_answer(who, "versions", &path, &server.get(who, &path));
        }
    }
    for path in ["/search/compatible", "/search/compose"] {
        gathered.add_answer(who, "search", path, &server.json(who, "POST", path, &found));
    }
    if matches!(who, Who::Alice | Who::Bob | Who::Carol) {
        for id in World::ids() {
            ask_guardian(server, who, &id, gathered);
        }
    }
}

/// Reports a step of an agent that is perhaps somebody else's.
fn ask_guardian(server: &Server, who: Who, id: &str, gathered: &mut Gathered) {
    let calls = crate::aos::calls();
    let (method, params) = calls.iter().find(|(method, _)| *method == "steps/toolCallRequest").unwrap();
    let mut params = params.clone();
    params["context"]["agent"]["id"] = json!(id);
    params["context"]["session"]["id"] = json!(format!("session of {who}"));
    let body = crate::aos::request(1, method, &params).to_string();
    let headers = [("content-type", "application/json")];
    let answer = server.send(who, "POST", "/aos?consistent=true", &headers, &body);
    gathered.add_answer(who, "guardian", &body, &answer);
}

/// Reads the event streams from a position up to an end; returns the events of everything.
pub fn replay(server: &Server, who: Who, since: u64, end: &str, gathered: &mut Gathered) -> Vec<Event> {
    let mut all = Vec::new();
    for (way, path) in [
        ("resumed SSE", "/events?diff=true"),
        ("resumed SSE of a query", "/events?diff=true&q=blue&mode=lexical"),
        ("resumed SSE of a saved query", "/queries/blue/events?diff=true&owner=carol"),
    ] {
        let events = server.replay_up_to(who, path, since, end);
        gathered.add_events(who, way, &format!("{path} since {since}"), &events);
        if way == "resumed SSE" {
            all = events;
        }
    }
    let path = format!("/changes?since={since}&limit=1000");
    gathered.add_answer(who, "changes", &path, &server.get(who, &path));
    all
}

/// The ids that a reader knows of after events who knew of some before; an error where an event doesn't fit.
pub fn known_after(mut known: BTreeSet<String>, events: &[Event]) -> Result<BTreeSet<String>, String> {
    for event in events {
        let id = event.json()["id"].as_str().unwrap_or_default().to_owned();
        if !id.contains("zqi") {
            continue;
        }
        match event.kind.as_str() {
            "thing_created" => drop(known.insert(id)),
            "thing_deleted" => drop(known.remove(&id)),
            _ if known.contains(&id) => {}
            kind => return Err(format!("{kind} of {id}, which it doesn't know of")),
        }
    }
    Ok(known)
}

/// Reads what the sessions of somebody missed: one of its own, and one of a group.
pub fn resume(server: &Server, who: Who, end: &str, gathered: &mut Gathered) {
    for (client_id, filter) in SESSIONS {
        let (mut client, is_present) = server.connect(who, client_id);
        if !is_present {
            // It was lost with the store that was restored.
            client.subscribe(&[(filter, 1)]);
        }
        let messages = messages_up_to(&mut client, end);
        disconnect(client);
        gathered.add_messages(who, "resumed MQTT", "resumed MQTT of a saved query", &messages);
    }
}

const SESSIONS: [(&str, &str); 2] = [("away", "agentdex/#"), ("shared", "$share/group/agentdex/#")];

/// Makes these sessions.
pub fn leave(server: &Server, who: Who) {
    for (client_id, filter) in SESSIONS {
        server.leave_session(who, client_id, filter);
    }
}

/// Reads what is retained.
pub fn read_retained(server: &Server, who: Who, end: &str, gathered: &mut Gathered) {
    let mut client = server.connect_clean(who, "retained");
    client.subscribe(&[("agentdex/things/#", 0)]);
    let messages = messages_up_to(&mut client, end);
    disconnect(client);
    gathered.add_messages(who, "retained MQTT", "retained MQTT", &messages);
}

/// Readers of what happens while it happens.
pub struct Live {
    who: Who,
    streams: Vec<(&'static str, EventStream)>,
    client: Client,
}

impl Live {
    pub fn open(server: &Server, who: Who) -> Live {
        let streams = [
            ("live SSE", "/events?diff=true"),
            ("live SSE of a query", "/events?diff=true&q=blue&mode=lexical"),
            ("live SSE of a saved query", "/queries/blue/events?diff=true&owner=carol"),
        ];
        let streams = streams.map(|(way, path)| (way, server.events(who, path, None))).into();
        let mut client = server.connect_clean(who, "live");
        // Retain handling 2: nothing that is retained, only what happens.
        client.subscribe(&[("agentdex/#", 0x20)]);
        Live { who, streams, client }
    }

    /// Reads up to an end that was put after everything.
    pub fn close(mut self, end: &str, gathered: &mut Gathered) {
        for (way, stream) in &mut self.streams {
            let events = read_up_to(stream, end);
            gathered.add_events(self.who, way, way, &events);
        }
        let messages = messages_up_to(&mut self.client, end);
        disconnect(self.client);
        gathered.add_messages(self.who, "live MQTT", "live MQTT of a saved query", &messages);
    }
}

/// The decisions about agents that everybody sees, or of which their reporter, whose name is the request, knows nothing.
pub const DECISIONS: &str = "live MQTT of the guardian at a broker";

/// Somebody who reads at a broker that the server publishes to, where everybody may: it gets what nobody in particular sees.
pub struct AtBroker {
    broker: Broker,
    client: Client,
    /// Before this moment was put what it has read last.
    since: Moment,
}

impl AtBroker {
    pub fn new(broker: Broker) -> AtBroker {
        let mut client = connect_to(&broker, "all", 3600);
        client.subscribe(&[("agentdex/#", 1)]);
        AtBroker { broker, client, since: Moment::default() }
    }

    /// Reads up to an end that was put after a moment; returns the moment from which on what it got has happened.
    pub fn read(&mut self, end: &str, before: Moment, gathered: &mut Gathered) -> Moment {
        let messages = messages_up_to(&mut self.client, end);
        let of_guardian = |message: &Message| message.topic.starts_with("agentdex/guardian/");
        let (decisions, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(of_guardian);
        for decision in decisions {
            let entry: serde_json::Value = serde_json::from_str(&decision.payload).unwrap();
            let reporter = entry["reporter"].as_str().unwrap_or_default();
            gathered.add(Who::Nobody, DECISIONS, reporter, &format!("{} {}", decision.topic, decision.payload));
        }
        gathered.add_messages(Who::Nobody, "live MQTT of a broker", "live MQTT of a query at a broker", &others);
        std::mem::replace(&mut self.since, before)
    }

    /// Reads what the broker retains; returns the ids of agents among it.
    pub fn read_retained(&self, server: &Server, gathered: &mut Gathered) -> BTreeSet<String> {
        let mut client = connect_to(&self.broker, "retained", 0);
        client.subscribe(&[("agentdex/things/#", 1)]);
        // What is published now comes after all that is retained.
        let messages = messages_up_to(&mut client, &server.put_end());
        disconnect(client);
        gathered.add_messages(Who::Nobody, "retained MQTT of a broker", "retained MQTT of a broker", &messages);
        let mut ids = BTreeSet::new();
        for Message { topic, payload } in messages {
            let id = topic.trim_start_matches("agentdex/things/").replace("%3A", ":");
            match payload.is_empty() {
                true => drop(ids.remove(&id)),
                false => drop(ids.insert(id)),
            }
        }
        ids.retain(|id| id.contains("zqi"));
        ids
    }
}
