//! Searches of a registry, and the wait for the index before them.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use super::{
    Registry,
    followers::{FollowerState, Visible, Waited},
};
use crate::{
    Error, Result,
    access::Grants,
    change::Seq,
    search::{self, Answer, Filters, Mode, Search},
};

/// Maximum time that a search with `consistent` waits for the index.
const CONSISTENCY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time that a search without `consistent` waits for writes that it should find.
const FRESHNESS_TIMEOUT: Duration = Duration::from_secs(1);
/// An index that lacks more changes than this won't have them soon: searches don't wait for it.
const MAX_CHANGES_TO_WAIT_FOR: u64 = 4096;

/// The Things that pass filters, and the log position that this shows.
#[derive(Debug, Clone)]
pub struct Matching {
    /// Total number of matches.
    pub total: u64,
    /// Their ids, ascending.
    pub ids: Vec<String>,
    /// Every change up to this one is taken into account.
    pub seq: Seq,
}

impl Registry {
    /// Searches: for the words of a text, or for what a [`Search`] says. Every write is found that was acknowledged
    /// longer than [`super::Options::refresh_interval`] ago, with [`Search::consistent`] every one before the call.
    /// Blocks while the index takes them in: in asynchronous code use [`Registry::ready_to_search_in`] and then
    /// [`Registry::search_as_indexed`] where blocking is allowed.
    ///
    /// ```
    /// use agentdex::{
    ///     Registry,
    ///     search::{FilterField, Search},
    ///     td::Description,
    /// };
    ///
    /// # let directory = std::env::temp_dir().join(format!("agentdex-search-{}", std::process::id()));
    /// # let registry = Registry::open(&directory)?;
    /// let weather = Description::new("Weather agent").id("urn:example:weather").capability("forecast");
    /// registry.put(weather.tag("beta"))?;
    ///
    /// let answer = registry.search(Search::words("forecasts").filter(FilterField::Tag, "beta").consistent())?;
    /// assert_eq!(answer.hits[0].id, "urn:example:weather");
    /// assert_eq!(registry.search("invoices")?.total, 0);
    /// # registry.close(); std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`], [`Error::LimitExceeded`], [`Error::IndexRebuilding`],
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::Index`].
    pub fn search(&self, search: impl Into<Search>) -> Result<Answer> {
        let search = search.into();
        pollster::block_on(self.ready_to_search_in(search.mode, search.consistent))?;
        self.search_as_indexed(&search)
    }

    /// Searches what is indexed, without waiting for what isn't. Blocks while it reads.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::search::Search;
    ///
    /// // What was just written may be missing.
    /// assert!(registry.search_as_indexed(&Search::words("forecast"))?.total <= 1);
    /// registry.refresh()?;
    /// assert_eq!(registry.search_as_indexed(&Search::words("forecast"))?.total, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn search_as_indexed(&self, search: &Search) -> Result<Answer> {
        let mut answer = self.read_index(|view| {
            let answer = view.snapshot.search(search, &view.hidden, self.meaning())?;
            Ok(Answer { seq: view.seq, ..answer })
        })?;
        // Once more at the end: access may have changed meanwhile.
        if let Some(grants) = self.sight() {
            let found = answer.hits.len();
            answer.hits.retain(|hit| self.0.store.is_seen(&hit.id, &grants));
            answer.total = answer.total.saturating_sub((found - answer.hits.len()) as u64);
        }
        for hit in &mut answer.hits {
            hit.flags = self.0.flags.of(&hit.id);
        }
        Ok(answer)
    }

    /// The ids of all Things that pass the filters and match the query, ascending. Blocks as
    /// [`Registry::search`] does.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::search::{FilterField, Filters};
    ///
    /// let mut filters = Filters::default();
    /// filters.capability.push("forecast".into());
    /// assert_eq!(registry.ids_matching(None, &filters, true)?.ids, ["urn:example:weather"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn ids_matching(&self, query: Option<&str>, filters: &Filters, consistent: bool) -> Result<Matching> {
        pollster::block_on(self.ready_to_search(consistent))?;
        self.ids_as_indexed(query, filters, None, usize::MAX)
    }

    /// The first `limit` ids after `after`, ascending, of the Things that are indexed and pass the filters and
    /// match the query, without waiting for what isn't indexed. Blocks while it reads.
    ///
    /// # Errors
    /// As [`Registry::search`].
    pub fn ids_as_indexed(
        &self,
        query: Option<&str>,
        filters: &Filters,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Matching> {
        let (mut total, mut ids, seq) = self.read_index(|view| {
            let (total, ids) = view.snapshot.ids_after(query, filters, &view.hidden, after, limit)?;
            Ok((total, ids, view.seq))
        })?;
        if let Some(grants) = self.sight() {
            let found = ids.len();
            ids.retain(|id| self.0.store.is_seen(id, &grants));
            total = total.saturating_sub((found - ids.len()) as u64);
        }
        Ok(Matching { total, ids, seq })
    }

    /// Reads what can be searched. An error or a panic that may come from damage is looked into: the index is inspected,
    /// and built again, and meanwhile there is none.
    ///
    /// # Errors
    /// Those of the reading, and [`Error::IndexRebuilding`] in place of what may come from damage.
    pub(super) fn read_index<T>(&self, read: impl FnOnce(&Visible) -> Result<T>) -> Result<T> {
        self.read_index_as_seen_by(self.grants().as_deref(), read)
    }

    /// [`Registry::read_index`] for somebody else than the caller; without grants for somebody who sees everything.
    pub(super) fn read_index_as_seen_by<T>(
        &self,
        grants: Option<&Grants>,
        read: impl FnOnce(&Visible) -> Result<T>,
    ) -> Result<T> {
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&self.visible(grants)?)));
        let error = match outcome {
            Ok(Err(error)) if search::may_be_damage(&error) => error,
            Ok(outcome) => return outcome,
            Err(panic) => Error::Index { doing: "searching", source: message_of(panic.as_ref()).into() },
        };
        if !self.0.search.distrust() {
            let is_rebuilt = matches!(self.0.indexing.status().state, FollowerState::Rebuilding { .. });
            return Err(if is_rebuilt { self.rebuilding() } else { error });
        }
        tracing::error!(%error, cause = std::error::Error::source(&error), "a search failed: the index is inspected");
        self.0.indexing.failed(format!("a search failed ({error}); the index is inspected"));
        Err(self.rebuilding())
    }

    /// Has the index inspected as if a search had failed, for tests.
    #[doc(hidden)]
    pub fn inspect_index(&self) {
        let failed = |_: &Visible| Err::<(), _>(Error::Index { doing: "testing", source: "it was asked for".into() });
        drop(self.read_index(failed));
    }

    /// Keeps the index from following the log until it is let go on, for tests: searches wait meanwhile.
    #[doc(hidden)]
    pub fn hold_index(&self, is_held: bool) {
        self.0.indexing.hold(is_held);
    }

    /// Returns the searchable snapshot, and the Things in it that must stay hidden: those that have expired or were
    /// removed since, and those that somebody with these grants doesn't see; without grants nothing else.
    fn visible(&self, grants: Option<&Grants>) -> Result<Visible> {
        let expired = self.expired()?;
        // Asked in memory as well: an index that is stale or damaged can hide, and never show.
        let sees_everything = grants.is_none() || !self.0.store.has_restricted();
        let mut visible = self.0.search.visible(&expired, sees_everything)?.ok_or_else(|| self.rebuilding())?;
        if let Some(grants) = grants {
            visible.hidden = visible.snapshot.hide_from(grants, &visible.hidden, &visible.restricted)?;
        }
        Ok(visible)
    }

    pub(super) fn meaning(&self) -> Option<&search::Meaning> {
        self.0.meaning.as_ref().map(|(meaning, _)| meaning.as_ref())
    }

    fn rebuilding(&self) -> Error {
        match self.0.indexing.status().state {
            FollowerState::Rebuilding { done, total } => Error::IndexRebuilding { done, total },
            _ => Error::IndexRebuilding { done: 0, total: self.len() },
        }
    }

    /// Waits until a search finds what it should: every write that was acknowledged longer than
    /// [`super::Options::refresh_interval`] ago, or, where `consistent` is set, before the call. Without it, an
    /// index that is more than some thousand changes behind, or fails, isn't waited for: the position in
    /// the [`Answer`] tells. Takes no thread while it waits.
    ///
    /// # Errors
    /// With `consistent` as [`Registry::refreshed`], otherwise [`Error::Store`].
    pub async fn ready_to_search(&self, consistent: bool) -> Result<()> {
        if consistent {
            return self.refreshed().await.map(drop);
        }
        let Some(shown) = self.0.search.freshness(self.0.options.refresh_interval)? else { return Ok(()) };
        let Some(overdue) = shown.overdue else { return Ok(()) };
        let status = self.0.indexing.status();
        if status.is_ready() && status.lag <= MAX_CHANGES_TO_WAIT_FOR {
            self.0.indexing.wait(overdue, FRESHNESS_TIMEOUT).await;
        }
        Ok(())
    }

    /// Waits as [`Registry::ready_to_search`] does, and, where meaning counts, for the vectors as well. Those of an
    /// encoder take long: only with `consistent` are they waited for. Where all vectors are being made again, only
    /// [`Mode::Semantic`] waits for them.
    ///
    /// # Errors
    /// As [`Registry::ready_to_search`], and with `consistent` [`Error::ConsistencyTimeout`] where the vectors aren't
    /// made in 5 s.
    pub async fn ready_to_search_in(&self, mode: Mode, consistent: bool) -> Result<()> {
        let target = self.last_seq();
        self.ready_to_search(consistent).await?;
        if let Some((meaning, making)) = self.0.meaning.as_ref().filter(|_| mode != Mode::Lexical) {
            let status = making.status();
            if consistent && (status.is_ready() || mode == Mode::Semantic) {
                return match making.wait(target, CONSISTENCY_TIMEOUT).await {
                    Waited::Reached(_) => Ok(()),
                    Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CONSISTENCY_TIMEOUT.as_secs() }),
                    Waited::Stopped => Err(Error::ShuttingDown),
                };
            }
            let shown = self.0.search.shown()?.unwrap_or_default();
            // What the index lacks as well isn't waited for.
            let missing = status.lag.saturating_sub(self.0.indexing.status().lag);
            let is_near = status.seq.is_some() && missing <= MAX_CHANGES_TO_WAIT_FOR;
            if meaning.model().is_fast() && is_near && status.is_ready() && status.seq < Some(shown) {
                making.wait(shown, FRESHNESS_TIMEOUT).await;
            }
        }
        Ok(())
    }

    /// Waits until everything acknowledged so far can be searched, and says up to which change that is.
    /// The commit that this takes is shared with all who wait. Takes no thread while it waits.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::IndexRebuilding`], [`Error::ShuttingDown`].
    pub async fn refreshed(&self) -> Result<Seq> {
        let target = self.last_seq();
        let shown = self.0.search.freshness(Duration::ZERO)?.ok_or_else(|| self.rebuilding())?;
        if shown.seq >= target {
            return Ok(shown.seq);
        }
        match self.0.indexing.wait(target, CONSISTENCY_TIMEOUT).await {
            Waited::Reached(seq) => Ok(seq),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CONSISTENCY_TIMEOUT.as_secs() }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }

    /// As [`Registry::refreshed`], for threads that may block.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// let seq = registry.refresh()?;
    /// assert_eq!(seq, registry.last_seq());
    /// assert_eq!(registry.search("forecast")?.hits[0].id, "urn:example:weather");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Registry::refreshed`].
    pub fn refresh(&self) -> Result<Seq> {
        pollster::block_on(self.refreshed())
    }
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("it panicked: {text}")
}
