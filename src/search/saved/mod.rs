//! Saved queries: which of many queries a description matches.
//!
//! A description is put into an index of its own, in memory, and a query is compiled and asked there as anywhere:
//! the answer is that of a search by construction ([`Document`]). Most queries needn't be asked: each is filed
//! under terms of which a description must have one ([`QueryIndex`]), and one that asks for any of some words, or
//! for any of some values, says no more than that.

mod document;
mod filed;
mod trigger;

pub use self::{document::Document, filed::QueryIndex};

use self::trigger::Trigger;
use super::{
    Filters,
    query::{self, Clause},
    snapshot::check_query,
};
use crate::Result;

/// A query that descriptions are compared with.
#[derive(Debug)]
pub struct SavedQuery {
    clauses: Vec<Clause>,
    filters: Filters,
    trigger: Trigger,
}

impl SavedQuery {
    /// Reads a query and filters as [`super::Request`] has them.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`] for a query over [`super::MAX_QUERY_BYTES`],
    /// [`crate::Error::InvalidQuery`] for a range of versions that can't be read.
    pub fn new(query: Option<&str>, filters: Filters) -> Result<SavedQuery> {
        check_query(query)?;
        let clauses = query::parse(query.unwrap_or_default());
        let trigger = Trigger::of(&clauses, &filters)?;
        Ok(SavedQuery { clauses, filters, trigger })
    }
}
