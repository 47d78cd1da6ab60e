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
    applier::{Applier, Command, Moment},
    clock::LogClock,
    effects::Staged,
    install::{Folded, InstallError},
    layout,
    local::{Moved, WRITE_AFTER},
    overlay::{Overlay, Pairs, Sealed, batch_of},
    queue::{Queue, Round, Signal, Waiting},
    reply::Reply,
    snapshot::Snapshot,
    sync::DataFiles,
    value::State,
    view::View,
    witness::Witness,
    write::{Applied, Transaction},
};
use crate::{Error, Result, change::Timestamp};

/// Maximum number of rounds that a thread commits before it hands over.
const ROUNDS_LED: usize = 8;

/// Number of expiries extended at a time, which bounds the delay of writes.
const GRACE_STEP: usize = 256;

/// Commits transactions.
pub(super) struct Committer {
    view: Arc<View>,
    queue: Mutex<Queue>,
    /// Wakes the committer's own thread. Goes with the lock of the queue.
    background: std::sync::Condvar,
    /// State locked during a commit, and during anything that excludes commits.
    work: Mutex<Work>,
    witness: Arc<Witness>,
    time: Arc<LogClock>,
}

/// State of the committer, accessed by a single thread at a time.
struct Work {
    files: DataFiles,
    witness: Arc<Witness>,
    state: State,
    time: Arc<LogClock>,
    /// First expiry that may still need the extension after the start, or `None` if there is none.
    next_grace: Option<IVec>,
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

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the reason for closing a store whose witness can't be written.
fn witnessing(witness: &Witness, error: &std::io::Error) -> String {
    format!("writing {}: {error}", witness.path().display())
}

enum Errand {
    Lead,
    WriteLocal,
    GrantGrace,
}

impl Work {
    /// Commits transactions. Returns an outcome for each of them.
    fn commit(&mut self, view: &View, transactions: Vec<Transaction>) -> Vec<Result<Applied>> {
        let refused = |reason: &str| Err(Error::WritesClosed { reason: reason.to_owned() });
        if let Some(reason) = view.closed.get() {
            return transactions.iter().map(|_| refused(reason)).collect();
        }
        let Ok(db) = view.tree.db() else {
            return transactions.iter().map(|_| Err(Error::ShuttingDown)).collect();
        };
        let (outcomes, staged, local) = self.decide(view, &db, transactions);
        let staged = staged.map_err(|error| error.to_string());
        match staged.and_then(|staged| self.make_durable(view, staged, local)) {
            Ok(()) => outcomes,
            Err(reason) => {
                view.close(reason.clone());
                outcomes.iter().map(|_| refused(&reason)).collect()
            }
        }
    }

    /// Decides transactions on the present state. Returns an outcome for each of them, the commit of those that
    /// succeed, and the node-local pairs to be written with it.
    fn decide(
        &mut self,
        view: &View,
        db: &sled::Db,
        transactions: impl IntoIterator<Item = Transaction>,
    ) -> (Vec<Result<Applied>>, Result<Option<Staged>>, Pairs) {
        let mut room = view.space.room();
        let mut applier = self.applier(view, db);
        let moment = applier.moment;
        // Failures too are reported only once all is durable: they may rest on writes of the same round.
        let apply = |transaction: Transaction| {
            let bytes = transaction.writes.iter().map(|write| write.bytes() as u64).sum();
            let bytes = if transaction.dry_run { 0 } else { bytes };
            room.take(bytes, transaction.dry_run || transaction.takes_away())?;
            applier.apply(Command { transaction, moment })
        };
        let outcomes: Vec<_> = transactions.into_iter().map(apply).collect();
        // What moves with a write is as durable as that. The rest, if any, is written when it is due.
        let moved = match (room.take(0, false), room.take(0, true)) {
            (Ok(()), _) => view.local.take_moved().0,
            (_, Ok(())) => view.local.take_revoked(),
            _ => Moved::default(),
        };
        let staged = applier.write_pending(moved.keys).and_then(|()| applier.finish());
        (outcomes, staged, moved.local)
    }

    fn applier<'a>(&mut self, view: &'a View, db: &'a sled::Tree) -> Applier<'a> {
        let clock = Timestamp::now();
        let moment = Moment { at: self.time.advance(clock), clock, opened: view.expiries.grace.pending() };
        Applier::new(view, db, self.state, moment)
    }

    /// Applies retention. Returns false if there is nothing left to drop.
    fn trim_step(&mut self, view: &View, now: Timestamp) -> Result<bool> {
        let options = &view.options;
        let mut is_trimmed = self.trim(view, view.log.trim_step(&self.state, &view.past, now, options)?)?;
        is_trimmed |= self.trim(view, view.audit.trim_step(&self.state, &view.tree, now, options)?)?;
        Ok(is_trimmed || self.trim(view, self.trim_namespaces(view)?)?)
    }

    /// Writes and publishes a commit that only drops data. It isn't synced: what a crash brings back is dropped again.
    /// Returns false if there is no commit.
    fn trim(&mut self, view: &View, sealed: Option<Sealed>) -> Result<bool> {
        let Some(sealed) = sealed else { return Ok(false) };
        let mut staged = Staged::of(view, &*view.tree.db()?, sealed)?;
        let failed = |reason: String| Error::Store { doing: "applying retention", source: reason.into() };
        self.write(view, Some(&mut staged), &Pairs::new()).map_err(failed)?;
        self.publish(view, staged);
        Ok(true)
    }

    /// Returns a commit that removes memberships that ended before the beginning of the log, and namespaces that were
    /// given up before it and that contain no Things, or `None`.
    fn trim_namespaces(&self, view: &View) -> Result<Option<Sealed>> {
        let oldest = view.log.start().oldest;
        let mut forgotten = view.namespaces.given_up_before(oldest);
        forgotten.retain(|number| !view.restricted.has_namespace(*number));
        let mut shortened = view.namespaces.shortened(oldest);
        shortened.retain(|(number, _)| !forgotten.contains(number));
        if forgotten.is_empty() && shortened.is_empty() {
            return Ok(None);
        }
        let db = view.tree.db()?;
        let mut overlay = Overlay::new(&db);
        forgotten.iter().for_each(|number| overlay.set(layout::namespace_key(*number), None));
        let encoded = shortened.iter().map(|(number, record)| (layout::namespace_key(*number), Some(record.encode())));
        encoded.for_each(|(key, record)| overlay.set(key, record));
        overlay.seal(self.state).map(Some)
    }

    /// Syncs pending data and records it in the witness.
    fn close(&mut self, view: &View) -> std::result::Result<(), String> {
        if view.closed.get().is_some() {
            return Ok(());
        }
        let Ok(db) = view.tree.db() else { return Ok(()) };
        db.flush().map_err(|error| error.to_string())?;
        self.files.sync().map_err(|error| error.to_string())?;
        self.witness.close(view.slot(&self.state)).map_err(|error| witnessing(&self.witness, &error))
    }

    /// Writes, syncs, and publishes a commit and node-local pairs, whatever of it there is.
    fn make_durable(
        &mut self,
        view: &View,
        mut staged: Option<Staged>,
        local: Pairs,
    ) -> std::result::Result<(), String> {
        if staged.is_none() && local.is_empty() {
            return Ok(());
        }
        self.write(view, staged.as_mut(), &local)?;
        self.sync(view, staged.as_ref())?;
        if let Some(staged) = staged {
            self.publish(view, staged);
        }
        Ok(())
    }

    /// Writes a commit and node-local pairs to the tree, as one batch. Readers see the former values until the commit is
    /// published.
    fn write(&self, view: &View, staged: Option<&mut Staged>, local: &Pairs) -> std::result::Result<(), String> {
        let db = view.tree.db().map_err(|error| error.to_string())?;
        let mut replicated = &Pairs::new();
        if let Some(Staged { sealed, effects, .. }) = staged {
            view.tree.hide(std::mem::take(&mut sealed.before));
            effects.log_start.into_iter().for_each(|start| view.log.begin_at(start));
            replicated = &sealed.pairs;
        }
        let pairs = replicated.iter().chain(local);
        let keys = pairs.clone().map(|(key, _)| key);
        view.saving.save(&db, keys).map_err(|error| format!("saving data for a backup: {error}"))?;
        db.apply_batch(batch_of(pairs.cloned())).map_err(|error| format!("applying a batch: {error}"))
    }

    /// Makes what was written durable, and has the witness note the commit.
    fn sync(&mut self, view: &View, staged: Option<&Staged>) -> std::result::Result<(), String> {
        if let Some(hook) = &view.options.before_flush {
            hook.call().map_err(|error| error.to_string())?;
        }
        let db = view.tree.db().map_err(|error| error.to_string())?;
        db.flush().map_err(|error| error.to_string())?;
        self.files.sync().map_err(|error| error.to_string())?;
        let Some(Staged { sealed, revokes, .. }) = staged else { return Ok(()) };
        self.witness.note(view.slot(&sealed.state));
        if *revokes {
            self.witness.write().map_err(|error| witnessing(&self.witness, &error))?;
        }
        Ok(())
    }

    /// Makes a written commit visible to readers.
    fn publish(&mut self, view: &View, Staged { sealed, effects, .. }: Staged) {
        #[cfg(any(test, debug_assertions))]
        view.notify_observers(&sealed.pairs, sealed.state.commit - self.state.commit);
        self.state = sealed.state;
        effects.publish(view, sealed.state, &self.time);
    }

    /// Writes, syncs, and publishes commits that another store has decided.
    fn install(&mut self, view: &View, commits: Folded) -> std::result::Result<(), InstallError> {
        view.check_open_to_writes()?;
        let db = view.tree.db()?;
        let sealed = Sealed::of_pairs(&db, &self.state, commits)?;
        let staged = Staged::of(view, &db, sealed)?;
        self.make_durable(view, Some(staged), Pairs::new()).map_err(|reason| {
            view.close(reason.clone());
            InstallError::Store(Error::WritesClosed { reason })
        })
    }

    /// Writes local state that has moved.
    fn write_local(&mut self, committer: &Committer) {
        let view = &committer.view;
        let mut room = view.space.room();
        let (moved, is_all) = if room.take(0, false).is_ok() {
            view.local.take_moved()
        } else {
            let mut queue = committer.queue();
            let is_closing = queue.is_closing;
            // At the end the rest is given up: followers then start from where they were before.
            queue.local_due = (!is_closing).then(|| Instant::now() + WRITE_AFTER);
            drop(queue);
            // A key that is revoked is not: at the end there is nothing left to keep room for.
            let revoked =
                if is_closing || room.take(0, true).is_ok() { view.local.take_revoked() } else { Moved::default() };
            (revoked, true)
        };
        if moved.is_empty() {
            return;
        }
        let Ok(db) = view.tree.db() else { return };
        let mut applier = self.applier(view, &db);
        if view.closed.get().is_some() {
            return;
        }
        let staged = applier.write_pending(moved.keys).and_then(|()| applier.finish());
        let staged = staged.map_err(|error| error.to_string());
        if let Err(reason) = staged.and_then(|staged| self.make_durable(view, staged, moved.local)) {
            return view.close(reason);
        }
        if !is_all {
            committer.queue().local_due = Some(Instant::now());
        }
    }

    /// Writes the grace after the start into some expiries.
    fn grant_grace(&mut self, view: &View) {
        let Some(start) = self.next_grace.take() else { return view.expiries.grace.grant() };
        let Ok(db) = view.tree.db() else { return };
        let mut applier = self.applier(view, &db);
        let staged = view.expiries.page(&start, GRACE_STEP).and_then(|expiries| {
            expiries.iter().try_for_each(|(id, _)| applier.grant_grace(id))?;
            Ok(expiries)
        });
        let written = staged.map_err(|error| error.to_string()).and_then(|expiries| {
            let staged = applier.finish().map_err(|error| error.to_string())?;
            self.make_durable(view, staged, Pairs::new())?;
            Ok(expiries)
        });
        match written {
            Ok(expiries) if expiries.len() == GRACE_STEP => {
                self.next_grace = expiries.last().map(|(_, last)| layout::key_after(last));
            }
            Ok(_) => view.expiries.grace.grant(),
            Err(reason) => view.close(reason),
        }
    }
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
