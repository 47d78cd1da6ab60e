//! `Saving`: values preserved for a backup while commits overwrite them.
//!
//! Before a commit overwrites a key not yet read by the backup, it saves the previous value.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    /// Identity of the snapshot: an allocation of its own.
    pub reader: Arc<()>,
    /// True if another snapshot may take the place of this snapshot.
    pub gives_way: bool,
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
            let (reader, gives_way) = (saved.reader.clone(), saved.gives_way);
            *saved = Saved { is_lost: true, reader, gives_way, ..Saved::default() };
        }
        Ok(())
    }

    /// Begins to preserve values for a snapshot. Returns its identity, or `None` while another snapshot is read that doesn't
    /// give way.
    pub fn begin(&self, gives_way: bool) -> Option<Arc<()>> {
        let mut saving = self.lock();
        if saving.as_ref().is_some_and(|saved| gives_way || !saved.gives_way) {
            return None;
        }
        let reader = Arc::default();
        *saving = Some(Saved { reader: Arc::clone(&reader), gives_way, ..Saved::default() });
        Some(reader)
    }

    /// Ends the snapshot with this identity, unless another one has taken its place.
    pub fn end(&self, reader: &Arc<()>) {
        let mut saving = self.lock();
        if saving.as_ref().is_some_and(|saved| Arc::ptr_eq(&saved.reader, reader)) {
            *saving = None;
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Option<Saved>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes that a key with its former value counts towards [`MOST_SAVED`].
pub(super) fn size(key: &IVec, held: Option<&IVec>) -> usize {
    key.len() + held.map_or(0, |held| held.len())
}
