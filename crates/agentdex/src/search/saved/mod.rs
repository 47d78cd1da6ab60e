//! Saved queries: which of many queries a description matches.
//!
//! A query is compiled once, into a [`Predicate`] on the terms of a description; the answer is that of a search in an index
//! of this description alone, without an index. Most queries needn't be asked: each is filed under terms, or beginnings of
//! terms, of which a description must have one ([`QueryIndex`]), and one that asks for a word that must be there, for any
//! of some words, or for any of some values, says no more than that. The meaning of queries is compared with the vectors of
//! every description, which takes some ns each; only those that are near enough are asked for the rest.

mod compile;
mod document;
mod filed;
mod nearness;
#[cfg(test)]
mod oracle;
mod predicate;
mod terms;
mod trigger;

pub use self::{
    document::Document,
    filed::{Candidate, QueryIndex},
};

use std::collections::BTreeSet;

use self::{compile::compile, nearness::Nearness, predicate::Predicate, trigger::Trigger};
use super::{
    Filters, Hidden, Snapshot,
    query::{self, Clause, Wording},
    semantic::Meaning,
    snapshot::check_query,
};
use crate::Result;

/// A query that descriptions are compared with.
#[derive(Debug)]
pub struct SavedQuery {
    filters: Filters,
    /// The words, where they count.
    words: Option<Words>,
    /// The meaning, where it counts.
    meaning: Option<ByMeaning>,
}

/// Descriptions that match by words.
#[derive(Debug)]
struct Words {
    clauses: Vec<Clause>,
    trigger: Trigger,
    predicate: Predicate,
}

/// Descriptions that match by their meaning.
#[derive(Debug)]
struct ByMeaning {
    nearness: Nearness,
    /// Fields of exact values, what must be there and what must not.
    restriction: Vec<Clause>,
    /// The same, with the filters.
    predicate: Predicate,
}

impl SavedQuery {
    /// Reads a query and filters as [`super::Search`] has them in the mode `lexical`.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`] for a query over [`super::MAX_QUERY_BYTES`],
    /// [`crate::Error::InvalidQuery`] for a range of versions that can't be read, and for a period: whether a Thing is in
    /// it is no matter of its changes.
    pub fn new(query: Option<&str>, filters: Filters) -> Result<SavedQuery> {
        check_query(query)?;
        if filters.has_periods() {
            let message = "a saved query has no period, and neither has an event stream; leave out the bounds of `created` and `modified`";
            return Err(crate::Error::InvalidQuery { message: message.to_owned() });
        }
        let clauses = query::parse(query.unwrap_or_default());
        let trigger = Trigger::of(&clauses, &filters)?;
        let predicate = compile(&clauses, &filters)?;
        Ok(SavedQuery { filters, words: Some(Words { clauses, trigger, predicate }), meaning: None })
    }

    /// Reads a query whose meaning counts: it matches descriptions with a cosine of at least `threshold` that satisfy
    /// the filters, fields of exact values, `+must` and `-not`.
    ///
    /// # Errors
    /// As [`SavedQuery::new`], and [`crate::Error::InvalidQuery`] for a query without a word that means something.
    pub fn by_meaning(query: &str, threshold: f32, filters: Filters, meaning: &Meaning) -> Result<SavedQuery> {
        let by_both = SavedQuery::by_both(query, threshold, filters, meaning)?;
        if by_both.meaning.is_none() {
            let message = "`q` has no words whose meaning could be compared".to_owned();
            return Err(crate::Error::InvalidQuery { message });
        }
        Ok(SavedQuery { words: None, ..by_both })
    }

    /// Reads a query whose words and meaning count: it matches what either finds.
    ///
    /// # Errors
    /// As [`SavedQuery::new`].
    pub fn by_both(query: &str, threshold: f32, filters: Filters, meaning: &Meaning) -> Result<SavedQuery> {
        let by_words = SavedQuery::new(Some(query), filters)?;
        let wording = Wording::of(&query::parse(query), |_| None);
        let predicate = compile(&wording.restriction, &by_words.filters)?;
        let by_meaning = Nearness::new(&wording, threshold, meaning).map(|nearness| ByMeaning {
            nearness,
            restriction: wording.restriction,
            predicate,
        });
        Ok(SavedQuery { meaning: by_meaning, ..by_words })
    }

    /// True if its meaning counts, so that the vectors of descriptions have to be known.
    pub fn is_by_meaning(&self) -> bool {
        self.meaning.is_some()
    }

    /// The terms that a description must have for the words to match it; none where words don't count.
    fn trigger(&self) -> Option<&Trigger> {
        self.words.as_ref().map(|words| &words.trigger)
    }

    /// True if a description that has one of the terms of the trigger matches by its words.
    fn has_words(&self, document: &Document, steps: &mut usize) -> bool {
        self.words.as_ref().is_some_and(|words| words.trigger.suffices() || words.predicate.is_met_by(document, steps))
    }

    /// True if a description matches by its meaning.
    fn has_meaning(&self, document: &Document, steps: &mut usize) -> bool {
        self.meaning.as_ref().is_some_and(|by_meaning| {
            by_meaning.nearness.has(document.vectors()) && by_meaning.predicate.is_met_by(document, steps)
        })
    }

    /// Number of parts that have to be there or not to be there.
    fn parts(&self) -> usize {
        let words = self.words.as_ref().filter(|words| !words.trigger.suffices()).map(|words| words.predicate.parts());
        let meaning = self.meaning.as_ref().map(|by_meaning| by_meaning.predicate.parts());
        words.into_iter().chain(meaning).sum()
    }

    /// The ids of all Things in an index that match, ascending; by meaning, of those that have vectors.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn ids(&self, snapshot: &Snapshot, hidden: &Hidden, meaning: Option<&Meaning>) -> Result<Vec<String>> {
        let all = |clauses: &[Clause]| -> Result<Vec<String>> {
            Ok(snapshot.ids_of(clauses, &self.filters, hidden, None, usize::MAX)?.1)
        };
        let mut ids: BTreeSet<String> = BTreeSet::new();
        if let Some(words) = &self.words {
            ids.extend(all(&words.clauses)?);
        }
        if let Some((by_meaning, meaning)) = self.meaning.as_ref().zip(meaning) {
            let near = by_meaning.nearness.things(meaning);
            ids.extend(all(&by_meaning.restriction)?.into_iter().filter(|id| near.contains(id.as_str())));
        }
        Ok(ids.into_iter().collect())
    }
}
