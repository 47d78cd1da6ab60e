//! `Appender`: appends commits to a log shared by several stores, and installs the commits of the others.
//!
//! - A commit in the log is final. If it can't be written to this store afterwards, the store closes, but the callers
//!   still get the decided outcomes.
//! - A refusal is an answer only at the end of the log: on a store that lags behind, the state may have changed.
//! - Without an answer of the log, the same commit is appended again until the outcome is known. Its callers get
//!   [`Error::OutcomeUnknown`], and nothing else is written meanwhile.

use std::{
    collections::BTreeMap,
    iter,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{
    commit_log::{Appended, Arrived, Away, Broken, Commit, CommitId, CommitLog, Progress},
    digests::{self, Digests},
    effects::Staged,
    install::{Folded, InstallError, MAX_COMMIT_BYTES, stamped},
    overlay::Pairs,
    snapshot::Snapshot,
    view::View,
    work::{Decided, Work},
    write::{Applied, Transaction},
};
use crate::{Error, Result};

/// Maximum number of commits read from the log at a time.
const READ_AT_ONCE: usize = 64;

/// Pause before commits are read again.
const CATCH_UP_PAUSE: Duration = Duration::from_millis(5);

/// Connection of a store to the shared log. Only a single thread may append and follow at a time.
pub(super) struct Appender {
    log: Arc<dyn CommitLog>,
    view: Arc<View>,
    work: Arc<Mutex<Work>>,
    run: u64,
    count: AtomicU64,
    /// Commit with an unknown outcome.
    undecided: Mutex<Option<Arc<Commit>>>,
    /// True if the store may lack commits, or if an outcome is unknown.
    is_behind: AtomicBool,
}

/// Progress of an append.
enum Fate<T> {
    NotSent,
    /// The commit may be in the log.
    Sent,
    /// The decision is final. Its commit, if any, is in the log.
    Decided(T),
}

impl Appender {
    pub fn new(log: Arc<dyn CommitLog>, view: Arc<View>, work: Arc<Mutex<Work>>) -> Appender {
        let (run, _) = Uuid::new_v4().as_u64_pair();
        let (count, undecided, is_behind) = Default::default();
        Appender { log, view, work, run, count, undecided, is_behind }
    }

    /// Registers `wake`, to be called when other stores may have committed, or when another store waits for its turn.
    pub fn subscribe(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.log.subscribe(Box::new(wake));
    }

    /// Shortens all waits for the log, since the store is about to be closed.
    pub fn hurry(&self) {
        self.log.hurry();
    }

    /// Leaves the log.
    pub fn close(&self) {
        self.log.close();
    }

    /// Returns true if the store has failed to follow the log since the last call.
    pub fn take_behind(&self) -> bool {
        self.is_behind.swap(false, Ordering::Relaxed)
    }

    /// Commits transactions together with pending uses and revocations of keys, without syncing the commit. Returns an
    /// outcome for each transaction. `has_more` returns true if other transactions are waiting.
    pub fn commit(&self, mut transactions: Vec<Transaction>, has_more: &dyn Fn() -> bool) -> Vec<Result<Applied>> {
        let view = &*self.view;
        if !transactions.is_empty()
            && let Err(error) = self.wait_to_decide()
        {
            return transactions.iter().map(|_| Err(again(&error, false))).collect();
        }
        let is_binding = transactions.iter().any(|transaction| !transaction.dry_run);
        let mut is_written: Vec<bool> = Vec::new();
        let decided = self.append(is_binding, has_more, |work| {
            let decision = work.decide(view, transactions.iter().cloned()).map_err(|error| match error {
                Error::ShuttingDown => error,
                error => self.closed_by(error.to_string()),
            })?;
            is_written = decision.outcomes.iter().map(Result::is_ok).collect();
            Ok(Decided { outcome: (decision.outcomes, decision.keys), staged: decision.staged })
        });
        match decided {
            Ok((outcomes, keys)) => {
                view.local.forget_keys(&keys);
                outcomes
            }
            Err(Error::LimitExceeded { .. }) if transactions.len() > 1 => {
                let rest = transactions.split_off(transactions.len() / 2);
                let mut outcomes = self.commit(transactions, has_more);
                outcomes.extend(self.commit(rest, has_more));
                outcomes
            }
            Err(error) => {
                let are_written = is_written.into_iter().chain(iter::repeat(true));
                let each = transactions.iter().zip(are_written);
                each.map(|(transaction, is_written)| Err(again(&error, is_written && !transaction.dry_run))).collect()
            }
        }
    }

    /// Waits until transactions may be decided.
    fn wait_to_decide(&self) -> Result<()> {
        loop {
            if self.log.wait_to_decide() {
                return Ok(());
            }
            if !self.log.owes_grace() {
                self.view.check_open_to_writes()?;
                return Err(Error::LogUnavailable);
            }
            self.begin_grace()?;
        }
    }

    /// Begins an extension of all expiries in all stores with the same log.
    pub fn begin_grace(&self) -> Result<()> {
        self.append_decided(&|| false, |work| work.begin_grace(&self.view))?;
        self.log.note_grace();
        Ok(())
    }

    /// Makes a decision durable: appends its commit to the log, and syncs it. For decisions other than those on
    /// transactions.
    pub fn append_decided<T>(
        &self,
        has_more: &dyn Fn() -> bool,
        decide: impl FnMut(&mut Work) -> Result<Decided<T>>,
    ) -> Result<T> {
        let outcome = self.append(false, has_more, decide)?;
        self.sync();
        Ok(outcome)
    }

    /// Repeats deciding and appending until the log contains the commit, or there is nothing to write. `is_binding` is
    /// true if the outcome is an answer even if there is nothing to write.
    fn append<T>(
        &self,
        is_binding: bool,
        has_more: &dyn Fn() -> bool,
        decide: impl FnMut(&mut Work) -> Result<Decided<T>>,
    ) -> Result<T> {
        let mut fate = Fate::NotSent;
        let appended = catch_unwind(AssertUnwindSafe(|| self.append_to(is_binding, has_more, &mut fate, decide)));
        let appended = appended.unwrap_or_else(|_| Err(self.closed_by("a commit panicked".to_owned())));
        match (fate, appended) {
            (Fate::Decided(outcome), _) => Ok(outcome),
            (Fate::NotSent, Err(error)) => Err(error),
            (Fate::NotSent, Ok(())) | (Fate::Sent, _) => Err(Error::OutcomeUnknown),
        }
    }

    fn append_to<T>(
        &self,
        is_binding: bool,
        has_more: &dyn Fn() -> bool,
        fate: &mut Fate<T>,
        mut decide: impl FnMut(&mut Work) -> Result<Decided<T>>,
    ) -> Result<()> {
        let log = &*self.log;
        loop {
            if !self.follow()? {
                return Err(Error::LogUnavailable);
            }
            let number = self.number();
            if !log.wait_for_turn(number) {
                continue;
            }
            if let Some(ahead) = log.clock_error() {
                return Err(Error::ClockSkew { ahead });
            }
            let Decided { outcome, staged } = decide(&mut self.work())?;
            let Some(staged) = staged else {
                if is_binding && log.end().map_err(|Away| Error::LogUnavailable)? > number {
                    continue;
                }
                *fate = Fate::Decided(outcome);
                return Ok(());
            };
            check_size(&staged.sealed.pairs)?;
            let commit = self.commit_of(&staged, has_more());
            *fate = Fate::Sent;
            match self.send(&commit) {
                Appended::Done(stamp) => {
                    *fate = Fate::Decided(outcome);
                    let (local, asks) = (stamped(stamp), digests::are_asked_for(&staged.sealed.pairs));
                    let mut work = self.work();
                    let shown = work.show(&self.view, staged, &local);
                    if asks && shown.is_ok() {
                        self.compute_digests(&work);
                    }
                    drop(work);
                    shown.map_err(|reason| self.closed_by(reason))?;
                    self.log.report(Progress { number: commit.number, synced: number });
                    return Ok(());
                }
                Appended::Taken => *fate = Fate::NotSent,
                Appended::Unknown => {
                    self.view.appends.count_unknown();
                    *self.undecided() = Some(commit);
                    self.is_behind.store(true, Ordering::Relaxed);
                    return Err(Error::OutcomeUnknown);
                }
                Appended::Away => {
                    *fate = Fate::NotSent;
                    return Err(Error::LogUnavailable);
                }
                Appended::Full => {
                    *fate = Fate::NotSent;
                    return Err(Error::LogFull);
                }
                Appended::Lost(Broken(reason)) => return Err(self.closed_by(reason)),
            }
        }
    }

    /// Appends a commit to the log, and counts the outcome.
    fn send(&self, commit: &Arc<Commit>) -> Appended {
        let started = Instant::now();
        let appended = self.log.append(commit);
        self.view.appends.count(&appended, started.elapsed());
        appended
    }

    /// Installs commits that have arrived, and tries to determine the outcome of a commit if it is unknown. Returns
    /// false if it remains unknown.
    pub fn follow(&self) -> Result<bool> {
        loop {
            self.view.check_open_to_writes()?;
            self.install_arrived()?;
            let undecided = self.undecided().clone();
            let Some(commit) = undecided else { return Ok(true) };
            if self.number() >= commit.number {
                *self.undecided() = None;
                continue;
            }
            match self.send(&commit) {
                Appended::Done(stamp) => self.install_all([Arrived { pairs: commit.pairs.clone(), stamp }])?,
                Appended::Taken => {}
                Appended::Unknown | Appended::Away | Appended::Full => {
                    self.is_behind.store(true, Ordering::Relaxed);
                    return Ok(false);
                }
                Appended::Lost(Broken(reason)) => return Err(self.closed_by(reason)),
            }
        }
    }

    /// Installs all commits in the log. Waits for at most `patience` while the log can't be reached.
    pub fn catch_up(&self, patience: Duration) -> Result<()> {
        let mut reached = Instant::now();
        loop {
            let number = self.number();
            let is_decided = self.follow()?;
            // An end at a commit that isn't installed yet may not be the last one: not all may have arrived.
            if is_decided && self.log.end().is_ok_and(|end| end <= self.number()) {
                return Ok(());
            }
            if self.number() > number {
                reached = Instant::now();
            } else if reached.elapsed() >= patience {
                return Err(Error::LogUnavailable);
            }
            thread::sleep(CATCH_UP_PAUSE);
        }
    }

    /// Passes the turn to another store if others wait for it and this store has nothing to write.
    pub fn pass_turn(&self, has_more: &dyn Fn() -> bool) -> Result<()> {
        if !self.log.is_asked() || has_more() {
            return Ok(());
        }
        let nothing = |work: &mut Work| Ok(Decided { outcome: (), staged: Some(work.nothing(&self.view)?) });
        self.append_decided(has_more, nothing)
    }

    fn install_arrived(&self) -> Result<()> {
        loop {
            let arrived = self.log.arrived(self.number(), READ_AT_ONCE);
            let commits = arrived.map_err(|Broken(reason)| self.closed_by(reason))?;
            if commits.is_empty() {
                return Ok(());
            }
            self.install_all(commits)?;
        }
    }

    fn install_all(&self, commits: impl IntoIterator<Item = Arrived>) -> Result<()> {
        for commits in Folded::fold(commits) {
            let (asks, mut work) = (commits.asks_for_digests(), self.work());
            work.install(&self.view, commits).map_err(|error| match error {
                // It is installed as soon as there is space.
                InstallError::Store(error @ (Error::DiskFull { .. } | Error::ShuttingDown)) => error,
                error => self.closed_by(error.to_string()),
            })?;
            if asks {
                self.compute_digests(&work);
            }
            let number = work.state.commit;
            drop(work);
            self.log.report(Progress { number, synced: number });
        }
        Ok(())
    }

    /// Computes the digests of the store in its present state, on a thread of their own. Commits continue meanwhile.
    fn compute_digests(&self, work: &Work) {
        let number = work.state.commit;
        let (log, snapshot) = (self.log.clone(), Snapshot::begin_giving_way(self.view.clone(), &work.state));
        let compute = move || {
            // sled panics where it finds its own invariants broken.
            let computed = catch_unwind(AssertUnwindSafe(|| Digests::of(number, snapshot)));
            let panicked = |_| Digests {
                number,
                families: BTreeMap::new(),
                problem: Some("reading the data directory has panicked".to_owned()),
            };
            log.report_digests(computed.unwrap_or_else(panicked));
        };
        if let Err(error) = thread::Builder::new().name("agentdex-digests".into()).spawn(compute) {
            let error = Error::Io { doing: "starting a thread".to_owned(), source: error };
            self.log.report_digests(Digests::of(number, Err::<Snapshot, _>(error)));
        }
    }

    /// Syncs the last commit, unless it couldn't be written to this store.
    pub fn sync(&self) {
        let (synced, number) = {
            let mut work = self.work();
            (work.sync_shown(&self.view), work.state.commit)
        };
        match synced {
            Ok(()) => self.log.report(Progress { number, synced: number }),
            Err(reason) => self.view.close(reason),
        }
    }

    /// Returns the log.
    pub fn log(&self) -> &dyn CommitLog {
        &*self.log
    }

    fn commit_of(&self, staged: &Staged, has_more: bool) -> Arc<Commit> {
        let id = CommitId { run: self.run, count: self.count.fetch_add(1, Ordering::Relaxed) };
        let (number, pairs) = (staged.sealed.state.commit, staged.sealed.pairs.clone());
        Arc::new(Commit { number, id, pairs, has_more })
    }

    fn undecided(&self) -> MutexGuard<'_, Option<Arc<Commit>>> {
        self.undecided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the last commit of the store.
    fn number(&self) -> u64 {
        self.work().state.commit
    }

    /// Closes the store to writes, and returns the error for writers.
    fn closed_by(&self, reason: String) -> Error {
        self.view.close(reason.clone());
        Error::WritesClosed { reason }
    }
}

fn check_size(pairs: &Pairs) -> Result<()> {
    let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, |value| value.len())).sum();
    if bytes > MAX_COMMIT_BYTES {
        let (what, maximum) = ("size of a commit in bytes", MAX_COMMIT_BYTES as u64);
        return Err(Error::LimitExceeded { what, maximum });
    }
    Ok(())
}

/// Returns the error of a round for one of its transactions. `is_sent` is true if the commit contains it.
fn again(error: &Error, is_sent: bool) -> Error {
    match error {
        Error::OutcomeUnknown if is_sent => Error::OutcomeUnknown,
        Error::OutcomeUnknown => Error::LogUnavailable,
        Error::LogUnavailable => Error::LogUnavailable,
        Error::LogFull => Error::LogFull,
        Error::ClockSkew { ahead } => Error::ClockSkew { ahead: *ahead },
        Error::ShuttingDown => Error::ShuttingDown,
        Error::LimitExceeded { what, maximum } => Error::LimitExceeded { what, maximum: *maximum },
        Error::DiskFull { path, free, needed } => Error::DiskFull { path: path.clone(), free: *free, needed: *needed },
        Error::WritesClosed { reason } => Error::WritesClosed { reason: reason.clone() },
        error => Error::WritesClosed { reason: error.to_string() },
    }
}
