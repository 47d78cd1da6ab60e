//! Events of queries for the most recent changes.

use std::collections::BTreeMap;

use agentdex_api::MatchKind;

use super::number::QueryNo;
use crate::change::Seq;

/// Maximum number of query events that are remembered, 8 bytes each.
const MAX_EVENTS: usize = 1_000_000;

/// Events by change. A delayed query adds its events to changes already compared with other queries.
pub(super) struct Events {
    by_change: BTreeMap<Seq, Vec<(QueryNo, MatchKind)>>,
    count: usize,
    /// Position up to which events may be missing.
    forgotten: Seq,
}

impl Events {
    /// Starts recording events of changes after a position.
    pub fn after(position: Seq) -> Events {
        Events { by_change: BTreeMap::new(), count: 0, forgotten: position }
    }

    /// Returns the position up to which events may be missing.
    pub fn forgotten(&self) -> Seq {
        self.forgotten
    }

    /// Drops all events up to a position.
    pub fn forget_up_to(&mut self, position: Seq) {
        self.forgotten = self.forgotten.max(position);
        self.by_change = self.by_change.split_off(&self.forgotten.next());
        self.count = self.by_change.values().map(Vec::len).sum();
    }

    /// Records the event that a change causes for a query, unless the event is already recorded.
    pub fn add(&mut self, seq: Seq, query: QueryNo, kind: MatchKind) {
        if seq <= self.forgotten {
            return;
        }
        let events = self.by_change.entry(seq).or_default();
        if let Err(at) = events.binary_search_by_key(&query, |(query, _)| *query) {
            events.insert(at, (query, kind));
            self.count += 1;
        }
        while self.count > MAX_EVENTS {
            let Some((seq, events)) = self.by_change.pop_first() else { break };
            self.count -= events.len();
            self.forgotten = seq;
        }
    }

    /// Returns the query events that a change caused, or an empty slice if it affects no query.
    pub fn of(&self, seq: Seq) -> &[(QueryNo, MatchKind)] {
        self.by_change.get(&seq).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_events_are_added_once_in_the_order_of_queries() {
        let mut events = Events::after(Seq(1));
        for (seq, query) in [(3, 7), (2, 9), (3, 4), (3, 7), (1, 5)] {
            events.add(Seq(seq), query, MatchKind::Created);
        }
        assert_eq!(events.of(Seq(3)), [(4, MatchKind::Created), (7, MatchKind::Created)]);
        assert_eq!((events.of(Seq(2)).len(), events.of(Seq(1)).len()), (1, 0));
        events.forget_up_to(Seq(2));
        assert_eq!((events.of(Seq(2)).len(), events.of(Seq(3)).len(), events.forgotten()), (0, 2, Seq(2)));
    }

    #[test]
    fn the_oldest_events_are_forgotten_first() {
        let mut events = Events::after(Seq(0));
        for seq in 1..=2 {
            (0..=MAX_EVENTS as u32 / 2).for_each(|query| events.add(Seq(seq), query, MatchKind::Created));
        }
        assert_eq!((events.forgotten(), events.of(Seq(1)).len()), (Seq(1), 0));
        assert_eq!(events.of(Seq(2)).len(), MAX_EVENTS / 2 + 1);
    }
}
