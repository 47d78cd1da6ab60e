//! `Work`: decides commits, writes and syncs them, and publishes them to readers.

use std::sync::Arc;

use sled::IVec;

use super::{
    applier::{Applier, Command, Moment},
    clock::LogClock,
    database::Database,
    effects::Staged,
    install::{Folded, InstallError},
    layout,
    named_write::NamedWrite,
    overlay::{Overlay, Pairs, Sealed, batch_of},
    snapshot,
    sync::DataFiles,
    tree::reading,
    value::{self, State},
    view::View,
    witness::Witness,
    write::{Applied, Transaction},
};
use crate::{Error, Result, change::Timestamp};

/// Number of expiries extended at a time, which bounds the delay of writes.
const GRACE_STEP: usize = 256;

/// State of the committer, accessed by a single thread at a time.
pub(super) struct Work {
    pub files: DataFiles,
    pub witness: Arc<Witness>,
    pub state: State,
    pub time: Arc<LogClock>,
    /// Moment of the current extension of expiries, and the first expiry that may still need it.
    pub next_grace: (Option<Timestamp>, IVec),
    /// True if this is the last chance to write pending keys.
    pub is_ending: bool,
    /// Unsynced commit, already visible to readers. It is synced before anything else is written, so that a power
    /// failure leaves a single incomplete commit at most.
    pub shown: Option<Unsynced>,
}

/// Decision on transactions.
pub(super) struct Decision {
    /// Outcome of each transaction.
    pub outcomes: Vec<Result<Applied>>,
    /// Commit of the successful transactions, if there is anything to write.
    pub staged: Option<Staged>,
    /// Key uses and revocations to be written with the commit.
    pub keys: Vec<NamedWrite>,
    /// True if there is disk space for node-local pairs.
    pub has_room: bool,
}

/// A decision about something other than transactions.
pub(super) struct Decided<T> {
    pub outcome: T,
    /// Commit, if there is anything to write.
    pub staged: Option<Staged>,
}

/// An unsynced commit.
pub(super) struct Unsynced {
    state: State,
    revokes: bool,
}

impl Unsynced {
    fn of(staged: &Staged) -> Unsynced {
        Unsynced { state: staged.sealed.state, revokes: staged.revokes }
    }
}

/// Returns the reason for closing a store whose witness can't be written.
pub(super) fn witnessing(witness: &Witness, error: &std::io::Error) -> String {
    format!("writing {}: {error}", witness.path().display())
}

impl Work {
    /// Commits transactions to this store alone. Returns an outcome for each of them.
    pub fn commit(&mut self, view: &View, transactions: Vec<Transaction>) -> Vec<Result<Applied>> {
        let refused = |reason: &str| Err(Error::WritesClosed { reason: reason.to_owned() });
        if let Some(reason) = view.closed.get() {
            return transactions.iter().map(|_| refused(reason)).collect();
        }
        let count = transactions.len();
        let decided = self.decide(view, transactions);
        if matches!(decided, Err(Error::ShuttingDown)) {
            return (0..count).map(|_| Err(Error::ShuttingDown)).collect();
        }
        let committed = decided.map_err(|error| error.to_string()).and_then(|decision| {
            let Decision { outcomes, staged, keys, has_room } = decision;
            let local = if has_room { view.local.take_moved().0 } else { Pairs::new() };
            self.make_durable(view, staged, local)?;
            view.local.forget_keys(&keys);
            Ok(outcomes)
        });
        committed.unwrap_or_else(|reason| {
            view.close(reason.clone());
            (0..count).map(|_| refused(&reason)).collect()
        })
    }

    /// Decides transactions based on the current state, together with the pending uses and revocations of keys.
    pub fn decide(&mut self, view: &View, transactions: impl IntoIterator<Item = Transaction>) -> Result<Decision> {
        let db = view.tree.db()?;
        let mut room = view.space.room();
        let mut applier = self.applier(view, &db);
        let moment = applier.moment;
        // Failures too are reported only once all is durable: they may rest on writes of the same round.
        let apply = |transaction: Transaction| {
            let bytes = transaction.writes.iter().map(|write| write.bytes() as u64).sum();
            let bytes = if transaction.dry_run { 0 } else { bytes };
            room.take(bytes, transaction.dry_run || transaction.takes_away())?;
            applier.apply(Command { transaction, moment })
        };
        let outcomes: Vec<_> = transactions.into_iter().map(apply).collect();
        let has_room = room.take(0, false).is_ok();
        let keys = match has_room || self.is_ending || room.take(0, true).is_ok() {
            true => view.local.pending_keys(has_room),
            false => Vec::new(),
        };
        applier.write_pending(keys.clone())?;
        Ok(Decision { outcomes, staged: applier.finish()?, keys, has_room })
    }

    fn applier<'a>(&mut self, view: &'a View, db: &'a Database) -> Applier<'a> {
        let clock = Timestamp::now();
        let moment = Moment { at: self.time.advance(clock), clock, grace: view.expiries.grace.pending() };
        Applier::new(view, db, self.state, moment)
    }

    /// Decides a reset of the time of the log to that of the clock. The outcome is the previous and the new time.
    pub fn accept_clock(&mut self, view: &View) -> Result<Decided<(Timestamp, Timestamp)>> {
        let (before, now) = (self.time.at(), Timestamp::now());
        if before <= now {
            return Ok(Decided { outcome: (now, now), staged: None });
        }
        let (key, set) = LogClock::set_after(self.state.last, now);
        let staged = self.stage(view, [(key, Some(set))])?;
        Ok(Decided { outcome: (before, now), staged: Some(staged) })
    }

    /// Decides an empty commit.
    pub fn nothing(&self, view: &View) -> Result<Staged> {
        self.stage(view, [])
    }

    /// Decides the next step of retention, which only drops data. The outcome is true if there is anything to drop.
    pub fn retain(&mut self, view: &View, now: Timestamp) -> Result<Decided<bool>> {
        let (db, options) = (view.tree.db()?, &view.options);
        let mut sealed = view.log.trim_step(&self.state, &view.past, now, options)?;
        if sealed.is_none() {
            sealed = view.audit.trim_step(&self.state, &view.tree, now, options)?;
        }
        let staged = match sealed {
            Some(sealed) => Some(Staged::of(view, &db, sealed)?),
            None => self.retain_namespaces(view)?,
        };
        Ok(Decided { outcome: staged.is_some(), staged })
    }

    /// Returns a commit that removes memberships ended before the beginning of the log, and empty namespaces given up
    /// before it. Returns `None` if there is nothing to remove.
    fn retain_namespaces(&self, view: &View) -> Result<Option<Staged>> {
        let oldest = view.log.start().oldest;
        let mut forgotten = view.namespaces.given_up_before(oldest);
        forgotten.retain(|number| !view.restricted.has_namespace(*number));
        let mut shortened = view.namespaces.shortened(oldest);
        shortened.retain(|(number, _)| !forgotten.contains(number));
        if forgotten.is_empty() && shortened.is_empty() {
            return Ok(None);
        }
        let forgotten = forgotten.iter().map(|number| (layout::namespace_key(*number), None));
        let encoded = shortened.iter().map(|(number, record)| (layout::namespace_key(*number), Some(record.encode())));
        self.stage(view, forgotten.chain(encoded)).map(Some)
    }

    fn stage(&self, view: &View, pairs: impl IntoIterator<Item = (IVec, Option<IVec>)>) -> Result<Staged> {
        let db = view.tree.db()?;
        let mut overlay = Overlay::new(&db);
        pairs.into_iter().for_each(|(key, value)| overlay.set(key, value));
        Staged::of(view, &db, overlay.seal(self.state)?)
    }

    /// Decides to begin an extension of all expiries in all stores with the same log.
    pub fn begin_grace(&mut self, view: &View) -> Result<Decided<()>> {
        if view.tree.db()?.scan_prefix(layout::EXPIRIES).next().is_none() {
            return Ok(Decided { outcome: (), staged: None });
        }
        let staged = self.stage(view, [(layout::GRACE_KEY.into(), Some(value::encode_moment(Timestamp::now())))])?;
        Ok(Decided { outcome: (), staged: Some(staged) })
    }

    /// Decides a commit after which all stores with the same log compute their digests. The outcome is its number. Fails
    /// while this store is being read: it couldn't compute any.
    pub fn ask_for_digests(&self, view: &View) -> Result<Decided<u64>> {
        if view.saving.is_active() {
            return Err(snapshot::busy());
        }
        let now = value::encode_moment(Timestamp::now());
        let staged = self.stage(view, [(layout::DIGESTS_KEY.into(), Some(now))])?;
        Ok(Decided { outcome: staged.sealed.state.commit, staged: Some(staged) })
    }

    /// Decides to extend some expiries. The outcome is the key at which to continue, or `None`
    /// at the end. The last step also ends an extension of several stores.
    pub fn extend_expiries(&mut self, view: &View) -> Result<Decided<Option<IVec>>> {
        let since = view.expiries.grace.pending();
        if since.is_none() {
            return Ok(Decided { outcome: None, staged: None });
        }
        if self.next_grace.0 != since {
            self.next_grace = (since, IVec::from(layout::EXPIRIES));
        }
        let db = view.tree.db()?;
        let is_recorded = db.get(layout::GRACE_KEY).map_err(reading)?.is_some();
        let mut applier = self.applier(view, &db);
        let expiries = view.expiries.page(&self.next_grace.1, GRACE_STEP)?;
        expiries.iter().try_for_each(|(id, _)| applier.grant_grace(id))?;
        let next = expiries.last().filter(|_| expiries.len() == GRACE_STEP).map(|(_, last)| layout::key_after(last));
        if next.is_none() && is_recorded {
            applier.end_grace();
        }
        let staged = applier.finish()?;
        Ok(Decided { outcome: next, staged })
    }

    /// Syncs pending data and records it in the witness.
    pub fn close(&mut self, view: &View) -> std::result::Result<(), String> {
        if view.closed.get().is_some() {
            return Ok(());
        }
        let Ok(db) = view.tree.db() else { return Ok(()) };
        db.flush().map_err(|error| error.to_string())?;
        self.files.sync().map_err(|error| error.to_string())?;
        self.witness.close(view.slot(&self.state)).map_err(|error| witnessing(&self.witness, &error))
    }

    /// Writes, syncs, and publishes a commit and node-local pairs, either of which may be missing.
    pub fn make_durable(
        &mut self,
        view: &View,
        mut staged: Option<Staged>,
        local: Pairs,
    ) -> std::result::Result<(), String> {
        if staged.is_none() && local.is_empty() {
            return Ok(());
        }
        self.write(view, staged.as_mut(), &local)?;
        self.sync(view, staged.as_ref().map(Unsynced::of))?;
        if let Some(staged) = staged {
            self.publish(view, staged);
        }
        Ok(())
    }

    /// Writes and publishes a commit, together with node-local pairs. It is synced by [`Work::sync_shown`], or with the
    /// next write.
    pub fn show(&mut self, view: &View, mut staged: Staged, local: &Pairs) -> std::result::Result<(), String> {
        self.write(view, Some(&mut staged), local)?;
        self.shown = Some(Unsynced::of(&staged));
        self.publish(view, staged);
        Ok(())
    }

    /// Writes a commit and node-local pairs to the tree, as one batch. Readers see the former values until the commit is
    /// published.
    fn write(&mut self, view: &View, staged: Option<&mut Staged>, local: &Pairs) -> std::result::Result<(), String> {
        self.sync_shown(view)?;
        #[cfg(test)]
        view.write_fault.occur()?;
        let db = view.tree.db().map_err(|error| error.to_string())?;
        let mut replicated = &Pairs::new();
        if let Some(Staged { sealed, effects, .. }) = staged {
            view.tree.hide(std::mem::take(&mut sealed.before));
            effects.log_start.into_iter().for_each(|start| view.log.begin_at(start));
            replicated = &sealed.pairs;
        }
        let pairs = replicated.iter().chain(local);
        let keys = pairs.clone().map(|(key, _)| key);
        view.saving.save(&db, keys).map_err(|error| format!("saving data for a backup failed: {error}"))?;
        db.apply_batch(batch_of(pairs.cloned())).map_err(|error| format!("applying a batch failed: {error}"))
    }

    /// Syncs the last commit that readers see, unless it is synced already.
    pub fn sync_shown(&mut self, view: &View) -> std::result::Result<(), String> {
        match self.shown.take() {
            Some(shown) => self.sync(view, Some(shown)),
            None => Ok(()),
        }
    }

    /// Makes all previous writes durable, and records the commit in the witness.
    fn sync(&mut self, view: &View, unsynced: Option<Unsynced>) -> std::result::Result<(), String> {
        if let Some(hook) = &view.options.before_flush {
            hook.call().map_err(|error| error.to_string())?;
        }
        let db = view.tree.db().map_err(|error| error.to_string())?;
        db.flush().map_err(|error| error.to_string())?;
        self.files.sync().map_err(|error| error.to_string())?;
        let Some(Unsynced { state, revokes }) = unsynced else { return Ok(()) };
        self.witness.note(view.slot(&state));
        if revokes {
            self.witness.write().map_err(|error| witnessing(&self.witness, &error))?;
        }
        Ok(())
    }

    /// Makes a written commit visible to readers.
    fn publish(&mut self, view: &View, Staged { sealed, effects, .. }: Staged) {
        #[cfg(any(test, debug_assertions))]
        view.notify_observers(&sealed.pairs, sealed.state.commit - self.state.commit);
        view.listeners.tell(&sealed.pairs);
        self.state = sealed.state;
        effects.publish(view, sealed.state, &self.time);
    }

    /// Writes, syncs, and publishes commits that another store has decided.
    pub fn install(&mut self, view: &View, commits: Folded) -> std::result::Result<(), InstallError> {
        view.check_open_to_writes()?;
        view.space.room().take(commits.bytes() as u64, true)?;
        let (db, stamped) = (view.tree.db()?, commits.stamped());
        let sealed = Sealed::of_pairs(&db, &self.state, commits)?;
        let staged = Staged::of(view, &db, sealed)?;
        self.make_durable(view, Some(staged), stamped).map_err(|reason| {
            view.close(reason.clone());
            InstallError::Store(Error::WritesClosed { reason })
        })
    }

    /// Writes changed node-local pairs. Returns true if there are no more, or if there is no space for them.
    pub fn write_local(&mut self, view: &View) -> std::result::Result<bool, String> {
        if view.closed.get().is_some() || view.space.room().take(0, false).is_err() {
            return Ok(true);
        }
        let (local, is_all) = view.local.take_moved();
        self.make_durable(view, None, local)?;
        Ok(is_all)
    }
}
