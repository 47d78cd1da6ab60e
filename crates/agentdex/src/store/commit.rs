//! `Committer`: assigns positions, applies writes, flushes, and only then acknowledges. Only one commit runs at a
//! time.
//!
//! A thread waiting for its transaction commits it itself if no other commit is running, together with all
//! transactions submitted meanwhile, and then hands over to the next waiting thread. Waiters in async code must not
//! commit; the committer's own thread does it for them.
//!
//! A failed flush fails all transactions of its round and closes the store to writes, since the content of the disk
//! is unknown until the store is opened again. The same applies to a panic.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Instant,
};

use sled::IVec;

use super::{
    clock::LogClock,
    effects::Staged,
    install::{Folded, InstallError},
    layout,
    local::WRITE_AFTER,
    overlay::{Overlay, Pairs},
    queue::{Queue, Round, Signal, Waiting},
    reply::Reply,
    snapshot::Snapshot,
    sync::DataFiles,
    value::State,
    view::View,
    witness::Witness,
    work::{Work, witnessing},
    write::{Applied, Transaction},
};
use crate::{Error, Result, change::Timestamp};

/// Maximum number of rounds that a thread commits before it hands over.
const ROUNDS_LED: usize = 8;

/// Commits transactions.
pub(super) struct Committer {
    pub view: Arc<View>,
    queue: Mutex<Queue>,
    /// Wakes the committer's own thread. Goes with the lock of the queue.
    background: std::sync::Condvar,
    /// State locked during a commit, and during anything that excludes commits.
    work: Mutex<Work>,
    witness: Arc<Witness>,
    time: Arc<LogClock>,
}

impl Committer {
    pub fn new(view: Arc<View>, files: DataFiles, witness: Arc<Witness>, state: State) -> Result<Committer> {
        let next_grace = view.expiries.grace.pending().map(|_| IVec::from(layout::EXPIRIES));
        let time = Arc::new(LogClock::load(&view)?);
        let work = Mutex::new(Work { files, witness: witness.clone(), state, time: time.clone(), next_grace });
        Ok(Committer { view, queue: Mutex::default(), background: std::sync::Condvar::new(), work, witness, time })
    }

    /// See [`super::Store::log_time`].
    pub fn log_time(&self) -> Timestamp {
        self.time.at().max(Timestamp::now())
    }

    /// See [`super::Store::accept_clock`].
    pub fn accept_clock(&self) -> Result<(Timestamp, Timestamp)> {
        let (mut work, view) = (self.work(), &self.view);
        view.check_open_to_writes()?;
        let (before, now) = (self.time.at(), Timestamp::now());
        if before <= now {
            return Ok((now, now));
        }
        let db = view.tree.db()?;
        let mut overlay = Overlay::new(&db);
        let (key, set) = LogClock::set_after(work.state.last, now);
        overlay.set(key, Some(set));
        let staged = Staged::of(view, &db, overlay.seal(work.state)?)?;
        if let Err(reason) = work.make_durable(view, Some(staged), Pairs::new()) {
            view.close(reason.clone());
            return Err(Error::WritesClosed { reason });
        }
        Ok((before, now))
    }

    /// Submits a transaction. It is committed when its ticket is waited for, polled, or dropped, or together with
    /// another transaction.
    pub fn submit(self: &Arc<Self>, transaction: Transaction) -> Ticket {
        let reply = Arc::new(Reply::default());
        let mut queue = self.queue();
        let signal = if queue.is_closing {
            let signal = Arc::new(Signal::default());
            reply.fill(Err(Error::ShuttingDown));
            signal.set_done();
            signal
        } else {
            queue.push(transaction, reply.clone())
        };
        drop(queue);
        Ticket { committer: self.clone(), reply, signal, is_attended: false }
    }

    /// Schedules a write of node-local state.
    pub fn write_local_soon(&self) -> Result<()> {
        let mut queue = self.queue();
        if queue.is_closing {
            return Err(Error::ShuttingDown);
        }
        queue.local_due.get_or_insert(Instant::now() + WRITE_AFTER);
        drop(queue);
        self.background.notify_one();
        Ok(())
    }

    /// Stops accepting transactions, commits the queued ones, and terminates the committer thread.
    pub fn close(&self) {
        self.queue().is_closing = true;
        self.background.notify_one();
    }

    /// Wakes everyone waiting for changes, and releases the directory. Call it when everything is committed.
    pub fn release(&self) {
        self.view.log.end();
        self.witness.end();
        let mut work = self.work();
        if let Err(error) = work.close(&self.view) {
            tracing::warn!(error, "the witness of the store can't be written");
        }
        self.view.tree.close();
    }

    /// Drops entries of the log beyond its retention, in steps between commits.
    pub fn trim_log(&self, now: Timestamp) -> Result<()> {
        loop {
            self.view.check_open_to_writes()?;
            if self.queue().is_closing {
                return Err(Error::ShuttingDown);
            }
            let mut work = self.work();
            if self.view.saving.is_active() {
                // A backup reads the log as it was; it is trimmed next time.
                return Ok(());
            }
            if !work.trim_step(&self.view, now)? {
                return Ok(());
            }
        }
    }

    /// Advances the time of the log beyond the clock, as a clock that is ahead does.
    #[cfg(test)]
    pub fn advance_clock(&self, at: Timestamp) {
        self.time.advance(at);
    }

    /// Installs commits that another store has decided.
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "stores don't share a log yet"))]
    pub fn install(&self, commits: Folded) -> std::result::Result<(), InstallError> {
        self.work().install(&self.view, commits)
    }

    /// Runs the thread of the witness, which writes slots until the store is closed.
    pub fn run_witness(&self) {
        if let Err(error) = self.witness.run() {
            self.view.close(witnessing(&self.witness, &error));
        }
    }

    /// Takes a snapshot of all keys and values.
    pub fn snapshot(&self) -> Result<Snapshot> {
        // After a failed commit the tree has what may not be there at the next start.
        let work = self.work();
        self.view.check_open_to_writes()?;
        Snapshot::begin(self.view.clone(), work.state.last, work.state.records)
    }

    /// Runs the committer's own thread until the store is closed. It commits transactions without a waiting thread,
    /// writes local state when due, and extends expiries after a restart.
    pub fn run(&self) {
        while let Some(errand) = self.next_errand() {
            let done = catch_unwind(AssertUnwindSafe(|| match errand {
                Errand::Lead => self.lead(None),
                Errand::WriteLocal => self.work().write_local(self),
                Errand::GrantGrace => self.work().grant_grace(&self.view),
            }));
            if done.is_err() {
                self.view.close("the committer panicked".into());
            }
        }
    }

    /// Waits for the next task. Returns `None` if the store is closed and all is done.
    fn next_errand(&self) -> Option<Errand> {
        let mut queue = self.queue();
        loop {
            if !queue.is_led && !queue.is_empty() && (queue.is_unattended || queue.is_closing) {
                (queue.is_led, queue.is_unattended) = (true, false);
                return Some(Errand::Lead);
            }
            let now = Instant::now();
            if queue.local_due.is_some_and(|due| due <= now || (queue.is_closing && !queue.is_led)) {
                queue.local_due = None;
                return Some(Errand::WriteLocal);
            }
            if queue.is_closing && !queue.is_led {
                return None;
            }
            if !queue.is_closing && self.view.expiries.grace.pending().is_some() && self.view.closed.get().is_none() {
                return Some(Errand::GrantGrace);
            }
            queue = match queue.local_due {
                Some(due) => {
                    let (queue, _) =
                        self.background.wait_timeout(queue, due - now).unwrap_or_else(PoisonError::into_inner);
                    queue
                }
                None => self.background.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Waits for a transaction on this thread, and commits if nobody else does.
    fn wait(&self, signal: &Signal) {
        let mut queue = self.queue();
        while !signal.is_done() {
            if queue.is_led {
                signal.count_waiting(true);
                queue = signal.condvar.wait(queue).unwrap_or_else(PoisonError::into_inner);
                signal.count_waiting(false);
                continue;
            }
            queue.is_led = true;
            drop(queue);
            self.lead(Some(signal));
            queue = self.queue();
        }
    }

    /// Commits rounds until the caller's own transaction is among them, then hands over. The caller has set `is_led`.
    fn lead(&self, own: Option<&Signal>) {
        for _ in 0..ROUNDS_LED {
            let Some(round) = self.queue().next_round(self.view.options.group_size) else { break };
            self.commit_round(round);
            if own.is_some_and(Signal::is_done) {
                break;
            }
        }
        let mut queue = self.queue();
        queue.is_led = false;
        match queue.next_leader() {
            Some(leader) => leader.condvar.notify_one(),
            None if queue.is_empty() && !queue.is_closing => {}
            None => {
                queue.is_unattended = true;
                self.background.notify_one();
            }
        }
    }

    /// Commits a round and notifies its waiters, even after a failure or a panic.
    fn commit_round(&self, round: Round) {
        let (mut writes, mut replies, mut signals) = (Vec::new(), Vec::new(), Vec::new());
        for Waiting { transaction, reply, signal, .. } in round {
            writes.push(transaction);
            replies.push(reply);
            signals.push(signal);
        }
        // sled panics where it finds its own invariants broken.
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.work().commit(&self.view, writes)));
        let mut outcomes = outcomes.unwrap_or_else(|_| {
            self.view.close("a commit panicked".into());
            Vec::new()
        });
        outcomes.resize_with(replies.len(), || self.view.check_open_to_writes().map(|()| Applied::default()));
        let wakers: Vec<_> = replies.iter().zip(outcomes).filter_map(|(reply, outcome)| reply.fill(outcome)).collect();
        let queue = self.queue();
        signals.iter().for_each(|signal| signal.set_done());
        drop(queue);
        signals.iter().for_each(|signal| signal.condvar.notify_all());
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    /// Ensures that a thread commits for waiters without a thread of their own.
    fn attend(&self) {
        let mut queue = self.queue();
        queue.is_unattended = true;
        let is_led = queue.is_led;
        drop(queue);
        if !is_led {
            self.background.notify_one();
        }
    }

    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Errand {
    Lead,
    WriteLocal,
    GrantGrace,
}

/// Handle for waiting until a transaction is durable, either as a future or with [`Ticket::wait`].
#[must_use = "a write is acknowledged by its ticket"]
pub struct Ticket {
    committer: Arc<Committer>,
    reply: Arc<Reply>,
    signal: Arc<Signal>,
    /// True if somebody will commit it without this thread.
    is_attended: bool,
}

impl Ticket {
    /// Blocks until the transaction is durable. May be called within an async runtime.
    ///
    /// # Errors
    /// [`crate::Error::PreconditionFailed`] for the first failed write (in which case no write was applied),
    /// [`crate::Error::InvalidId`], [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`],
    /// [`crate::Error::Store`].
    pub fn wait(mut self) -> Result<Applied> {
        self.is_attended = true;
        self.committer.wait(&self.signal);
        self.reply.take()
    }
}

impl Future for Ticket {
    type Output = Result<Applied>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.reply.poll(context.waker());
        if polled.is_pending() && !self.is_attended {
            self.is_attended = true;
            self.committer.attend();
        }
        polled
    }
}

impl Drop for Ticket {
    /// A transaction is committed whether or not anybody waits for it.
    fn drop(&mut self) {
        if !self.is_attended && !self.signal.is_done() {
            self.committer.attend();
        }
    }
}
