//! Pending state: what nobody waits for. Positions of followers and sessions of network followers are node-local, with
//! keys that are not part of commits. Recorded uses and revocations of API keys are part of the next commit.
//!
//! All of it is held in memory and written with the next commit, or separately after [`WRITE_AFTER`]. If a position is
//! lost in a crash, its follower repeats work but never skips anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sled::IVec;

use super::{
    layout,
    named_write::{Expects, Kind, MAX_NAME_BYTES, NamedWrite, check_length, check_value},
    overlay::Pairs,
    tree::{Tree, reading},
    value,
};
use crate::{Result, change::Position};

/// Maximum time that changed local state waits for a commit to be written with.
pub(super) const WRITE_AFTER: Duration = Duration::from_millis(500);

/// Maximum number of entries written per commit.
const WRITTEN_AT_ONCE: usize = 1024;

/// The local state of a store.
pub(super) struct Local {
    tree: Arc<Tree>,
    state: Mutex<State>,
}

/// Positions are all in memory; of sessions and keys only the pending ones.
#[derive(Default)]
struct State {
    positions: BTreeMap<String, Position>,
    moved_positions: BTreeSet<String>,
    /// Pending sessions; `None` removes a session.
    moved_sessions: BTreeMap<String, Option<Vec<u8>>>,
    /// Used keys, with their new values, and revoked keys (`None`).
    moved_keys: BTreeMap<String, Option<Vec<u8>>>,
}

impl State {
    fn has_moved(&self) -> bool {
        !self.moved_positions.is_empty() || !self.moved_sessions.is_empty() || !self.moved_keys.is_empty()
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

    /// Sets or removes a session. Returns true if this is the first pending value since the last write.
    pub fn move_session(&self, name: &str, session: Option<Vec<u8>>) -> Result<bool> {
        check_value(Kind::Session, name, session.as_deref())?;
        let mut state = self.state();
        let first = !state.has_moved();
        state.moved_sessions.insert(name.to_owned(), session);
        Ok(first)
    }

    /// Records the use of a key, unless it is being revoked. Returns true if this is the first pending value since the
    /// last write.
    pub fn use_key(&self, id: &str, key: Vec<u8>) -> Result<bool> {
        check_value(Kind::Key, id, Some(&key))?;
        let mut state = self.state();
        let first = !state.has_moved();
        let pending = state.moved_keys.entry(id.to_owned()).or_insert_with(|| Some(Vec::new()));
        pending.iter_mut().for_each(|pending| pending.clone_from(&key));
        Ok(first)
    }

    /// Revokes a key. Returns true if this is the first pending value since the last write.
    pub fn revoke_key(&self, id: &str) -> Result<bool> {
        check_value(Kind::Key, id, None)?;
        let mut state = self.state();
        let first = !state.has_moved();
        state.moved_keys.insert(id.to_owned(), None);
        Ok(first)
    }

    /// True if a key is revoked, but the tree still contains it.
    pub fn is_revoking(&self, id: &str) -> bool {
        self.state().moved_keys.get(id).is_some_and(Option::is_none)
    }

    /// Discards the pending use or revocation of a key.
    pub fn take_back(&self, id: &str) {
        self.state().moved_keys.remove(id);
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
        let none = BTreeMap::new();
        let pending = match kind {
            Kind::Session => &state.moved_sessions,
            Kind::Key => &state.moved_keys,
            Kind::Query => &none,
        };
        for (name, value) in pending {
            match value {
                Some(value) => values.insert(name.clone(), value.clone()),
                None => values.remove(name),
            };
        }
        Ok(values.into_iter().collect())
    }

    /// Returns some of the pending uses and revocations of keys, or of the revocations alone.
    pub fn pending_keys(&self, with_uses: bool) -> Vec<NamedWrite> {
        let state = self.state();
        let pending = state.moved_keys.iter().filter(|(_, value)| with_uses || value.is_none());
        pending.take(WRITTEN_AT_ONCE).map(|(name, value)| key_write(name, value.as_deref())).collect()
    }

    /// Drops pending uses and revocations of keys that were written, unless they have changed meanwhile.
    pub fn forget_keys(&self, written: &[NamedWrite]) {
        if written.is_empty() {
            return;
        }
        let mut state = self.state();
        for NamedWrite { name, value, .. } in written {
            if state.moved_keys.get(name) == Some(value) {
                state.moved_keys.remove(name);
            }
        }
    }

    /// True if uses or revocations of keys are pending.
    pub fn has_pending_keys(&self) -> bool {
        !self.state().moved_keys.is_empty()
    }

    /// Takes some of the pending node-local pairs, which count as written from now on. Also returns true if there are
    /// no more.
    pub fn take_moved(&self) -> (Pairs, bool) {
        let mut state = self.state();
        let mut moved = Pairs::new();
        while moved.len() < WRITTEN_AT_ONCE {
            if let Some(follower) = state.moved_positions.pop_first() {
                let position = state.positions.get(&follower).copied();
                moved.push((layout::position_key(&follower), position.map(value::encode_position)));
            } else if let Some((name, session)) = state.moved_sessions.pop_first() {
                moved.push((Kind::Session.key(&name), session.map(IVec::from)));
            } else {
                break;
            }
        }
        (moved, state.moved_positions.is_empty() && state.moved_sessions.is_empty())
    }

    /// True if anything is pending.
    pub fn has_moved(&self) -> bool {
        self.state().has_moved()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the write of a pending key. Only a key that is there is used.
fn key_write(name: &str, value: Option<&[u8]>) -> NamedWrite {
    let expects = if value.is_some() { Expects::Present } else { Expects::Any };
    NamedWrite { kind: Kind::Key, name: name.to_owned(), value: value.map(<[u8]>::to_vec), expects }
}
