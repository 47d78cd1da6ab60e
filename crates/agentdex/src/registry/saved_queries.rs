//! The saved queries of a registry: saved, listed, and what changes mean for them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agentdex_api::{MatchKind, Mode, NamedQuery, QueryParameters};

use super::{
    Registry,
    queries::{MAX_QUERIES, QueryEvents, Watched, check_name},
    thread::spawn,
};

use crate::{
    Error, Result,
    change::Timestamp,
    search::{Search, saved::SavedQuery},
    store::LoggedChange,
};

/// How long it takes until saved queries are started again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

impl Registry {
    /// Saves a query under a name, in place of the one that had it, and says whether it is new. Blocks until all Things
    /// that match are known and the query is durable.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::registry::QueryParameters;
    ///
    /// let query = QueryParameters { q: Some("forecast".into()), ..QueryParameters::default() };
    /// assert!(registry.save_query("weather", query)?, "it is new");
    /// let saved = registry.saved_query("weather").expect("it was saved");
    /// assert_eq!(saved.query.q.as_deref(), Some("forecast"));
    /// assert_eq!(registry.saved_queries().len(), 1);
    /// assert!(registry.remove_query("weather")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] where the name or the query can't be used, [`Error::LimitExceeded`] beyond 10,000
    /// queries, or where all of them together match more than 20,000,000 Things; [`Error::WritesClosed`]; as
    /// [`Registry::search`].
    pub fn save_query(&self, name: &str, query: QueryParameters) -> Result<bool> {
        check_name(name)?;
        // What is the same goes on as it is, so that who listens misses nothing.
        if self.saved_query(name).is_some_and(|known| is_same(&known.query, &query)) {
            return Ok(false);
        }
        let query = self.with_threshold(query)?;
        let compiled = self.compile(&query)?;
        if !self.0.queries.has_room_for(name) {
            return Err(Error::LimitExceeded { what: "number of saved queries", maximum: MAX_QUERIES as u64 });
        }
        let watched = self.0.queries.watch(compiled.clone());
        self.find_matching(&compiled, &watched)?;
        let named = NamedQuery { name: name.to_owned(), query, saved: Timestamp::now() };
        let json = serde_json::to_vec(&named)
            .map_err(|source| Error::Store { doing: "writing a saved query", source: source.into() })?;
        self.0.store.local().put_query(name, json)?;
        Ok(self.0.queries.name(named, watched))
    }

    /// The query of that name.
    pub fn saved_query(&self, name: &str) -> Option<NamedQuery> {
        self.0.queries.named(name).map(|(named, _)| named)
    }

    /// All saved queries, by name.
    pub fn saved_queries(&self) -> Vec<NamedQuery> {
        self.0.queries.all_named().into_iter().map(|(named, _)| named).collect()
    }

    /// Removes the query of that name; false if there is none.
    ///
    /// # Errors
    /// [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn remove_query(&self, name: &str) -> Result<bool> {
        if self.saved_query(name).is_none() {
            return Ok(false);
        }
        self.0.store.local().remove_query(name)?;
        Ok(self.0.queries.unname(name))
    }

    /// What changes mean for the query of that name; none if there is none.
    pub fn query_events(&self, name: &str) -> Option<QueryEvents> {
        let (_, watched) = self.0.queries.named(name)?;
        Some(QueryEvents::new(&self.0.queries, watched))
    }

    /// What changes mean for a query that isn't saved. It is compared with changes until five minutes after the
    /// last of these is dropped. Blocks until all Things that match are known.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`]; [`Error::QueryTooCostly`] beyond 1,000 different queries; as [`Registry::search`].
    pub fn watch_query(&self, query: &QueryParameters) -> Result<QueryEvents> {
        let key = serde_json::to_string(query)
            .map_err(|source| Error::Store { doing: "writing a query", source: source.into() })?;
        let queries = &self.0.queries;
        if let Some(watched) = queries.of_stream(&key) {
            return Ok(QueryEvents::new(queries, watched));
        }
        let compiled = self.compile(&self.with_threshold(query.clone())?)?;
        queries.forget_idle(Instant::now());
        let watched = queries.watch(compiled.clone());
        self.find_matching(&compiled, &watched)?;
        if !queries.keep_for_streams(key, &watched) {
            let message = "event streams have 1000 different queries; save the query, or try later".to_owned();
            return Err(Error::QueryTooCostly { message });
        }
        Ok(QueryEvents::new(queries, watched))
    }

    /// What a change as a reader sees it means for saved queries: their names. Reads the log up to the change where nobody
    /// has.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    pub fn saved_query_events(&self, change: &LoggedChange) -> Result<Vec<(String, MatchKind)>> {
        self.0.queries.named_events(change)
    }

    /// Reads the saved queries, and starts to find out what they match.
    pub(super) fn load_queries(&self) -> Result<()> {
        let queries = &self.0.queries;
        for (name, json) in self.0.store.local().queries()? {
            let named: NamedQuery = match serde_json::from_slice(&json) {
                Ok(named) => named,
                Err(error) => {
                    tracing::warn!(name, %error, "a saved query can't be read");
                    continue;
                }
            };
            match self.compile(&named.query) {
                Ok(compiled) => drop(queries.name(named, queries.watch(compiled))),
                Err(error) => tracing::warn!(name, %error, "a saved query can't be used; it stays stored"),
            }
        }
        if queries.all_named().is_empty() {
            return Ok(());
        }
        let registry = Arc::downgrade(&self.0);
        let start = move || {
            // What they match is read from the index, which may have to be built first.
            while let Some(registry) = registry.upgrade().map(Registry::of) {
                match registry.start_queries() {
                    Ok(()) | Err(Error::ShuttingDown | Error::LimitExceeded { .. }) => break,
                    Err(error) => tracing::debug!(%error, "what saved queries match isn't known yet"),
                }
                drop(registry);
                std::thread::sleep(RETRY_AFTER);
            }
        };
        spawn("agentdex-queries", start).map(drop)
    }

    /// Finds out what saved queries match of which that isn't known.
    fn start_queries(&self) -> Result<()> {
        let named = self.0.queries.all_named();
        let mut starting = named.iter().filter(|(_, watched)| self.0.queries.is_starting(watched));
        starting.try_for_each(|(named, watched)| {
            let compiled = self.compile(&named.query)?;
            self.find_matching(&compiled, watched)
        })
    }

    /// The query with the threshold of what a search for it finds at present by its meaning; without one where the words
    /// alone find something.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] where the members contradict each other; as [`Registry::search`].
    fn with_threshold(&self, query: QueryParameters) -> Result<QueryParameters> {
        let mode = mode_of(&query)?;
        let (Mode::Hybrid | Mode::Semantic, None, Some(text)) = (mode, query.threshold, query.q.as_deref()) else {
            return Ok(query);
        };
        let Some(meaning) = self.meaning() else { return Ok(query) };
        let search = Search { mode, filters: query.filters.clone(), ..Search::words(text) };
        pollster::block_on(self.ready_to_search_in(mode, true))?;
        let view = Registry::of(self.0.clone()).view()?;
        let threshold = view.snapshot.least_cosine(&search, &view.hidden, meaning)?;
        Ok(QueryParameters { threshold, ..query })
    }

    fn compile(&self, query: &QueryParameters) -> Result<Arc<SavedQuery>> {
        let (mode, filters, text) = (mode_of(query)?, query.filters.clone(), query.q.as_deref());
        Ok(Arc::new(match (mode, text, query.threshold, self.meaning()) {
            (Mode::Semantic, Some(text), threshold, Some(meaning)) => {
                let threshold = threshold.unwrap_or(meaning.model().low_confidence());
                SavedQuery::by_meaning(text, threshold, filters, meaning)?
            }
            (Mode::Semantic, ..) => {
                let message = "this registry has no vectors to compare the meaning with; leave out `mode`".to_owned();
                return Err(Error::InvalidQuery { message });
            }
            (Mode::Hybrid, Some(text), Some(threshold), Some(meaning)) => {
                SavedQuery::by_both(text, threshold, filters, meaning)?
            }
            _ => SavedQuery::new(text, filters)?,
        }))
    }

    fn find_matching(&self, query: &SavedQuery, watched: &Watched) -> Result<()> {
        let mode = if query.is_by_meaning() { Mode::Semantic } else { Mode::Lexical };
        pollster::block_on(self.ready_to_search_in(mode, true))?;
        // Of all Things: what a change means for the query is the same for whoever sees the change.
        let view = Registry::of(self.0.clone()).view()?;
        let ids = query.ids(&view.snapshot, &view.hidden, self.meaning())?;
        self.0.queries.started(watched, &ids)
    }
}

/// The mode of a query: that of searches, unless it has another.
///
/// # Errors
/// [`Error::InvalidQuery`] where the members contradict each other.
fn mode_of(query: &QueryParameters) -> Result<Mode> {
    let refuse = |message: &str| Err(Error::InvalidQuery { message: message.to_owned() });
    match (query.mode.unwrap_or_default(), query.threshold) {
        (Mode::Lexical, Some(_)) => refuse("`threshold` is for the modes `hybrid` and `semantic`"),
        (_, Some(threshold)) if !(0.0..=1.0).contains(&threshold) => refuse("`threshold` is from 0 to 1"),
        (_, Some(_)) if query.q.is_none() => refuse("`threshold` needs `q`"),
        (Mode::Semantic, _) if query.q.is_none() => refuse("the mode `semantic` needs `q`"),
        (mode, _) => Ok(mode),
    }
}

/// True if a query is saved already, with the threshold that it got when it was saved.
fn is_same(known: &QueryParameters, asked: &QueryParameters) -> bool {
    let has_mode = known.mode.unwrap_or_default() == asked.mode.unwrap_or_default();
    let has_threshold = asked.threshold.is_none() || asked.threshold == known.threshold;
    has_mode && has_threshold && (&known.q, &known.filters) == (&asked.q, &asked.filters)
}
