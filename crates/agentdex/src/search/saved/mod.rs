//! Saved queries: finding the queries that match a description.
//!
//! A query is compiled once into a [`Predicate`] on the terms of a description. The result equals that of a search in
//! an index of only this description. Most queries need not be evaluated: each is filed under terms, or prefixes of
//! terms, required in a matching description ([`QueryIndex`]). For a query with a single required word, or with any
//! of some words or values, that is already the result. For semantic queries the vectors of the query and of every
//! description are compared, which takes some ns each; only queries that are near enough are evaluated further.

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

/// A compiled query, to be compared with descriptions.
#[derive(Debug)]
pub struct SavedQuery {
    filters: Filters,
    /// Words, if they are used.
    words: Option<Words>,
    /// Meaning, if it is used.
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
    /// Restricting clauses: fields with exact values, required and excluded clauses.
    restriction: Vec<Clause>,
    /// Predicate for the restricting clauses and the filters.
    predicate: Predicate,
}

impl SavedQuery {
    /// Compiles a query and filters as in a [`super::Search`] with the mode `lexical`.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`] for a query over [`super::MAX_QUERY_BYTES`], [`crate::Error::InvalidQuery`]
    /// for an invalid version range, or for a period, since a Thing enters and leaves a period without being changed.
    pub fn new(query: Option<&str>, filters: Filters) -> Result<SavedQuery> {
        check_query(query)?;
        if filters.has_periods() {
            let message = "saved queries and event streams can't filter by time; remove the bounds of `created` and \
                `modified`";
            return Err(crate::Error::InvalidQuery { message: message.to_owned() });
        }
        let clauses = query::parse(query.unwrap_or_default());
        let trigger = Trigger::of(&clauses, &filters)?;
        let predicate = compile(&clauses, &filters)?;
        Ok(SavedQuery { filters, words: Some(Words { clauses, trigger, predicate }), meaning: None })
    }

    /// Compiles a semantic query. It matches descriptions with a cosine of at least `threshold` that also satisfy the
    /// filters, fields with exact values, `+must`, and `-not`.
    ///
    /// # Errors
    /// Same as [`SavedQuery::new`], and [`crate::Error::InvalidQuery`] for a query without a meaningful word.
    pub fn by_meaning(query: &str, threshold: f32, filters: Filters, meaning: &Meaning) -> Result<SavedQuery> {
        let by_both = SavedQuery::by_both(query, threshold, filters, meaning)?;
        if by_both.meaning.is_none() {
            let message = "`q` contains no words to compare by meaning".to_owned();
            return Err(crate::Error::InvalidQuery { message });
        }
        Ok(SavedQuery { words: None, ..by_both })
    }

    /// Compiles a hybrid query. It matches descriptions found by words or by meaning.
    ///
    /// # Errors
    /// Same as [`SavedQuery::new`].
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

    /// True if the query uses meaning, so that vectors of descriptions are required.
    pub fn is_by_meaning(&self) -> bool {
        self.meaning.is_some()
    }

    /// Returns the terms required for the words to match, or `None` if the query doesn't use words.
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

    /// Returns the ids of all matching Things in an index, ascending. Only Things with vectors match by meaning.
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
