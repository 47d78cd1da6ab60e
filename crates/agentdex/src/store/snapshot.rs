//! `Snapshot`: the whole tree at a single moment, read while writes continue.
//!
//! Values overwritten by commits before they are read are preserved in [`Saving`](super::saving::Saving). Retention
//! is suspended meanwhile. Only one snapshot can exist at a time; a snapshot for a comparison gives way to others.

use std::{collections::BTreeMap, sync::Arc, vec};

use sled::IVec;

use super::{
    layout,
    saving::{MOST_SAVED, Saved, size},
    value::State,
    view::View,
};
use crate::{Error, Result, change::Seq};

/// Maximum number of keys read per step, while commits wait.
const STEP_KEYS: usize = 256;
/// Size of the values in bytes after which a step ends, which bounds the delay of commits.
const STEP_BYTES: usize = 1024 * 1024;

/// All keys and values of the tree at a single moment, ascending by key.
pub struct Snapshot {
    view: Arc<View>,
    /// Identity among the snapshots of the store.
    reader: Arc<()>,
    /// End of the log at that moment.
    last: Seq,
    /// Number of records at that moment.
    records: u64,
    read: vec::IntoIter<(IVec, IVec)>,
    is_done: bool,
    /// True to skip unreadable data.
    passes_over: bool,
}

/// Returns the error for a second snapshot at the same time.
pub(super) fn busy() -> Error {
    Error::Overloaded { doing: "the registry is being read for another backup or comparison" }
}

impl Snapshot {
    /// Starts a snapshot. The caller must hold the committer's lock.
    pub(super) fn begin(view: Arc<View>, state: &State) -> Result<Snapshot> {
        Snapshot::start(view, state, false)
    }

    /// Like [`Snapshot::begin`], but the snapshot ends with an error when another snapshot is started.
    pub(super) fn begin_giving_way(view: Arc<View>, state: &State) -> Result<Snapshot> {
        Snapshot::start(view, state, true)
    }

    fn start(view: Arc<View>, state: &State, gives_way: bool) -> Result<Snapshot> {
        let reader = view.saving.begin(gives_way).ok_or_else(busy)?;
        let (read, is_done, passes_over) = Default::default();
        let State { last, records, .. } = *state;
        Ok(Snapshot { view, reader, last, records, read, is_done, passes_over })
    }

    /// Skips unreadable data, which is an error by default.
    pub(super) fn passing_over_damage(self) -> Snapshot {
        // Taken apart it would end.
        let mut snapshot = self;
        snapshot.passes_over = true;
        snapshot
    }

    /// Returns the last position of the log in the snapshot.
    pub fn last_seq(&self) -> Seq {
        self.last
    }

    /// Returns the number of records in the snapshot, including expired records that were not yet purged.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Reads the next keys. No commit saves anything meanwhile, so that each of its values is either saved or read.
    fn step(&mut self) -> Result<()> {
        let db = self.view.tree.db()?;
        let mut saving = self.view.saving.lock();
        let is_own = |saved: &&mut Saved| Arc::ptr_eq(&saved.reader, &self.reader);
        let saved = saving.as_mut().filter(is_own).ok_or_else(busy)?;
        if saved.is_lost {
            let source = format!(
                "more than {MOST_SAVED} bytes were overwritten while the backup was read; read the backup faster"
            )
            .into();
            return Err(Error::Store { doing: "taking a backup", source });
        }
        let (mut found, mut bytes) = (BTreeMap::new(), 0);
        let mut last = None;
        let tree = &self.view.tree;
        let pairs = match self.passes_over {
            true => tree.pairs(&db, &saved.next, layout::AFTER_ALL),
            false => tree.all_pairs(&db, &saved.next, layout::AFTER_ALL),
        };
        for pair in pairs {
            let (key, value) = pair?;
            bytes += value.len();
            last = Some(key.clone());
            found.insert(key, value);
            if found.len() >= STEP_KEYS || bytes >= STEP_BYTES {
                break;
            }
        }
        let is_full = found.len() >= STEP_KEYS || bytes >= STEP_BYTES;
        // What is saved beyond the last key that was read belongs to a later step, unless there is none.
        let rest = match last.filter(|_| is_full) {
            Some(last) => {
                saved.next = layout::key_after(&last);
                saved.before.split_off(&saved.next)
            }
            None => {
                self.is_done = true;
                BTreeMap::new()
            }
        };
        for (key, held) in std::mem::replace(&mut saved.before, rest) {
            saved.bytes -= size(&key, held.as_ref());
            match held {
                Some(held) => found.insert(key, held),
                None => found.remove(&key),
            };
        }
        if self.is_done {
            *saving = None;
        }
        drop(saving);
        self.read = found.into_iter().collect::<Vec<_>>().into_iter();
        Ok(())
    }
}

impl Iterator for Snapshot {
    type Item = Result<(IVec, IVec)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(pair) = self.read.next() {
                return Some(Ok(pair));
            }
            if self.is_done {
                return None;
            }
            if let Err(error) = self.step() {
                self.is_done = true;
                self.view.saving.end(&self.reader);
                return Some(Err(error));
            }
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if !self.is_done {
            self.view.saving.end(&self.reader);
        }
    }
}
