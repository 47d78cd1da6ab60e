//! Three stores with a faulty log (see `memory`).

use std::{
    env, io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Appended, Arrived, Away, Broken, Commit, CommitLog, SharedLog, Wake,
    history::{Answer, Call, Entry, History, Read, Wrong},
    memory::{Directories, Faults, MemoryLog},
};
use crate::{
    Error,
    change::{ChangeKind, DeletionReason, Precondition, Seq, Timestamp},
    store::{
        AppendCounts, Author, Declares, Expiry, FlushHook, Logged, Operation, Options, Outcome, Purpose, Store, Ticket,
        Write, comparison::difference, install::tests::Transactions, restore, write_fault::Fault,
    },
};

mod digests;

const STORES: usize = 3;

/// Number of clients at each store.
const CLIENTS: usize = 6;

/// Number of Things that the clients write.
const THINGS: u64 = 40;

/// Number of writes of a history, unless [`WRITES_VARIABLE`] is set.
const WRITES: u64 = 3_000;
const WRITES_VARIABLE: &str = "AGENTDEX_TEST_WRITES";

/// All faults, now and then.
const FAULTS: Faults = Faults {
    request_lost: 60,
    answer_lost: 60,
    late: 60,
    twice: 20,
    away: 60,
    delay: 900,
    lag: 900,
    is_naive: false,
    is_stale: false,
    is_lost: false,
};

/// Stores that share a log.
pub(super) struct Cluster<L = Directories> {
    pub stores: Vec<Store>,
    pub log: L,
}

/// A log shared by stores.
pub(super) trait Shared {
    /// Ends all faults that would keep stores from catching up.
    fn calm(&self) {}

    /// Returns the number of the last commit.
    fn end(&self) -> u64;
}

impl Shared for Directories {
    fn end(&self) -> u64 {
        self.memory.end()
    }
}

impl Cluster {
    fn new(seed: u64, faults: Faults) -> Cluster {
        Cluster::with(seed, faults, Options::default())
    }

    fn with(seed: u64, faults: Faults, options: Options) -> Cluster {
        let log = Directories::new(STORES, seed, faults);
        let open = |number| Store::open(&log.path(number), log.options(number, options.clone())).unwrap();
        Cluster { stores: (0..STORES).map(open).collect(), log }
    }

    /// Opens a store again.
    fn reopen(&mut self, number: usize) {
        self.stores[number].close();
        let options = self.log.options(number, Options::default());
        self.stores[number] = Store::open(&self.log.path(number), options).unwrap();
    }
}

impl<L: Shared> Cluster<L> {
    /// Waits until all stores have installed all commits.
    pub fn converge(&self) {
        self.log.calm();
        let started = Instant::now();
        let numbers = || self.stores.iter().map(|store| store.handle.committer.number()).collect::<Vec<_>>();
        let has_converged = || numbers().iter().all(|number| *number == self.log.end());
        while !has_converged() || {
            // What is late.
            thread::sleep(Duration::from_millis(150));
            !has_converged()
        } {
            assert!(started.elapsed() < Duration::from_secs(120), "{:?} of {}", numbers(), self.log.end());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the first difference between two stores.
    pub fn difference(&self) -> Option<String> {
        let now = Timestamp::now();
        let mut others = self.stores[1..].iter();
        others.find_map(|other| difference(&self.stores[0].view, &other.view, now).unwrap())
    }

    /// Checks a history, and the stores after it. Returns the numbers of writes that were done, refused, and unknown.
    pub fn assert_right(&self, history: &History) -> [usize; 3] {
        history.check().unwrap();
        assert_eq!(self.difference(), None);
        for store in &self.stores {
            assert_eq!(store.check().unwrap().faults, []);
        }
        let is_done = |answer: &Answer| matches!(answer, Answer::Done(_));
        let is_refused = |answer: &Answer| matches!(answer, Answer::Refused(_));
        let is_unknown = |answer: &Answer| matches!(answer, Answer::Unknown);
        [is_done, is_refused, is_unknown].map(|is| history.calls.iter().filter(|call| is(&call.answer)).count())
    }

    pub fn close(self) {
        self.stores.iter().for_each(Store::close);
    }
}

/// Returns the log of a store.
fn log(store: &Store) -> Vec<Entry> {
    let (mut entries, mut since) = (Vec::new(), store.view.log.start().trimmed_to);
    loop {
        let part = store.view.log.changes(since, 10_000).unwrap();
        let Some(last) = part.entries.last() else { return entries };
        since = last.seq();
        entries.extend(part.entries.iter().map(|entry| match entry {
            Logged::Change(change) => {
                let call = change.actor.as_deref().and_then(|actor| actor.strip_prefix("call-")?.parse().ok());
                let is_removal = change.kind == ChangeKind::Deleted;
                Entry { seq: change.seq, previous: change.previous, id: change.id.clone(), call, is_removal }
            }
            Logged::Membership(membership) => of_others(membership.seq, membership.previous),
            Logged::Declaration(silent) => of_others(silent.seq, silent.previous),
        }));
    }
}

fn of_others(seq: Seq, previous: Seq) -> Entry {
    Entry { seq, previous, id: String::new(), call: None, is_removal: false }
}

/// A client of a store.
struct Client<'c> {
    number: usize,
    store: &'c Store,
    random: u64,
    calls: &'c AtomicU64,
    start: Instant,
}

impl Client<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Reads a Thing, and then writes it, mostly if it is still in the same state.
    fn call(&mut self, call: u64) -> (Read, Call) {
        let id = format!("urn:call:{}", self.below(THINGS));
        let found = self.store.find(&id).unwrap().map(|record| record.seq);
        let read = Read { reader: self.number, id: id.clone(), found };
        let expects = match self.below(6) {
            0 => Precondition::Any,
            1 => Precondition::Absent,
            2 => Precondition::Present,
            _ => found.map_or(Precondition::Absent, Precondition::Seq),
        };
        let is_removal = expects != Precondition::Absent && self.below(4) == 0;
        let expects = if is_removal && expects == Precondition::Any { Precondition::Present } else { expects };
        (read, self.write(call, &id, expects, is_removal))
    }

    fn write(&self, call: u64, id: &str, expects: Precondition, is_removal: bool) -> Call {
        let operation = if is_removal { Operation::Remove(DeletionReason::Removed) } else { put(id, call) };
        let (id, actor) = (id.to_owned(), Some(format!("call-{call}")));
        let write = Write { id: id.clone(), precondition: expects, operation, actor };
        let started = self.now();
        let answer = match self.store.submit(vec![write]).wait() {
            Ok(applied) => match applied[0] {
                Outcome::Created(seq) | Outcome::Updated(seq) | Outcome::Removed(seq) | Outcome::Renewed(seq) => {
                    Answer::Done(seq)
                }
                outcome => panic!("{outcome:?}"),
            },
            Err(Error::PreconditionFailed { found, .. }) => Answer::Refused(found),
            Err(Error::OutcomeUnknown) => Answer::Unknown,
            Err(Error::LogUnavailable) => Answer::NotWritten,
            Err(error) => panic!("{error}"),
        };
        Call { call, id, expects, started, answered: self.now(), answer }
    }

    /// Makes calls until there are enough.
    fn run(mut self, writes: u64, history: &Mutex<History>) {
        let (mut calls, mut reads) = (Vec::new(), Vec::new());
        loop {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            if call >= writes {
                break;
            }
            let (read, call) = self.call(call);
            reads.push(read);
            calls.push(call);
        }
        let mut history = history.lock().unwrap();
        history.calls.extend(calls);
        history.reads.extend(reads);
    }
}

fn put(id: &str, call: u64) -> Operation {
    let text = format!(
        r#"{{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"{id}","title":"T{call}","securityDefinitions":{{"n":{{"scheme":"nosec"}}}},"security":"n"}}"#
    );
    let (capabilities, expiry, declares) = (Vec::new(), Expiry::default(), Declares::itself());
    Operation::Put { text, capabilities, expiry, patch: None, original: None, created: None, declares }
}

/// Lets clients write at all stores at the same time, beside all other kinds of writes. Returns their history.
pub(super) fn run<L: Shared>(cluster: &Cluster<L>, seed: u64, writes: u64) -> History {
    let (history, calls, start) = (Mutex::default(), AtomicU64::new(0), Instant::now());
    thread::scope(|scope| {
        for (place, store) in cluster.stores.iter().enumerate() {
            for client in 0..CLIENTS {
                let number = place * CLIENTS + client;
                let random = (seed + number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let (calls, history) = (&calls, &history);
                scope.spawn(move || Client { number, store, random, calls, start }.run(writes, history));
            }
            let calls = &calls;
            scope.spawn(move || {
                let mut others = Transactions::new(seed * 10 + place as u64);
                while calls.load(Ordering::Relaxed) < writes {
                    others.next(store);
                }
            });
        }
    });
    cluster.converge();
    let mut history: History = history.into_inner().unwrap();
    history.logs = cluster.stores.iter().map(log).collect();
    history
}

pub(super) fn writes() -> u64 {
    env::var(WRITES_VARIABLE).ok().and_then(|writes| writes.parse().ok()).unwrap_or(WRITES)
}

#[test]
fn stores_over_a_bad_log_answer_truly_and_are_equal() {
    let (seed, writes, started) = (1, writes(), Instant::now());
    let cluster = Cluster::new(seed, FAULTS);
    let history = run(&cluster, seed, writes);
    let [done, refused, unknown] = cluster.assert_right(&history);
    println!(
        "seed {seed}: {writes} writes in {:?}: {done} done, {refused} refused, {unknown} unknown; {} entries; {:?}",
        started.elapsed(),
        history.logs[0].len(),
        cluster.log.memory.counts
    );
    assert!(done > refused && refused > 0 && unknown > 0);
    cluster.close();
}

#[test]
fn a_commit_that_is_decided_again_although_the_log_has_it_is_noticed() {
    let found = (1..=8).find_map(|seed| {
        let cluster = Cluster::new(seed, Faults { is_naive: true, ..FAULTS });
        let wrong = run(&cluster, seed, 1_000).check().err();
        cluster.close();
        wrong
    });
    let found = found.expect("a wrong history");
    assert!(matches!(found, Wrong::Twice(_) | Wrong::Applied(_) | Wrong::Unmet(_) | Wrong::Lost(_)), "{found:?}");
}

#[test]
fn a_refusal_by_a_store_that_lags_behind_is_noticed() {
    let history = |is_stale| {
        let cluster = Cluster::new(1, Faults { is_stale, ..Faults::default() });
        let (calls, start) = (AtomicU64::new(0), Instant::now());
        let client = |number| {
            let store = &cluster.stores[number];
            Client { number, store, random: 1, calls: &calls, start }
        };
        // It is created, which the other store knows, and removed, which that doesn't know yet.
        let mut calls = vec![client(0).write(1, "urn:a", Precondition::Absent, false)];
        cluster.converge();
        cluster.log.memory.is_held.store(true, Ordering::Release);
        calls.push(client(0).write(2, "urn:a", Precondition::Present, true));
        calls.push(client(1).write(3, "urn:a", Precondition::Absent, false));
        cluster.log.memory.is_held.store(false, Ordering::Release);
        cluster.converge();
        let logs = cluster.stores.iter().map(log).collect();
        cluster.close();
        History { calls, reads: Vec::new(), logs }
    };
    assert_eq!(history(false).check(), Ok(()));
    assert_eq!(history(true).check(), Err(Wrong::Stale(3)));
}

#[test]
fn a_store_with_one_byte_more_is_noticed() {
    let cluster = Cluster::new(1, Faults::default());
    write(&cluster.stores[0], Precondition::Absent).unwrap();
    cluster.converge();
    assert_eq!(cluster.difference(), None);
    cluster.stores[1].view.tree.db().unwrap().insert(b"e/urn:a", &[0]).unwrap();
    assert!(cluster.difference().is_some());
    cluster.close();
}

pub(super) fn write(store: &Store, precondition: Precondition) -> Result<(), Error> {
    write_version(store, precondition, 1)
}

/// Writes a text that differs from the texts with other numbers.
pub(super) fn write_version(store: &Store, precondition: Precondition, number: u64) -> Result<(), Error> {
    let write = Write { id: "urn:a".into(), precondition, operation: put("urn:a", number), actor: None };
    store.submit(vec![write]).wait().map(drop)
}

#[test]
fn what_the_log_has_is_committed_whatever_happens_on_the_store() {
    let is_failing = Arc::<AtomicBool>::default();
    let fails = is_failing.clone();
    let hook = FlushHook::new(move || match fails.load(Ordering::Relaxed) {
        true => Err(io::Error::other("the disk is gone")),
        false => Ok(()),
    });
    let cluster = Cluster::with(1, Faults::default(), Options::default().before_flush(hook));
    is_failing.store(true, Ordering::Relaxed);
    write(&cluster.stores[0], Precondition::Absent).unwrap();
    let closed = write(&cluster.stores[0], Precondition::Any);
    assert!(matches!(closed, Err(Error::WritesClosed { .. })), "{closed:?}");
    assert!(cluster.stores[0].find("urn:a").unwrap().is_some());
    cluster.close();
}

#[test]
fn a_commit_that_cannot_be_written_is_not_witnessed_and_is_installed_after_a_restart() {
    for fault in [Fault::Failure, Fault::Panic] {
        let mut cluster = Cluster::new(1, Faults::default());
        cluster.stores[0].view.write_fault.set(fault);
        write(&cluster.stores[0], Precondition::Absent).unwrap();
        let closed = write(&cluster.stores[0], Precondition::Any);
        assert!(matches!(closed, Err(Error::WritesClosed { .. })), "{fault:?}: {closed:?}");
        cluster.reopen(0);
        cluster.converge();
        assert!(cluster.stores[0].find("urn:a").unwrap().is_some());
        assert_eq!(cluster.difference(), None);
        cluster.close();
    }
}

#[test]
fn a_store_closes_after_a_panic_of_its_log() {
    for (at, is_sent) in [(WAIT, false), (APPEND, true), (AFTER_APPEND, true)] {
        let directories = Directories::new(1, 1, Faults::default());
        let shared = SharedLog::ready(Panicking { log: directories.log(0), at });
        let options = Options { log: Some(shared), ..Options::default() };
        let store = Store::open(&directories.path(0), options).unwrap();
        let answer = write(&store, Precondition::Absent);
        match is_sent {
            true => assert!(matches!(answer, Err(Error::OutcomeUnknown)), "{at}: {answer:?}"),
            false => assert!(matches!(answer, Err(Error::WritesClosed { .. })), "{at}: {answer:?}"),
        }
        let closed = write(&store, Precondition::Any);
        assert!(matches!(closed, Err(Error::WritesClosed { .. })), "{at}: {closed:?}");
        store.close();
        let store = Store::open(&directories.path(0), directories.options(0, Options::default())).unwrap();
        write(&store, Precondition::Any).unwrap();
        assert_eq!(directories.memory.end(), store.handle.committer.number());
        assert_eq!(log(&store).len(), 1, "{at}");
        store.close();
    }
}

#[test]
fn a_store_that_is_closed_while_an_outcome_is_unknown_installs_its_commit_later() {
    let mut cluster = Cluster::new(1, Faults { answer_lost: 1, ..Faults::default() });
    let unknown = write(&cluster.stores[0], Precondition::Absent);
    assert!(matches!(unknown, Err(Error::OutcomeUnknown)), "{unknown:?}");
    cluster.reopen(0);
    cluster.converge();
    assert!(cluster.stores[0].find("urn:a").unwrap().is_some());
    assert_eq!((cluster.log.memory.end(), cluster.difference()), (2, None));
    cluster.close();
}

#[test]
fn a_write_under_way_when_its_store_is_closed_is_answered_truly() {
    for pause in [0, 20, 60] {
        let mut cluster = Cluster::new(pause + 1, Faults { delay: 100_000, ..Faults::default() });
        let store = cluster.stores[0].clone();
        let answer = thread::scope(|scope| {
            let answer = scope.spawn(|| write(&store, Precondition::Absent));
            thread::sleep(Duration::from_millis(pause));
            cluster.stores[0].close();
            answer.join().unwrap()
        });
        cluster.reopen(0);
        cluster.converge();
        let is_there = cluster.stores[0].find("urn:a").unwrap().is_some();
        match answer {
            Ok(()) => assert!(is_there),
            Err(Error::ShuttingDown) => assert!(!is_there),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(cluster.difference(), None);
        cluster.close();
    }
}

#[test]
fn a_backup_contains_what_another_store_drops_while_it_is_read() {
    let options = Options::default().retained_changes(5).retained_at_any_age(5);
    let cluster = Cluster::with(1, Faults::default(), options);
    for call in 0..30 {
        let (id, operation) = ("urn:a".to_owned(), put("urn:a", call));
        let write = Write { id, precondition: Precondition::Any, operation, actor: None };
        cluster.stores[0].submit(vec![write]).wait().unwrap();
    }
    cluster.converge();
    let (kept, end) = (log(&cluster.stores[1]).len(), cluster.log.memory.end());
    let mut snapshot = cluster.stores[1].snapshot().unwrap();
    let first = snapshot.next().unwrap();
    cluster.stores[0].trim_log(Timestamp::now()).unwrap();
    cluster.converge();
    assert!(cluster.log.memory.end() > end && log(&cluster.stores[1]).len() == 5);
    let directory = tempfile::tempdir().unwrap();
    let pairs = [first].into_iter().chain(snapshot).map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())));
    restore(&directory.path().join("restored"), pairs, Purpose::Registry).unwrap();
    let restored = Store::open(&directory.path().join("restored"), Options::default()).unwrap();
    assert_eq!(log(&restored).len(), kept);
    assert_eq!(restored.check().unwrap().faults, []);
    restored.close();
    cluster.close();
}

/// Shared log that panics at a given place.
struct Panicking {
    log: MemoryLog,
    at: &'static str,
}

impl Panicking {
    fn panic_at(&self, at: &str) {
        assert!(at != self.at, "the log panics at {at}");
    }
}

impl CommitLog for Panicking {
    fn append(&self, commit: &Arc<Commit>) -> Appended {
        self.panic_at(APPEND);
        let appended = self.log.append(commit);
        self.panic_at(AFTER_APPEND);
        appended
    }

    fn wait_for_turn(&self, number: u64) -> bool {
        self.panic_at(WAIT);
        self.log.wait_for_turn(number)
    }

    fn arrived(&self, number: u64, limit: usize) -> Result<Vec<Arrived>, Broken> {
        self.log.arrived(number, limit)
    }

    fn end(&self) -> Result<u64, Away> {
        self.log.end()
    }

    fn is_asked(&self) -> bool {
        self.log.is_asked()
    }

    fn subscribe(&self, wake: Wake) {
        self.log.subscribe(wake);
    }

    fn close(&self) {
        self.log.close();
    }
}

/// Places where a log panics.
const WAIT: &str = "the turn";
const APPEND: &str = "an append";
const AFTER_APPEND: &str = "the answer to an append";

#[test]
fn a_refusal_alone_needs_the_end_of_the_log_and_a_dry_run_does_not() {
    let cluster = Cluster::new(1, Faults { away: 1, ..Faults::default() });
    let store = &cluster.stores[0];
    write(store, Precondition::Absent).unwrap();
    let refused = write(store, Precondition::Absent);
    assert!(matches!(refused, Err(Error::LogUnavailable)), "{refused:?}");
    let dry_run =
        vec![Write { id: "urn:a".into(), precondition: Precondition::Absent, operation: put("urn:a", 1), actor: None }];
    let foretold = store.foretell(Author::default(), dry_run).wait();
    assert!(matches!(foretold, Err(Error::PreconditionFailed { .. })), "{foretold:?}");
    cluster.close();
}

#[test]
fn a_store_that_has_lost_its_log_accepts_no_more_writes() {
    let cluster = Cluster::new(1, Faults { is_lost: true, ..Faults::default() });
    let store = &cluster.stores[0];
    let unknown = write(store, Precondition::Absent);
    assert!(matches!(unknown, Err(Error::OutcomeUnknown)), "{unknown:?}");
    let closed = write(store, Precondition::Absent);
    let Err(Error::WritesClosed { reason }) = &closed else { panic!("{closed:?}") };
    assert!(reason.ends_with("doesn't continue from commit 1, the last commit of this store"), "{reason}");
    cluster.close();
}

#[test]
fn only_what_may_be_in_the_log_has_an_unknown_outcome() {
    let cluster = Cluster::new(1, Faults { answer_lost: 1, ..Faults::default() });
    let store = &cluster.stores[0];
    let of = |id: &str, precondition| {
        let (id, operation) = (id.to_owned(), put(id, 1));
        vec![Write { id, precondition, operation, actor: None }]
    };
    let tickets = [
        store.submit(of("urn:a", Precondition::Absent)),
        store.submit(of("urn:a", Precondition::Absent)),
        store.foretell(Author::default(), of("urn:b", Precondition::Absent)),
    ];
    let [sent, refused, foretold] = tickets.map(Ticket::wait);
    assert!(matches!(sent, Err(Error::OutcomeUnknown)), "{sent:?}");
    assert!(matches!(refused, Err(Error::LogUnavailable)), "{refused:?}");
    assert!(matches!(foretold, Err(Error::LogUnavailable)), "{foretold:?}");
    cluster.converge();
    assert_eq!(log(store).len(), 1);
    cluster.close();
}

#[test]
fn a_write_without_an_answer_is_found_in_the_log_later() {
    let cluster = Cluster::new(1, Faults { answer_lost: 1, ..Faults::default() });
    let store = &cluster.stores[0];
    let unknown = write(store, Precondition::Absent);
    assert!(matches!(unknown, Err(Error::OutcomeUnknown)), "{unknown:?}");
    cluster.converge();
    assert!(cluster.stores.iter().all(|store| store.find("urn:a").unwrap().is_some()));
    assert_eq!(cluster.log.memory.end(), 2);
    let counts = store.append_counts();
    assert_eq!(counts, AppendCounts { unknown: 1, ..AppendCounts::default() }, "further attempts aren't counted");
    cluster.close();
}

#[test]
fn outcomes_of_appends_are_counted() {
    let cluster = Cluster::new(1, Faults::default());
    run(&cluster, 1, 300);
    cluster.stores.iter().for_each(Store::close);
    let total = |count: fn(&AppendCounts) -> u64| -> u64 {
        cluster.stores.iter().map(|store| count(&store.append_counts())).sum()
    };
    let counts = &cluster.log.memory.counts;
    assert!(total(|counts| counts.appended) > 0);
    assert_eq!(total(|counts| counts.appended), counts.appended.load(Ordering::Relaxed));
    assert_eq!(total(|counts| counts.lost_races), counts.taken.load(Ordering::Relaxed));
    assert_eq!(total(|counts| counts.unknown), 0);
    assert!(cluster.stores.iter().any(|store| !store.append_counts().time.is_zero()));
}

#[test]
fn more_than_fits_into_a_commit_takes_several_or_is_refused() {
    let cluster = Cluster::new(1, Faults::default());
    let store = &cluster.stores[0];
    let write = |id: usize, megabytes: usize| {
        let id = format!("urn:{id}");
        let text = format!(r#"{{"id":"{id}","x":"{}"}}"#, "x".repeat(megabytes << 20));
        let Operation::Put { capabilities, expiry, patch, original, created, declares, .. } = put(&id, 1) else {
            unreachable!()
        };
        let operation = Operation::Put { text, capabilities, expiry, patch, original, created, declares };
        store.submit(vec![Write { id, precondition: Precondition::Any, operation, actor: None }])
    };
    let tickets = [write(1, 1), write(2, 70), write(3, 1)];
    let outcomes = tickets.map(Ticket::wait);
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    assert!(matches!(outcomes[1], Err(Error::LimitExceeded { .. })), "{:?}", outcomes[1]);
    cluster.converge();
    assert_eq!(cluster.stores[2].len(), 2);
    cluster.close();
}
