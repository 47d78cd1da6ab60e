//! Saved queries: which of many queries a description matches.
//!
//! A description is put into an index of its own, in memory, and a query is compiled and asked there as anywhere:
//! the answer is that of a search by construction ([`Document`]). Most queries needn't be asked: each is filed
//! under terms, or beginnings of terms, of which a description must have one ([`QueryIndex`]), and one that asks for a
//! word that must be there, for any of some words, or for any of some values, says no more than that. Where all are such,
//! there is no index either. The meaning of queries is compared with the vectors of every
//! description, which takes some ns each; only those that are near enough are asked for the rest.

mod document;
mod filed;
mod nearness;
mod trigger;

pub use self::{document::Document, filed::QueryIndex};

use std::collections::BTreeSet;

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
}

/// Descriptions that match by their meaning.
#[derive(Debug)]
struct ByMeaning {
    nearness: Nearness,
    /// Fields of exact values, what must be there and what must not.
    restriction: Vec<Clause>,
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
        Ok(SavedQuery { filters, words: Some(Words { clauses, trigger }), meaning: None })
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
        let by_meaning = Nearness::new(&wording, threshold, meaning)
            .map(|nearness| ByMeaning { nearness, restriction: wording.restriction });
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

    /// True if a description with these vectors is alike enough.
    fn is_near(&self, vectors: &[Quantized]) -> bool {
        self.meaning.as_ref().is_some_and(|by_meaning| by_meaning.nearness.has(vectors))
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
