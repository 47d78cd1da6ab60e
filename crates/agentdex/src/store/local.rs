//! Node-local state, which is not part of the log: positions of followers, sessions of network followers, saved
//! queries, and API keys. It has its own keys, which a replicated log would not include.
//!
//! Pending values are held in memory and written with the next commit, or by a separate commit after [`WRITE_AFTER`].
//! Callers that store a query or a key wait for that commit. If a position is lost in a crash, its follower repeats
//! work but never skips anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sled::IVec;

use super::{
    layout,
    tree::{Tree, reading},
    value,
};
use crate::{Error, Result, change::Position};

/// Maximum time that changed local state waits for a commit to be written with.
pub(super) const WRITE_AFTER: Duration = Duration::from_millis(500);

/// Maximum number of entries written per commit.
const WRITTEN_AT_ONCE: usize = 1024;

/// The longest name of a follower, a session or a query.
const MAX_NAME_BYTES: usize = 4 * 1024;

/// The largest session or query.
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// The local state of a store.
pub(super) struct Local {
    tree: Arc<Tree>,
    state: Mutex<State>,
}

/// Named values that are stored as they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Session,
    Query,
    Key,
}

impl Kind {
    fn prefix(self) -> &'static [u8] {
        match self {
            Kind::Session => layout::SESSIONS,
            Kind::Query => layout::QUERIES,
            Kind::Key => layout::KEYS,
        }
    }

    fn key(self, name: &str) -> IVec {
        layout::join(&[self.prefix(), name.as_bytes()])
    }
}

/// Positions are all in memory; of named values only those that the tree doesn't have yet as they are.
#[derive(Default)]
struct State {
    positions: BTreeMap<String, Position>,
    moved_positions: BTreeSet<String>,
    /// Pending values; `None` removes a value.
    moved_values: BTreeMap<(Kind, String), Option<Vec<u8>>>,
}

impl State {
    fn has_moved(&self) -> bool {
        !self.moved_positions.is_empty() || !self.moved_values.is_empty()
    }
}

impl Local {
    /// Loads all positions.
    pub fn load(tree: &Arc<Tree>) -> Result<Local> {
        let db = tree.db()?;
        let mut state = State::default();
        for pair in db.scan_prefix(layout::POSITIONS) {
            let (key, value) = pair.map_err(reading)?;
            state.positions.insert(layout::name_of(&key, layout::POSITIONS)?, value::decode_position(&value)?);
        }
        Ok(Local { tree: tree.clone(), state: Mutex::new(state) })
    }

    pub fn position(&self, follower: &str) -> Option<Position> {
        self.state().positions.get(follower).copied()
    }

    /// Moves or removes a position. Returns true if this is the first pending value since the last write.
    pub fn move_position(&self, follower: &str, position: Option<Position>) -> Result<bool> {
        check_length("length of the name of a follower in bytes", follower.len(), MAX_NAME_BYTES)?;
        let mut state = self.state();
        match position {
            Some(position) => state.positions.insert(follower.to_owned(), position),
            None => state.positions.remove(follower),
        };
        let first = !state.has_moved();
        state.moved_positions.insert(follower.to_owned());
        Ok(first)
    }

    /// Sets or removes a named value. Returns true if this is the first pending value since the last write.
    pub fn move_value(&self, kind: Kind, name: &str, value: Option<Vec<u8>>) -> Result<bool> {
        let (of_name, of_value) = match kind {
            Kind::Session => ("length of the name of a session in bytes", "size of a session in bytes"),
            Kind::Query => ("length of the name of a query in bytes", "size of a query in bytes"),
            Kind::Key => ("length of the id of a key in bytes", "size of a key in bytes"),
        };
        check_length(of_name, name.len(), MAX_NAME_BYTES)?;
        check_length(of_value, value.as_ref().map_or(0, Vec::len), MAX_VALUE_BYTES)?;
        let mut state = self.state();
        let first = !state.has_moved();
        state.moved_values.insert((kind, name.to_owned()), value);
        Ok(first)
    }

    /// True if a named value is pending.
    pub fn has_moved(&self, kind: Kind, name: &str) -> bool {
        self.state().moved_values.contains_key(&(kind, name.to_owned()))
    }

    /// Returns the values of a kind, sorted by name.
    pub fn values(&self, kind: Kind) -> Result<Vec<(String, Vec<u8>)>> {
        let state = self.state();
        let mut values = BTreeMap::new();
        let db = self.tree.db()?;
        for pair in db.scan_prefix(kind.prefix()) {
            let (key, value) = pair.map_err(reading)?;
            values.insert(layout::name_of(&key, kind.prefix())?, value.to_vec());
        }
        for ((_, name), value) in state.moved_values.iter().filter(|((moved, _), _)| *moved == kind) {
            match value {
                Some(value) => values.insert(name.clone(), value.clone()),
                None => values.remove(name),
            };
        }
        Ok(values.into_iter().collect())
    }

    /// Discards a pending value.
    pub fn take_back(&self, kind: Kind, name: &str) {
        self.state().moved_values.remove(&(kind, name.to_owned()));
    }

    /// Takes the revoked keys that are still in the tree. They count as removed from now on.
    pub fn take_revoked(&self) -> Vec<(IVec, Option<IVec>)> {
        let is_revoked = |key: &(Kind, String), value: &mut Option<Vec<u8>>| key.0 == Kind::Key && value.is_none();
        let revoked = self.state().moved_values.extract_if(.., is_revoked).collect::<Vec<_>>();
        revoked.into_iter().map(|((kind, name), _)| (kind.key(&name), None)).collect()
    }

    /// Takes some of the pending values, and returns whether these are all. They count as written from now on.
    pub fn take_moved(&self) -> (Vec<(IVec, Option<IVec>)>, bool) {
        let mut state = self.state();
        let mut moved = Vec::new();
        while moved.len() < WRITTEN_AT_ONCE {
            if let Some(follower) = state.moved_positions.pop_first() {
                let position = state.positions.get(&follower).copied();
                moved.push((layout::position_key(&follower), position.map(value::encode_position)));
            } else if let Some(((kind, name), value)) = state.moved_values.pop_first() {
                moved.push((kind.key(&name), value.map(IVec::from)));
            } else {
                break;
            }
        }
        (moved, !state.has_moved())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_length(what: &'static str, actual: usize, maximum: usize) -> Result<()> {
    if actual > maximum {
        return Err(Error::LimitExceeded { what, maximum: maximum as u64 });
    }
    Ok(())
}
