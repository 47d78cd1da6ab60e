//! Audit entries for writes of records.

use agentdex_api::{AuditChain, AuditEntry, AuditedState};
use sled::IVec;

use super::{
    applier::{Applier, Moment},
    audit::hash_of,
    layout,
    value::StoredRecord,
};
use crate::{
    Result,
    access::{Access, Caller},
    change::ChangeKind,
};

impl Applier<'_> {
    /// Returns the text of a record if it is required for the audit trail.
    pub(super) fn audited_text(&mut self, record: &StoredRecord<'_>) -> Result<Option<IVec>> {
        if self.author.caller.owner().is_none() {
            return Ok(None);
        }
        self.overlay.get(&layout::text_key(record.seq))
    }

    /// Records a change by an authenticated caller, which gets the next position in the log: texts and access before
    /// and after.
    pub(super) fn audit(
        &mut self,
        kind: ChangeKind,
        id: &str,
        (before, after): (Option<&[u8]>, Option<&[u8]>),
        (from, to): (Option<&Access>, Option<&Access>),
    ) {
        let Caller::Principal(principal) = &self.author.caller else { return };
        let is_decision = from.is_some() && to.is_some() && from != to;
        let has_access = is_decision || from.is_none() || to.is_none();
        let state = |access: Option<&Access>| access.filter(|_| has_access).map(AuditedState::from);
        let entry = AuditEntry {
            owner: Some(principal.owner.clone()),
            role: Some(principal.role),
            key: Some(principal.key.clone()),
            address: self.author.address.clone(),
            action: kind.as_str().to_owned(),
            target: id.to_owned(),
            seq: Some(self.next_seq()),
            before: before.map(hash_of),
            after: after.map(hash_of),
            from: state(from),
            to: state(to),
            chain: Some(if is_decision { AuditChain::Decisions } else { AuditChain::Changes }),
            ..AuditEntry::default()
        };
        self.note(entry);
    }

    /// Appends to the audit trail.
    pub(super) fn note(&mut self, entry: AuditEntry) {
        let Moment { at, clock, .. } = self.moment;
        let arrival = Some(clock).filter(|clock| *clock != at);
        let (key, stored) = self.effects.audited.append(AuditEntry { at: Some(at), arrival, ..entry });
        self.set(key, Some(stored));
    }
}
