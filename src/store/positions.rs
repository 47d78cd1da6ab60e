//! The positions that followers keep in the store.
//!
//! All of them are in memory; the committer writes those that moved with its next batch, or after
//! [`WRITE_AFTER`] with one of their own. A position that is lost in a crash makes its follower repeat
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
use crate::{Result, change::Position};

/// How long a position may wait for a batch to go with.
pub(super) const WRITE_AFTER: Duration = Duration::from_millis(500);

/// The positions, and which of them the tree doesn't have yet.
#[derive(Debug, Default)]
pub(super) struct Positions {
    by_follower: BTreeMap<String, Position>,
    moved: BTreeSet<String>,
}

impl Positions {
    /// Reads them all.
    pub fn load(tree: &sled::Tree) -> Result<Positions> {
        let mut by_follower = BTreeMap::new();
        for pair in tree.scan_prefix(layout::POSITIONS) {
            let (key, value) = pair.map_err(reading)?;
            let follower = key.get(layout::POSITIONS.len()..).unwrap_or_default();
            let follower = std::str::from_utf8(follower).map_err(|_| layout::corrupt())?;
            by_follower.insert(follower.to_owned(), value::decode_position(&value)?);
        }
        Ok(Positions { by_follower, moved: BTreeSet::new() })
    }

    /// What the tree doesn't have yet; from now on it counts as written.
    pub fn take_moved(&mut self) -> Vec<(IVec, Option<IVec>)> {
        let moved = std::mem::take(&mut self.moved);
        moved
            .into_iter()
            .map(|follower| {
                let position = self.by_follower.get(&follower);
                (layout::position_key(&follower), position.map(|&position| value::encode_position(position)))
            })
            .collect()
    }
}

impl View {
    pub fn position(&self, follower: &str) -> Option<Position> {
        self.positions().by_follower.get(follower).copied()
    }

    /// Moves or removes a position; true if it is the first that moved since the last batch.
    pub fn move_position(&self, follower: &str, position: Option<Position>) -> bool {
        let mut positions = self.positions();
        match position {
            Some(position) => positions.by_follower.insert(follower.to_owned(), position),
            None => positions.by_follower.remove(follower),
        };
        let first = positions.moved.is_empty();
        positions.moved.insert(follower.to_owned());
        first
    }

    pub fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
