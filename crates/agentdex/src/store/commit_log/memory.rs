//! `MemoryLog`: a log in memory for the stores of a process. Slow; loses requests and answers, and carries
//! requests out late or twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Appended, Arrived, Away, Broken, Commit, CommitId, CommitLog, SharedLog, Wake,
    copies::Copies,
    turn::{Node, Turn},
};
use crate::store::{Options, digests::Digests, overlay::Pairs};

/// Maximum time that an append waits for an answer.
const APPEND_WAIT: Duration = Duration::from_millis(40);

/// Directories of stores that have the same content and share a log.
pub struct Directories {
    copies: Copies,
    pub memory: Arc<Memory>,
}

impl Directories {
    pub fn new(count: usize, seed: u64, faults: Faults) -> Directories {
        let copies = Copies::new(count);
        let memory = Memory::new(copies.last, seed, faults);
        Directories { copies, memory }
    }

    pub fn path(&self, number: usize) -> PathBuf {
        self.copies.path(number)
    }

    /// Returns the log as seen by a store.
    pub fn log(&self, number: usize) -> MemoryLog {
        self.memory.join(number as u128)
    }

    /// Adds the log to the options of a store.
    pub fn options(&self, number: usize, options: Options) -> Options {
        Options { log: Some(SharedLog::ready(self.log(number))), ..options }
    }
}

/// A log and its stores.
pub struct Memory {
    state: Mutex<State>,
    changed: Condvar,
    /// Number of the commit before the first commit in the log.
    base: u64,
    random: AtomicU64,
    pub faults: Faults,
    pub counts: Counts,
    /// True while commits arrive only when a store asks for them.
    pub is_held: AtomicBool,
}

/// Faults. A number is a frequency: the fault occurs once in this many times, or never if 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The request is lost.
    pub request_lost: u64,
    /// The log has the commit, but the answer is lost.
    pub answer_lost: u64,
    /// The request is carried out after the store has stopped waiting for it.
    pub late: u64,
    /// The request is carried out twice.
    pub twice: u64,
    /// The end of the log is unknown.
    pub away: u64,
    /// Longest delay of a request in microseconds.
    pub delay: u64,
    /// Longest delay of the arrival of a commit in microseconds.
    pub lag: u64,
    /// True if a store's own commit in the log counts as the commit of another store.
    pub is_naive: bool,
    /// True if the last arrived commit counts as the end of the log.
    pub is_stale: bool,
    /// True if the log is replaced by another log.
    pub is_lost: bool,
}

/// Frequencies of events.
#[derive(Debug, Default)]
pub struct Counts {
    pub appended: AtomicU64,
    pub taken: AtomicU64,
    pub unknown: AtomicU64,
    /// Commits found in the log by another attempt.
    pub found: AtomicU64,
}

#[derive(Default)]
struct State {
    commits: Vec<Stored>,
    nodes: BTreeMap<Node, NodeState>,
    /// Nodes waiting for their turn.
    waiting: BTreeSet<Node>,
    digests: BTreeMap<Node, Digests>,
}

struct Stored {
    id: CommitId,
    by: Node,
    /// Node with the next turn.
    holder: Option<Node>,
    pairs: Pairs,
}

struct NodeState {
    turn: Turn,
    /// Number of commits that have arrived.
    arrived: usize,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// View of the log for a store.
pub struct MemoryLog {
    memory: Arc<Memory>,
    node: Node,
    is_ended: Arc<AtomicBool>,
}

impl Memory {
    pub fn new(base: u64, seed: u64, faults: Faults) -> Arc<Memory> {
        let (state, random) = (Mutex::default(), AtomicU64::new(seed | 1));
        let (changed, counts, is_held) = Default::default();
        Arc::new(Memory { state, changed, base, random, faults, counts, is_held })
    }

    /// Returns a view of the log for another store. Commits arrive there until the view is dropped.
    pub fn join(self: &Arc<Memory>, node: Node) -> MemoryLog {
        let state = NodeState { turn: Turn::new(node), arrived: 0, wake: None };
        self.state().nodes.insert(node, state);
        let is_ended = Arc::<AtomicBool>::default();
        let (memory, ended) = (self.clone(), is_ended.clone());
        thread::spawn(move || memory.deliver(node, &ended));
        MemoryLog { memory: self.clone(), node, is_ended }
    }

    /// Returns the last digests of each store.
    pub fn digests(&self) -> Vec<Digests> {
        self.state().digests.values().cloned().collect()
    }

    /// Returns the number of the last commit.
    pub fn end(&self) -> u64 {
        self.base + self.state().commits.len() as u64
    }

    /// Delivers commits to a node after a delay.
    fn deliver(&self, node: Node, is_ended: &AtomicBool) {
        while !is_ended.load(Ordering::Acquire) {
            let mut state = self.state();
            if state.commits.len() == state.nodes[&node].arrived || self.is_held.load(Ordering::Acquire) {
                drop(self.changed.wait_timeout(state, Duration::from_millis(20)));
                continue;
            }
            drop(state);
            self.sleep(self.faults.lag);
            state = self.state();
            state.arrive(node);
            let wake = state.nodes[&node].wake.clone();
            drop(state);
            self.changed.notify_all();
            wake.into_iter().for_each(|wake| wake());
        }
    }

    /// Appends a commit, unless its number is taken.
    fn put(&self, by: Node, commit: &Commit) -> Appended {
        let mut state = self.state();
        let index = (commit.number - self.base - 1) as usize;
        assert!(index <= state.commits.len(), "commit {} has no predecessor", commit.number);
        if let Some(stored) = state.commits.get(index) {
            let is_own = stored.id == commit.id && !self.faults.is_naive;
            state.arrive(by);
            drop(state);
            self.changed.notify_all();
            let (count, appended) =
                if is_own { (&self.counts.found, Appended::Done(None)) } else { (&self.counts.taken, Appended::Taken) };
            count.fetch_add(1, Ordering::Relaxed);
            return appended;
        }
        let State { nodes, waiting, .. } = &mut *state;
        let holder = nodes[&by].turn.next(commit.has_more, waiting, Instant::now());
        waiting.remove(&by);
        if let Some(holder) = holder {
            waiting.remove(&holder);
        }
        state.commits.push(Stored { id: commit.id, by, holder, pairs: commit.pairs.clone() });
        state.arrive(by);
        drop(state);
        self.counts.appended.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_all();
        Appended::Done(None)
    }

    fn delay(&self) {
        self.sleep(self.faults.delay);
    }

    fn sleep(&self, at_most: u64) {
        if at_most > 0 {
            thread::sleep(Duration::from_micros(self.below(at_most)));
        }
    }

    fn happens(&self, once_in: u64) -> bool {
        once_in > 0 && self.below(once_in) == 0
    }

    fn below(&self, bound: u64) -> u64 {
        let mut random = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        random = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ random >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (random ^ random >> 31) % bound
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Delivers all commits to a node.
    fn arrive(&mut self, node: Node) {
        let node = self.nodes.get_mut(&node).unwrap();
        for commit in &self.commits[node.arrived..] {
            node.turn.note(commit.by, commit.holder, Instant::now());
        }
        node.arrived = self.commits.len();
    }
}

impl CommitLog for MemoryLog {
    fn append(&self, commit: &Arc<Commit>) -> Appended {
        let Memory { faults, counts, .. } = &*self.memory;
        self.memory.delay();
        if faults.is_lost {
            let last = commit.number - 1;
            let reason = format!("the shared log doesn't continue from commit {last}, the last commit of this store");
            return Appended::Lost(Broken(reason));
        }
        let unknown = || {
            thread::sleep(APPEND_WAIT);
            counts.unknown.fetch_add(1, Ordering::Relaxed);
            Appended::Unknown
        };
        if self.memory.happens(faults.request_lost) {
            return unknown();
        }
        if self.memory.happens(faults.late) {
            let (memory, node, commit) = (self.memory.clone(), self.node, commit.clone());
            thread::spawn(move || {
                thread::sleep(APPEND_WAIT + Duration::from_micros(memory.below(20_000)));
                memory.put(node, &commit);
            });
            return unknown();
        }
        let appended = self.memory.put(self.node, commit);
        if self.memory.happens(faults.answer_lost) {
            return unknown();
        }
        if self.memory.happens(faults.twice) {
            return self.memory.put(self.node, commit);
        }
        appended
    }

    fn wait_for_turn(&self, number: u64) -> bool {
        let mut state = self.memory.state();
        loop {
            let node = &state.nodes[&self.node];
            if self.memory.base + node.arrived as u64 > number {
                state.waiting.remove(&self.node);
                return false;
            }
            let Some(left) = node.turn.wait(Instant::now()) else {
                state.waiting.remove(&self.node);
                return true;
            };
            if state.waiting.insert(self.node) {
                let wakes: Vec<_> = state.nodes.values().filter_map(|node| node.wake.clone()).collect();
                drop(state);
                wakes.into_iter().for_each(|wake| wake());
                state = self.memory.state();
                continue;
            }
            (state, _) = self.memory.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn arrived(&self, number: u64, limit: usize) -> Result<Vec<Arrived>, Broken> {
        let state = self.memory.state();
        let arrived = state.commits[..state.nodes[&self.node].arrived].iter();
        let after = arrived.skip((number - self.memory.base) as usize);
        Ok(after.take(limit).map(|commit| Arrived { pairs: commit.pairs.clone(), stamp: None }).collect())
    }

    fn end(&self) -> Result<u64, Away> {
        let is_stale = self.memory.faults.is_stale;
        if !is_stale {
            self.memory.delay();
        }
        // A store that is being opened waits for the end of the log.
        let is_opened = self.memory.state().nodes[&self.node].wake.is_some();
        if is_opened && self.memory.happens(self.memory.faults.away) {
            return Err(Away);
        }
        let mut state = self.memory.state();
        if !is_stale {
            state.arrive(self.node);
        }
        Ok(self.memory.base + state.nodes[&self.node].arrived as u64)
    }

    fn is_asked(&self) -> bool {
        let state = self.memory.state();
        state.nodes[&self.node].turn.is_own() && state.waiting.iter().any(|node| *node != self.node)
    }

    fn report_digests(&self, digests: Digests) {
        self.memory.state().digests.insert(self.node, digests);
    }

    fn subscribe(&self, wake: Wake) {
        self.memory.state().nodes.get_mut(&self.node).unwrap().wake = Some(wake.into());
    }

    fn close(&self) {
        self.is_ended.store(true, Ordering::Release);
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        self.close();
    }
}
