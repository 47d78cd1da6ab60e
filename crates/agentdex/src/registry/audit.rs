//! The audit trail: reading it, and noting what no change of a Thing tells.

use std::net::IpAddr;

use super::Registry;
use crate::{Result, store::Audited};
use crate::{access::Caller, change::Timestamp, store::AuditEntry};

impl Registry {
    /// At most `limit` entries of the audit trail after the one with a number: what authenticated callers have changed,
    /// written with the change, and what callers were denied. It is retained as the log is.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn audit(&self, after: u64, limit: usize) -> Result<Audited> {
        self.0.store.audited(after, limit)
    }

    /// Notes that its caller has done something that is no change of a Thing.
    #[doc(hidden)]
    pub fn note_done(&self, action: &str, target: &str) {
        self.note(AuditEntry { action: action.to_owned(), target: target.to_owned(), ..AuditEntry::default() });
    }

    /// Notes that its caller was denied something.
    #[doc(hidden)]
    pub fn note_denied(&self, target: &str, status: Option<u16>) {
        let Some(unlisted) = self.0.denials.take(Timestamp::now()) else { return };
        let unlisted = (unlisted > 0).then_some(unlisted);
        let (action, target) = ("denied".to_owned(), target.to_owned());
        self.note(AuditEntry { action, target, status, unlisted, ..AuditEntry::default() });
    }

    /// Adds an entry in the name of its caller. The committer's own thread commits it, with what else there is.
    fn note(&self, entry: AuditEntry) {
        let principal = match &self.1 {
            Caller::Principal(principal) => Some(principal),
            Caller::Trusted | Caller::Anonymous => None,
        };
        let entry = AuditEntry {
            owner: principal.map(|principal| principal.owner.clone()),
            key: principal.map(|principal| principal.key.clone()),
            address: self.2.as_ref().map(IpAddr::to_string),
            ..entry
        };
        drop(self.0.store.note(entry));
    }
}
