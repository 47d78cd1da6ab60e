//! The latest changes, in memory for followers that keep up.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::value::{Body, Entry};
use crate::change::{Change, Epoch, Seq};

/// The end of the log as it is durable, within bounds of count and size.
#[derive(Debug, Default)]
pub(super) struct Recent {
    changes: VecDeque<Arc<RecentChange>>,
    bytes: usize,
}

/// A change that is made of its entry when it is first read: that takes longer than the committer has.
#[derive(Debug)]
pub(super) struct RecentChange {
    seq: Seq,
    bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Logged(Box<Entry>),
    Read(Arc<Change>),
}

impl Recent {
    const MOST_CHANGES: usize = 16 * 1024;
    const MOST_BYTES: usize = 16 * 1024 * 1024;

    /// Takes durable changes in, drops the oldest beyond the bounds.
    pub fn extend(&mut self, changes: Vec<RecentChange>) {
        for change in changes {
            self.bytes += change.bytes;
            self.changes.push_back(Arc::new(change));
        }
        while self.changes.len() > Self::MOST_CHANGES || self.bytes > Self::MOST_BYTES {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// The changes after `since` up to `last`, if all of them are here.
    pub fn after(&self, since: Seq, last: Seq, limit: usize) -> Option<Vec<Arc<RecentChange>>> {
        let first = self.changes.front()?.seq;
        let skipped = since.next().0.checked_sub(first.0)?;
        let changes = self.changes.iter().skip(usize::try_from(skipped).ok()?).take(limit);
        Some(changes.take_while(|change| change.seq <= last).cloned().collect())
    }
}

impl RecentChange {
    /// What was logged under `seq`.
    pub fn new(seq: Seq, entry: Entry) -> RecentChange {
        let text = if let Body::Text(text) = &entry.body { text.len() } else { 0 };
        let keys: usize = entry.before.iter().chain(&entry.after).map(|key| key.len() + size_of::<String>()).sum();
        let bytes = size_of::<RecentChange>() + size_of::<Entry>() + entry.id.len() + text + keys;
        RecentChange { seq, bytes, state: Mutex::new(State::Logged(Box::new(entry))) }
    }

    /// The change.
    pub fn read(&self, epoch: Epoch) -> Arc<Change> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let change = match &*state {
            State::Read(change) => return change.clone(),
            State::Logged(entry) => Arc::new(Entry::clone(entry).into_change(epoch, self.seq)),
        };
        *state = State::Read(change.clone());
        change
    }
}
