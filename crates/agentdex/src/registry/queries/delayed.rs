//! Queries that don't keep up with the log. Each has its own position, and owners take turns.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
};

use super::number::QueryNo;
use crate::{access::Owner, change::Seq};

/// Owner to whose quota a query counts; `None` for all queries without an owner.
pub(super) type Holder = Option<Owner>;

/// Positions of queries that are behind the others.
#[derive(Default)]
pub(super) struct Delayed {
    positions: HashMap<QueryNo, Seq>,
    by_holder: BTreeMap<Holder, BTreeMap<Seq, BTreeSet<QueryNo>>>,
    /// Holder of the last turn.
    last: Option<Holder>,
}

impl Delayed {
    /// Returns the number of delayed queries.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns the last change with which a query was compared, or `None` if it keeps up.
    pub fn position(&self, query: QueryNo) -> Option<Seq> {
        self.positions.get(&query).copied()
    }

    /// Returns the delayed queries, each with the last change with which it was compared.
    pub fn positions(&self) -> impl Iterator<Item = (QueryNo, Seq)> {
        self.positions.iter().map(|(query, position)| (*query, *position))
    }

    /// Sets the last change that a query was compared with.
    pub fn set(&mut self, query: QueryNo, holder: &Holder, position: Seq) {
        self.remove(query, holder);
        self.positions.insert(query, position);
        self.by_holder.entry(holder.clone()).or_default().entry(position).or_default().insert(query);
    }

    /// Removes a query that has caught up or was deleted.
    pub fn remove(&mut self, query: QueryNo, holder: &Holder) {
        let Some(position) = self.positions.remove(&query) else { return };
        let Some(of_holder) = self.by_holder.get_mut(holder) else { return };
        if let Some(queries) = of_holder.get_mut(&position) {
            queries.remove(&query);
            if queries.is_empty() {
                of_holder.remove(&position);
            }
        }
        if of_holder.is_empty() {
            self.by_holder.remove(holder);
        }
    }

    /// Starts the turn of the next holder. Returns the holder's queries that are furthest behind,
    /// with their position.
    pub fn next_turn(&mut self) -> Option<(Seq, Vec<QueryNo>)> {
        let after = match &self.last {
            Some(last) => self.by_holder.range((Bound::Excluded(last), Bound::Unbounded)).next(),
            None => None,
        };
        let (holder, of_holder) = after.or_else(|| self.by_holder.first_key_value())?;
        let (position, queries) = of_holder.first_key_value()?;
        let turn = (*position, queries.iter().copied().collect());
        self.last = Some(holder.clone());
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_take_turns_with_what_is_furthest_behind() {
        let (eve, bob): (Holder, Holder) = (Some("eve".parse().unwrap()), Some("bob".parse().unwrap()));
        let mut delayed = Delayed::default();
        (0..100).for_each(|query| delayed.set(query, &eve, Seq(5)));
        delayed.set(7, &eve, Seq(3));
        delayed.set(200, &bob, Seq(9));
        assert_eq!(delayed.next_turn(), Some((Seq(9), vec![200])));
        assert_eq!(delayed.next_turn(), Some((Seq(3), vec![7])));
        delayed.set(7, &eve, Seq(5));
        assert_eq!(delayed.next_turn(), Some((Seq(9), vec![200])));
        delayed.remove(200, &bob);
        let (position, queries) = delayed.next_turn().unwrap();
        assert_eq!((position, queries.len()), (Seq(5), 100));
        (0..100).for_each(|query| delayed.remove(query, &eve));
        assert_eq!((delayed.len(), delayed.next_turn()), (0, None));
    }
}
