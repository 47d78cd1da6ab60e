//! Saved queries: which of many queries a description matches.
//!
//! A description is put into an index of its own, in memory, and a query is compiled and asked there as anywhere:
//! the answer is that of a search by construction ([`Document`]). Most queries needn't be asked: each is filed
//! under terms of which a description must have one ([`QueryIndex`]), and one that asks for any of some words, or
//! for any of some values, says no more than that. Queries by meaning are compared with the vectors of every
//! description.

mod document;
mod filed;
mod nearness;
mod trigger;

pub use self::{document::Document, filed::QueryIndex};

use std::collections::HashSet;

use self::{nearness::Nearness, trigger::Trigger};
use super::{
    Filters, Hidden, Snapshot,
    query::{self, Clause, Wording},
    semantic::{Meaning, Quantized},
    snapshot::check_query,
};
use crate::Result;

/// A query that descriptions are compared with.
#[derive(Debug)]
pub struct SavedQuery {
    clauses: Vec<Clause>,
    filters: Filters,
    trigger: Trigger,
    /// How alike a description must be as well.
    nearness: Option<Nearness>,
}

impl SavedQuery {
    /// Reads a query and filters as [`super::Search`] has them.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`] for a query over [`super::MAX_QUERY_BYTES`],
    /// [`crate::Error::InvalidQuery`] for a range of versions that can't be read.
    pub fn new(query: Option<&str>, filters: Filters) -> Result<SavedQuery> {
        check_query(query)?;
        let clauses = query::parse(query.unwrap_or_default());
        let trigger = Trigger::of(&clauses, &filters)?;
        Ok(SavedQuery { clauses, filters, trigger, nearness: None })
    }

    /// Reads a query whose meaning counts: it matches descriptions with a cosine of at least `threshold` that satisfy
    /// the filters, fields of exact values, `+must` and `-not`.
    ///
    /// # Errors
    /// As [`SavedQuery::new`], and [`crate::Error::InvalidQuery`] for a query without a word that means something.
    pub fn by_meaning(query: &str, threshold: Option<f32>, filters: Filters, meaning: &Meaning) -> Result<SavedQuery> {
        check_query(Some(query))?;
        let wording = Wording::of(&query::parse(query));
        let Some(nearness) = Nearness::new(&wording, threshold, meaning) else {
            let message = "`q` has no words whose meaning could be compared".to_owned();
            return Err(crate::Error::InvalidQuery { message });
        };
        let plain = SavedQuery::new(None, filters)?;
        let (clauses, trigger) = (wording.restriction, Trigger::Always);
        Ok(SavedQuery { clauses, trigger, nearness: Some(nearness), ..plain })
    }

    /// Whether its meaning counts, so that the vectors of descriptions have to be known.
    pub fn is_by_meaning(&self) -> bool {
        self.nearness.is_some()
    }

    /// The Things that are alike enough; none where the meaning doesn't count.
    pub fn near(&self, meaning: &Meaning) -> Option<HashSet<Box<str>>> {
        self.nearness.as_ref().map(|nearness| nearness.things(meaning))
    }

    /// Whether a description with these vectors is alike enough, or its meaning doesn't count.
    fn is_near(&self, vectors: &[Quantized]) -> bool {
        self.nearness.as_ref().is_none_or(|nearness| nearness.has(vectors))
    }

    /// The ids of all Things in an index that match, ascending; where the meaning counts, of those that satisfy the rest.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn ids(&self, snapshot: &Snapshot, hidden: &Hidden) -> Result<Vec<String>> {
        Ok(snapshot.ids_of(&self.clauses, &self.filters, hidden, None, usize::MAX)?.1)
    }
}
