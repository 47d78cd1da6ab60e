//! Log entries appended by writes.

use sled::IVec;

use super::{
    applier::{Applier, Found},
    layout,
    recent::RecentEntry,
    value::{self, Body, ChangeEntry, Content, Entry},
};
use crate::{
    Result,
    access::Access,
    change::{ChangeKind, Seq},
};

impl Applier<'_> {
    /// Appends the update of a record to the log.
    pub(super) fn log_update(
        &mut self,
        id: &str,
        live: &Found<'_>,
        (after, access_after): (Vec<String>, Access),
        patch: String,
        actor: Option<String>,
    ) -> Result<Seq> {
        let (id, before) = (id.to_owned(), live.record.capability_keys()?);
        let (kind, end, body) = (ChangeKind::Updated, None, Body::Text(patch));
        let access_before = live.access.clone();
        self.effects.narrows |= access_before != access_after && !access_after.is_public();
        Ok(self.log_change(ChangeEntry { kind, end, id, before, after, access_before, access_after, body }, actor))
    }

    /// Appends a change to the log.
    pub(super) fn log_change(&mut self, change: ChangeEntry, actor: Option<String>) -> Seq {
        let seq = self.next_seq();
        if change.kind != ChangeKind::Created {
            self.set(layout::history_key(&change.id, seq), Some(IVec::default()));
        }
        if !change.access_before.is_public() || !change.access_after.is_public() {
            self.set(layout::restricted_key(&change.id), Some(value::encode_seq(seq)));
        }
        self.append(Content::Change(Box::new(change)), actor)
    }

    /// Appends to the log.
    pub(super) fn append(&mut self, content: Content, actor: Option<String>) -> Seq {
        let (seq, previous) = (self.next_seq(), self.state.last);
        let entry = Entry { previous, at: self.moment.at, arrival: self.moment.clock, actor, content };
        self.set(layout::log_key(seq), Some(entry.encode()));
        self.effects.entries.push(RecentEntry::new(seq, entry));
        (self.state.last, self.state.entries) = (seq, self.state.entries + 1);
        seq
    }
}
