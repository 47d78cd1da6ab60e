//! Queries matched by each Thing.

use std::collections::HashMap;

use super::number::QueryNo;

/// Maximum number of pairs of queries and Things that match when a query is added.
pub(in crate::registry) const MAX_PAIRS: usize = 20_000_000;

/// Numbers of queries by Thing, ascending.
#[derive(Default)]
pub(super) struct Matches {
    by_thing: HashMap<Box<str>, Box<[QueryNo]>>,
    /// Total number of pairs of a Thing and a query.
    pairs: usize,
}

impl Matches {
    /// Returns the queries matched by a Thing.
    pub fn of(&self, id: &str) -> &[QueryNo] {
        self.by_thing.get(id).map_or(&[], |numbers| numbers)
    }

    /// True if a Thing matches a query.
    pub fn has(&self, id: &str, query: QueryNo) -> bool {
        self.of(id).binary_search(&query).is_ok()
    }

    /// True if this number of matches can be added.
    pub fn has_room_for(&self, pairs: usize) -> bool {
        self.pairs.saturating_add(pairs) <= MAX_PAIRS
    }

    /// Records that a Thing matches a query.
    pub fn add(&mut self, id: &str, query: QueryNo) {
        let numbers = self.of(id);
        if let Err(at) = numbers.binary_search(&query) {
            let mut more = numbers.to_vec();
            more.insert(at, query);
            self.replace(id, more);
        }
    }

    /// Records whether a Thing matches a query.
    pub fn set(&mut self, id: &str, query: QueryNo, is_match: bool) {
        match self.of(id).binary_search(&query) {
            Ok(at) if !is_match => {
                let mut fewer = self.of(id).to_vec();
                fewer.remove(at);
                self.replace(id, fewer);
            }
            Err(_) if is_match => self.add(id, query),
            _ => {}
        }
    }

    /// Replaces the queries that a Thing matches.
    pub fn replace(&mut self, id: &str, numbers: Vec<QueryNo>) {
        self.pairs += numbers.len();
        let before = match numbers.is_empty() {
            true => self.by_thing.remove(id),
            false => self.by_thing.insert(id.into(), numbers.into()),
        };
        self.pairs -= before.map_or(0, |before| before.len());
    }

    /// Removes a query from all Things.
    pub fn remove_query(&mut self, query: QueryNo) {
        let mut pairs = 0;
        self.by_thing.retain(|_, numbers| {
            if let Ok(at) = numbers.binary_search(&query) {
                let mut fewer = numbers.to_vec();
                fewer.remove(at);
                *numbers = fewer.into();
            }
            pairs += numbers.len();
            !numbers.is_empty()
        });
        self.pairs = pairs;
    }
}
