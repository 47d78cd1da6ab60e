//! Stores over etcd. The tests start processes of etcd, and are skipped without it.

use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use agentdex_etcd::{Client, KeyRange, Op, Options as Connection, Range, Txn};
use rustix::process::{Pid, Signal, kill_process};
use sled::IVec;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    EtcdCluster, EtcdLog,
    ask::ask,
    encoding::MAX_VALUE_BYTES,
    founding::NotOpened,
    keys::Keys,
    options::{Limits, NodeOptions},
};
use crate::{
    Error,
    change::{Epoch, Precondition, Seq},
    store::{
        CopiedDirectory, Options, Store,
        commit_log::{
            Appended, Away, Broken, Commit, CommitId, CommitLog, Identity, LastCommit, Progress, SharedLog,
            copies::Copies,
            tests::{Cluster, Shared, run, write, write_version, writes},
        },
        overlay::Pairs,
    },
};

mod leading;
mod trimming;

const CLUSTER: &str = "zoo";

const LIMITS: Limits = Limits {
    append_wait: Duration::from_millis(600),
    stale: Duration::from_secs(60),
    silence: Duration::from_millis(300),
    lease: Duration::from_secs(2),
    update: Duration::from_millis(200),
    grace_after: Duration::from_secs(30),
    skew: Duration::from_secs(5),
    trim: Duration::from_millis(200),
    kept_for: Duration::from_secs(3600),
    log_bytes: 512 << 20,
    install_wait: Duration::from_secs(60),
    start_wait: Duration::from_secs(60),
};

/// Returns a store that is new to the log, with 4 commits.
fn store() -> LastCommit<'static> {
    let identity = Identity { registry: Uuid::from_u128(1), epoch: Epoch(7) };
    LastCommit { directory: Path::new("node"), identity, number: 4, sum: 5, stamp: None }
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
        if signal == Signal::STOP {
            // Threads on other processors still run for a moment.
            let tasks = PathBuf::from(format!("/proc/{}/task", child.id()));
            eventually("all threads have stopped", || {
                fs::read_dir(&tasks).unwrap().flatten().all(|task| {
                    let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
                })
            });
        }
    }

    fn connection(&self) -> Connection {
        let endpoints = self.ports.iter().map(|(port, _)| format!("http://127.0.0.1:{port}"));
        let short = Duration::from_millis(300);
        Connection { request_deadline: short, connect_deadline: short, ..Connection::new(endpoints) }
    }

    /// Returns the options of a node.
    fn node(&self, number: usize, is_first: bool) -> NodeOptions {
        let (cluster, name, connection) = (CLUSTER.to_owned(), format!("node-{number}"), self.connection());
        NodeOptions { connection, cluster, name, url: None, settings: Default::default(), is_first, limits: LIMITS }
    }

    /// Opens the log for a node whose store is new to the log.
    fn open(&self, number: usize, is_first: bool) -> EtcdLog {
        let log = EtcdLog::open(&self.node(number, is_first), &store()).unwrap();
        // Before, it appends nothing.
        eventually("the node is present", || log.log.state().nodes.is_present);
        log
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
}

/// Returns the options of the store of a node.
fn of_cluster(options: NodeOptions) -> Options {
    Options { log: Some(SharedLog(Arc::new(EtcdCluster(options)))), ..Options::default() }
}

fn cluster(stores: usize, members: usize) -> Option<Cluster<Directories>> {
    let (etcd, is_calm) = (Mutex::new(Etcd::start(members, &[])?), AtomicBool::new(false));
    let log = Directories { etcd, copies: Copies::new(stores), is_calm };
    let open = |number: usize| {
        let options = log.etcd.lock().unwrap().node(number + 1, true);
        Store::open(&log.copies.path(number), of_cluster(options)).unwrap()
    };
    Some(Cluster { stores: (0..stores).map(open).collect(), log })
}

fn commit(number: u64, count: u64, bytes: usize) -> Arc<Commit> {
    let noise =
        (0..bytes as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32 % 60) >> 24) as u8);
    let pairs: Pairs = vec![(IVec::from(b"t/1"), Some(IVec::from(noise.collect::<Vec<_>>())))];
    Arc::new(Commit { number, id: CommitId { run: 1, count }, pairs, has_more: false })
}

/// Waits until commits have arrived.
fn arrived(log: &EtcdLog, after: u64, count: usize) -> Vec<Pairs> {
    let started = Instant::now();
    loop {
        let arrived: Vec<_> = log.arrived(after, 100).unwrap().into_iter().map(|arrived| arrived.pairs).collect();
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

/// Appends a commit until the log has it.
fn assert_done(log: &EtcdLog, commit: &Arc<Commit>) {
    let appended = outcome(log, commit);
    assert!(matches!(appended, Appended::Done(Some(_))), "{appended:?}");
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
    let (first, second) = (etcd.open(1, true), etcd.open(2, false));
    assert_eq!(end(&first), 4);
    assert_done(&first, &commit(5, 1, 10));
    assert_eq!(outcome(&second, &commit(5, 2, 20)), Appended::Taken);
    assert_eq!(arrived(&second, 4, 1), [commit(5, 1, 10).pairs.clone()]);
    assert_eq!((end(&second), first.arrived(5, 9)), (5, Ok(vec![])));
    // A request that comes again is answered as before.
    assert_done(&first, &commit(5, 1, 10));
    // A large commit has parts.
    let large = commit(6, 3, 5 * MAX_VALUE_BYTES / 2);
    assert_done(&second, &large);
    assert_eq!(arrived(&first, 5, 1), std::slice::from_ref(&large.pairs));
    let third = etcd.open(3, false);
    assert_eq!(arrived(&third, 4, 2).len(), 2, "a node that comes later reads what there is");
    assert_eq!(etcd.read(Range::new(KeyRange::prefix("agentdex/zoo/p/")).keys_only()).len(), 3);
}

#[test]
fn nothing_is_appended_after_a_commit_that_is_gone_or_to_another_log() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let (log, keys) = (etcd.open(1, true), Keys::new(CLUSTER));
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

/// Returns the last position of a store.
fn last(store: &Store) -> Seq {
    *store.durable().borrow()
}

/// Returns the reason why a store isn't opened.
fn refusal(options: &NodeOptions, directory: &Path) -> String {
    match Store::open(directory, of_cluster(options.clone())) {
        Err(Error::ClusterRefused { path, reason }) => {
            assert_eq!(path, directory);
            reason
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// Changes the keys of the cluster by hand.
fn change<T>(etcd: &Etcd, change: impl AsyncFnOnce(&Client) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { change(&Client::connect(etcd.connection()).unwrap()).await })
}

#[test]
fn a_new_store_follows_the_log_from_its_beginning() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let root = tempfile::tempdir().unwrap();
    let open = |number: usize, is_first| {
        Store::open(&root.path().join(number.to_string()), of_cluster(etcd.node(number, is_first)))
    };
    let first = open(1, true).unwrap();
    write(&first, Precondition::Absent).unwrap();
    let second = open(2, false).unwrap();
    assert_eq!((second.epoch(), second.registry_id()), (first.epoch(), first.registry_id()));
    assert_eq!(last(&second), last(&first), "it has all before it is open");
    write(&second, Precondition::Any).unwrap();
    eventually("the first one has it", || last(&first) == last(&second));
    second.close();
    write(&first, Precondition::Any).unwrap();
    // Its place in the log outlasts it, and --cluster-init has no effect.
    let again = open(2, true).unwrap();
    assert_eq!(last(&again), last(&first));
    again.close();
    first.close();
    // Nobody founds another one.
    let impatient = Limits { start_wait: Duration::from_millis(100), ..LIMITS };
    let options = NodeOptions { cluster: "other".into(), limits: impatient, ..etcd.node(4, false) };
    let unavailable = Store::open(&root.path().join("4"), of_cluster(options));
    assert!(
        matches!(&unavailable, Err(Error::ClusterUnavailable { reason }) if reason.contains("--cluster-init")),
        "{:?}",
        unavailable.err()
    );
}

#[test]
fn a_store_that_is_far_behind_has_everything_before_it_is_open() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let root = tempfile::tempdir().unwrap();
    let first = Store::open(&root.path().join("1"), of_cluster(etcd.node(1, true))).unwrap();
    // More than arrive before the store installs some.
    (0..600).for_each(|version| write_version(&first, Precondition::Any, version).unwrap());
    let second = Store::open(&root.path().join("2"), of_cluster(etcd.node(2, false))).unwrap();
    assert_eq!(last(&second), last(&first));
    second.close();
    first.close();
}

#[test]
fn a_directory_of_a_node_is_written_by_its_cluster_alone() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("node");
    let node = etcd.node(1, true);
    let store = Store::open(&path, of_cluster(node.clone())).unwrap();
    write(&store, Precondition::Absent).unwrap();
    store.close();
    let refused = Store::open(&path, Options::default());
    assert!(matches!(&refused, Err(Error::ClusterDirectory { path: named }) if *named == path), "{:?}", refused.err());
    let accepted = crate::store::accept_rollback(&path);
    assert!(matches!(accepted, Err(Error::ClusterDirectory { .. })), "{accepted:?}");
    assert!(refusal(&NodeOptions { cluster: "other".into(), ..node.clone() }, &path).starts_with("etcd has lost"));
    // A registry of its own, and one that was changed outside of the cluster.
    let own = root.path().join("own");
    Store::open(&own, Options::default()).unwrap().close();
    assert!(refusal(&node, &own).contains("a different registry"));
    let copy = CopiedDirectory::of_store(&path, root.path().join("copy")).unwrap();
    copy.leave_cluster().unwrap();
    let alone = Store::open(copy.path(), Options::default()).unwrap();
    alone.close();
    assert!(refusal(&node, copy.path()).contains("differs from the content with which the cluster was founded"));
    Store::open(&path, of_cluster(node)).unwrap().close();
}

#[test]
fn an_etcd_that_lacks_commits_of_a_node_is_refused() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let root = tempfile::tempdir().unwrap();
    let (path, keys, node) = (root.path().join("node"), Keys::new(CLUSTER), etcd.node(1, true));
    let store = Store::open(&path, of_cluster(node.clone())).unwrap();
    write(&store, Precondition::Absent).unwrap();
    let last = store.handle.committer.number();
    store.close();
    let stored = etcd.read(Range::new(KeyRange::key(keys.commit(last)))).remove(0).1;
    let put = |key: Vec<u8>, value: Vec<u8>| change(&etcd, async |client| client.put(key, value, 0).await.unwrap());
    // Another commit, and none at all.
    put(keys.commit(last), [&stored[..60], &[0; 16], &stored[76..]].concat());
    assert!(refusal(&node, &path).contains("differs from the same commit"));
    let delete = |range: KeyRange| {
        change(&etcd, async |client| ask(client, &Txn::new().then([Op::delete_range(range)])).await.unwrap())
    };
    delete(KeyRange::key(keys.commit(last)));
    assert!(refusal(&node, &path).contains("restored from an older copy"));
    put(keys.trimmed(), last.to_string().into_bytes());
    assert!(refusal(&node, &path).contains("no longer contains commit"));
    // The log has dropped its beginning.
    delete(KeyRange::key(keys.commit(1)));
    let new = NodeOptions { is_first: false, ..etcd.node(2, false) };
    assert!(refusal(&new, &root.path().join("new")).contains("no longer contains commit"));
    // Nothing is left, and it isn't founded again by a node that has been there.
    delete(keys.all());
    assert!(refusal(&node, &path).starts_with("etcd has lost the cluster"));
    assert_eq!(etcd.read(Range::new(keys.all())), []);
    let (other, first) = (Etcd::start(1, &[]).unwrap(), root.path().join("first"));
    Store::open(&first, of_cluster(other.node(3, true))).unwrap().close();
    let meta = other.read(Range::new(KeyRange::key(keys.meta()))).remove(0).1;
    put(keys.meta(), meta);
    put(keys.commit(1), Vec::new());
    assert!(refusal(&etcd.node(3, true), &first).contains("replaced by a different etcd"), "another etcd");
}

#[test]
fn a_log_is_founded_once_and_only_for_its_registry() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let node = etcd.node(9, true);
    drop(etcd.open(1, true));
    let refused = |store: &LastCommit<'_>| match EtcdLog::open(&node, store) {
        Err(NotOpened::Refused(reason)) => reason,
        Err(NotOpened::Unavailable(reason)) => panic!("{reason}"),
        Ok(_) => panic!("it was opened"),
    };
    let (of_other, of_epoch) = (Uuid::from_u128(2), Epoch(8));
    for identity in
        [Identity { registry: of_other, ..store().identity }, Identity { epoch: of_epoch, ..store().identity }]
    {
        assert!(refused(&LastCommit { identity, ..store() }).contains("a different registry, or a different epoch"));
    }
    assert!(refused(&LastCommit { number: 5, ..store() }).contains("founded"));
    assert!(refused(&LastCommit { sum: 6, ..store() }).contains("founded"));
    drop(EtcdLog::open(&node, &store()).unwrap());
}

#[test]
fn a_commit_that_cannot_be_read_ends_the_following() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let (log, keys) = (etcd.open(1, true), Keys::new(CLUSTER));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(async { Client::connect(etcd.connection()).unwrap() });
    assert_done(&log, &commit(5, 1, 1));
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
    let (log, other) = (etcd.open(1, true), etcd.open(2, false));
    etcd.signal(0, Signal::STOP);
    let sent = commit(5, 1, 10);
    assert_eq!(log.append(&sent), Appended::Unknown);
    assert!(log.end().is_err());
    etcd.signal(0, Signal::CONT);
    assert_done(&log, &sent);
    assert_eq!(arrived(&other, 4, 1), std::slice::from_ref(&sent.pairs));
    etcd.kill(0);
    let sent = commit(6, 2, 10);
    let first = log.append(&sent);
    etcd.run(0);
    let by_other = outcome(&other, &commit(6, 3, 30));
    assert!(first == Appended::Unknown || (first == Appended::Away && matches!(by_other, Appended::Done(_))));
    let is_done = |appended: &Appended| matches!(appended, Appended::Done(_));
    assert_ne!(is_done(&outcome(&log, &sent)), is_done(&by_other), "one of them is in the log");
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
    let logs: Vec<_> = (1..=3).map(|node| etcd.open(node, node == 1)).collect();
    let nodes = |log: &EtcdLog| log.status().unwrap().nodes;
    let names = |log: &EtcdLog| nodes(log).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    for log in &logs {
        eventually("all are known", || names(log) == ["node-1", "node-2", "node-3"]);
    }
    logs[1].report(Progress { number: 7, synced: 6 });
    eventually("the others see how far it is", || {
        nodes(&logs[0])
            .iter()
            .any(|(name, node)| name == "node-2" && node.progress == Progress { number: 7, synced: 6 })
    });
    let is_leader = |log: &EtcdLog| log.log.state().nodes.is_leader;
    let leaders = || (0..3).filter(|index| is_leader(&logs[*index])).collect::<Vec<_>>();
    eventually("there is a leader", || leaders().len() == 1);
    let leader = leaders()[0];
    eventually("all know it", || {
        logs.iter().all(|log| log.status().unwrap().leader == Some(format!("node-{}", leader + 1)))
    });
    logs[leader].close();
    eventually("another one leads", || leaders().iter().any(|index| *index != leader));
    eventually("it is gone", || names(&logs[(leader + 1) % 3]).len() == 2);
}

#[test]
fn a_watch_without_events_is_renewed_at_another_member() {
    let Some(etcd) = Etcd::start(3, &[]) else { return };
    // The node doesn't update its keys, so it gets no events.
    let limits = Limits { update: Duration::from_secs(60), trim: Duration::from_secs(60), ..LIMITS };
    let log = EtcdLog::open(&NodeOptions { limits, ..etcd.node(1, true) }, &store()).unwrap();
    eventually("it is present", || log.log.state().nodes.is_present);
    let member = log.log.client.endpoint();
    eventually("it watches at another member", || log.log.client.endpoint() != member);
    assert_done(&log, &commit(5, 1, 1));
}

#[test]
fn a_second_process_of_a_node_does_not_run_and_a_later_one_does() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let first = etcd.open(1, true);
    eventually("it is present", || !first.status().unwrap().nodes.is_empty());
    let open = || EtcdLog::open(&etcd.node(1, false), &store()).unwrap();
    let second = open();
    assert_eq!(second.append(&commit(5, 1, 1)), Appended::Away);
    eventually("the second one ends", || {
        second.arrived(4, 9).is_err_and(|Broken(reason)| reason.contains("another process runs as the node"))
    });
    first.close();
    let third = open();
    eventually("the third one may append", || matches!(third.append(&commit(5, 2, 1)), Appended::Done(_)));
}

#[test]
fn a_node_whose_lease_has_expired_comes_back() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let log = etcd.open(1, true);
    eventually("it leads", || log.log.state().nodes.is_leader);
    etcd.signal(0, Signal::STOP);
    eventually("it may have lost its lease", || !log.log.state().nodes.is_leader);
    etcd.signal(0, Signal::CONT);
    eventually("it leads again", || log.log.state().nodes.is_leader);
    assert_done(&log, &commit(5, 1, 1));
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
