//! `Logged`: how a committer appends to a log that several stores share.
//!
//! - What the log has is committed. Whatever happens on this store afterwards, the callers get the outcomes that were
//!   decided; if the commit can't be written here, the store closes.
//! - A refusal is an answer only at the end of the log: on a store that lags behind, the state may have changed.
//! - Without an answer of the log, the same commit is appended again until the outcome is known. Its callers are told
//!   that the outcome is unknown, and nothing else is written meanwhile.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use uuid::Uuid;

use super::{Appended, Away, Commit, CommitId, CommitLog, SharedLog};
use crate::{
    Error, Result,
    store::{
        commit::Committer,
        effects::Staged,
        install::{Folded, InstallError, MAX_COMMIT_BYTES},
        overlay::Pairs,
        work::{Decided, Unsynced, Work},
        write::{Applied, Transaction},
    },
};

/// Maximum number of commits read from the log at a time.
const READ_AT_ONCE: usize = 64;

/// The log that a store appends to, and its commit whose outcome is unknown.
pub(in crate::store) struct Logged {
    pub log: Arc<dyn CommitLog>,
    run: u64,
    count: AtomicU64,
    undecided: Mutex<Option<Arc<Commit>>>,
}

impl Logged {
    pub fn new(SharedLog(log): SharedLog) -> Logged {
        let (run, _) = Uuid::new_v4().as_u64_pair();
        Logged { log, run, count: AtomicU64::new(0), undecided: Mutex::default() }
    }

    fn commit(&self, staged: &Staged, has_more: bool) -> Arc<Commit> {
        let id = CommitId { run: self.run, count: self.count.fetch_add(1, Ordering::Relaxed) };
        let (number, pairs) = (staged.sealed.state.commit, staged.sealed.pairs.clone());
        Arc::new(Commit { number, id, pairs, has_more })
    }

    fn undecided(&self) -> MutexGuard<'_, Option<Arc<Commit>>> {
        self.undecided.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far an append has come.
enum Fate<T> {
    NotSent,
    /// Nobody knows whether the log has the commit.
    Sent,
    /// The decision holds: the log has its commit, or there is none.
    Decided(T, Option<Unsynced>),
}

impl Committer {
    /// Commits transactions, and pending uses and revocations of keys. Returns an outcome for each transaction, and the
    /// commit, which isn't synced yet. The caller has set `is_led`.
    pub(in crate::store) fn commit_to_log(
        &self,
        logged: &Logged,
        mut transactions: Vec<Transaction>,
    ) -> (Vec<Result<Applied>>, Option<Unsynced>) {
        let view = &*self.view;
        let is_binding = transactions.iter().any(|transaction| !transaction.dry_run);
        let decided = self.append(logged, is_binding, |work| {
            let decision = work.decide(view, transactions.iter().cloned()).map_err(|error| match error {
                Error::ShuttingDown => error,
                error => self.closed_by(error.to_string()),
            })?;
            Ok(Decided { outcome: (decision.outcomes, decision.keys), staged: decision.staged })
        });
        match decided {
            Ok(((outcomes, keys), unsynced)) => {
                view.local.forget_keys(&keys);
                (outcomes, unsynced)
            }
            Err(Error::LimitExceeded { .. }) if transactions.len() > 1 => {
                let rest = transactions.split_off(transactions.len() / 2);
                let (mut outcomes, unsynced) = self.commit_to_log(logged, transactions);
                self.sync(unsynced);
                let (others, unsynced) = self.commit_to_log(logged, rest);
                outcomes.extend(others);
                (outcomes, unsynced)
            }
            Err(error) => {
                let others = transactions.iter().skip(1).map(|_| Err(again(&error)));
                let mut outcomes: Vec<_> = others.collect();
                outcomes.push(Err(error));
                outcomes.truncate(transactions.len());
                (outcomes, None)
            }
        }
    }

    /// Decides, appends, and syncs. The caller has set `is_led`.
    pub(in crate::store) fn append_decided<T>(
        &self,
        logged: &Logged,
        decide: impl FnMut(&mut Work) -> Result<Decided<T>>,
    ) -> Result<T> {
        let (outcome, unsynced) = self.append(logged, false, decide)?;
        self.sync(unsynced);
        Ok(outcome)
    }

    /// Decides and appends, until the log has the commit or there is nothing to write. `is_binding` is true if the
    /// outcome is an answer also if there is nothing to write.
    fn append<T>(
        &self,
        logged: &Logged,
        is_binding: bool,
        decide: impl FnMut(&mut Work) -> Result<Decided<T>>,
    ) -> Result<(T, Option<Unsynced>)> {
        let mut fate = Fate::NotSent;
        let appended = catch_unwind(AssertUnwindSafe(|| self.append_to(logged, is_binding, &mut fate, decide)));
        let appended = appended.unwrap_or_else(|_| Err(self.closed_by("a commit panicked".to_owned())));
        match (fate, appended) {
            (Fate::Decided(outcome, unsynced), _) => Ok((outcome, unsynced)),
            (Fate::NotSent, Err(error)) => Err(error),
            (Fate::NotSent, Ok(())) | (Fate::Sent, _) => Err(Error::OutcomeUnknown),
        }
    }

    fn append_to<T>(
        &self,
        logged: &Logged,
        is_binding: bool,
        fate: &mut Fate<T>,
        mut decide: impl FnMut(&mut Work) -> Result<Decided<T>>,
    ) -> Result<()> {
        let log = &*logged.log;
        loop {
            if !self.follow(logged)? {
                return Err(Error::LogUnavailable);
            }
            let number = self.number();
            if !log.wait_for_turn(number) {
                continue;
            }
            let Decided { outcome, staged } = decide(&mut self.work())?;
            let Some(staged) = staged else {
                if is_binding && log.end().map_err(|Away| Error::LogUnavailable)? > number {
                    continue;
                }
                *fate = Fate::Decided(outcome, None);
                return Ok(());
            };
            check_size(&staged.sealed.pairs)?;
            let commit = logged.commit(&staged, !self.queue().is_empty());
            *fate = Fate::Sent;
            match log.append(&commit) {
                Appended::Done => {
                    *fate = Fate::Decided(outcome, Some(Unsynced::of(&staged)));
                    return self.work().show(&self.view, staged).map_err(|reason| self.closed_by(reason));
                }
                Appended::Taken => *fate = Fate::NotSent,
                Appended::Unknown => {
                    *logged.undecided() = Some(commit);
                    self.follow_later();
                    return Err(Error::OutcomeUnknown);
                }
                Appended::Lost => return Err(self.closed_by(lost(number))),
            }
        }
    }

    /// Installs the commits that have arrived, and finds out about a commit whose outcome was unknown. Returns false if
    /// it still is. The caller has set `is_led`.
    pub(in crate::store) fn follow(&self, logged: &Logged) -> Result<bool> {
        loop {
            self.view.check_open_to_writes()?;
            self.install_arrived(logged)?;
            let undecided = logged.undecided().clone();
            let Some(commit) = undecided else { return Ok(true) };
            if self.number() >= commit.number {
                *logged.undecided() = None;
                continue;
            }
            match logged.log.append(&commit) {
                Appended::Done => self.install_all([commit.pairs.clone()])?,
                Appended::Taken => {}
                Appended::Unknown => {
                    self.follow_later();
                    return Ok(false);
                }
                Appended::Lost => return Err(self.closed_by(lost(commit.number - 1))),
            }
        }
    }

    /// Passes the turn on, if others wait for it and nothing is to be written. The caller has set `is_led`.
    pub(in crate::store) fn pass_turn(&self, logged: &Logged) -> Result<()> {
        if !logged.log.is_asked() || !self.queue().is_empty() {
            return Ok(());
        }
        let nothing = |work: &mut Work| Ok(Decided { outcome: (), staged: Some(work.nothing(&self.view)?) });
        self.append_decided(logged, nothing)
    }

    fn install_arrived(&self, logged: &Logged) -> Result<()> {
        loop {
            let commits = logged.log.arrived(self.number(), READ_AT_ONCE);
            if commits.is_empty() {
                return Ok(());
            }
            self.install_all(commits)?;
        }
    }

    fn install_all(&self, commits: impl IntoIterator<Item = Pairs>) -> Result<()> {
        for commits in Folded::fold(commits) {
            self.install(commits).map_err(|error| match error {
                // It is installed as soon as there is space.
                InstallError::Store(error @ (Error::DiskFull { .. } | Error::ShuttingDown)) => error,
                error => self.closed_by(error.to_string()),
            })?;
        }
        Ok(())
    }

    /// Closes the store to writes, and returns the error of whoever wants to write.
    fn closed_by(&self, reason: String) -> Error {
        self.view.close(reason.clone());
        Error::WritesClosed { reason }
    }
}

fn lost(last: u64) -> String {
    format!("the log that stores share doesn't continue at commit {last}, the last one of this store")
}

fn check_size(pairs: &Pairs) -> Result<()> {
    let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, |value| value.len())).sum();
    if bytes > MAX_COMMIT_BYTES {
        let (what, maximum) = ("size of all that is written at once in bytes", MAX_COMMIT_BYTES as u64);
        return Err(Error::LimitExceeded { what, maximum });
    }
    Ok(())
}

/// Returns an error again, for another transaction of the same round.
fn again(error: &Error) -> Error {
    match error {
        Error::OutcomeUnknown => Error::OutcomeUnknown,
        Error::LogUnavailable => Error::LogUnavailable,
        Error::ShuttingDown => Error::ShuttingDown,
        Error::DiskFull { path, free, needed } => Error::DiskFull { path: path.clone(), free: *free, needed: *needed },
        Error::WritesClosed { reason } => Error::WritesClosed { reason: reason.clone() },
        error => Error::WritesClosed { reason: error.to_string() },
    }
}
