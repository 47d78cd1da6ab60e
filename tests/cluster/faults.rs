//! Three nodes over three members of etcd, under faults.
//!
//! Clients write at all nodes, while members and nodes are killed and stopped. Afterwards, all answers are compared with the
//! logs of the nodes (see [`history`](super::history)).

use std::{
    env,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use agentdex::{Position, td::Description};
use serde_json::Value;

use super::{
    cluster_status, get,
    history::{Action, Entry, History, Operation, Outcome, check},
    machines::{FAULTS, Load, Machines, NODES, Random, Urls},
};
use crate::{
    process::ServerProcess,
    support::{client, eventually},
};

/// Number of rounds, unless [`ROUNDS_VARIABLE`] is set.
const ROUNDS: usize = 6;
const ROUNDS_VARIABLE: &str = "AGENTDEX_CLUSTER_ROUNDS";
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

const WRITERS_OF_A_NODE: usize = 3;
const AGENTS: usize = 50;

/// Number of acknowledged writes between two faults.
const CALM: u64 = 40;

/// Maximum duration of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pause of a client after a write that failed.
const PAUSE: Duration = Duration::from_millis(20);

/// The last change of an agent that a client knows of.
#[derive(Clone, Copy, Default)]
struct Known {
    seq: u64,
    exists: bool,
}

/// State shared by all clients.
struct Clients<'a> {
    started: Instant,
    urls: &'a Urls,
    known: Vec<Mutex<Known>>,
    titles: AtomicU64,
    acknowledged: AtomicU64,
    failed: AtomicU64,
    is_over: AtomicBool,
}

impl<'a> Clients<'a> {
    fn new(urls: &'a Urls) -> Clients<'a> {
        Clients {
            started: Instant::now(),
            urls,
            known: (0..AGENTS).map(|_| Mutex::default()).collect(),
            titles: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    fn title(&self) -> String {
        format!("Title {}", self.titles.fetch_add(1, Ordering::Relaxed))
    }

    /// Chooses a write. Two thirds are conditional, and a twentieth has a position that is out of date.
    fn choose(&self, agent: usize, random: &mut Random) -> Action {
        let Known { seq, exists } = *self.known[agent].lock().unwrap();
        let title = self.title();
        match random.below(60) {
            0..4 if exists => Action::Delete { expected: seq },
            4..7 if exists => Action::Put { title, expected: Some(seq - 1) },
            7..44 if exists => Action::Put { title, expected: Some(seq) },
            _ => Action::Put { title, expected: None },
        }
    }

    /// Counts an outcome, and remembers the position of the agent that it shows.
    fn note(&self, agent: usize, action: &Action, outcome: Outcome) {
        match outcome {
            Outcome::Acknowledged { .. } => {
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::Refused { .. } => {}
            Outcome::NotWritten | Outcome::Unknown => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut known = self.known[agent].lock().unwrap();
        let new = match (action, outcome) {
            (Action::Put { .. }, Outcome::Acknowledged { seq: Some(seq), .. }) => Known { seq, exists: true },
            (Action::Delete { .. }, Outcome::Acknowledged { end, .. }) => Known { seq: end, exists: false },
            (_, Outcome::Refused { found: Some(seq) }) => Known { seq, exists: true },
            (_, Outcome::Refused { found: None }) => Known { exists: false, ..*known },
            _ => return,
        };
        if new.seq >= known.seq {
            *known = new;
        }
    }

    /// Writes at a node until there are no more faults.
    fn write_until_over(&self, number: usize) -> Vec<Operation> {
        let writer = Writer::new(self, number % NODES);
        let mut random = Random(SEED + 1 + number as u64);
        let mut operations = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let agent = random.below(AGENTS);
            match writer.write(agent, self.choose(agent, &mut random)) {
                Some(operation) => {
                    if matches!(operation.outcome, Outcome::NotWritten | Outcome::Unknown) {
                        thread::sleep(PAUSE);
                    }
                    operations.push(operation);
                }
                None => thread::sleep(PAUSE),
            }
        }
        operations
    }
}

/// A client that writes at a single node.
struct Writer<'a> {
    clients: &'a Clients<'a>,
    node: usize,
    runtime: tokio::runtime::Runtime,
    http: reqwest::Client,
}

impl<'a> Writer<'a> {
    fn new(clients: &'a Clients<'a>, node: usize) -> Writer<'a> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Writer { clients, node, runtime, http: client() }
    }

    /// Carries out a write. Returns `None` while the node is being restarted.
    fn write(&self, agent: usize, action: Action) -> Option<Operation> {
        let (clients, node) = (self.clients, self.node);
        let url = clients.urls.of(node)?;
        let id = format!("urn:example:{agent}");
        let start = clients.started.elapsed();
        let outcome = self.runtime.block_on(self.send(&format!("{url}/things/{id}"), &id, &action));
        let end = clients.started.elapsed();
        clients.note(agent, &action, outcome);
        Some(Operation { start, end, node, id, action, outcome })
    }

    async fn send(&self, url: &str, id: &str, action: &Action) -> Outcome {
        let mut request = match action {
            Action::Put { title, .. } => {
                let agent = Description::new(title).id(id).capability("forecast");
                let body = serde_json::to_string(&agent).unwrap();
                self.http.put(url).header("content-type", "application/td+json").body(body)
            }
            Action::Delete { .. } => self.http.delete(url),
        };
        if let Some(seq) = action.expected() {
            request = request.header("if-match", format!("\"{seq}\""));
        }
        let response = match request.timeout(PATIENCE).send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() => return Outcome::NotWritten,
            Err(_) => return Outcome::Unknown,
        };
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let seq: Option<u64> = header("etag").map(|tag| tag.trim_matches('"').parse().unwrap());
        match response.status().as_u16() {
            200..=299 => {
                let position: Position = header("agentdex-position").unwrap().parse().unwrap();
                Outcome::Acknowledged { seq, end: position.seq.0 }
            }
            404 | 409 | 412 => Outcome::Refused { found: seq },
            status => match response.json::<Value>().await {
                Ok(problem) => outcome_of(status, &problem),
                Err(_) => Outcome::Unknown,
            },
        }
    }
}

/// Returns the outcome of a write that failed.
fn outcome_of(status: u16, problem: &Value) -> Outcome {
    match (status, problem["code"].as_str()) {
        (503, Some("outcome-unknown")) => Outcome::Unknown,
        (503, Some("log-unavailable" | "cut-off" | "not-ready" | "clock-skew" | "overloaded" | "contended"))
        | (503, Some("writes-closed"))
        | (507, Some("log-full" | "disk-full")) => Outcome::NotWritten,
        _ => panic!("{status}: {problem}"),
    }
}

/// Reads the change log of a node from its beginning.
fn read_log(server: &ServerProcess) -> Vec<Entry> {
    let (mut entries, mut since) = (Vec::new(), 0_u64);
    loop {
        let page = get(server, &format!("/changes?since={since}&limit=1000")).expect(200).json();
        assert_eq!(page["truncated"], false);
        let changes = page["changes"].as_array().unwrap();
        if changes.is_empty() {
            assert_eq!(page["last"], since);
            return entries;
        }
        entries.extend(changes.iter().map(entry));
        since = entries.last().map_or(0, |entry: &Entry| entry.seq);
    }
}

fn entry(change: &Value) -> Entry {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text in {change}")).to_owned();
    let title = match change["kind"].as_str() {
        Some("thing_created") => Some(text(&change["td"]["title"])),
        // All titles differ.
        Some("thing_updated") => Some(text(&change["patch"]["title"])),
        _ => None,
    };
    let [seq, previous] = ["seq", "previous"].map(|name| change[name].as_u64().unwrap());
    Entry { seq, previous, id: text(&change["id"]), title, json: change.to_string() }
}

/// Ends the writes, also if the test fails.
struct End<'a>(&'a Clients<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Load for Clients<'_> {
    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }
}

/// Causes faults while clients write. Returns all writes.
fn write_under_faults(machines: &mut Machines, clients: &Clients<'_>, rounds: usize) -> Vec<Operation> {
    let mut random = Random(SEED);
    thread::scope(|scope| {
        let writers = 0..NODES * WRITERS_OF_A_NODE;
        let writers: Vec<_> = writers.map(|number| scope.spawn(move || clients.write_until_over(number))).collect();
        let end = End(clients);
        for round in 0..=rounds {
            machines.until_written(clients, CALM);
            assert!(!writers.iter().any(thread::ScopedJoinHandle::is_finished), "a client failed");
            if round < rounds {
                let fault = FAULTS[round % FAULTS.len()];
                println!("round {round}: {fault:?}");
                let started = Instant::now();
                machines.disturb(fault, &mut random, clients);
                println!("round {round}: {:.1?}", started.elapsed());
            }
        }
        drop(end);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    })
}

#[test]
fn nodes_keep_their_promises_under_faults() {
    let rounds = env::var(ROUNDS_VARIABLE).map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let Some(mut machines) = Machines::start() else { return };
    let urls = machines.urls();
    let clients = Clients::new(&urls);
    machines.restore();
    let mut operations = write_under_faults(&mut machines, &clients, rounds);
    // Before a node acknowledges a further write, it decides all earlier writes.
    for node in 0..NODES {
        let writer = Writer::new(&clients, node);
        eventually("the node writes", || {
            let operation = writer.write(node, Action::Put { title: clients.title(), expected: None }).unwrap();
            let is_acknowledged = matches!(operation.outcome, Outcome::Acknowledged { .. });
            operations.push(operation);
            is_acknowledged
        });
    }
    machines.wait_until_equal();
    let verified = cluster_status(machines.node(0), &["--verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let logs = (0..NODES).map(|node| read_log(machines.node(node))).collect();
    machines.stop_and_check();
    let history = History { operations, logs };
    let (counts, violations) = check(&history);
    println!("{rounds} rounds in {:.0?}, {} changes; {counts}", clients.started.elapsed(), history.logs[0].len());
    let operation = |index: usize| &history.operations[index];
    let details: Vec<_> =
        violations.iter().take(10).map(|violation| (violation, violation.operation().map(operation))).collect();
    assert!(violations.is_empty(), "{} violations, such as {details:#?}", violations.len());
    assert!(counts.acknowledged > 0 && counts.refused > 0, "{counts}");
    for node in 0..NODES {
        let is_acknowledged =
            |operation: &Operation| matches!(operation.outcome, Outcome::Acknowledged { .. }) && operation.node == node;
        assert!(history.operations.iter().any(is_acknowledged), "node {node} has written nothing");
    }
}
