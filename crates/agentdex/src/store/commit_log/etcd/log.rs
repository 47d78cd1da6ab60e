//! `Log`: state that the tasks of the log in etcd share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use agentdex_etcd::Client;
use tokio::sync::Notify;

use super::{
    super::{
        Broken, Progress,
        turn::{Node, Turn},
    },
    agreement::Values,
    arrivals::Arrivals,
    ask::Seen,
    attempt::Attempt,
    clocks::{Clocks, Moment, elapsed},
    founding::Founded,
    keys::Keys,
    nodes::Nodes,
    options::Limits,
};
use crate::store::digests::Digests;

/// Maximum time that the closing of a store waits for an append.
const CLOSING_PATIENCE: Duration = Duration::from_secs(1);

/// State shared by the tasks of a log.
pub(super) struct Log {
    pub client: Client,
    pub keys: Keys,
    pub node: Node,
    /// Name of the node, which is the same after a restart.
    pub name: String,
    /// URL of the node's REST API, for the other nodes.
    pub url: Option<String>,
    /// Digests of settings that should be the same on all nodes, by name.
    pub settings: Values,
    /// Number of the last commit when the log was opened.
    pub since: u64,
    pub founded: Founded,
    pub limits: Limits,
    pub state: Mutex<State>,
    /// Notified when commits arrive, and when the turn changes.
    pub changed: Condvar,
    /// Notified when the store has installed commits.
    pub room: Notify,
    /// Notified when this node starts waiting for its turn, so that it writes its key.
    pub asks: Notify,
    /// Notified when this node has something to record at once.
    pub to_record: Notify,
    /// Notified when the store reports its progress.
    pub reported: Notify,
    /// Lock held while commits are read.
    pub reading: tokio::sync::Mutex<()>,
    /// True if the store is about to be closed.
    pub is_closing: AtomicBool,
}

pub(super) struct State {
    pub arrivals: Arrivals,
    pub turn: Turn,
    /// Nodes waiting for their turn.
    pub waiting: BTreeSet<Node>,
    /// True while this node waits for its turn.
    pub is_waiting: bool,
    /// Lease of this node's keys, or 0.
    pub lease: i64,
    pub nodes: Nodes,
    pub clocks: Clocks,
    pub positions: SharedPositions,
    pub progress: Progress,
    /// Last digests of this node.
    pub digests: Option<Digests>,
    pub currency: Currency,
    /// Size of all commits that have arrived since the start, as stored in etcd.
    pub bytes: u64,
    /// Last commit that was sent.
    pub attempt: Option<Attempt>,
    /// State of etcd according to the last linearizable answer.
    pub seen: Option<Seen>,
    /// Reason why the log can't be followed any more.
    pub broken: Option<Broken>,
    /// True if etcd has no space, according to its last answer to a write.
    pub is_full: bool,
    /// Reason why the log isn't followed at present, if requests fail.
    pub trouble: Option<String>,
    pub wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// Positions of the leader's own followers by name, as they are written to etcd.
#[derive(Debug, Default)]
pub(super) struct SharedPositions {
    pub by_name: BTreeMap<String, String>,
    /// True if etcd doesn't have them yet.
    pub are_changed: bool,
}

impl Log {
    /// True if this node may decide transactions. Its clock must have been compared with those of the other nodes. And a leader
    /// must have recorded that the cluster can write: then the expiries are extended if agents couldn't be renewed for a
    /// while.
    pub fn may_decide(&self, state: &State) -> bool {
        let State { nodes, clocks, .. } = state;
        let is_fresh = |at: &Moment| elapsed(*at) < self.limits.grace_after;
        let is_alone = nodes.entries.keys().all(|name| *name == self.name);
        let is_alive = nodes.alive_seen.iter().chain(&nodes.alive_at).any(is_fresh);
        is_alive && nodes.are_known && (is_alone || clocks.are_compared())
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies everyone waiting for arrivals.
    pub fn notify(&self) {
        self.changed.notify_all();
        let wake = self.state().wake.clone();
        wake.iter().for_each(|wake| wake());
    }

    /// Returns the maximum time to wait for an append or a decision.
    pub fn patience(&self) -> Duration {
        match self.is_closing.load(Ordering::Relaxed) {
            true => self.limits.append_wait.min(CLOSING_PATIENCE),
            false => self.limits.append_wait,
        }
    }

    /// Stops following the log for good.
    pub fn break_off(&self, broken: Broken) {
        tracing::error!(reason = %broken.0, "the log of the cluster can no longer be followed");
        self.state().broken.get_or_insert(broken);
        self.notify();
    }
}

/// Known ends of the log, and the time at which the store last contained the whole log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Currency {
    /// Last commit that the log contained at a time, as known from the latest answer.
    latest: (u64, Instant),
    /// Earliest known end that the store hasn't reached yet. The end may move on faster than the store installs.
    awaited: Option<(u64, Instant)>,
    /// Time at which the store last contained all commits in the log.
    pub current_at: Instant,
}

impl Currency {
    /// Creates the value for a store whose last commit has this number.
    pub fn new(number: u64) -> Currency {
        let now = Instant::now();
        Currency { latest: (number, now), awaited: None, current_at: now }
    }

    /// Returns the last known commit of the log, and the time at which the log ended with it.
    pub fn end(&self) -> (u64, Instant) {
        self.latest
    }

    /// Records that the log ended with a commit at the time of a request. The store contains the commits up to
    /// `number`.
    pub fn note_end(&mut self, end: u64, at: Instant, number: u64) {
        if at > self.latest.1 {
            self.latest = (end, at);
        }
        self.awaited.get_or_insert(self.latest);
        self.note_installed(number);
    }

    /// Records that the store contains the commits up to a number.
    pub fn note_installed(&mut self, number: u64) {
        while let Some((_, at)) = self.awaited.filter(|(end, _)| *end <= number) {
            self.current_at = self.current_at.max(at);
            self.awaited = Some(self.latest).filter(|(_, latest)| *latest > at);
        }
    }
}

impl State {
    /// Records a commit. `turn` is the node with the next turn.
    pub fn note_turn(&mut self, by: Node, turn: Option<Node>) {
        self.turn.note(by, turn, Instant::now());
        self.waiting.remove(&by);
        if let Some(node) = turn {
            self.waiting.remove(&node);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn store_that_is_a_little_behind_is_current_as_of_a_moment_ago() {
        let mut currency = Currency::new(4);
        let start = currency.current_at;
        let at = |seconds| start + Duration::from_secs(seconds);
        // The end moves on before the store reaches it, each time.
        for second in 1..100 {
            currency.note_end(4 + second, at(second), 3 + second);
            assert_eq!(currency.end(), (4 + second, at(second)));
            assert!(currency.current_at >= at(second.saturating_sub(2)), "after {second} s");
        }
        // It stops installing.
        let before = currency.current_at;
        for second in 100..200 {
            currency.note_end(4 + second, at(second), 50);
        }
        assert_eq!(currency.current_at, before);
        currency.note_installed(203);
        assert_eq!(currency.current_at, at(199));
        // An answer that is late changes nothing.
        currency.note_end(7, at(10), 203);
        assert_eq!((currency.end(), currency.current_at), ((203, at(199)), at(199)));
    }
}
