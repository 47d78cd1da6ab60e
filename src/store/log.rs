//! Reading the change log: the latest changes from memory, older ones from the tree.

use std::{collections::VecDeque, sync::Arc};

use serde_json::value::RawValue;

use super::{
    layout::{self, Body, Entry, StoredRecord},
    view::{View, read, reading},
};
use crate::{
    Error, Result,
    change::{Change, ChangeKind, Seq},
};

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

/// The latest changes, for followers that keep up.
#[derive(Debug, Default)]
pub(super) struct Recent {
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
}

impl Recent {
    const MOST_CHANGES: usize = 16 * 1024;
    const MOST_BYTES: usize = 16 * 1024 * 1024;

    /// Takes durable changes in, drops the oldest beyond the bounds.
    pub fn extend(&mut self, changes: Vec<Arc<Change>>) {
        for change in changes {
            self.bytes += weight_of(&change);
            self.changes.push_back(change);
        }
        while self.changes.len() > Self::MOST_CHANGES || self.bytes > Self::MOST_BYTES {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.bytes -= weight_of(&oldest);
        }
    }

    /// The changes after `since`, if all of them are here.
    fn after(&self, since: Seq, limit: usize) -> Option<Vec<Arc<Change>>> {
        let first = self.changes.front()?.seq;
        let skipped = since.next().0.checked_sub(first.0)?;
        Some(self.changes.iter().skip(usize::try_from(skipped).ok()?).take(limit).cloned().collect())
    }
}

fn weight_of(change: &Change) -> usize {
    let text = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    size_of::<Change>() + change.id.len() + text(&change.td) + text(&change.patch)
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
        if let Some(changes) = read(&self.recent).after(since, limit) {
            part.changes = changes;
            part.changes.retain(|change| change.seq <= last);
            return Ok(part);
        }
        let end = layout::log_key(last.next());
        for pair in self.tree.range(layout::log_key(since.next())..end).take(limit) {
            let (key, value) = pair.map_err(reading)?;
            let seq = layout::seq_of_key(&key)?;
            let expected = Seq(since.0 + 1 + part.changes.len() as u64);
            // Trimmed while it was being read.
            let Some(change) = self.change(seq, &value)?.filter(|_| seq == expected) else {
                part.oldest = self.oldest();
                part.truncated = true;
                part.changes.clear();
                break;
            };
            part.changes.push(Arc::new(change));
        }
        Ok(part)
    }

    /// See [`super::Store::history`].
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        let end = self.durable.borrow().next();
        let mut changes = Vec::new();
        for pair in self.tree.range(layout::history_key(id, since.next())..layout::history_key(id, end)) {
            if changes.len() >= limit {
                break;
            }
            let seq = layout::seq_of_key(&pair.map_err(reading)?.0)?;
            if let Some(entry) = self.tree.get(layout::log_key(seq)).map_err(reading)? {
                changes.extend(self.change(seq, &entry)?);
            }
        }
        Ok(changes)
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
        into_change(self, seq, entry).map(Some)
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
        let Some(bytes) = self.tree.get(layout::log_key(seq)).map_err(reading)? else { return Ok(None) };
        match Entry::decode(&bytes)?.body {
            Body::Text(text) => Ok(Some(text)),
            Body::None | Body::InRecord => Err(layout::corrupt()),
        }
    }
}

/// What readers get of an entry whose text is at hand.
pub(super) fn into_change(view: &View, seq: Seq, entry: Entry) -> Result<Change> {
    let text = match entry.body {
        Body::Text(text) => Some(RawValue::from_string(text).map_err(no_json)?),
        Body::None | Body::InRecord => None,
    };
    let (td, patch) = if entry.kind == ChangeKind::Updated { (None, text) } else { (text, None) };
    Ok(Change {
        epoch: view.epoch,
        seq,
        kind: entry.kind,
        id: entry.id,
        at: entry.at,
        actor: entry.actor,
        td,
        patch,
        capabilities_before: entry.before,
        capabilities_after: entry.after,
    })
}

fn no_json(source: serde_json::Error) -> Error {
    Error::Store { doing: "reading a description as JSON", source: source.into() }
}
