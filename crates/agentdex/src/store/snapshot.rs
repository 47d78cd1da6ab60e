//! `Snapshot`: the whole tree at a single moment, read while writes continue.
//!
//! Values overwritten by commits before they are read are preserved in [`Saving`](super::saving::Saving). Retention
//! is suspended meanwhile. Only one snapshot can exist at a time.

use std::{collections::BTreeMap, sync::Arc, vec};

use sled::IVec;

use super::{
    layout,
    saving::{MOST_SAVED, Saved, size},
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
    pub(super) fn begin(view: Arc<View>, last: Seq, records: u64) -> Result<Snapshot> {
        let mut saving = view.saving.lock();
        if saving.is_some() {
            return Err(busy());
        }
        *saving = Some(Saved::default());
        drop(saving);
        Ok(Snapshot { view, last, records, read: Vec::new().into_iter(), is_done: false, passes_over: false })
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
        let Some(saved) = saving.as_mut() else { return Ok(()) };
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
                *self.view.saving.lock() = None;
                return Some(Err(error));
            }
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if !self.is_done {
            *self.view.saving.lock() = None;
        }
    }
}
