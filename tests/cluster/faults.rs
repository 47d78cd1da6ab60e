//! Three nodes over three members of etcd, under faults.
//!
//! Clients write at all nodes, while members and nodes are killed and stopped. Afterwards, all answers are compared with the
//! logs of the nodes (see [`history`](super::history)).

use std::{
    env,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use agentdex::{Position, td::Description};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    cluster,
    etcd::{Members, continue_process, stop_process},
    get,
    history::{Action, Entry, History, Operation, Outcome, check},
    start_node,
};
use crate::{
    process::{ServerProcess, agentdex},
    support::{client, eventually},
};

/// Number of rounds, unless [`ROUNDS_VARIABLE`] is set.
const ROUNDS: usize = 6;
const ROUNDS_VARIABLE: &str = "AGENTDEX_CLUSTER_ROUNDS";
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

const MEMBERS: usize = 3;
const NODES: usize = 3;
const WRITERS_OF_A_NODE: usize = 3;
const AGENTS: usize = 50;

/// Number of acknowledged writes between two faults.
const CALM: u64 = 40;

/// Maximum duration of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pause of a client after a write that failed.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy)]
enum Fault {
    MemberKilled,
    NodeKilled,
    QuorumLost,
    NodeAndMemberKilled,
    MemberStopped,
    AllMembersKilled,
    /// For longer than the lease of the node.
    NodeStopped,
    /// Until writes fail.
    QuorumLostForLong,
}

/// Faults of consecutive rounds. The last two take much longer than the others.
const FAULTS: [Fault; 8] = [
    Fault::MemberKilled,
    Fault::NodeKilled,
    Fault::QuorumLost,
    Fault::NodeAndMemberKilled,
    Fault::MemberStopped,
    Fault::AllMembersKilled,
    Fault::NodeStopped,
    Fault::QuorumLostForLong,
];

/// Pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

/// The last change of an agent that a client knows of.
#[derive(Clone, Copy, Default)]
struct Known {
    seq: u64,
    exists: bool,
}

/// State shared by all clients.
struct Clients {
    started: Instant,
    /// URLs of the nodes, absent while a node is being restarted.
    urls: [Mutex<Option<String>>; NODES],
    known: Vec<Mutex<Known>>,
    titles: AtomicU64,
    acknowledged: AtomicU64,
    failed: AtomicU64,
    is_over: AtomicBool,
}

impl Clients {
    fn new() -> Clients {
        Clients {
            started: Instant::now(),
            urls: Default::default(),
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
    clients: &'a Clients,
    node: usize,
    runtime: tokio::runtime::Runtime,
    http: reqwest::Client,
}

impl<'a> Writer<'a> {
    fn new(clients: &'a Clients, node: usize) -> Writer<'a> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Writer { clients, node, runtime, http: client() }
    }

    /// Carries out a write. Returns `None` while the node is being restarted.
    fn write(&self, agent: usize, action: Action) -> Option<Operation> {
        let (clients, node) = (self.clients, self.node);
        let url = clients.urls[node].lock().unwrap().clone()?;
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
        | (507, Some("log-full")) => Outcome::NotWritten,
        _ => panic!("{status}: {problem}"),
    }
}

/// Processes of etcd and of the nodes.
struct Machines {
    nodes: Vec<Option<ServerProcess>>,
    members: Members,
    root: TempDir,
}

impl Machines {
    /// Starts members of etcd, but no nodes yet. Returns `None` if etcd isn't installed.
    fn start() -> Option<Machines> {
        let members = Members::start(MEMBERS, &[])?;
        Some(Machines { nodes: (0..NODES).map(|_| None).collect(), members, root: tempfile::tempdir().unwrap() })
    }

    fn directory(&self, node: usize) -> PathBuf {
        self.root.path().join(format!("node-{node}"))
    }

    fn node(&self, node: usize) -> &ServerProcess {
        self.nodes[node].as_ref().unwrap()
    }

    /// Starts all that was killed, and continues all that was stopped.
    fn restore(&mut self, clients: &Clients) {
        self.members.restore();
        for node in 0..NODES {
            if let Some(process) = &self.nodes[node] {
                continue_process(process.id());
                continue;
            }
            let process = start_node(&self.directory(node), &self.members.urls(), node + 1, &[]);
            *clients.urls[node].lock().unwrap() = Some(process.url().to_owned());
            self.nodes[node] = Some(process);
        }
    }

    fn kill_node(&mut self, node: usize, clients: &Clients) {
        // Another process may get its port.
        *clients.urls[node].lock().unwrap() = None;
        self.nodes[node].take().unwrap().kill();
    }

    /// Causes a fault, and repairs it after a while.
    fn disturb(&mut self, fault: Fault, random: &mut Random, clients: &Clients) {
        let (member, node) = (random.below(MEMBERS), random.below(NODES));
        let duration = Duration::from_millis(300 + random.below(2_700) as u64);
        match fault {
            Fault::MemberKilled => self.members.kill(member),
            Fault::MemberStopped => self.members.stop(member),
            Fault::QuorumLost | Fault::QuorumLostForLong => {
                [member, (member + 1) % MEMBERS].into_iter().for_each(|member| self.members.stop(member));
            }
            Fault::AllMembersKilled => (0..MEMBERS).for_each(|member| self.members.kill(member)),
            Fault::NodeKilled => self.kill_node(node, clients),
            Fault::NodeAndMemberKilled => {
                self.members.kill(member);
                self.kill_node(node, clients);
            }
            Fault::NodeStopped => {
                let witness = self.node((node + 1) % NODES);
                eventually("the node is listed", || is_listed(witness, node));
                stop_process(self.node(node).id());
            }
        }
        match fault {
            Fault::NodeStopped => {
                let witness = self.node((node + 1) % NODES);
                eventually("the lease of the node expires", || !is_listed(witness, node));
            }
            Fault::QuorumLostForLong => {
                let before = clients.failed.load(Ordering::Relaxed);
                eventually("writes fail", || clients.failed.load(Ordering::Relaxed) > before);
            }
            _ => thread::sleep(duration),
        }
        self.restore(clients);
    }

    /// Waits until all nodes are ready and at the end of the log.
    fn wait_until_equal(&self) {
        let nodes: Vec<&ServerProcess> = (0..NODES).map(|node| self.node(node)).collect();
        eventually("all nodes are ready", || nodes.iter().all(|node| get(node, "/health/ready").status == 200));
        eventually("all nodes are at the same commit", || {
            let states: Vec<Value> = nodes.iter().map(|node| cluster(node)).collect();
            let end = &states[0]["log_end"];
            states.iter().all(|state| state["commit"] == *end && state["log_end"] == *end)
        });
    }

    /// Stops all nodes, and checks their directories.
    fn stop_and_check(&mut self) {
        for node in 0..NODES {
            assert!(self.nodes[node].take().unwrap().stop().success());
            let output = agentdex().args(["check", "--data"]).arg(self.directory(node)).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "node {node}: {text}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

fn is_listed(witness: &ServerProcess, node: usize) -> bool {
    let name = format!("node-{}", node + 1);
    cluster(witness)["nodes"].as_array().unwrap().iter().any(|listed| listed["name"] == name.as_str())
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
struct End<'a>(&'a Clients);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Causes faults while clients write. Returns all writes.
fn write_under_faults(machines: &mut Machines, clients: &Clients, rounds: usize) -> Vec<Operation> {
    let mut random = Random(SEED);
    thread::scope(|scope| {
        let writers = 0..NODES * WRITERS_OF_A_NODE;
        let writers: Vec<_> = writers.map(|number| scope.spawn(move || clients.write_until_over(number))).collect();
        let end = End(clients);
        for round in 0..=rounds {
            let calm = clients.acknowledged.load(Ordering::Relaxed) + CALM;
            eventually("clients write", || {
                assert!(!writers.iter().any(thread::ScopedJoinHandle::is_finished), "a client failed");
                clients.acknowledged.load(Ordering::Relaxed) >= calm
            });
            if round < rounds {
                let fault = FAULTS[round % FAULTS.len()];
                println!("round {round}: {fault:?}");
                machines.disturb(fault, &mut random, clients);
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
    let clients = Clients::new();
    machines.restore(&clients);
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
