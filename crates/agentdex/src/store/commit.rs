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
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

#[cfg(any(test, debug_assertions))]
use super::install::{Folded, InstallError};
use super::{
    appender::Appender,
    clock::LogClock,
    commit_log::CommitLog,
    local::WRITE_AFTER,
    overlay::Pairs,
    queue::{Queue, Round, Signal, Waiting},
    reply::Reply,
    snapshot::Snapshot,
    sync::DataFiles,
    value::State,
    view::View,
    witness::Witness,
    work::{Decided, Work, witnessing},
    write::{Applied, Transaction},
};
use crate::{Error, Result, change::Timestamp};

/// Maximum number of rounds that a thread commits before it hands over.
const ROUNDS_LED: usize = 8;

/// Maximum time for which the opening of a store waits for its log.
const CATCH_UP_PATIENCE: Duration = Duration::from_secs(30);

/// Pause before the next attempt to follow the log.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Commits transactions.
pub(super) struct Committer {
    view: Arc<View>,
    queue: Mutex<Queue>,
    /// Wakes the committer's own thread. Goes with the lock of the queue, like `idle`.
    background: Condvar,
    /// Wakes whoever waits until no thread commits.
    idle: Condvar,
    /// State locked during a commit, and during anything that excludes commits.
    work: Arc<Mutex<Work>>,
    witness: Arc<Witness>,
    time: Arc<LogClock>,
    /// Connection to the log shared with other stores, if any.
    appender: Option<Appender>,
}

impl Committer {
    /// Creates the committer of a store. `log` is the log shared with other stores, if any.
    pub fn new(
        view: Arc<View>,
        files: DataFiles,
        witness: Arc<Witness>,
        state: State,
        log: Option<Arc<dyn CommitLog>>,
    ) -> Result<Committer> {
        let time = Arc::new(LogClock::load(&view)?);
        let work = Arc::new(Mutex::new(Work {
            files,
            witness: witness.clone(),
            state,
            time: time.clone(),
            next_grace: Default::default(),
            is_ending: false,
            shown: None,
        }));
        let appender = log.map(|log| Appender::new(log, view.clone(), work.clone()));
        let (queue, background, idle) = (Mutex::default(), Condvar::new(), Condvar::new());
        Ok(Committer { view, queue, background, idle, work, witness, time, appender })
    }

    /// See [`super::Store::log_time`].
    pub fn log_time(&self) -> Timestamp {
        self.time.at().max(Timestamp::now())
    }

    /// See [`super::Store::accept_clock`].
    pub fn accept_clock(&self) -> Result<(Timestamp, Timestamp)> {
        self.carry_out(true, |work| work.accept_clock(&self.view))
    }

    /// See [`super::Store::ask_for_digests`].
    pub fn ask_for_digests(&self) -> Result<u64> {
        self.carry_out(true, |work| work.ask_for_digests(&self.view))
    }

    /// Submits a transaction. The transaction is committed when its ticket is waited for, polled, or dropped, unless it
    /// was committed earlier together with another transaction.
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

    /// Stops accepting transactions, commits the queued transactions, and terminates the committer thread.
    pub fn close(&self) {
        self.queue().is_closing = true;
        self.appender.iter().for_each(Appender::hurry);
        self.background.notify_one();
    }

    /// Wakes everyone waiting for changes, and releases the directory. Call it when everything is committed.
    pub fn release(&self) {
        self.view.log.end();
        self.appender.iter().for_each(Appender::close);
        self.witness.end();
        let mut work = self.work();
        if let Err(error) = work.close(&self.view) {
            tracing::warn!(
                error,
                "the store can't be closed properly; the end of its log is checked at the next start"
            );
        }
        self.view.tree.close();
    }

    /// Drops entries of the log beyond its retention, in steps between commits.
    pub fn trim_log(&self, now: Timestamp) -> Result<()> {
        loop {
            if self.queue().is_closing {
                return Err(Error::ShuttingDown);
            }
            let retained = self.carry_out(false, |work| match self.view.saving.is_active() {
                // A backup reads the log as it was; it is trimmed next time.
                true => Ok(Decided { outcome: false, staged: None }),
                false => work.retain(&self.view, now),
            });
            if !retained? {
                return Ok(());
            }
        }
    }

    /// Decides and commits something other than transactions. `is_synced` is false if a crash may undo the commit.
    fn carry_out<T>(&self, is_synced: bool, mut decide: impl FnMut(&mut Work) -> Result<Decided<T>>) -> Result<T> {
        if let Some(appender) = &self.appender {
            return self.alone(|| appender.append_decided(&|| self.has_more(), decide));
        }
        let (mut work, view) = (self.work(), &self.view);
        view.check_open_to_writes()?;
        let Decided { outcome, staged } = decide(&mut work)?;
        let written = match staged {
            Some(staged) if !is_synced => work.show(view, staged, &Pairs::new()),
            staged => work.make_durable(view, staged, Pairs::new()),
        };
        written.map(|()| outcome).map_err(|reason| {
            view.close(reason.clone());
            Error::WritesClosed { reason }
        })
    }

    /// Acts while no other thread commits.
    fn alone<T>(&self, act: impl FnOnce() -> T) -> T {
        let mut queue = self.queue();
        while queue.is_led {
            queue = self.idle.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_led = true;
        drop(queue);
        let done = catch_unwind(AssertUnwindSafe(act));
        self.hand_over();
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Advances the time of the log beyond the clock, as if the clock had been ahead.
    #[cfg(test)]
    pub fn advance_clock(&self, at: Timestamp) {
        self.time.advance(at);
    }

    /// Installs commits that another store has decided.
    #[cfg(any(test, debug_assertions))]
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
        Snapshot::begin(self.view.clone(), &work.state)
    }

    /// Runs the committer's own thread until the store is closed. It commits transactions without a waiting thread,
    /// writes local state when due, and extends expiries after a restart.
    pub fn run(&self) {
        while let Some(errand) = self.next_errand() {
            let done = catch_unwind(AssertUnwindSafe(|| match errand {
                Errand::Lead => self.lead(None),
                Errand::Follow => self.follow_log(),
                Errand::WriteLocal => self.write_local(),
                Errand::GrantGrace => self.grant_grace(),
            }));
            if done.is_err() {
                self.view.close("the committer thread panicked".into());
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
            if !queue.is_closing && self.view.closed.get().is_none() {
                if !queue.is_led && queue.follow_due.is_some_and(|due| due <= now) {
                    queue.follow_due = None;
                    return Some(Errand::Follow);
                }
                // What a log doesn't take now is tried again.
                if queue.follow_due.is_none() && self.has_grace_to_grant() {
                    return Some(Errand::GrantGrace);
                }
            }
            let due = [queue.local_due, queue.follow_due.filter(|_| !queue.is_led)].into_iter().flatten().min();
            queue = match due {
                Some(due) => {
                    let left = due.saturating_duration_since(now);
                    let (queue, _) = self.background.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner);
                    queue
                }
                None => self.background.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Installs the commits of other stores.
    fn follow_log(&self) {
        let Some(appender) = &self.appender else { return };
        let followed = self.alone(|| appender.follow().and_then(|_| appender.pass_turn(&|| self.has_more())));
        if let Err(error) = followed {
            tracing::debug!(%error, "the store can't follow its log");
            self.follow_later();
        }
    }

    /// Installs all commits in the log when the store is opened, and returns the state after them.
    pub fn catch_up(&self) -> Result<State> {
        if let Some(appender) = &self.appender {
            self.alone(|| appender.catch_up(CATCH_UP_PATIENCE))?;
        }
        Ok(self.work().state)
    }

    /// Returns the log shared with other stores, if any.
    pub fn log(&self) -> Option<&dyn CommitLog> {
        self.appender.as_ref().map(Appender::log)
    }

    /// See [`super::Store::is_leader`].
    pub fn is_leader(&self) -> bool {
        self.appender.as_ref().is_none_or(|appender| appender.log().is_leader())
    }

    /// Follows the log whenever it contains commits of other stores.
    pub fn subscribe(self: &Arc<Self>) {
        let Some(appender) = &self.appender else { return };
        let committer = Arc::downgrade(self);
        let follow = move || committer.upgrade().iter().for_each(|committer| committer.follow_after(Duration::ZERO));
        appender.subscribe(follow);
        self.follow_after(Duration::ZERO);
    }

    /// Follows the log after a pause.
    fn follow_later(&self) {
        self.follow_after(RETRY_AFTER);
    }

    fn follow_after(&self, pause: Duration) {
        let mut queue = self.queue();
        queue.follow_after(pause);
        if !queue.is_led {
            self.background.notify_one();
        }
    }

    /// Writes changed local state, including pending uses and revocations of keys.
    fn write_local(&self) {
        let view = &self.view;
        if view.closed.get().is_some() || view.tree.db().is_err() {
            return;
        }
        if view.local.has_pending_keys() {
            // At the end there is nothing left to keep disk space for.
            let is_ending = self.queue().is_closing;
            self.work().is_ending = is_ending;
            match &self.appender {
                Some(appender) => self.alone(|| {
                    appender.commit(Vec::new(), &|| self.has_more());
                    appender.sync();
                }),
                None => drop(self.work().commit(view, Vec::new())),
            }
        }
        let written = self.work().write_local(view);
        let is_all = written.unwrap_or_else(|reason| {
            view.close(reason);
            true
        });
        let mut queue = self.queue();
        if !is_all {
            queue.local_due = Some(Instant::now());
        } else if !queue.is_closing && view.local.has_moved() {
            // At the end the rest is given up: followers then start from where they were before.
            queue.local_due = Some(Instant::now() + WRITE_AFTER);
        }
    }

    /// True if this store extends the expiries: for itself, or as the leader of several stores.
    fn has_grace_to_grant(&self) -> bool {
        let is_pending = self.view.expiries.grace.pending().is_some();
        self.appender.as_ref().map_or(is_pending, |appender| {
            let log = appender.log();
            log.owes_grace() || is_pending && log.is_leader()
        })
    }

    /// Begins an extension of expiries, or writes it into some of them.
    fn grant_grace(&self) {
        let log = self.appender.as_ref().map(Appender::log);
        if let Some(appender) = self.appender.as_ref().filter(|appender| appender.log().owes_grace()) {
            // A write may have begun it meanwhile.
            let begin = || if appender.log().owes_grace() { appender.begin_grace() } else { Ok(()) };
            if self.alone(begin).is_err() {
                self.follow_later();
            }
            return;
        }
        match self.carry_out(true, |work| work.extend_expiries(&self.view)) {
            Ok(None) if log.is_none() => self.view.expiries.grace.grant(),
            Ok(None) => {}
            Ok(Some(next)) => self.work().next_grace.1 = next,
            Err(_) if log.is_some() => self.follow_later(),
            Err(error) => self.view.close(error.to_string()),
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
        self.hand_over();
    }

    /// Lets another thread commit.
    fn hand_over(&self) {
        let is_behind = self.appender.as_ref().is_some_and(Appender::take_behind);
        let mut queue = self.queue();
        queue.is_led = false;
        if is_behind {
            queue.follow_after(RETRY_AFTER);
        }
        self.idle.notify_one();
        match queue.next_leader() {
            Some(leader) => leader.condvar.notify_one(),
            None if queue.is_empty() && !queue.is_closing && queue.follow_due.is_none() => {}
            None => {
                queue.is_unattended |= !queue.is_empty();
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
        let committed = catch_unwind(AssertUnwindSafe(|| match &self.appender {
            Some(appender) => appender.commit(writes, &|| self.has_more()),
            None => self.work().commit(&self.view, writes),
        }));
        let mut outcomes = committed.unwrap_or_else(|_| {
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
        self.appender.iter().for_each(Appender::sync);
    }

    /// True if transactions wait.
    fn has_more(&self) -> bool {
        !self.queue().is_empty()
    }

    /// Returns the number of the last commit.
    #[cfg(test)]
    pub fn number(&self) -> u64 {
        self.work().state.commit
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

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Errand {
    Lead,
    Follow,
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
