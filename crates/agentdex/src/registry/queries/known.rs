//! Progress and events of queries, to be looked up by readers while queries are compared with further changes.

use std::collections::HashMap;

use agentdex_api::MatchKind;

use super::{
    delayed::{Delayed, Holder},
    events::Events,
    journal::{Content, Journal},
    number::QueryNo,
};
use crate::change::{Change, ChangeKind, Seq};

/// Returns the event of a change for a query that matched the Thing before, or matches it after the change.
fn kind_of(change: &Change, before: bool, after: bool) -> Option<MatchKind> {
    match (change.kind, before, after) {
        (ChangeKind::Deleted, true, _) => Some(MatchKind::Deleted),
        (ChangeKind::Created, _, true) => Some(MatchKind::Created),
        (_, true, true) => Some(MatchKind::Updated),
        (_, false, true) => Some(MatchKind::Matched),
        (_, true, false) => Some(MatchKind::Unmatched),
        _ => None,
    }
}

/// Returns the event of an update for a reader who sees only the state before it, as a deletion, or only the state
/// after it, as a creation.
pub(super) fn seen_in_part(kind: MatchKind, seen: ChangeKind) -> Option<MatchKind> {
    let (matched, matches) = match kind {
        MatchKind::Updated => (true, true),
        MatchKind::Matched | MatchKind::Created => (false, true),
        MatchKind::Unmatched | MatchKind::Deleted => (true, false),
    };
    match seen {
        ChangeKind::Created => matches.then_some(MatchKind::Created),
        ChangeKind::Deleted => matched.then_some(MatchKind::Deleted),
        ChangeKind::Updated => Some(kind),
    }
}

/// Progress of queries and their events.
pub(super) struct Known {
    /// Last change with which all queries that keep up were compared.
    position: Seq,
    delayed: Delayed,
    /// Queries whose matches are not yet known, with the positions at which they were added.
    starting: HashMap<QueryNo, Seq>,
    /// By query, since when it is compared with changes.
    since: HashMap<QueryNo, Seq>,
    events: Events,
    journal: Journal,
    /// Events of the current change that are not yet in the journal.
    noted: Vec<(QueryNo, MatchKind)>,
}

impl Known {
    pub fn after(position: Seq) -> Known {
        Known {
            position,
            delayed: Delayed::default(),
            starting: HashMap::new(),
            since: HashMap::new(),
            events: Events::after(Seq::ZERO),
            journal: Journal::default(),
            noted: Vec::new(),
        }
    }

    /// Returns the last change with which all queries that keep up were compared.
    pub fn position(&self) -> Seq {
        self.position
    }

    /// Returns the position after which all events of a query are known.
    pub fn known_since(&self, query: QueryNo) -> Option<Seq> {
        self.since.get(&query).map(|since| (*since).max(self.events.forgotten()))
    }

    /// Returns the position up to which events of any query may be missing.
    pub fn forgotten(&self) -> Seq {
        self.events.forgotten()
    }

    /// Returns the last change with which a query was compared.
    pub fn position_of(&self, query: QueryNo) -> Seq {
        self.delayed.position(query).unwrap_or(self.position)
    }

    /// Returns the last change with which all `relevant` queries were compared.
    pub fn position_of_all(&self, relevant: impl Fn(QueryNo) -> bool) -> Seq {
        let starting = self.starting.iter().map(|(query, position)| (*query, *position));
        let behind = self.delayed.positions().chain(starting);
        let behind = behind.filter(|(query, position)| *position < self.position && relevant(*query));
        behind.map(|(_, position)| position).min().unwrap_or(self.position)
    }

    /// Returns the queries that don't keep up with the log.
    pub fn delayed(&self) -> &Delayed {
        &self.delayed
    }

    /// Returns the events that a change causes for all queries.
    pub fn events_of(&self, seq: Seq) -> &[(QueryNo, MatchKind)] {
        self.events.of(seq)
    }

    /// Returns the journal of findings.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Adds a query whose matches are not yet known.
    pub fn add(&mut self, query: QueryNo) {
        self.starting.insert(query, self.position);
    }

    /// Returns the position at which a query was added, or `None` once its matches are known.
    pub fn starting_at(&self, query: QueryNo) -> Option<Seq> {
        self.starting.get(&query).copied()
    }

    /// True if the matches of any query are not yet known.
    pub fn has_starting(&self) -> bool {
        !self.starting.is_empty()
    }

    /// Marks the matches of a query as known, so that it is compared with changes from now on.
    pub fn start(&mut self, query: QueryNo) {
        self.starting.remove(&query);
        self.since.insert(query, self.position);
    }

    /// Records that events of these queries up to the current position may be missing, so that their readers read the
    /// state again.
    pub fn lose(&mut self, queries: &[QueryNo]) {
        if !queries.is_empty() {
            self.journal.add(self.position, Content::Lost(queries.into()));
        }
    }

    /// Removes a query.
    pub fn remove(&mut self, query: QueryNo, holder: &Holder) {
        self.starting.remove(&query);
        self.since.remove(&query);
        self.delayed.remove(query, holder);
    }

    /// Starts the turn of the next holder of delayed queries.
    pub fn next_turn(&mut self) -> Option<(Seq, Vec<QueryNo>)> {
        self.delayed.next_turn()
    }

    /// Records the event that a change causes for a query, provided that the query is being compared with changes.
    /// [`Known::end_turn`] makes it visible to readers of many queries.
    pub fn note(&mut self, change: &Change, query: QueryNo, before: bool, after: bool) {
        let is_compared = self.since.get(&query).is_some_and(|since| *since < change.seq);
        if let Some(kind) = kind_of(change, before, after).filter(|_| is_compared) {
            self.events.add(change.seq, query, kind);
            self.noted.push((query, kind));
        }
    }

    /// Ends the current turn. All of its queries have been compared with the change at this position.
    pub fn end_turn(&mut self, seq: Seq) {
        if !self.noted.is_empty() {
            self.journal.add(seq, Content::Events(std::mem::take(&mut self.noted).into()));
        }
    }

    /// Records that all queries that keep up were compared with the changes up to a position.
    pub fn move_to(&mut self, position: Seq) {
        self.end_turn(position);
        self.position = position;
    }

    /// Records that all queries that keep up have been compared with a change of membership.
    pub fn move_to_membership(&mut self, position: Seq) {
        let mut but: Vec<QueryNo> = self.delayed.positions().map(|(query, _)| query).collect();
        but.sort_unstable();
        self.journal.add(position, Content::Membership { but: but.into() });
        self.position = position;
    }

    /// Records that delayed queries, in ascending order, have reached a change of membership.
    pub fn note_late_membership(&mut self, position: Seq, queries: &[QueryNo]) {
        self.journal.add(position, Content::LateMembership(queries.into()));
    }

    /// Delays a query from the current position on.
    pub fn delay(&mut self, query: QueryNo, holder: &Holder) {
        self.delayed.set(query, holder, self.position);
    }

    /// Records that a delayed query was compared with all changes up to a position.
    pub fn move_delayed(&mut self, query: QueryNo, holder: &Holder, to: Seq) {
        if to >= self.position {
            self.delayed.remove(query, holder);
        } else {
            self.delayed.set(query, holder, to);
        }
    }

    /// Skips to a position before which no query was added.
    pub fn skip_to(&mut self, position: Seq) {
        self.position = self.position.max(position);
        self.delayed = Delayed::default();
    }

    /// Starts at a position. The effects of earlier changes are unknown.
    pub fn begin_at(&mut self, position: Seq) {
        self.skip_to(position);
        self.events.forget_up_to(self.position);
    }

    /// Skips to a position and discards earlier events. Subscribers must resynchronize.
    pub fn lose_up_to(&mut self, position: Seq) {
        self.begin_at(position);
        self.journal.forget_all();
    }

    /// Resumes delayed queries whose next change is no longer in the log.
    pub fn skip_delayed(&mut self, queries: &[QueryNo], holder: &Holder) {
        for query in queries {
            if let Some(since) = self.since.get_mut(query) {
                *since = self.position;
            }
            self.delayed.remove(*query, holder);
        }
        self.lose(queries);
    }
}
