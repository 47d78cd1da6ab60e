//! A saved query with the access to it, and the events of changes for it.

use agentdex_api::{MatchKind, NamedQuery, QueryParameters};
use serde::{Deserialize, Serialize};

use super::{super::view::View, name::Key, number::QueryNo};
use crate::{
    access::{Access, NamespaceNumber, Owner},
    change::Timestamp,
};

/// A stored query. Without owner, visibility, and namespace it is visible to everyone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::registry) struct Stored {
    #[serde(flatten)]
    pub named: NamedQuery,
    /// Number of the query's namespace, which determines its readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<NamespaceNumber>,
    /// View from which the threshold was computed, or `None` if it was given or if there is no threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    view: Option<View>,
    /// True if the threshold was given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_given_threshold: bool,
}

impl Stored {
    pub fn new(name: &str, query: QueryParameters, access: &Access) -> Stored {
        let Access { owner, visibility, namespace, number } = access.clone();
        let (name, saved) = (name.to_owned(), Timestamp::now());
        let named = NamedQuery { name, owner, visibility, namespace, query, saved, behind: None };
        Stored { named, number, view: None, has_given_threshold: false }
    }

    /// Sets the view from which the threshold was computed. With `None`, a threshold counts as given.
    pub fn with_threshold_from(self, view: Option<View>) -> Stored {
        let has_given_threshold = view.is_none() && self.named.query.threshold.is_some();
        Stored { view, has_given_threshold, ..self }
    }

    /// True for a threshold stored by an earlier version, which may have been computed from Things hidden from some
    /// readers of the query.
    pub fn has_threshold_of_unknown_origin(&self) -> bool {
        self.named.query.threshold.is_some() && self.view.is_none() && !self.has_given_threshold
    }

    /// Returns the view from which the threshold was computed.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// True if the callers admitted by `access` see everything from which the threshold was computed.
    pub fn suits(&self, access: &Access) -> bool {
        self.view.as_ref().is_none_or(|view| view.is_seen_by_those_admitted_by(access))
    }

    pub fn key(&self) -> Key {
        Key { name: self.named.name.clone(), owner: self.named.owner.clone() }
    }

    pub fn access(&self) -> Access {
        let NamedQuery { owner, visibility, namespace, .. } = self.named.clone();
        Access { owner, visibility, namespace, number: self.number }
    }
}

/// Identity of a saved query with its current words and filters. Once the query is changed or removed,
/// [`Registry::sees_query`](crate::Registry::sees_query) returns false for its `QueryId`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryId(pub(super) QueryNo);

/// Event that a change causes for a saved query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedQueryEvent {
    /// Id of the query, for [`Registry::sees_query`](crate::Registry::sees_query).
    pub query: QueryId,
    /// Owner of the query.
    pub owner: Option<Owner>,
    /// Name of the query.
    pub name: String,
    /// Kind of the event.
    pub kind: MatchKind,
}
