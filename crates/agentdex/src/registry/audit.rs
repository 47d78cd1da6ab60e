//! The audit trail: reading it, and noting what no change of a Thing tells.

use std::net::IpAddr;

use super::Registry;
use crate::{
    Result,
    access::{ApiKey, Caller, NewKey},
    change::Timestamp,
    store::{AuditChain, AuditEntry, Audited},
};

impl Registry {
    /// At most `limit` entries of the audit trail after the one with a number: what authenticated callers have changed,
    /// written with the change, and what callers were denied. Each of its [chains](AuditChain) is retained as the log is.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn audit(&self, after: u64, limit: usize) -> Result<Audited> {
        self.0.store.audited(after, limit)
    }

    /// As [`super::Keys::create`], with an entry of the audit trail in the name of its caller.
    ///
    /// # Errors
    /// Those of [`super::Keys::create`].
    pub fn create_key(&self, new: NewKey) -> Result<(ApiKey, String)> {
        self.keys().create_noted(new, |entry| self.entry_by_caller(entry))
    }

    /// As [`super::Keys::revoke`], with an entry of the audit trail in the name of its caller.
    ///
    /// # Errors
    /// Those of [`super::Keys::revoke`].
    pub fn revoke_key(&self, id: &str) -> Result<bool> {
        self.keys().revoke_noted(id, |entry| self.entry_by_caller(entry))
    }

    /// Notes that its caller has done something that is no change of a Thing.
    #[doc(hidden)]
    pub fn note_done(&self, chain: AuditChain, action: &str, target: &str) {
        let (action, target, chain) = (action.to_owned(), target.to_owned(), Some(chain));
        self.note(AuditEntry { action, target, chain, ..AuditEntry::default() });
    }

    /// Notes that its caller was denied something.
    #[doc(hidden)]
    pub fn note_denied(&self, target: &str, status: Option<u16>) {
        let Some(unlisted) = self.0.denials.take(Timestamp::now()) else { return };
        let unlisted = (unlisted > 0).then_some(unlisted);
        let (action, target, chain) = ("denied".to_owned(), target.to_owned(), Some(AuditChain::Denials));
        self.note(AuditEntry { action, target, status, unlisted, chain, ..AuditEntry::default() });
    }

    /// Adds an entry in the name of its caller. The committer's own thread commits it, with what else there is.
    fn note(&self, entry: AuditEntry) {
        drop(self.0.store.note(self.entry_by_caller(entry)));
    }

    /// The same where its caller is somebody who was authenticated.
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
