//! The cache of changes, shared by all readers of the log: they receive the same [`LoggedChange`] and share its
//! renditions.
//!
//! The end of the log is cached as it becomes durable. Changes loaded by readers further back are cached in a
//! separate, smaller part, since many readers often resume at the same position. Because positions may have gaps,
//! both parts are organized by the position before each change.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::value::RawValue;

use super::value::{Body, ChangeEntry, Content, Entry};
use super::{
    logged::{Logged, Membership, Silent},
    renditions::Budget,
};
use crate::change::{Change, ChangeKind, Epoch, Seq, Timestamp};

/// The end of the log as it is durable, within bounds of count and size.
#[derive(Debug)]
pub(super) struct Recent {
    /// Consecutive entries of the log.
    changes: VecDeque<Arc<RecentEntry>>,
    /// The position before the first of them.
    before: Seq,
    /// Number of earlier entries that have left the cache.
    left: u64,
    budget: Arc<Budget>,
}

/// A cached change. It is created from its entry when it is first read, since that takes longer than a commit may.
#[derive(Debug)]
pub(super) struct RecentEntry {
    seq: Seq,
    bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Stored(Box<Entry>),
    Read(Logged),
    /// The entry left the cache before it was read.
    Dropped,
}

impl Recent {
    const MAX_CHANGES: usize = 16 * 1024;
    const MAX_BYTES: usize = 24 * 1024 * 1024;

    /// Creates an empty cache for a log that ends at `last`.
    pub fn after_end(last: Seq) -> Recent {
        Recent { changes: VecDeque::new(), before: last, left: 0, budget: Budget::new(Self::MAX_BYTES) }
    }

    /// Appends durable changes, and drops the oldest changes beyond the limits.
    pub fn extend(&mut self, changes: Vec<RecentEntry>) {
        for change in changes {
            self.budget.add(change.bytes);
            self.changes.push_back(Arc::new(change));
        }
        while self.changes.len() > Self::MAX_CHANGES || self.budget.is_short() {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.budget.release(oldest.bytes);
            oldest.leave();
            (self.before, self.left) = (oldest.seq, self.left + 1);
        }
    }

    /// Returns the changes after `since` up to `last` if all of them are cached.
    pub fn after(&self, since: Seq, last: Seq, limit: usize) -> Option<Vec<Arc<RecentEntry>>> {
        let changes = self.changes.range(self.index_after(since)?..).take(limit);
        Some(changes.take_while(|change| change.seq <= last).cloned().collect())
    }

    /// Returns the number of changes up to a position, counted since the log was opened, or `None` for a position
    /// before the cache.
    pub fn ordinal(&self, position: Seq) -> Option<u64> {
        Some(self.left + self.index_after(position)? as u64)
    }

    /// Returns the position before the first cached change, and its ordinal.
    pub fn start(&self) -> (Seq, u64) {
        (self.before, self.left)
    }

    fn index_after(&self, position: Seq) -> Option<usize> {
        (position >= self.before).then(|| self.changes.partition_point(|change| change.seq <= position))
    }

    /// Returns the budget for renditions of its changes.
    pub fn budget(&self) -> Arc<Budget> {
        self.budget.clone()
    }
}

impl RecentEntry {
    /// Creates the cached form of the entry stored at position `seq`.
    pub fn new(seq: Seq, entry: Entry) -> RecentEntry {
        let content = match &entry.content {
            Content::Change(change) => {
                let text = if let Body::Text(text) = &change.body { text.len() } else { 0 };
                let keys = change.before.iter().chain(&change.after).map(|key| key.len() + size_of::<String>());
                size_of::<Change>() + change.id.len() + text + keys.sum::<usize>()
            }
            Content::Membership(membership) => {
                let names = membership.joined.iter().chain(&membership.left).map(|owner| owner.as_str().len() + 24);
                size_of::<Membership>() + names.sum::<usize>()
            }
            Content::Declaration(id) => id.len(),
        };
        let bytes = size_of::<RecentEntry>() + content;
        RecentEntry { seq, bytes, state: Mutex::new(State::Stored(Box::new(entry))) }
    }

    /// Returns the position.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the change of the entry, unless it has already been read.
    pub fn stored_change(&mut self) -> Option<(Seq, &ChangeEntry)> {
        match self.state.get_mut().unwrap_or_else(PoisonError::into_inner) {
            State::Stored(entry) => Some((self.seq, entry.change()?)),
            State::Read(_) | State::Dropped => None,
        }
    }

    /// Returns the entry for readers, or `None` if it left the cache unread.
    pub fn read(&self, epoch: Epoch, budget: &Arc<Budget>) -> Option<Logged> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let logged = match std::mem::replace(&mut *state, State::Dropped) {
            State::Read(logged) => logged,
            State::Stored(entry) => {
                let logged = entry.into_logged(epoch, self.seq);
                if let Logged::Change(change) = &logged {
                    change.renditions.join(budget);
                }
                logged
            }
            State::Dropped => return None,
        };
        *state = State::Read(logged.clone());
        Some(logged)
    }

    fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Read(logged) = std::mem::replace(&mut *state, State::Dropped) {
            if let Logged::Change(change) = &logged {
                change.renditions.leave();
            }
            *state = State::Read(logged);
        }
    }
}

impl Entry {
    /// Converts the entry to the form for readers of the log. The entry must contain its text.
    pub fn into_logged(self, epoch: Epoch, seq: Seq) -> Logged {
        let Entry { previous, at, actor, content, arrival: _ } = self;
        match content {
            Content::Change(entry) => {
                Logged::Change(Arc::new(entry.into_change(epoch, seq, previous, at, actor).into()))
            }
            Content::Membership(entry) => {
                let (number, joined, left) = (entry.number, entry.joined, entry.left);
                Logged::Membership(Arc::new(Membership { seq, previous, at, actor, number, joined, left }))
            }
            Content::Declaration(_) => Logged::Declaration(Silent { seq, previous, at }),
        }
    }
}

impl ChangeEntry {
    fn into_change(self, epoch: Epoch, seq: Seq, previous: Seq, at: Timestamp, actor: Option<String>) -> Change {
        let text = match self.body {
            Body::Text(text) => raw(text, seq),
            Body::None | Body::Apart => None,
        };
        let (td, patch) = if self.kind == ChangeKind::Updated { (None, text) } else { (text, None) };
        Change {
            epoch,
            seq,
            previous,
            kind: self.kind,
            reason: self.end.map(|(reason, _)| reason),
            id: self.id,
            at,
            actor,
            td,
            patch,
            capabilities_before: self.before,
            capabilities_after: self.after,
            access_before: self.access_before,
            access_after: self.access_after,
        }
    }
}

/// Converts a description to raw JSON. It should be valid JSON; if it isn't, followers can still skip its change.
fn raw(text: String, seq: Seq) -> Option<Box<RawValue>> {
    RawValue::from_string(text)
        .inspect_err(|error| tracing::error!(%seq, %error, "the description in a change is not valid JSON"))
        .ok()
}

/// Changes that were loaded from the log, in the order they were loaded in.
#[derive(Debug)]
pub(super) struct Loaded {
    changes: BTreeMap<Seq, Logged>,
    order: VecDeque<Seq>,
    budget: Arc<Budget>,
}

impl Loaded {
    const MAX_CHANGES: usize = 1024;
    const MAX_BYTES: usize = 8 * 1024 * 1024;

    pub fn new() -> Loaded {
        Loaded { changes: BTreeMap::new(), order: VecDeque::new(), budget: Budget::new(Self::MAX_BYTES) }
    }

    /// Returns the changes directly after `since`, without gaps.
    pub fn after(&self, since: Seq, limit: usize) -> Vec<Logged> {
        let mut position = since;
        let following = self.changes.range(since.next()..).map(|(_, change)| change).take_while(|change| {
            let follows = change.follows(position);
            position = change.seq();
            follows
        });
        following.take(limit).cloned().collect()
    }

    pub fn extend(&mut self, entries: &[Logged]) {
        for entry in entries {
            if self.changes.contains_key(&entry.seq()) {
                continue;
            }
            self.budget.add(entry.weight());
            if let Logged::Change(change) = entry {
                change.renditions.join(&self.budget);
            }
            self.changes.insert(entry.seq(), entry.clone());
            self.order.push_back(entry.seq());
        }
        while self.changes.len() > Self::MAX_CHANGES || self.budget.is_short() {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(entry) = self.changes.remove(&oldest) else { continue };
            self.budget.release(entry.weight());
            if let Logged::Change(change) = &entry {
                change.renditions.leave();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::renditions::Slot;

    const SLOT: Slot<String> = Slot::numbered(0, String::len);

    fn entry(previous: u64, text: &str, keys: Vec<String>) -> Entry {
        let previous = Seq(previous);
        let (kind, at, body) = (ChangeKind::Created, Timestamp(0), Body::Text(text.into()));
        let (access_before, access_after) = Default::default();
        let (id, before) = ("urn:a".into(), Vec::new());
        let change = ChangeEntry { kind, end: None, id, before, after: keys, access_before, access_after, body };
        Entry { previous, at, arrival: at, actor: None, content: Content::Change(Box::new(change)) }
    }

    fn recent(seqs: impl IntoIterator<Item = u64>, text: &str) -> Recent {
        let mut recent = Recent::after_end(Seq(4));
        recent.extend(seqs.into_iter().map(|seq| RecentEntry::new(Seq(seq), entry(4, text, Vec::new()))).collect());
        recent
    }

    fn seqs(recent: &Recent, since: u64, last: u64) -> Option<Vec<u64>> {
        Some(recent.after(Seq(since), Seq(last), 64)?.iter().map(|change| change.seq.0).collect())
    }

    #[test]
    fn only_a_range_that_is_cached_in_full_is_served() {
        let recent = recent(5..=9, "{}");
        assert_eq!(seqs(&recent, 3, 9), None);
        assert_eq!(seqs(&recent, 4, 9), Some(vec![5, 6, 7, 8, 9]));
        assert_eq!(seqs(&recent, 4, 8), Some(vec![5, 6, 7, 8]));
        assert_eq!(seqs(&recent, 9, 9), Some(vec![]));
    }

    #[test]
    fn positions_may_have_gaps() {
        let recent = recent([7, 8, 15], "{}");
        let served = [4, 6, 7, 12, 15].map(|since| seqs(&recent, since, 15).unwrap_or_default());
        assert_eq!(served, [vec![7, 8, 15], vec![7, 8, 15], vec![8, 15], vec![15], vec![]]);
        assert_eq!(
            [3, 4, 6, 7, 14, 15].map(|at| recent.ordinal(Seq(at))),
            [None, Some(0), Some(0), Some(1), Some(2), Some(3)]
        );
    }

    #[test]
    fn all_readers_get_the_same_change() {
        let recent = recent(5..=5, "{}");
        let read = || recent.after(Seq(4), Seq(5), 1)?.first()?.read(Epoch(7), &recent.budget())?.change().cloned();
        assert!(Arc::ptr_eq(&read().unwrap(), &read().unwrap()));
    }

    #[test]
    fn large_changes_are_cached_within_the_bound() {
        let text = format!("\"{}\"", "x".repeat(1024 * 1024));
        let large = recent(5..=104, &text);
        assert!(large.changes.len() < 24);
        assert_eq!((large.ordinal(Seq(104)), large.start().0.0 - 4), (Some(100), large.start().1));
        let keys = vec!["k".repeat(1024); 1024];
        let mut recent = Recent::after_end(Seq::ZERO);
        recent.extend((1..=100).map(|seq| RecentEntry::new(Seq(seq), entry(seq - 1, "{}", keys.clone()))).collect());
        assert!(recent.changes.len() < 24, "{}", recent.changes.len());
    }

    #[test]
    fn renditions_of_cached_changes_count() {
        let mut recent = recent(5..=104, "{}");
        let budget = recent.budget();
        let read = recent.after(Seq(4), Seq(104), 100).unwrap();
        let changes: Vec<_> =
            read.iter().map(|entry| entry.read(Epoch(7), &budget).unwrap().change().cloned().unwrap()).collect();
        for change in &changes {
            change.rendition(&SLOT, || "x".repeat(1024 * 1024));
        }
        let stored = changes.iter().filter(|change| change.find_rendition(&SLOT).is_some());
        assert!((20..24).contains(&stored.count()));
        recent.extend(vec![RecentEntry::new(Seq(105), entry(104, "{}", Vec::new()))]);
        assert!(!recent.budget.is_short(), "the oldest made room");
        assert_eq!(recent.changes.back().map(|change| change.seq), Some(Seq(105)));
    }

    #[test]
    fn loaded_changes_are_served_up_to_one_that_is_not() {
        let change = |previous, seq| entry(previous, "{}", Vec::new()).into_logged(Epoch(7), Seq(seq));
        let mut loaded = Loaded::new();
        loaded.extend(&[change(2, 5), change(5, 9), change(12, 13)]);
        let seqs = |since, limit| loaded.after(Seq(since), limit).iter().map(|entry| entry.seq().0).collect::<Vec<_>>();
        assert_eq!((seqs(2, 9), seqs(2, 1), seqs(12, 9)), (vec![5, 9], vec![5], vec![13]));
        assert_eq!((seqs(3, 9), seqs(7, 9)), (vec![5, 9], vec![9]), "a number that was left out");
        assert!(seqs(1, 9).is_empty() && seqs(9, 9).is_empty(), "there is one between");
    }
}
