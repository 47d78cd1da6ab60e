//! The cursors that followers keep in the store.
//!
//! All of them are in memory; the committer writes those that moved with its next batch, or after
//! [`WRITE_AFTER`] with one of their own. A cursor that is lost in a crash makes its follower repeat
//! what it did, never skip anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use sled::IVec;

use super::{
    layout, value,
    view::{View, reading},
};
use crate::{Result, change::Cursor};

/// How long a cursor may wait for a batch to go with.
pub(super) const WRITE_AFTER: Duration = Duration::from_millis(500);

/// The cursors, and which of them the tree doesn't have yet.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    by_follower: BTreeMap<String, Cursor>,
    moved: BTreeSet<String>,
}

impl Cursors {
    /// Reads them all.
    pub fn load(tree: &sled::Tree) -> Result<Cursors> {
        let mut by_follower = BTreeMap::new();
        for pair in tree.scan_prefix(layout::CURSORS) {
            let (key, value) = pair.map_err(reading)?;
            let follower = key.get(layout::CURSORS.len()..).unwrap_or_default();
            let follower = std::str::from_utf8(follower).map_err(|_| layout::corrupt())?;
            by_follower.insert(follower.to_owned(), value::decode_cursor(&value)?);
        }
        Ok(Cursors { by_follower, moved: BTreeSet::new() })
    }

    /// What the tree doesn't have yet; from now on it counts as written.
    pub fn take_moved(&mut self) -> Vec<(IVec, Option<IVec>)> {
        let moved = std::mem::take(&mut self.moved);
        moved
            .into_iter()
            .map(|follower| {
                let cursor = self.by_follower.get(&follower);
                (layout::cursor_key(&follower), cursor.map(|&cursor| value::encode_cursor(cursor)))
            })
            .collect()
    }
}

impl View {
    pub fn cursor(&self, follower: &str) -> Option<Cursor> {
        self.cursors().by_follower.get(follower).copied()
    }

    /// Moves or removes a cursor; true if it is the first that moved since the last batch.
    pub fn move_cursor(&self, follower: &str, cursor: Option<Cursor>) -> bool {
        let mut cursors = self.cursors();
        match cursor {
            Some(cursor) => cursors.by_follower.insert(follower.to_owned(), cursor),
            None => cursors.by_follower.remove(follower),
        };
        let first = cursors.moved.is_empty();
        cursors.moved.insert(follower.to_owned());
        first
    }

    pub fn cursors(&self) -> MutexGuard<'_, Cursors> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
