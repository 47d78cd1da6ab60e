//! `Saving`: values preserved for a backup while commits overwrite them.
//!
//! Before a commit overwrites a key not yet read by the backup, it saves the previous value.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use sled::IVec;

use super::database::Database;

/// Maximum number of preserved bytes. A backup that is read too slowly fails.
pub(super) const MOST_SAVED: usize = 256 * 1024 * 1024;

/// Values preserved by commits for the current snapshot.
#[derive(Default)]
pub(super) struct Saving(Mutex<Option<Saved>>);

/// Values, and how far the reading is.
#[derive(Default)]
pub(super) struct Saved {
    /// Previous values of overwritten keys that were not yet read. `None` means the key didn't exist.
    pub before: BTreeMap<IVec, Option<IVec>>,
    pub bytes: usize,
    /// First key that was not yet read.
    pub next: IVec,
    /// True if more values were overwritten than can be saved.
    pub is_lost: bool,
}

impl Saving {
    /// True if a snapshot is being read.
    pub fn is_active(&self) -> bool {
        self.lock().is_some()
    }

    /// Saves the values of keys before a commit overwrites them.
    pub fn save<'k>(
        &self,
        db: &Database,
        keys: impl Iterator<Item = &'k IVec>,
    ) -> std::result::Result<(), sled::Error> {
        let mut saving = self.lock();
        let Some(saved) = saving.as_mut().filter(|saved| !saved.is_lost) else { return Ok(()) };
        for key in keys {
            if *key < saved.next || saved.before.contains_key(key) {
                continue;
            }
            let held = db.get(key)?;
            saved.bytes += size(key, held.as_ref());
            saved.before.insert(key.clone(), held);
        }
        if saved.bytes > MOST_SAVED {
            *saved = Saved { is_lost: true, ..Saved::default() };
        }
        Ok(())
    }

    pub fn lock(&self) -> MutexGuard<'_, Option<Saved>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes that a key with its former value counts towards [`MOST_SAVED`].
pub(super) fn size(key: &IVec, held: Option<&IVec>) -> usize {
    key.len() + held.map_or(0, |held| held.len())
}
