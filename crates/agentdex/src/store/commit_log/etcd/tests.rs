//! Stores over etcd. The tests start processes of etcd, and are skipped without it.

use std::{
    env, fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use agentdex_etcd::{Client, KeyRange, Options as Connection, Range};
use rustix::process::{Pid, Signal, kill_process};
use sled::IVec;
use tempfile::TempDir;

use super::{
    EtcdLog,
    encoding::MAX_VALUE_BYTES,
    founding::Founding,
    keys::Keys,
    nodes::Progress,
    options::{Identity, Limits},
};
use crate::{
    Error,
    change::Precondition,
    store::{
        Options, Store,
        commit_log::{
            Appended, Away, Broken, Commit, CommitId, CommitLog, SharedLog,
            copies::Copies,
            tests::{Cluster, Shared, run, write, writes},
        },
        overlay::Pairs,
    },
};

const CLUSTER: &str = "zoo";

const LIMITS: Limits = Limits {
    append_wait: Duration::from_millis(600),
    silence: Duration::from_millis(300),
    lease: Duration::from_secs(2),
    update: Duration::from_millis(200),
};

fn identity(node: u128) -> Identity {
    Identity { node, name: format!("node-{node}"), url: None }
}

/// Processes of etcd that form a cluster.
struct Etcd {
    directory: TempDir,
    ports: Vec<(u16, u16)>,
    members: Vec<Option<Child>>,
    flags: Vec<String>,
}

/// Returns the path of the program, or `None` if it isn't installed.
fn program() -> Option<PathBuf> {
    let program = env::var_os("AGENTDEX_ETCD").map_or_else(|| PathBuf::from("etcd"), PathBuf::from);
    let is_there = Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(env::var_os("CI").is_none(), "CI has etcd: .ci/install");
        println!("skipped: needs etcd (Debian: etcd-server), or AGENTDEX_ETCD with its path");
    }
    is_there.then_some(program)
}

impl Etcd {
    /// Starts members of a new cluster. `None` without etcd.
    fn start(members: usize, flags: &[&str]) -> Option<Etcd> {
        program()?;
        let listeners: Vec<_> = (0..2 * members).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        drop(listeners);
        let ports = ports.chunks(2).map(|both| (both[0], both[1])).collect();
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let members = (0..members).map(|_| None).collect();
        let mut etcd = Etcd { directory: tempfile::tempdir().unwrap(), ports, members, flags };
        (0..etcd.members.len()).for_each(|member| etcd.run(member));
        Some(etcd)
    }

    /// Starts a member, again if it was killed.
    fn run(&mut self, member: usize) {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let (client, peer) = self.ports[member];
        let peers = self.ports.iter().enumerate().map(|(member, (_, peer))| format!("m{member}={}", url(*peer)));
        let peers = peers.collect::<Vec<_>>().join(",");
        let log = fs::File::create(self.directory.path().join(format!("log{member}"))).unwrap();
        let mut command = Command::new(program().unwrap());
        env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("ETCD_")).for_each(
            |name| {
                command.env_remove(name);
            },
        );
        command.arg("--name").arg(format!("m{member}"));
        command.arg("--data-dir").arg(self.directory.path().join(format!("m{member}")));
        command.args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)]);
        command.args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)]);
        command.args(["--initial-cluster", &peers, "--heartbeat-interval", "50", "--election-timeout", "500"]);
        command.args(&self.flags).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.members[member] = Some(command.spawn().unwrap());
    }

    /// Lets all members run.
    fn restore(&mut self) {
        for member in 0..self.members.len() {
            match &self.members[member] {
                None => self.run(member),
                Some(_) => self.signal(member, Signal::CONT),
            }
        }
    }

    fn kill(&mut self, member: usize) {
        let Some(mut child) = self.members[member].take() else { return };
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Stops a member, or lets it go on.
    fn signal(&self, member: usize, signal: Signal) {
        let child = self.members[member].as_ref().unwrap();
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    fn connection(&self) -> Connection {
        let endpoints = self.ports.iter().map(|(port, _)| format!("http://127.0.0.1:{port}"));
        let short = Duration::from_millis(300);
        Connection { request_deadline: short, connect_deadline: short, ..Connection::new(endpoints) }
    }

    /// Opens the log for a node, as soon as etcd responds.
    fn open(&self, node: u128, founding: &Founding) -> EtcdLog {
        let started = Instant::now();
        loop {
            let connection = self.connection();
            match EtcdLog::open(|| Client::connect(connection), CLUSTER, identity(node), founding.clone(), LIMITS) {
                Ok(log) => {
                    // Before, it appends nothing.
                    eventually("the node is present", || log.log.state().nodes.is_present);
                    return log;
                }
                Err(Broken(reason)) => assert!(started.elapsed() < Duration::from_secs(60), "{reason}"),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Carries out a read at etcd.
    fn read(&self, range: Range) -> Vec<(Vec<u8>, Vec<u8>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer =
            runtime.block_on(async { Client::connect(self.connection()).unwrap().range(&range).await }).unwrap();
        answer.body.kvs.iter().map(|kv| (kv.key.to_vec(), kv.value.to_vec())).collect()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        (0..self.members.len()).for_each(|member| self.kill(member));
    }
}

/// Directories of stores, and their etcd.
struct Directories {
    etcd: Mutex<Etcd>,
    copies: Copies,
    /// True once there are no more faults.
    is_calm: AtomicBool,
}

impl Shared for Directories {
    fn calm(&self) {
        let mut etcd = self.etcd.lock().unwrap();
        self.is_calm.store(true, Ordering::Relaxed);
        etcd.restore();
    }

    fn end(&self) -> u64 {
        let keys = Keys::new(CLUSTER);
        let range = Range::new(KeyRange::between(keys.commit(0), keys.commit(u64::MAX))).keys_only();
        self.etcd.lock().unwrap().read(range).last().and_then(|(key, _)| keys.commit_number(key)).unwrap()
    }
}

impl Directories {
    /// Kills and stops members until there is calm. Returns the number of faults.
    fn disturb(&self) -> usize {
        for fault in 0.. {
            thread::sleep(Duration::from_millis(400));
            let act = |act: &dyn Fn(&mut Etcd)| {
                let mut etcd = self.etcd.lock().unwrap();
                let is_calm = self.is_calm.load(Ordering::Relaxed);
                if !is_calm {
                    act(&mut etcd);
                }
                is_calm
            };
            let is_calm = act(&|etcd| match fault % 4 {
                0 => etcd.kill(fault % 3),
                1 => etcd.signal(fault % 3, Signal::STOP),
                // The quorum is lost.
                2 => [0, 1].iter().for_each(|member| etcd.signal(*member, Signal::STOP)),
                _ => (0..3).for_each(|member| etcd.kill(member)),
            });
            if is_calm {
                return fault;
            }
            thread::sleep(Duration::from_millis(900));
            act(&Etcd::restore);
            thread::sleep(Duration::from_millis(1_200));
        }
        unreachable!()
    }

    fn founding(&self) -> Founding {
        Founding { registry: "r".into(), epoch: self.copies.epoch.0, last: self.copies.last, is_first: true }
    }
}

fn cluster(stores: usize, members: usize) -> Option<Cluster<Directories>> {
    let (etcd, is_calm) = (Mutex::new(Etcd::start(members, &[])?), AtomicBool::new(false));
    let log = Directories { etcd, copies: Copies::new(stores), is_calm };
    let open = |number: usize| {
        let shared = SharedLog(Arc::new(log.etcd.lock().unwrap().open(number as u128 + 1, &log.founding())));
        Store::open(&log.copies.path(number), Options { log: Some(shared), ..Options::default() }).unwrap()
    };
    Some(Cluster { stores: (0..stores).map(open).collect(), log })
}

fn commit(number: u64, count: u64, bytes: usize) -> Arc<Commit> {
    let noise =
        (0..bytes as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32 % 60) >> 24) as u8);
    let pairs: Pairs = vec![(IVec::from(b"t/1"), Some(IVec::from(noise.collect::<Vec<_>>())))];
    Arc::new(Commit { number, id: CommitId { run: 1, count }, pairs, has_more: false })
}

fn founding(is_first: bool) -> Founding {
    Founding { registry: "r".into(), epoch: 7, last: 4, is_first }
}

/// Waits until commits have arrived.
fn arrived(log: &EtcdLog, after: u64, count: usize) -> Vec<Pairs> {
    let started = Instant::now();
    loop {
        let arrived = log.arrived(after, 100).unwrap();
        if arrived.len() >= count {
            return arrived;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{} of {count}", arrived.len());
        thread::sleep(Duration::from_millis(2));
    }
}

/// Appends a commit until the outcome is known.
fn outcome(log: &EtcdLog, commit: &Arc<Commit>) -> Appended {
    let started = Instant::now();
    loop {
        match log.append(commit) {
            Appended::Unknown | Appended::Away => assert!(started.elapsed() < Duration::from_secs(30)),
            appended => return appended,
        }
    }
}

/// Returns the end of the log, as soon as it is known.
fn end(log: &EtcdLog) -> u64 {
    let started = Instant::now();
    loop {
        match log.end() {
            Ok(end) => return end,
            Err(Away) => assert!(started.elapsed() < Duration::from_secs(30)),
        }
    }
}

#[test]
fn commits_are_appended_taken_and_followed() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let (first, second) = (etcd.open(1, &founding(true)), etcd.open(2, &founding(false)));
    assert_eq!(end(&first), 4);
    assert_eq!(outcome(&first, &commit(5, 1, 10)), Appended::Done);
    assert_eq!(outcome(&second, &commit(5, 2, 20)), Appended::Taken);
    assert_eq!(arrived(&second, 4, 1), [commit(5, 1, 10).pairs.clone()]);
    assert_eq!((end(&second), first.arrived(5, 9)), (5, Ok(vec![])));
    // A request that comes again is answered as before.
    assert_eq!(outcome(&first, &commit(5, 1, 10)), Appended::Done);
    // A large commit has parts.
    let large = commit(6, 3, 5 * MAX_VALUE_BYTES / 2);
    assert_eq!(outcome(&second, &large), Appended::Done);
    assert_eq!(arrived(&first, 5, 1), std::slice::from_ref(&large.pairs));
    let third = etcd.open(3, &founding(false));
    assert_eq!(arrived(&third, 4, 2).len(), 2, "a node that comes later reads what there is");
    assert_eq!(etcd.read(Range::new(KeyRange::prefix("agentdex/zoo/p/")).keys_only()).len(), 3);
}

#[test]
fn nothing_is_appended_after_a_commit_that_is_gone_or_to_another_log() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let (log, keys) = (etcd.open(1, &founding(true)), Keys::new(CLUSTER));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(async { Client::connect(etcd.connection()).unwrap() });
    assert!(matches!(outcome(&log, &commit(9, 1, 1)), Appended::Lost(Broken(reason)) if reason.contains("commit 8")));
    runtime.block_on(client.put(keys.meta(), "{}", 0)).unwrap();
    assert!(
        matches!(outcome(&log, &commit(5, 2, 1)), Appended::Lost(Broken(reason)) if reason.contains("was replaced"))
    );
    assert!(log.end().is_err());
    assert!(log.arrived(4, 9).is_err());
    assert_eq!(etcd.read(Range::new(KeyRange::key(keys.commit(5)))), []);
}

#[test]
fn a_log_is_founded_once_and_only_for_its_registry() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let open = |founding| {
        let connection = etcd.connection();
        EtcdLog::open(|| Client::connect(connection), CLUSTER, identity(9), founding, LIMITS).map(drop)
    };
    drop(etcd.open(1, &founding(true)));
    let other = |registry: &str, epoch| Founding { registry: registry.into(), epoch, last: 4, is_first: true };
    for founding in [other("r", 8), other("s", 7)] {
        let Err(Broken(reason)) = open(founding) else { panic!("it was founded again") };
        assert!(reason.contains("another registry, or to another epoch"), "{reason}");
    }
    open(founding(true)).unwrap();
    let connection = etcd.connection();
    let none = EtcdLog::open(|| Client::connect(connection), "none", identity(9), founding(false), LIMITS);
    assert!(none.is_err_and(|Broken(reason)| reason.contains("--cluster-init")));
}

#[test]
fn a_commit_that_cannot_be_read_ends_the_following() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let (log, keys) = (etcd.open(1, &founding(true)), Keys::new(CLUSTER));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(async { Client::connect(etcd.connection()).unwrap() });
    assert_eq!(outcome(&log, &commit(5, 1, 1)), Appended::Done);
    runtime.block_on(client.put(keys.commit(6), "something else", 0)).unwrap();
    let started = Instant::now();
    let Broken(reason) = loop {
        match log.arrived(5, 9) {
            Err(broken) => break broken,
            Ok(_) => assert!(started.elapsed() < Duration::from_secs(30)),
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert_eq!(reason, "commit 6 can't be read: it is damaged");
    assert!(!log.wait_for_turn(5), "nothing is decided any more");
}

#[test]
fn nothing_is_known_while_etcd_is_away_and_all_once_it_is_back() {
    let Some(mut etcd) = Etcd::start(1, &[]) else { return };
    let (log, other) = (etcd.open(1, &founding(true)), etcd.open(2, &founding(false)));
    etcd.signal(0, Signal::STOP);
    let sent = commit(5, 1, 10);
    assert_eq!(log.append(&sent), Appended::Unknown);
    assert!(log.end().is_err());
    etcd.signal(0, Signal::CONT);
    assert_eq!(outcome(&log, &sent), Appended::Done);
    assert_eq!(arrived(&other, 4, 1), std::slice::from_ref(&sent.pairs));
    etcd.kill(0);
    let sent = commit(6, 2, 10);
    let first = log.append(&sent);
    etcd.run(0);
    let by_other = outcome(&other, &commit(6, 3, 30));
    assert!(first == Appended::Unknown || (first, &by_other) == (Appended::Away, &Appended::Done));
    assert_ne!(outcome(&log, &sent), by_other, "one of them is in the log");
    assert_eq!(arrived(&log, 5, 1).len(), 1, "the watch is there again");
}

/// Waits for a state.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nodes_are_known_to_each_other_and_one_leads() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let logs: Vec<_> = (1..=3).map(|node| etcd.open(node, &founding(node == 1))).collect();
    let names = |log: &EtcdLog| log.nodes().into_keys().collect::<Vec<_>>();
    for log in &logs {
        eventually("all are known", || names(log) == ["node-1", "node-2", "node-3"]);
    }
    logs[1].report(Progress { number: 7, synced: 6 });
    eventually("the others see how far it is", || {
        logs[0].nodes().get("node-2").is_some_and(|node| (node.number, node.synced) == (7, 6))
    });
    let leaders = || (0..3).filter(|index| logs[*index].is_leader()).collect::<Vec<_>>();
    eventually("there is a leader", || leaders().len() == 1);
    let leader = leaders()[0];
    logs[leader].close();
    eventually("another one leads", || leaders().iter().any(|index| *index != leader));
    eventually("it is gone", || names(&logs[(leader + 1) % 3]).len() == 2);
}

#[test]
fn a_second_process_of_a_node_does_not_run_and_a_later_one_does() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let first = etcd.open(1, &founding(true));
    eventually("it is present", || !first.nodes().is_empty());
    let copied = Identity { node: 9, ..identity(1) };
    let open = |identity| {
        let connection = etcd.connection();
        EtcdLog::open(|| Client::connect(connection), CLUSTER, identity, founding(false), LIMITS).unwrap()
    };
    let second = open(copied);
    assert_eq!(second.append(&commit(5, 1, 1)), Appended::Away);
    eventually("the second one ends", || {
        second.arrived(4, 9).is_err_and(|Broken(reason)| reason.contains("another process runs as the node"))
    });
    first.close();
    let third = open(Identity { node: 10, ..identity(1) });
    eventually("the third one may append", || third.append(&commit(5, 2, 1)) == Appended::Done);
}

#[test]
fn a_node_whose_lease_has_expired_comes_back() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let log = etcd.open(1, &founding(true));
    eventually("it leads", || log.is_leader());
    etcd.signal(0, Signal::STOP);
    eventually("it may have lost its lease", || !log.is_leader());
    etcd.signal(0, Signal::CONT);
    eventually("it leads again", || log.is_leader());
    assert_eq!(outcome(&log, &commit(5, 1, 1)), Appended::Done);
}

#[test]
fn etcd_that_is_full_takes_nothing_and_loses_nothing() {
    let Some(etcd) = Etcd::start(1, &["--quota-backend-bytes", "16777216"]) else { return };
    let (log, other) = (etcd.open(1, &founding(true)), etcd.open(2, &founding(false)));
    let full = (5..60).find(|number| {
        loop {
            match log.append(&commit(*number, *number, 3 * MAX_VALUE_BYTES / 4)) {
                Appended::Done => return false,
                Appended::Away => return true,
                Appended::Unknown => {}
                appended => panic!("{appended:?}"),
            }
        }
    });
    let full = full.expect("it is full");
    assert_eq!(end(&log), full - 1);
    let mut last = 4;
    while last < full - 1 {
        last += arrived(&other, last, 1).len() as u64;
    }
}

#[test]
fn stores_over_etcd_answer_truly_and_are_equal_while_members_are_killed_and_stopped() {
    let Some(cluster) = cluster(3, 3) else { return };
    let (writes, started) = (writes(), Instant::now());
    let (history, rounds) = thread::scope(|scope| {
        let faults = scope.spawn(|| cluster.log.disturb());
        (run(&cluster, 1, writes), faults.join().unwrap())
    });
    let [done, refused, unknown] = cluster.assert_right(&history);
    let time = started.elapsed();
    println!("{rounds} faults, {writes} writes in {time:?}: {done} done, {refused} refused, {unknown} unknown");
    assert!(done > 0 && refused > 0);
    cluster.close();
}

#[test]
fn writes_wait_for_nothing_but_etcd() {
    let Some(cluster) = cluster(1, 1) else { return };
    write(&cluster.stores[0], Precondition::Absent).unwrap();
    let refused = write(&cluster.stores[0], Precondition::Absent);
    assert!(matches!(refused, Err(Error::PreconditionFailed { .. })), "{refused:?}");
    cluster.close();
}
