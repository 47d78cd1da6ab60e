//! Reading the change log: the latest changes from memory, older ones from the tree.

use std::sync::{Arc, MutexGuard, PoisonError};

use serde_json::value::RawValue;

use super::{
    layout,
    recent::Loaded,
    value::{Body, Entry, StoredRecord},
    view::{View, read, reading},
};
use crate::{
    Result,
    change::{Change, ChangeKind, Epoch, Renditions, Seq},
};

/// A part of the log ends with the change that makes it so large.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// A part of the log.
#[derive(Debug, Clone)]
pub struct Changes {
    /// In order, without gaps.
    pub changes: Vec<Arc<Change>>,
    /// The durable end of the log when this was read.
    pub last: Seq,
    /// The oldest change that the log still has.
    pub oldest: Seq,
    /// Whether changes after the asked position are gone, or it lies beyond the end: a resync is needed.
    pub truncated: bool,
}

impl View {
    /// See [`super::Store::changes`].
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Changes> {
        let last = *self.durable.borrow();
        let mut part = Changes { changes: Vec::new(), last, oldest: self.oldest(), truncated: false };
        part.truncated = since > last || since.next() < part.oldest;
        if since >= last || part.truncated {
            return Ok(part);
        }
        if let Some(cached) = self.cached_changes(since, last, limit) {
            part.changes = cached;
            return Ok(part);
        }
        let (start, end) = (layout::log_key(since.next()), layout::log_key(last.next()));
        let (mut entries, mut bytes) = (0, 0);
        let (pairs, _) = self.scan(&start, &end, |entry| {
            entries += 1;
            bytes += entry.len();
            entries >= limit || bytes >= PART_BYTES
        })?;
        // Again, with the descriptions that are in the records.
        let mut bytes = 0;
        for (key, value) in pairs.into_iter().take(limit) {
            let seq = layout::seq_of_key(&key)?;
            let expected = Seq(since.0 + 1 + part.changes.len() as u64);
            // Trimmed while it was being read.
            let Some(change) = self.change(seq, &value)?.filter(|_| seq == expected) else {
                part.oldest = self.oldest();
                part.truncated = true;
                part.changes.clear();
                break;
            };
            bytes += change.weight();
            part.changes.push(Arc::new(change));
            if bytes >= PART_BYTES {
                break;
            }
        }
        self.loaded().extend(&part.changes);
        Ok(part)
    }

    /// At most `limit` changes after `since` from memory; none if the next one isn't there, or `since` lies beyond the end.
    pub fn cached_changes(&self, since: Seq, last: Seq, limit: usize) -> Option<Vec<Arc<Change>>> {
        if since >= last {
            return (since == last).then(Vec::new);
        }
        let (recent, budget) = {
            let recent = read(&self.recent);
            (recent.after(since, last, limit), recent.budget())
        };
        if let Some(recent) = recent {
            return recent.iter().map(|change| change.read(self.epoch, &budget)).collect();
        }
        Some(self.loaded().after(since, limit)).filter(|loaded| !loaded.is_empty() && since.next() >= self.oldest())
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`super::Store::history`].
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        let last = *self.durable.borrow();
        // Before the list: what the record no longer tells is in the list by then.
        let creation = self.creation(id)?.filter(|seq| *seq > since && *seq <= last);
        let range = layout::history_key(id, since.next())..layout::history_key(id, last.next());
        let listed = self.tree.range(range).keys().map(|key| layout::seq_of_key(&key.map_err(reading)?));
        let mut seqs: Vec<Seq> = listed.take(limit).collect::<Result<_>>()?;
        seqs.extend(creation.filter(|creation| !seqs.contains(creation)));
        seqs.truncate(limit);
        let mut changes = Vec::with_capacity(seqs.len());
        for seq in seqs {
            if let Some(entry) = self.get(&layout::log_key(seq))? {
                changes.extend(self.change(seq, &entry)?);
            }
        }
        Ok(changes)
    }

    /// The seq of a record that is as it was created.
    fn creation(&self, id: &str) -> Result<Option<Seq>> {
        let Some(bytes) = self.get(&layout::record_key(id))? else { return Ok(None) };
        let record = StoredRecord::decode(&bytes)?;
        Ok(record.is_creation.then_some(record.seq))
    }

    /// The change of a log entry; none if it was trimmed meanwhile.
    fn change(&self, seq: Seq, entry: &[u8]) -> Result<Option<Change>> {
        let mut entry = Entry::decode(entry)?;
        if entry.body == Body::InRecord {
            match self.created_text(seq, &entry.id)? {
                Some(text) => entry.body = Body::Text(text),
                None => return Ok(None),
            }
        }
        Ok(Some(entry.into_change(self.epoch, seq)))
    }

    /// The TD of a creation whose entry left it to the record.
    fn created_text(&self, seq: Seq, id: &str) -> Result<Option<String>> {
        if let Some(bytes) = self.get(&layout::record_key(id))? {
            let record = StoredRecord::decode(&bytes)?;
            if record.seq == seq {
                return Ok(Some(record.text.to_owned()));
            }
        }
        // The write that changed the record has moved the text into the entry, in the same batch.
        let Some(bytes) = self.get(&layout::log_key(seq))? else { return Ok(None) };
        match Entry::decode(&bytes)?.body {
            Body::Text(text) => Ok(Some(text)),
            Body::None | Body::InRecord => Err(layout::corrupt()),
        }
    }
}

impl Entry {
    /// What readers get of an entry whose text is at hand.
    pub fn into_change(self, epoch: Epoch, seq: Seq) -> Change {
        let text = match self.body {
            Body::Text(text) => raw(text, seq),
            Body::None | Body::InRecord => None,
        };
        let (td, patch) = if self.kind == ChangeKind::Updated { (None, text) } else { (text, None) };
        Change {
            epoch,
            seq,
            kind: self.kind,
            reason: self.reason,
            id: self.id,
            at: self.at,
            actor: self.actor,
            td,
            patch,
            capabilities_before: self.before,
            capabilities_after: self.after,
            renditions: Renditions::default(),
        }
    }
}

/// Descriptions are JSON before they come here. Should one not be, followers still get past its change.
fn raw(text: String, seq: Seq) -> Option<Box<RawValue>> {
    RawValue::from_string(text).inspect_err(|error| tracing::error!(%seq, %error, "a change has no JSON")).ok()
}
