//! The audit trail: reading it, and recording events that don't change a Thing.

use std::net::IpAddr;

use super::Registry;
use crate::{
    Result,
    access::{ApiKey, Caller, NewKey},
    change::Timestamp,
    store::{AuditChain, AuditEntry, Audited},
};

impl Registry {
    /// Returns up to `limit` entries of the audit trail with numbers greater than `after`. The trail records changes by
    /// authenticated callers (atomically with the change), administrative actions, and denied requests. The retention
    /// limits of the log apply to each [chain](AuditChain) of the trail.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn audit(&self, after: u64, limit: usize) -> Result<Audited> {
        self.0.store.audited(after, limit)
    }

    /// Creates a key like [`super::Keys::create`], with the caller as the author in the audit trail.
    ///
    /// # Errors
    /// Same as [`super::Keys::create`].
    pub fn create_key(&self, new: NewKey) -> Result<(ApiKey, String)> {
        self.keys().create_noted(new, |entry| self.entry_by_caller(entry))
    }

    /// Revokes a key like [`super::Keys::revoke`], with the caller as the author in the audit trail.
    ///
    /// # Errors
    /// Same as [`super::Keys::revoke`].
    pub fn revoke_key(&self, id: &str) -> Result<bool> {
        self.keys().revoke_noted(id, |entry| self.entry_by_caller(entry))
    }

    /// Records an action of the caller other than a change of a Thing.
    #[doc(hidden)]
    pub fn note_done(&self, chain: AuditChain, action: &str, target: &str) {
        let (action, target, chain) = (action.to_owned(), target.to_owned(), Some(chain));
        self.note(AuditEntry { action, target, chain, ..AuditEntry::default() });
    }

    /// Records that a request of the caller was denied.
    #[doc(hidden)]
    pub fn note_denied(&self, target: &str, status: Option<u16>) {
        let Some(unlisted) = self.0.denials.take(Timestamp::now()) else { return };
        let unlisted = (unlisted > 0).then_some(unlisted);
        let (action, target, chain) = ("denied".to_owned(), target.to_owned(), Some(AuditChain::Denials));
        self.note(AuditEntry { action, target, status, unlisted, chain, ..AuditEntry::default() });
    }

    /// Adds an entry with the caller as author. It is committed by the committer's own thread, together with other
    /// pending data.
    fn note(&self, entry: AuditEntry) {
        drop(self.0.store.note(self.entry_by_caller(entry)));
    }

    /// Sets the caller as author, if it is an authenticated principal.
    pub(super) fn entry_of_principal(&self, entry: AuditEntry) -> Option<AuditEntry> {
        matches!(self.1, Caller::Principal(_)).then(|| self.entry_by_caller(entry))
    }

    /// An entry in the name of its caller.
    fn entry_by_caller(&self, entry: AuditEntry) -> AuditEntry {
        let principal = match &self.1 {
            Caller::Principal(principal) => Some(principal),
            Caller::Trusted | Caller::Anonymous => None,
        };
        AuditEntry {
            owner: principal.map(|principal| principal.owner.clone()),
            role: principal.map(|principal| principal.role),
            key: principal.map(|principal| principal.key.clone()),
            address: self.2.as_ref().map(IpAddr::to_string),
            ..entry
        }
    }
}
