//! Changes of the log after the position of the index: the ids of deleted Things, and the times of the changes. Each
//! change is read only once, either by the follower or by a search.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::{
    Result,
    change::{Change, ChangeKind, Seq, Timestamp},
    store::{Logged, Store},
};

/// Maximum number of changes read at once.
const CHANGES_AT_ONCE: usize = 4096;

/// Maximum number of ids with changed access that are listed individually.
const MOST_RESTRICTED: usize = 100_000;

/// Tolerance of comparing the times of changes with the clock, which is being corrected on many machines: chrony slows
/// it down by up to 8.3 %.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(10);

/// Changes that the index doesn't show.
#[derive(Default)]
pub(super) struct Unseen {
    /// Position up to which the log was read.
    read: Seq,
    /// Deleted ids with the last change that did it.
    deleted: HashMap<String, Seq>,
    /// Last change of each batch read, with the time of its first change.
    runs: VecDeque<(Seq, Timestamp)>,
    /// Those of them that searches don't know yet.
    newly_deleted: Vec<String>,
    /// Ids of Things whose access may have changed since the last search, or `None` if any access may have changed.
    newly_restricted: Option<Vec<String>>,
}

impl Unseen {
    /// Starts without unindexed changes after a position.
    pub fn after(position: Seq) -> Unseen {
        Unseen { read: position, ..Unseen::default() }
    }

    /// Reads the log up to its durable end. Returns false if the log no longer contains all changes since the last
    /// read.
    pub fn read_on(&mut self, store: &Store) -> Result<bool> {
        let end = *store.durable().borrow();
        while self.read < end {
            let part = store.changes(self.read, CHANGES_AT_ONCE)?;
            if part.truncated {
                return Ok(false);
            }
            let (Some(first), Some(last)) = (part.entries.first(), part.entries.last()) else { break };
            self.runs.push_back((last.seq(), first.at()));
            self.read = last.seq();
            part.entries.iter().filter_map(Logged::change).for_each(|change| self.add(change));
        }
        Ok(true)
    }

    fn add(&mut self, change: &Change) {
        if !change.access_before.is_public() || !change.access_after.is_public() {
            self.newly_restricted.as_mut().into_iter().for_each(|ids| ids.push(change.id.clone()));
            self.newly_restricted.take_if(|ids| ids.len() > MOST_RESTRICTED);
        }
        // What somebody saw and may see no more is hidden until the index knows.
        let is_narrower = change.access_before != change.access_after && !change.access_after.is_public();
        if change.kind == ChangeKind::Deleted || (change.kind == ChangeKind::Updated && is_narrower) {
            self.deleted.insert(change.id.clone(), change.seq);
            self.newly_deleted.push(change.id.clone());
        }
    }

    /// Drops changes up to `position`, which are now in the index. All remaining deletions count as new.
    pub fn shown(&mut self, position: Seq) {
        self.deleted.retain(|_, seq| *seq > position);
        self.newly_deleted = self.deleted.keys().cloned().collect();
        while self.runs.front().is_some_and(|(last, _)| *last <= position) {
            self.runs.pop_front();
        }
        if position > self.read {
            // What was skipped may have changed an access.
            (self.read, self.newly_restricted) = (position, None);
        }
    }

    /// Returns the ids of Things whose access changed since [`Unseen::clear_newly_restricted`], or `None` if they are
    /// unknown.
    pub fn newly_restricted(&self) -> Option<&[String]> {
        self.newly_restricted.as_deref()
    }

    /// Marks the current access to Things as known to searches.
    pub fn clear_newly_restricted(&mut self) {
        self.newly_restricted = Some(Vec::new());
    }

    /// Returns the ids deleted since [`Unseen::clear_newly_deleted`].
    pub fn newly_deleted(&self) -> &[String] {
        &self.newly_deleted
    }

    /// Marks the current deletions as known to searches.
    pub fn clear_newly_deleted(&mut self) {
        self.newly_deleted.clear();
    }

    /// Returns the last unindexed change that is older than `age`, or that was made in the same transaction as such a
    /// change. If the clock was set back, the age of a change is unknown, and it counts as older.
    pub fn older_than(&self, age: Duration, now: Timestamp) -> Option<Seq> {
        let age = age.saturating_sub(CLOCK_TOLERANCE);
        let limit = now.0.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        self.runs.iter().rev().find(|(_, at)| at.0 <= limit || at.0 > now.0).map(|(seq, _)| *seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Epoch;

    fn change(seq: u64, kind: ChangeKind, id: &str) -> Change {
        Change {
            epoch: Epoch(1),
            seq: Seq(seq),
            previous: Seq(seq - 1),
            kind,
            id: id.into(),
            at: Timestamp(0),
            actor: None,
            td: None,
            patch: None,
            access_before: Default::default(),
            access_after: Default::default(),
            capabilities_before: Vec::new(),
            capabilities_after: Vec::new(),
            reason: None,
        }
    }

    #[test]
    fn deleted_ids_stay_until_the_index_shows_their_last_deletion() {
        let mut unseen = Unseen::after(Seq(1));
        for (seq, kind) in [(2, ChangeKind::Deleted), (3, ChangeKind::Created), (4, ChangeKind::Deleted)] {
            unseen.add(&change(seq, kind, "urn:a"));
        }
        unseen.clear_newly_deleted();
        unseen.shown(Seq(3));
        assert_eq!(unseen.newly_deleted(), ["urn:a".to_owned()]);
        unseen.shown(Seq(4));
        assert!(unseen.newly_deleted().is_empty());
    }

    #[test]
    fn what_is_unseen_for_long_is_known() {
        let mut unseen = Unseen::after(Seq(1));
        unseen.runs.extend([(Seq(5), Timestamp(1_000)), (Seq(9), Timestamp(1_080))]);
        let old = |unseen: &Unseen, now| unseen.older_than(Duration::from_millis(100), Timestamp(now));
        assert_eq!((old(&unseen, 1_089), old(&unseen, 1_090), old(&unseen, 2_000)), (None, Some(Seq(5)), Some(Seq(9))));
        unseen.shown(Seq(5));
        assert_eq!(old(&unseen, 1_090), None);
    }

    #[test]
    fn changes_are_older_although_the_clock_was_slowed_down_or_set_back() {
        let runs = VecDeque::from([(Seq(1), Timestamp(1000)), (Seq(2), Timestamp(1050))]);
        let unseen = Unseen { runs, ..Unseen::default() };
        let older = |now| unseen.older_than(Duration::from_millis(100), Timestamp(now));
        assert_eq!([1080, 1092, 1150].map(older), [None, Some(Seq(1)), Some(Seq(2))]);
        assert_eq!([1049, 900].map(older), [Some(Seq(2)), Some(Seq(2))]);
    }
}
