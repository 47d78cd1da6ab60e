//! `Log`: the changes in order. Appending to it, reading it (the latest changes from memory, older ones
//! from the tree), and retention.
//!
//! It knows of records only that a creation is listed in the history once its record is no longer as it was
//! created; who reads says whether it is. Another log, such as a replicated one, has to offer the same.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sled::Batch;
use tokio::sync::watch;

use super::{
    layout,
    logged_change::LoggedChange,
    recent::{Loaded, Recent, RecentChange},
    tree::{Tree, read, reading, write},
    value::{self, Body, Entry, StoredRecord},
};
use crate::{
    Error, Result,
    change::{Change, Epoch, Seq, Timestamp},
};

/// How many changes retention drops at a time, so that writes don't wait long for it.
const TRIMMED_AT_ONCE: usize = 256;

/// A part of the log ends with the change that makes it so large.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// A part of the log.
#[derive(Debug, Clone)]
pub struct Changes {
    /// In order, without gaps.
    pub changes: Vec<Arc<LoggedChange>>,
    /// The durable end of the log when this was read.
    pub last: Seq,
    /// The oldest change that the log still has.
    pub oldest: Seq,
    /// Whether changes after the asked position are gone, or it lies beyond the end: a resync is needed.
    pub truncated: bool,
}

/// The creations that the history doesn't list yet.
pub(super) trait Creations {
    /// The seq of a record that is as it was created.
    fn creation(&self, id: &str) -> Result<Option<Seq>>;
}

/// The change log in the tree.
pub(super) struct Log {
    tree: Arc<Tree>,
    epoch: Epoch,
    /// The durable end.
    end: watch::Receiver<Seq>,
    /// Moves it; none once the log has ended, which wakes all who wait.
    moves_end: Mutex<Option<watch::Sender<Seq>>>,
    oldest: AtomicU64,
    recent: RwLock<Recent>,
    /// Older changes that somebody has read.
    loaded: Mutex<Loaded>,
}

impl Log {
    pub fn new(tree: Arc<Tree>, epoch: Epoch, oldest: Seq, last: Seq) -> Log {
        let (moves_end, end) = watch::channel(last);
        Log {
            tree,
            epoch,
            end,
            moves_end: Mutex::new(Some(moves_end)),
            oldest: AtomicU64::new(oldest.0),
            recent: RwLock::new(Recent::new()),
            loaded: Mutex::new(Loaded::new()),
        }
    }

    /// The durable end.
    pub fn last(&self) -> Seq {
        *self.end.borrow()
    }

    /// When the last change was made, as far as the log has it.
    pub fn last_moment(&self) -> Timestamp {
        let last = self.changes(Seq(self.last().0.saturating_sub(1)), 1);
        last.ok().and_then(|last| Some(last.changes.first()?.at)).unwrap_or(Timestamp(0))
    }

    /// The durable end, as it moves.
    pub fn watch(&self) -> watch::Receiver<Seq> {
        self.end.clone()
    }

    /// The oldest change that the log has.
    pub fn oldest(&self) -> Seq {
        Seq(self.oldest.load(Ordering::Acquire))
    }

    /// Takes changes into the cache that have become durable.
    pub fn cache(&self, changes: Vec<RecentChange>) {
        write(&self.recent).extend(changes);
    }

    /// Says that the log is durable up to `last`.
    pub fn publish(&self, last: Seq) {
        if let Some(end) = &*self.moves_end.lock().unwrap_or_else(PoisonError::into_inner) {
            end.send_if_modified(|seq| std::mem::replace(seq, last) != last);
        }
    }

    /// Ends the log: who waits for changes is woken, and sees that there won't be any.
    pub fn end(&self) {
        self.moves_end.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// See [`super::Store::changes`].
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Changes> {
        let last = self.last();
        let mut part = Changes { changes: Vec::new(), last, oldest: self.oldest(), truncated: false };
        part.truncated = since > last || since.next() < part.oldest;
        if since >= last || part.truncated {
            return Ok(part);
        }
        if let Some(cached) = self.cached(since, last, limit) {
            part.changes = cached;
            return Ok(part);
        }
        let (start, end) = (layout::log_key(since.next()), layout::log_key(last.next()));
        let (mut entries, mut bytes) = (0, 0);
        let (pairs, _) = self.tree.scan(&start, &end, |entry| {
            entries += 1;
            bytes += entry.len();
            entries >= limit || bytes >= PART_BYTES
        })?;
        // Again, with the descriptions that lie apart.
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
            part.changes.push(Arc::new(change.into()));
            if bytes >= PART_BYTES {
                break;
            }
        }
        self.loaded().extend(&part.changes);
        Ok(part)
    }

    /// At most `limit` changes after `since` from memory; none if the next one isn't there, or `since` lies beyond the end.
    pub fn cached(&self, since: Seq, last: Seq, limit: usize) -> Option<Vec<Arc<LoggedChange>>> {
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
    pub fn history(&self, id: &str, since: Seq, limit: usize, creations: &impl Creations) -> Result<Vec<Change>> {
        let last = self.last();
        // Before the list: what the record no longer tells is in the list by then.
        let creation = creations.creation(id)?.filter(|seq| *seq > since && *seq <= last);
        let range = layout::history_key(id, since.next())..layout::history_key(id, last.next());
        let db = self.tree.db()?;
        let listed = db.range(range).keys().map(|key| layout::seq_of_key(&key.map_err(reading)?));
        let mut seqs: Vec<Seq> = listed.take(limit).collect::<Result<_>>()?;
        seqs.extend(creation.filter(|creation| !seqs.contains(creation)));
        seqs.truncate(limit);
        let mut changes = Vec::with_capacity(seqs.len());
        for seq in seqs {
            if let Some(entry) = self.tree.get(&layout::log_key(seq))? {
                changes.extend(self.change(seq, &entry)?);
            }
        }
        Ok(changes)
    }

    /// The change of a log entry; none if it was trimmed meanwhile.
    fn change(&self, seq: Seq, entry: &[u8]) -> Result<Option<Change>> {
        let mut entry = Entry::decode(entry)?;
        if entry.body == Body::Apart {
            let Some(text) = self.tree.get(&layout::text_key(seq))? else { return Ok(None) };
            entry.body = Body::Text(value::text(&text)?.to_owned());
        }
        Ok(Some(entry.into_change(self.epoch, seq)))
    }

    /// Whether the record of that id has that seq.
    fn is_current(&self, seq: Seq, id: &str) -> Result<bool> {
        let record = self.tree.get(&layout::record_key(id))?;
        Ok(record.map(|bytes| StoredRecord::decode(&bytes).map(|record| record.seq)).transpose()? == Some(seq))
    }

    /// Drops some of what is beyond retention; true if there may be more. No commit may run meanwhile. It
    /// isn't flushed: what a crash brings back is dropped again.
    pub fn trim_step(&self, now: Timestamp, retained_changes: u64, retained_for: Duration) -> Result<bool> {
        let last = self.last();
        let retained_for = i64::try_from(retained_for.as_millis()).unwrap_or(i64::MAX);
        let too_old = Timestamp(now.0.saturating_sub(retained_for));
        let beyond_count = Seq(last.0.saturating_sub(retained_changes));
        let (mut batch, mut oldest, mut dropped) = (Batch::default(), self.oldest(), 0);
        let db = self.tree.db()?;
        for pair in db.range(layout::log_key(Seq::ZERO)..layout::log_key(last.next())).take(TRIMMED_AT_ONCE) {
            let (key, value) = pair.map_err(reading)?;
            let (seq, entry) = (layout::seq_of_key(&key)?, Entry::decode(&value)?);
            if seq > beyond_count && entry.at >= too_old {
                break;
            }
            if entry.body == Body::Apart && !self.is_current(seq, &entry.id)? {
                batch.remove(layout::text_key(seq));
            }
            batch.remove(layout::history_key(&entry.id, seq));
            batch.remove(key);
            (oldest, dropped) = (seq.next(), dropped + 1);
        }
        if dropped > 0 {
            // First, so that no reader takes the gap for the log.
            self.oldest.store(oldest.0, Ordering::Release);
            db.apply_batch(batch)
                .map_err(|source| Error::Store { doing: "trimming the log", source: source.into() })?;
        }
        Ok(dropped == TRIMMED_AT_ONCE)
    }
}
