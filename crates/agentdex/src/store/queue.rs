//! `Queue`: the transactions that wait for a commit, in rounds that share one.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::{
    reply::Reply,
    write::{Transaction, Write},
};

/// The most bytes of descriptions and originals that are gathered into a round.
const ROUND_BYTES: usize = 4 * 1024 * 1024;

/// The rounds that wait for a commit, and the state that decides which thread commits them. Its lock is never held
/// during a commit.
#[derive(Default)]
pub(super) struct Queue {
    pub rounds: VecDeque<Round>,
    /// True if somebody commits; nobody else does then.
    pub is_led: bool,
    /// True if somebody waits who can't commit: the committer's own thread has to.
    pub is_unattended: bool,
    /// When local state that moved is written at the latest.
    pub local_due: Option<Instant>,
    /// True if no more transactions are taken.
    pub is_closing: bool,
}

/// Transactions that share a commit.
pub(super) struct Round {
    pub signal: Arc<Signal>,
    pub transactions: Vec<(Transaction, Arc<Reply>)>,
    bytes: usize,
}

/// Tells all who wait for a round at once. Goes with the lock of the queue.
#[derive(Default)]
pub(super) struct Signal {
    pub condvar: Condvar,
    is_done: AtomicBool,
    waiting: AtomicUsize,
}

impl Signal {
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    pub fn set_done(&self) {
        self.is_done.store(true, Ordering::Release);
    }

    /// Counts a thread that waits, or no longer does.
    pub fn count_waiting(&self, waits: bool) {
        if waits {
            self.waiting.fetch_add(1, Ordering::Relaxed)
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed)
        };
    }

    pub fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

impl Queue {
    /// Appends a transaction, to the last round if it has room.
    pub fn push(&mut self, transaction: Transaction, reply: Arc<Reply>, group_size: usize) -> Arc<Signal> {
        let bytes: usize = transaction.writes.iter().map(Write::bytes).sum();
        let is_full = |round: &Round| round.transactions.len() >= group_size || round.bytes >= ROUND_BYTES;
        if self.rounds.back().is_none_or(is_full) {
            self.rounds.push_back(Round { signal: Arc::default(), transactions: Vec::new(), bytes: 0 });
        }
        let Some(round) = self.rounds.back_mut() else { return Arc::default() };
        round.bytes += bytes;
        round.transactions.push((transaction, reply));
        round.signal.clone()
    }
}
