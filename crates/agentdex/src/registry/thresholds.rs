//! Thresholds of semantic queries. A threshold is computed only from Things visible to everyone who receives the
//! threshold or an event of the query.

use std::sync::Arc;

use agentdex_api::{Mode, QueryParameters};

use super::{Registry, view::View};
use crate::{Error, Result, access::Grants, change::Seq, search::Search};

impl Registry {
    /// Returns the view for computing the threshold of a query, or `None` if the query has a threshold or needs none.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if members of the query contradict each other.
    pub(super) fn view_of_threshold(
        &self,
        query: &QueryParameters,
        view: impl FnOnce() -> View,
    ) -> Result<Option<View>> {
        let is_by_meaning = matches!(mode_of(query)?, Mode::Hybrid | Mode::Semantic) && self.meaning().is_some();
        Ok((is_by_meaning && query.threshold.is_none() && query.q.is_some()).then(view))
    }

    /// Sets the threshold of the query to the current minimum cosine of a search in a view. The threshold stays unset
    /// if the search uses words only.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if members of the query contradict each other; otherwise the same as
    /// [`Registry::search`].
    pub(super) fn with_threshold(&self, query: QueryParameters, view: Option<&View>) -> Result<QueryParameters> {
        let mode = mode_of(&query)?;
        let (Some(view), Some(text), Some(meaning)) = (view, query.q.as_deref(), self.meaning()) else {
            return Ok(query);
        };
        let search = Search { mode, filters: query.filters.clone(), ..Search::words(text) };
        pollster::block_on(self.ready_to_search_in(mode, true))?;
        let grants = self.grants_of(view);
        let threshold = self.read_index_as_seen_by(grants.as_deref(), |visible| {
            visible.snapshot.least_cosine(&search, &visible.hidden, meaning)
        })?;
        Ok(QueryParameters { threshold, ..query })
    }
}

/// Returns the mode of a query, by default that of searches.
///
/// # Errors
/// [`Error::InvalidQuery`] if members of the query contradict each other.
pub(super) fn mode_of(query: &QueryParameters) -> Result<Mode> {
    let refuse = |message: &str| Err(Error::InvalidQuery { message: message.to_owned() });
    match (query.mode.unwrap_or_default(), query.threshold) {
        (Mode::Lexical, Some(_)) => refuse("`threshold` requires the mode `hybrid` or `semantic`"),
        (_, Some(threshold)) if !(0.0..=1.0).contains(&threshold) => refuse("`threshold` must be between 0 and 1"),
        (_, Some(_)) if query.q.is_none() => refuse("`threshold` requires `q`"),
        (Mode::Semantic, _) if query.q.is_none() => refuse("the mode `semantic` requires `q`"),
        (mode, _) => Ok(mode),
    }
}

impl Registry {
    /// Returns the view of the caller. Callers who see only public Things share a view.
    pub(super) fn view_of_caller(&self) -> View {
        let Some(grants) = self.grants() else { return View::Everything };
        let store = &self.0.store;
        match &grants.owner {
            Some(owner) if store.unseen(&grants) < store.unseen(&Grants::default()) => View::Owner(owner.clone()),
            _ => View::Public,
        }
    }

    /// Returns the grants of a view: the Things it contains in addition to public Things. `None` if it
    /// contains everything.
    pub(super) fn grants_of(&self, view: &View) -> Option<Arc<Grants>> {
        match view {
            View::Public => Some(Arc::default()),
            View::Namespace(number) => {
                Some(Arc::new(Grants { member_since: [(*number, Seq::ZERO)].into(), ..Grants::default() }))
            }
            View::Owner(owner) => Some(self.0.store.grants_of(owner)),
            View::Everything => None,
        }
    }
}
