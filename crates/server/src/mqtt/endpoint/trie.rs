//! The filters of all sessions in one tree of levels.
//!
//! Equal patterns are one filter, however many sessions have it. Every topic has at most three levels
//! after its family, and a pattern says of each the level or any: matching visits at most 15 nodes and
//! finds at most 8 filters, however many there are.

use std::collections::HashMap;

use super::{super::feed::Family, filter::Pattern};

/// A filter that some session has. Never used for another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FilterId(u64);

#[derive(Debug, Default)]
pub(super) struct Trie {
    /// In the order of [`Family::ALL`].
    roots: [Node; 4],
    next: u64,
}

#[derive(Debug, Default)]
struct Node {
    exact: HashMap<Box<str>, Node>,
    any: Option<Box<Node>>,
    filter: Option<Held>,
}

/// A filter, and how many subscriptions hold it.
#[derive(Debug)]
struct Held {
    id: FilterId,
    holders: usize,
}

impl Trie {
    /// Another subscription has this pattern.
    pub fn insert(&mut self, family: Family, pattern: &Pattern) -> FilterId {
        let unused = FilterId(self.next);
        let mut node = self.root_mut(family);
        for level in pattern {
            node = match level {
                Some(level) => node.exact.entry(level.clone()).or_default(),
                None => node.any.get_or_insert_default(),
            };
        }
        let held = node.filter.get_or_insert(Held { id: unused, holders: 0 });
        held.holders += 1;
        let id = held.id;
        self.next += u64::from(id == unused);
        id
    }

    /// A subscription with this pattern is gone.
    pub fn remove(&mut self, family: Family, pattern: &Pattern) {
        self.root_mut(family).remove(pattern);
    }

    /// Finds the filters that match a topic, by its levels after the family; returns how many nodes were visited.
    pub fn visit(&self, family: Family, levels: &[&str], found: &mut impl FnMut(FilterId)) -> usize {
        self.roots.get(family as usize).map_or(0, |root| root.visit(levels, found))
    }

    fn root_mut(&mut self, family: Family) -> &mut Node {
        let [event, capability, thing, query] = &mut self.roots;
        match family {
            Family::Event => event,
            Family::Capability => capability,
            Family::Thing => thing,
            Family::Query => query,
        }
    }
}

impl Node {
    /// Returns whether nothing is left of the node.
    fn remove(&mut self, pattern: &[Option<Box<str>>]) -> bool {
        match pattern {
            [] => {
                if let Some(held) = &mut self.filter {
                    held.holders -= 1;
                    if held.holders == 0 {
                        self.filter = None;
                    }
                }
            }
            [Some(level), rest @ ..] => {
                if self.exact.get_mut(level).is_some_and(|node| node.remove(rest)) {
                    self.exact.remove(level);
                    // A map keeps its space; what an attacker filled is freed.
                    if self.exact.len() < self.exact.capacity() / 4 {
                        self.exact.shrink_to_fit();
                    }
                }
            }
            [None, rest @ ..] => {
                if self.any.as_mut().is_some_and(|node| node.remove(rest)) {
                    self.any = None;
                }
            }
        }
        self.filter.is_none() && self.any.is_none() && self.exact.is_empty()
    }

    fn visit(&self, levels: &[&str], found: &mut impl FnMut(FilterId)) -> usize {
        let Some((level, rest)) = levels.split_first() else {
            if let Some(held) = &self.filter {
                found(held.id);
            }
            return 1;
        };
        let exact = self.exact.get(*level).map_or(0, |node| node.visit(rest, found));
        1 + exact + self.any.as_ref().map_or(0, |node| node.visit(rest, found))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.split('/').map(|level| (level != "+").then(|| level.into())).collect()
    }

    fn found(trie: &Trie, family: Family, topic: &str) -> (BTreeSet<FilterId>, usize) {
        let mut filters = BTreeSet::new();
        let levels: Vec<&str> = topic.split('/').collect();
        let visited = trie.visit(family, &levels, &mut |id| assert!(filters.insert(id)));
        (filters, visited)
    }

    #[test]
    fn finds_the_filters_that_match() {
        let mut trie = Trie::default();
        let mut insert = |text: &str| trie.insert(Family::Capability, &pattern(text));
        let (all, chat) = (insert("+/+/+"), insert("chat/+/+"));
        let (one, other) = (insert("chat/thing_created/urn:a"), insert("chat/thing_created/urn:b"));
        let any_of_one = insert("+/+/urn:a");
        let (filters, _) = found(&trie, Family::Capability, "chat/thing_created/urn:a");
        assert_eq!(filters, BTreeSet::from([all, chat, one, any_of_one]));
        assert!(!filters.contains(&other));
        assert!(found(&trie, Family::Event, "thing_created/urn:a").0.is_empty());
    }

    #[test]
    fn filter_is_there_as_long_as_somebody_has_it_and_leaves_nothing() {
        let mut trie = Trie::default();
        let patterns = ["+/urn:a", "thing_created/+", "thing_created/urn:a"].map(pattern);
        let ids: Vec<FilterId> = patterns.iter().map(|pattern| trie.insert(Family::Event, pattern)).collect();
        assert_eq!(trie.insert(Family::Event, &patterns[0]), ids[0]);
        for pattern in &patterns {
            trie.remove(Family::Event, pattern);
        }
        assert_eq!(found(&trie, Family::Event, "thing_created/urn:a").0, BTreeSet::from([ids[0]]));
        trie.remove(Family::Event, &patterns[0]);
        let root = &trie.roots[0];
        assert!(root.exact.is_empty() && root.any.is_none());
        assert_ne!(trie.insert(Family::Event, &patterns[0]), ids[0], "an id was used again");
    }

    #[test]
    fn work_for_a_topic_does_not_grow_with_the_filters() {
        let mut trie = Trie::default();
        // Every way to place wildcards, and thousands that share all but one level with the topic.
        for text in ["+/+/+", "+/+/i", "+/k/+", "+/k/i", "c/+/+", "c/+/i", "c/k/+", "c/k/i"] {
            trie.insert(Family::Capability, &pattern(text));
        }
        for number in 0..5000 {
            for text in [format!("+/+/x{number}"), format!("+/x{number}/i"), format!("x{number}/+/+")] {
                trie.insert(Family::Capability, &pattern(&text));
            }
        }
        let (filters, visited) = found(&trie, Family::Capability, "c/k/i");
        assert_eq!(filters.len(), 8);
        assert_eq!(visited, 15);
    }
}
