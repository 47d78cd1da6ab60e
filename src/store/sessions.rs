//! The sessions of network followers: who is away, and what they want to hear of when they return.
//!
//! Opaque here. What was put waits in memory for the committer's next batch, as positions do; what is
//! written is only in the tree.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use sled::IVec;

use super::{
    layout,
    view::{View, reading},
};
use crate::Result;

/// The sessions that the tree doesn't have yet as they are; none: removed.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    moved: BTreeMap<String, Option<Vec<u8>>>,
}

impl Sessions {
    /// What the tree doesn't have yet; from now on it counts as written.
    pub fn take_moved(&mut self) -> Vec<(IVec, Option<IVec>)> {
        let moved = std::mem::take(&mut self.moved).into_iter();
        moved.map(|(name, session)| (layout::session_key(&name), session.map(IVec::from))).collect()
    }
}

impl View {
    /// Puts or removes a session; true if it is the first that moved since the last batch.
    pub fn move_session(&self, name: &str, session: Option<Vec<u8>>) -> bool {
        let mut sessions = self.sessions();
        let first = sessions.moved.is_empty();
        sessions.moved.insert(name.to_owned(), session);
        first
    }

    /// See [`super::Store::sessions`].
    pub fn read_sessions(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let moved = self.sessions();
        let mut sessions = BTreeMap::new();
        for pair in self.tree.scan_prefix(layout::SESSIONS) {
            let (key, value) = pair.map_err(reading)?;
            let name = key.get(layout::SESSIONS.len()..).unwrap_or_default();
            let name = std::str::from_utf8(name).map_err(|_| layout::corrupt())?;
            sessions.insert(name.to_owned(), value.to_vec());
        }
        for (name, session) in &moved.moved {
            match session {
                Some(session) => sessions.insert(name.clone(), session.clone()),
                None => sessions.remove(name),
            };
        }
        Ok(sessions.into_iter().collect())
    }

    pub fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
