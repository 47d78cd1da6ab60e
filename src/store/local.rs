//! What belongs to this node and not to the log: the positions of followers, and the sessions of
//! network followers. It lies under keys of its own, and a replicated log would leave it alone.
//!
//! What moves waits in memory and is written with the next commit, or after [`WRITE_AFTER`] with one of
//! its own. A position that is lost in a crash makes its follower repeat what it did, never skip anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sled::IVec;

use super::{layout, tree::reading, value};
use crate::{Error, Result, change::Position};

/// How long what moved may wait for a commit to go with.
pub(super) const WRITE_AFTER: Duration = Duration::from_millis(500);

/// The most entries that are written with one commit.
const WRITTEN_AT_ONCE: usize = 1024;

/// The longest name of a follower or a session.
const MAX_NAME_BYTES: usize = 4 * 1024;

/// The largest session.
const MAX_SESSION_BYTES: usize = 16 * 1024 * 1024;

/// The local state of a store.
pub(super) struct Local {
    db: sled::Db,
    state: Mutex<State>,
}

/// Positions are all in memory; of sessions only those that the tree doesn't have yet as they are.
#[derive(Default)]
struct State {
    positions: BTreeMap<String, Position>,
    moved_positions: BTreeSet<String>,
    /// None: removed.
    moved_sessions: BTreeMap<String, Option<Vec<u8>>>,
}

impl State {
    fn has_moved(&self) -> bool {
        !self.moved_positions.is_empty() || !self.moved_sessions.is_empty()
    }
}

impl Local {
    /// Reads all positions.
    pub fn load(db: &sled::Db) -> Result<Local> {
        let mut state = State::default();
        for pair in db.scan_prefix(layout::POSITIONS) {
            let (key, value) = pair.map_err(reading)?;
            state.positions.insert(layout::name_of(&key, layout::POSITIONS)?, value::decode_position(&value)?);
        }
        Ok(Local { db: db.clone(), state: Mutex::new(state) })
    }

    pub fn position(&self, follower: &str) -> Option<Position> {
        self.state().positions.get(follower).copied()
    }

    /// Moves or removes a position; true if it is the first that moved since the last write.
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

    /// Puts or removes a session; true if it is the first that moved since the last write.
    pub fn move_session(&self, name: &str, session: Option<Vec<u8>>) -> Result<bool> {
        check_length("length of the name of a session in bytes", name.len(), MAX_NAME_BYTES)?;
        check_length("size of a session in bytes", session.as_ref().map_or(0, Vec::len), MAX_SESSION_BYTES)?;
        let mut state = self.state();
        let first = !state.has_moved();
        state.moved_sessions.insert(name.to_owned(), session);
        Ok(first)
    }

    /// The sessions, by name.
    pub fn sessions(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let state = self.state();
        let mut sessions = BTreeMap::new();
        for pair in self.db.scan_prefix(layout::SESSIONS) {
            let (key, value) = pair.map_err(reading)?;
            sessions.insert(layout::name_of(&key, layout::SESSIONS)?, value.to_vec());
        }
        for (name, session) in &state.moved_sessions {
            match session {
                Some(session) => sessions.insert(name.clone(), session.clone()),
                None => sessions.remove(name),
            };
        }
        Ok(sessions.into_iter().collect())
    }

    /// Some of what the tree doesn't have yet, and whether that is all; from now on it counts as written.
    pub fn take_moved(&self) -> (Vec<(IVec, Option<IVec>)>, bool) {
        let mut state = self.state();
        let mut moved = Vec::new();
        while moved.len() < WRITTEN_AT_ONCE {
            if let Some(follower) = state.moved_positions.pop_first() {
                let position = state.positions.get(&follower).copied();
                moved.push((layout::position_key(&follower), position.map(value::encode_position)));
            } else if let Some((name, session)) = state.moved_sessions.pop_first() {
                moved.push((layout::session_key(&name), session.map(IVec::from)));
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
