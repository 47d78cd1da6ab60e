//! `LocalState`: access to what is not part of the log: node-local state, saved queries, and API keys.

use std::sync::Arc;

use agentdex_api::AuditEntry;

use super::{
    commit::Committer,
    local::Local,
    named_write::{Expects, Kind, NamedWrite, query_key, query_of_key},
    tree::reading,
    view::View,
    write::Transaction,
};
use crate::{Result, access::Owner, change::Position};

/// State that is not part of the log: positions of followers and sessions of network followers, which are node-local,
/// saved queries, and API keys. Positions and sessions become durable within half a second, with the next write of
/// local state; after a crash they may have an older value. Queries and keys are durable when the call returns.
#[derive(Clone, Copy)]
pub struct LocalState<'a> {
    pub(super) view: &'a View,
    pub(super) committer: &'a Arc<Committer>,
}

impl LocalState<'_> {
    /// Returns the stored position of a follower. All positions are held in memory.
    pub fn position(&self, follower: &str) -> Option<Position> {
        self.view.local.position(follower)
    }

    /// Stores the position of a follower. Cheap: the position is written twice per second, regardless of the number of
    /// calls.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`], [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`].
    pub fn set_position(&self, follower: &str, position: Position) -> Result<()> {
        self.moves(|local| local.move_position(follower, Some(position)))
    }

    /// Removes the position of a follower.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub fn remove_position(&self, follower: &str) -> Result<()> {
        self.moves(|local| local.move_position(follower, None))
    }

    /// Returns the sessions, sorted by name.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn sessions(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.local.values(Kind::Session)
    }

    /// Stores a session.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub fn put_session(&self, name: &str, session: Vec<u8>) -> Result<()> {
        self.moves(|local| local.move_session(name, Some(session)))
    }

    /// Removes a session.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub fn remove_session(&self, name: &str) -> Result<()> {
        self.moves(|local| local.move_session(name, None))
    }

    /// Returns the saved queries.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn queries(&self) -> Result<Vec<StoredQuery>> {
        let all = self.view.local.values(Kind::Query)?.into_iter();
        let taken_apart = all.map(|(key, query)| {
            let (owner, name) = query_of_key(&key)?;
            Ok(StoredQuery { owner, name: name.to_owned(), query })
        });
        taken_apart.collect()
    }

    /// Returns a saved query, if there is one.
    pub(crate) fn query(&self, owner: Option<&Owner>, name: &str) -> Result<Option<Vec<u8>>> {
        let found = self.view.tree.db()?.get(Kind::Query.key(&query_key(owner, name))).map_err(reading)?;
        Ok(found.map(|query| query.to_vec()))
    }

    /// Stores a query. Blocks until it is durable.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub fn put_query(&self, owner: Option<&Owner>, name: &str, query: Vec<u8>) -> Result<()> {
        self.put_query_if(owner, name, query, Expects::Any)
    }

    /// Stores a query if there is one of that name, or none, as expected. Blocks until it is durable.
    pub(crate) fn put_query_if(
        &self,
        owner: Option<&Owner>,
        name: &str,
        query: Vec<u8>,
        expects: Expects,
    ) -> Result<()> {
        self.write(NamedWrite::new(Kind::Query, &query_key(owner, name), Some(query), expects)?, None)
    }

    /// Removes a query. Blocks until the removal is durable.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub fn remove_query(&self, owner: Option<&Owner>, name: &str) -> Result<()> {
        self.remove_query_if(owner, name, Expects::Any)
    }

    /// Removes a query if it is as expected. Blocks until the removal is durable.
    pub(crate) fn remove_query_if(&self, owner: Option<&Owner>, name: &str, expects: Expects) -> Result<()> {
        self.write(NamedWrite::new(Kind::Query, &query_key(owner, name), None, expects)?, None)
    }

    /// Returns the API keys, sorted by id.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn keys(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.local.values(Kind::Key)
    }

    /// Stores an API key. Blocks until it is durable.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub fn put_key(&self, id: &str, key: Vec<u8>) -> Result<()> {
        self.put_key_noted(id, key, None)
    }

    /// Stores a key together with an audit entry.
    pub(crate) fn put_key_noted(&self, id: &str, key: Vec<u8>, note: Option<AuditEntry>) -> Result<()> {
        let write = NamedWrite::new(Kind::Key, id, Some(key), Expects::Any)?;
        self.view.local.take_back(id);
        self.write(write, note)
    }

    /// Stores an API key as it was used, with the next write of local state. A key that is revoked meanwhile stays
    /// revoked.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`].
    pub(crate) fn use_key(&self, id: &str, key: Vec<u8>) -> Result<()> {
        self.moves(|local| local.use_key(id, key))
    }

    /// Removes an API key. Blocks until the removal is durable. If the disk has no space even for that, fails, but
    /// the removal stays pending and is retried until it succeeds.
    ///
    /// # Errors
    /// Same as [`LocalState::set_position`], and [`crate::Error::DiskFull`].
    pub fn remove_key(&self, id: &str) -> Result<()> {
        self.remove_key_noted(id, None)
    }

    /// Removes a key together with an audit entry.
    pub(crate) fn remove_key_noted(&self, id: &str, note: Option<AuditEntry>) -> Result<()> {
        self.moves(|local| local.revoke_key(id))?;
        let mut transaction = Transaction::noting(note);
        // If there are many, they take several commits.
        while {
            self.committer.submit(Transaction { revokes_key: true, ..transaction }).wait()?;
            self.is_removing_key(id)
        } {
            transaction = Transaction::noting(None);
        }
        Ok(())
    }

    /// True if an API key is removed, and the disk still has it.
    pub(crate) fn is_removing_key(&self, id: &str) -> bool {
        self.view.local.is_revoking(id)
    }

    fn write(&self, write: NamedWrite, note: Option<AuditEntry>) -> Result<()> {
        let transaction = Transaction { named: Some(write), ..Transaction::noting(note) };
        self.committer.submit(transaction).wait().map(drop)
    }

    fn moves(&self, change: impl FnOnce(&Local) -> Result<bool>) -> Result<()> {
        self.view.check_open_to_writes()?;
        if change(&self.view.local)? { self.committer.write_local_soon() } else { Ok(()) }
    }
}

/// A stored query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredQuery {
    /// Owner of the query.
    pub owner: Option<Owner>,
    /// Name of the query.
    pub name: String,
    /// Encoded query.
    pub query: Vec<u8>,
}
