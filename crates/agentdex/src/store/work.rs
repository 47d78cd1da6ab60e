//! `Work`: decides commits, writes and syncs them, and publishes them to readers.

use std::{sync::Arc, time::Instant};

use sled::IVec;

use super::{
    applier::{Applier, Command, Moment},
    clock::LogClock,
    commit::Committer,
    effects::Staged,
    install::{Folded, InstallError},
    layout,
    local::{Moved, WRITE_AFTER},
    overlay::{Overlay, Pairs, Sealed, batch_of},
    sync::DataFiles,
    value::State,
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
    /// First expiry that may still need the extension after the start, or `None` if there is none.
    pub next_grace: Option<IVec>,
}

/// Returns the reason for closing a store whose witness can't be written.
pub(super) fn witnessing(witness: &Witness, error: &std::io::Error) -> String {
    format!("writing {}: {error}", witness.path().display())
}

impl Work {
    /// Commits transactions. Returns an outcome for each of them.
    pub fn commit(&mut self, view: &View, transactions: Vec<Transaction>) -> Vec<Result<Applied>> {
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
    pub fn trim_step(&mut self, view: &View, now: Timestamp) -> Result<bool> {
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
    pub fn close(&mut self, view: &View) -> std::result::Result<(), String> {
        if view.closed.get().is_some() {
            return Ok(());
        }
        let Ok(db) = view.tree.db() else { return Ok(()) };
        db.flush().map_err(|error| error.to_string())?;
        self.files.sync().map_err(|error| error.to_string())?;
        self.witness.close(view.slot(&self.state)).map_err(|error| witnessing(&self.witness, &error))
    }

    /// Writes, syncs, and publishes a commit and node-local pairs, whatever of it there is.
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
    pub fn install(&mut self, view: &View, commits: Folded) -> std::result::Result<(), InstallError> {
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
    pub fn write_local(&mut self, committer: &Committer) {
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
    pub fn grant_grace(&mut self, view: &View) {
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

