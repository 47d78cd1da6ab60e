//! The committer: the one thread that assigns seqs, applies, flushes, and only then acknowledges.
//!
//! It takes what has piled up while it was busy, up to the size of a group, into one batch and one
//! flush. A flush that fails fails its whole group and closes the store to writes: what the disk
//! holds from then on is known only to the next open.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Instant,
};

use sled::IVec;
use tokio::sync::oneshot;

use super::{
    group::{Group, Staged},
    layout,
    positions::WRITE_AFTER,
    sync::DataFiles,
    value::State,
    view::{View, write},
    write::{Operation, Outcome, Write},
};
use crate::{Error, Result, change::Timestamp};

/// The most bytes of descriptions and originals that are gathered into a group.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// The expiries that get their grace at a time, so that writes don't wait long for it.
const GRACE_STEP: usize = 256;

/// What the committer is asked for.
pub(super) enum Message {
    /// Write.
    Transaction(Transaction),
    /// Drop what the log needs no longer.
    Trim { now: Timestamp, done: oneshot::Sender<Result<()>> },
    /// A position or a session has moved.
    LocalStateMoved,
    /// Finish what came before and end.
    Close,
}

/// Writes that are applied together or not at all.
pub(super) struct Transaction {
    pub writes: Vec<Write>,
    pub reply: oneshot::Sender<Result<Vec<Outcome>>>,
}

impl Transaction {
    fn bytes(&self) -> usize {
        let of_write = |write: &Write| match &write.operation {
            Operation::Put { text, original, .. } => {
                text.len() + original.as_ref().map_or(0, |original| original.bytes.len())
            }
            Operation::Note(note) => note.as_ref().map_or(0, Vec::len),
            Operation::Renew { .. } | Operation::Remove(_) | Operation::Purge => 0,
        };
        self.writes.iter().map(of_write).sum()
    }
}

/// The committer's own state.
pub(super) struct Committer {
    view: Arc<View>,
    files: DataFiles,
    messages: Receiver<Message>,
    state: State,
    /// Time as the log knows it: it doesn't go back.
    now: Timestamp,
    /// When positions that moved are written at the latest.
    local_due: Option<Instant>,
    trims: VecDeque<(Timestamp, oneshot::Sender<Result<()>>)>,
    /// The first expiry that may still need the grace after the start; none: none does.
    next_grace: Option<IVec>,
    closing: bool,
}

impl Committer {
    pub fn new(view: Arc<View>, files: DataFiles, messages: Receiver<Message>, state: State) -> Committer {
        let next_grace = (!view.grace.is_granted()).then(|| IVec::from(layout::EXPIRIES));
        Committer {
            view,
            files,
            messages,
            state,
            now: Timestamp(0),
            local_due: None,
            trims: VecDeque::new(),
            next_grace,
            closing: false,
        }
    }

    /// Works until the store is closed or its last handle is gone.
    pub fn run(mut self) {
        let view = self.view.clone();
        // sled panics where it finds its own invariants broken. Nobody may then wait for ever.
        if catch_unwind(AssertUnwindSafe(move || self.work())).is_err() {
            view.close("the committer panicked".into());
        }
    }

    fn work(&mut self) {
        while !self.closing {
            let transactions = self.gather();
            let local_due = self.local_due.is_some_and(|due| due <= Instant::now());
            if !transactions.is_empty() || local_due || (self.closing && self.local_due.is_some()) {
                self.commit(transactions);
            }
            self.trim();
            if let Some(start) = self.next_grace.take() {
                self.grant_grace(&start);
            }
        }
    }

    /// Waits for something to do, then takes what else is there.
    fn gather(&mut self) -> Vec<Transaction> {
        let (mut transactions, mut bytes) = (Vec::new(), 0);
        let mut message = self.wait();
        while let Some(next) = message {
            match next {
                Message::Transaction(transaction) => {
                    bytes += transaction.bytes();
                    transactions.push(transaction);
                }
                Message::Trim { now, done } => self.trims.push_back((now, done)),
                Message::LocalStateMoved => {
                    self.local_due.get_or_insert(Instant::now() + WRITE_AFTER);
                }
                Message::Close => self.closing = true,
            }
            if self.closing || transactions.len() >= self.view.options.group_size || bytes >= GROUP_BYTES {
                break;
            }
            message = self.messages.try_recv().ok();
        }
        transactions
    }

    fn wait(&mut self) -> Option<Message> {
        if !self.trims.is_empty() || self.next_grace.is_some() {
            return match self.messages.try_recv() {
                Err(TryRecvError::Disconnected) => Some(Message::Close),
                message => message.ok(),
            };
        }
        let Some(due) = self.local_due else {
            return Some(self.messages.recv().unwrap_or(Message::Close));
        };
        match self.messages.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Disconnected) => Some(Message::Close),
            message => message.ok(),
        }
    }

    fn commit(&mut self, transactions: Vec<Transaction>) {
        if let Some(reason) = self.view.closed.get() {
            self.local_due = None;
            return answer_all(transactions, reason);
        }
        self.now = self.now.max(Timestamp::now());
        let view = self.view.clone();
        let mut group = Group::new(&view, self.state, self.now);
        let (mut replies, mut outcomes) = (Vec::new(), Vec::new());
        for Transaction { writes, reply } in transactions {
            outcomes.push(group.apply(writes));
            replies.push(reply);
        }
        if self.local_due.take().is_some() {
            let sessions = self.view.sessions().take_moved();
            for (key, value) in self.view.positions().take_moved().into_iter().chain(sessions) {
                group.set(key, value);
            }
        }
        if let Err(reason) = self.make_durable(group.finish()) {
            self.view.close(reason.clone());
            outcomes = outcomes.iter().map(|_| Err(Error::WritesClosed { reason: reason.clone() })).collect();
        }
        // Failures too are told only now: they may rest on writes of the same group.
        for (reply, outcome) in replies.into_iter().zip(outcomes) {
            // Who no longer waits needs no answer.
            let _ = reply.send(outcome);
        }
    }

    fn make_durable(&mut self, staged: Option<Staged>) -> std::result::Result<(), String> {
        let Some(Staged { batch, before, changes, state }) = staged else { return Ok(()) };
        self.view.hide(before);
        self.view.tree.apply_batch(batch).map_err(|error| format!("applying a batch: {error}"))?;
        self.flush()?;
        self.state = state;
        write(&self.view.recent).extend(changes);
        self.view.publish(state);
        Ok(())
    }

    fn flush(&mut self) -> std::result::Result<(), String> {
        if let Some(hook) = &self.view.options.before_flush {
            hook.call().map_err(|error| error.to_string())?;
        }
        self.view.tree.flush().map_err(|error| error.to_string())?;
        self.files.sync().map_err(|error| error.to_string())
    }

    /// Writes the grace after the start into some expiries.
    fn grant_grace(&mut self, start: &IVec) {
        if self.view.closed.get().is_some() {
            return;
        }
        let view = self.view.clone();
        let mut group = Group::new(&view, self.state, self.now);
        let staged = view.expiries(start, GRACE_STEP).and_then(|expiries| {
            expiries.iter().try_for_each(|(id, _)| group.grant_grace(id))?;
            Ok(expiries)
        });
        let expiries = match staged {
            Ok(expiries) => expiries,
            // Readers go on reckoning with it.
            Err(error) => return tracing::error!(%error, "the grace after the start can't be written"),
        };
        if let Err(reason) = self.make_durable(group.finish()) {
            return view.close(reason);
        }
        match expiries.last() {
            Some((_, last)) if expiries.len() == GRACE_STEP => self.next_grace = Some(layout::key_after(last)),
            _ => view.grace.grant(),
        }
    }

    /// Takes one step of the oldest trim.
    fn trim(&mut self) {
        let Some((now, done)) = self.trims.pop_front() else { return };
        match self.view.check_open_to_writes().and_then(|()| self.view.trim_step(now, self.state.last)) {
            Ok(true) if !self.closing => self.trims.push_front((now, done)),
            result => {
                let _ = done.send(result.map(|_| ()));
            }
        }
    }
}

fn answer_all(transactions: Vec<Transaction>, reason: &str) {
    for transaction in transactions {
        let _ = transaction.reply.send(Err(Error::WritesClosed { reason: reason.to_owned() }));
    }
}
