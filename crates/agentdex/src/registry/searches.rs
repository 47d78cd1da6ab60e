//! Searches of a registry, including the wait for the index.

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

/// Maximum time that a search without `consistent` waits for writes it should find.
const FRESHNESS_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum backlog of an index for which searches wait. A larger backlog can't be processed soon enough.
const MAX_CHANGES_TO_WAIT_FOR: u64 = 4096;

/// Things that pass filters, with the log position reflected in the result.
#[derive(Debug, Clone)]
pub struct Matching {
    /// Total number of matches.
    pub total: u64,
    /// Ids of the returned matches, ascending.
    pub ids: Vec<String>,
    /// Last change reflected in the result.
    pub seq: Seq,
}

impl Registry {
    /// Searches for words, or with the options of a [`Search`]. Finds every write acknowledged more than
    /// [`super::Options::refresh_interval`] ago; with [`Search::consistent`], every write acknowledged before the
    /// call. Blocks until the index contains these writes. In async code, use [`Registry::ready_to_search_in`], and
    /// then [`Registry::search_as_indexed`] on a thread that may block.
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

    /// Searches the current index without waiting for pending writes. Blocks while reading.
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
    /// Same as [`Registry::search`].
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

    /// Returns the ids of all Things that pass the filters and match the query, ascending. First waits like
    /// [`Registry::ready_to_search`]. Blocks.
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
    /// Same as [`Registry::search`].
    pub fn ids_matching(&self, query: Option<&str>, filters: &Filters, consistent: bool) -> Result<Matching> {
        pollster::block_on(self.ready_to_search(consistent))?;
        self.ids_as_indexed(query, filters, None, usize::MAX)
    }

    /// Returns the first `limit` ids greater than `after` of indexed Things that pass the filters and match the
    /// query, ascending, and the number of all matches. Doesn't wait for pending writes. Blocks while reading.
    ///
    /// # Errors
    /// Same as [`Registry::search`].
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

    /// Reads the searchable index. After an error or a panic that may be caused by damage, the index is inspected and
    /// rebuilt, and unavailable meanwhile.
    ///
    /// # Errors
    /// Errors of `read`, and [`Error::IndexRebuilding`] in place of errors that may be caused by damage.
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
        tracing::error!(%error, cause = std::error::Error::source(&error), "a search failed; inspecting the index");
        self.0.indexing.failed(format!("a search failed ({error}); inspecting the index"));
        Err(self.rebuilding())
    }

    /// Triggers an inspection of the index as after a failed search, for tests.
    #[doc(hidden)]
    pub fn inspect_index(&self) {
        let failed = |_: &Visible| Err::<(), _>(Error::Index { doing: "testing", source: "it was requested".into() });
        drop(self.read_index(failed));
    }

    /// Suspends or resumes indexing, for tests. Searches wait while indexing is suspended.
    #[doc(hidden)]
    pub fn hold_index(&self, is_held: bool) {
        self.0.indexing.hold(is_held);
    }

    /// Returns the searchable snapshot, and the Things in it that must stay hidden: Things that have expired or were
    /// removed since, and Things hidden from a caller with these grants.
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

    /// Waits until the index is fresh enough for a search: it must contain every write acknowledged more than
    /// [`super::Options::refresh_interval`] ago or, if `consistent`, before the call. Unless `consistent`, doesn't
    /// wait for an index that has failed or is several thousand changes behind; the position in the [`Answer`] then
    /// shows the delay. Uses no thread while waiting.
    ///
    /// # Errors
    /// If `consistent`, the same as [`Registry::refreshed`]; otherwise [`Error::Store`].
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

    /// Waits like [`Registry::ready_to_search`] and, if the mode uses vectors, also for the vectors. Vectors of an
    /// encoder are slow to compute, so they are waited for only if `consistent`. While all vectors are being
    /// recomputed, only a `consistent` call for [`Mode::Semantic`] waits for them.
    ///
    /// # Errors
    /// Same as [`Registry::ready_to_search`], and if `consistent`, [`Error::ConsistencyTimeout`] if the vectors
    /// aren't ready after 5 s.
    pub async fn ready_to_search_in(&self, mode: Mode, consistent: bool) -> Result<()> {
        self.ready_to_search(consistent).await?;
        // Contains what the index was waited for.
        let target = self.last_seq();
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

    /// Waits until all acknowledged writes are searchable, and returns the last searchable change. Concurrent callers
    /// share the required commit of the index. Uses no thread while waiting.
    ///
    /// # Errors
    /// [`Error::ConsistencyTimeout`] after 5 s, [`Error::IndexRebuilding`], [`Error::LogUnavailable`] for a node of a
    /// cluster that can't find out what the others have written, [`Error::ShuttingDown`].
    pub async fn refreshed(&self) -> Result<Seq> {
        let target = self.0.store.acknowledged().await?;
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

    /// Like [`Registry::refreshed`], for threads that may block.
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
    /// Same as [`Registry::refreshed`].
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
