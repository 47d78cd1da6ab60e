//! `Queue`: transactions waiting for a commit.
//!
//! A commit takes a [`Round`] of transactions. A short queue is taken completely, in order of submission. Otherwise
//! owners take turns, weighted by bytes, so a busy owner doesn't delay the others; the transactions of an owner keep
//! their order.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Condvar,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    reply::Reply,
    write::{Transaction, Write},
};
use crate::access::Owner;

/// Size of the descriptions and originals that fill a round, in bytes.
const ROUND_BYTES: usize = 4 * 1024 * 1024;
/// Cost of a transaction beside its bytes.
const TRANSACTION_COST: usize = 1024;
/// Maximum cost of an owner's transactions per turn while others wait.
const TURN: usize = 128 * 1024;

/// Transactions waiting for a commit, and the state that determines the committing thread. Its lock is never held
/// during a commit.
#[derive(Default)]
pub(super) struct Queue {
    lines: HashMap<Option<Owner>, Line>,
    /// Number and size of all of them.
    count: usize,
    bytes: usize,
    /// Number of the next transaction.
    next: u64,
    /// Owners of the lines, whose turn it is first.
    turns: VecDeque<Option<Owner>>,
    /// True while a thread is committing. Other threads don't commit meanwhile.
    pub is_led: bool,
    /// True if a waiter can't commit its transaction itself, so the committer's own thread has to.
    pub is_unattended: bool,
    /// Deadline for writing pending local state.
    pub local_due: Option<Instant>,
    /// Time at which to follow the log.
    pub follow_due: Option<Instant>,
    /// True if no more transactions are accepted.
    pub is_closing: bool,
}

/// Queue of an owner's transactions, in order. Never empty.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    /// Remaining cost allowed in this turn.
    credit: usize,
}

/// A transaction waiting for a commit.
pub(super) struct Waiting {
    pub transaction: Transaction,
    pub reply: Arc<Reply>,
    pub signal: Arc<Signal>,
    bytes: usize,
    /// Number in the order of submission.
    number: u64,
}

/// Transactions that share a commit.
pub(super) type Round = Vec<Waiting>;

/// Tells whoever waits for a transaction that it is committed. Goes with the lock of the queue.
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

    /// Counts a thread that starts or stops waiting.
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
    /// Appends a transaction to the queue of its owner.
    pub fn push(&mut self, transaction: Transaction, reply: Arc<Reply>) -> Arc<Signal> {
        let bytes = transaction.writes.iter().map(Write::bytes).sum();
        let (owner, signal) = (transaction.author.caller.owner().cloned(), Arc::<Signal>::default());
        if !self.lines.contains_key(&owner) {
            self.turns.push_back(owner.clone());
        }
        let number = self.next;
        (self.next, self.count, self.bytes) = (number + 1, self.count + 1, self.bytes + bytes);
        let line = self.lines.entry(owner).or_default();
        line.waiting.push_back(Waiting { transaction, reply, signal: signal.clone(), bytes, number });
        signal
    }

    /// Schedules following the log after the pause, unless it is due earlier.
    pub fn follow_after(&mut self, pause: Duration) {
        let due = Instant::now() + pause;
        self.follow_due = Some(self.follow_due.map_or(due, |earlier| earlier.min(due)));
    }

    /// True if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Takes up to `most` transactions for the next commit, or returns `None` if the queue is empty.
    pub fn next_round(&mut self, most: usize) -> Option<Round> {
        if self.count <= most && self.bytes <= ROUND_BYTES {
            return self.take_all();
        }
        let (mut round, mut bytes) = (Round::new(), 0);
        while round.len() < most.max(1) && bytes < ROUND_BYTES {
            let Some(waiting) = self.take_next() else { break };
            bytes += waiting.bytes;
            round.push(waiting);
        }
        (!round.is_empty()).then_some(round)
    }

    /// Takes all transactions in the order of submission, or returns `None` if the queue is empty.
    fn take_all(&mut self) -> Option<Round> {
        self.turns.clear();
        (self.count, self.bytes) = (0, 0);
        let mut round: Round = self.lines.drain().flat_map(|(_, line)| line.waiting).collect();
        round.sort_unstable_by_key(|waiting| waiting.number);
        (!round.is_empty()).then_some(round)
    }

    /// Takes the transaction whose turn it is.
    fn take_next(&mut self) -> Option<Waiting> {
        let is_shared = self.turns.len() > 1;
        loop {
            let owner = self.turns.front()?;
            let line = self.lines.get_mut(owner)?;
            let cost = line.waiting.front().map_or(0, |first| first.bytes + TRANSACTION_COST);
            if is_shared && line.credit < cost {
                line.credit += TURN;
                self.turns.rotate_left(1);
                continue;
            }
            line.credit = line.credit.saturating_sub(cost);
            let next = line.waiting.pop_front();
            (self.count, self.bytes) = (self.count - 1, self.bytes - next.as_ref().map_or(0, |next| next.bytes));
            if line.waiting.is_empty() {
                self.lines.remove(owner);
                self.turns.pop_front();
            }
            return next;
        }
    }

    /// Returns the signal of a waiting thread that can commit because its transaction is the first of its owner.
    pub fn next_leader(&self) -> Option<&Signal> {
        let first = self.turns.iter().filter_map(|owner| self.lines.get(owner)?.waiting.front());
        first.map(|first| &*first.signal).find(|signal| signal.has_waiting())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::{AccessRequest, Caller, Principal, Role},
        change::Precondition,
        store::{Author, Declares, Expiry, Operation},
    };

    fn push(queue: &mut Queue, owner: &str, id: String, bytes: usize) {
        let principal =
            Principal { owner: owner.parse().unwrap(), role: Role::Register, key: String::new(), expires: None };
        let operation = Operation::Put {
            text: "x".repeat(bytes),
            patch: None,
            original: None,
            created: None,
            capabilities: Vec::new(),
            expiry: Expiry::default(),
            declares: Declares::itself(),
        };
        let write = Write { id, precondition: Precondition::Any, operation, actor: None };
        let author = Author::new(Caller::Principal(Arc::new(principal)), AccessRequest::default());
        queue.push(Transaction::new(author, vec![write]), Arc::default());
    }

    fn ids(round: &Round) -> Vec<&str> {
        round.iter().map(|waiting| waiting.transaction.writes[0].id.as_str()).collect()
    }

    #[test]
    fn whoever_submits_little_does_not_wait_for_whoever_submits_much() {
        let mut queue = Queue::default();
        (0..200).for_each(|number| push(&mut queue, "eve", format!("eve{number}"), 1_000_000));
        push(&mut queue, "bob", "bob0".to_owned(), 500);
        push(&mut queue, "bob", "bob1".to_owned(), 500);
        let first = queue.next_round(256).unwrap();
        let ids = ids(&first);
        assert!(ids.starts_with(&["bob0", "bob1"]) || ids.contains(&"bob1"), "{ids:?}");
        assert!(first.len() < 10, "a round has about 4 MiB");
    }

    #[test]
    fn owners_share_by_bytes_and_keep_their_order() {
        let mut queue = Queue::default();
        (0..400).for_each(|number| push(&mut queue, "large", format!("large {number:03}"), 99 * 1024));
        (0..4_000).for_each(|number| push(&mut queue, "small", format!("small {number:04}"), 9 * 1024));
        let mut committed: Vec<String> = Vec::new();
        let mut bytes = [0, 0];
        while bytes[0] + bytes[1] < 20 * 1024 * 1024 {
            for waiting in queue.next_round(256).unwrap() {
                let id = waiting.transaction.writes[0].id.clone();
                bytes[usize::from(id.starts_with("small"))] += waiting.bytes;
                committed.push(id);
            }
        }
        let [large, small] = bytes.map(|bytes| bytes as f64);
        assert!((0.8..1.25).contains(&(large / small)), "{bytes:?}");
        for owner in ["large", "small"] {
            let own: Vec<&String> = committed.iter().filter(|id| id.starts_with(owner)).collect();
            assert!(own.is_sorted(), "{own:?}");
        }
    }

    #[test]
    fn few_transactions_keep_the_order_of_submission() {
        let mut queue = Queue::default();
        let submitted: Vec<String> = (0..100).map(|number| format!("{number}")).collect();
        for (number, id) in submitted.iter().enumerate() {
            push(&mut queue, ["eve", "bob", "carol"][number % 7 % 3], id.clone(), 30_000);
        }
        assert_eq!(ids(&queue.next_round(256).unwrap()), submitted);
        assert!(queue.is_empty() && queue.next_round(256).is_none());
    }

    #[test]
    fn one_owner_alone_has_full_rounds() {
        let mut queue = Queue::default();
        (0..1_000).for_each(|number| push(&mut queue, "eve", format!("eve{number}"), 100));
        let rounds: Vec<usize> = std::iter::from_fn(|| queue.next_round(256)).map(|round| round.len()).collect();
        assert_eq!(rounds, [256, 256, 256, 232]);
        assert!(queue.is_empty());
    }
}
