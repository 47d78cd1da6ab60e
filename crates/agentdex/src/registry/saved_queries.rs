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
    change::{Seq, Timestamp},
    search::saved::SavedQuery,
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
        let compiled = self.compile(&query)?;
        // What is the same goes on as it is, so that who listens misses nothing.
        if self.saved_query(name).is_some_and(|known| known.query == query) {
            return Ok(false);
        }
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
        let compiled = self.compile(query)?;
        let key = serde_json::to_string(query)
            .map_err(|source| Error::Store { doing: "writing a query", source: source.into() })?;
        let queries = &self.0.queries;
        if let Some(watched) = queries.of_stream(&key) {
            return Ok(QueryEvents::new(queries, watched));
        }
        queries.forget_idle(Instant::now());
        let watched = queries.watch(compiled.clone());
        self.find_matching(&compiled, &watched)?;
        if !queries.keep_for_streams(key, &watched) {
            let message = "event streams have 1000 different queries; save the query, or try later".to_owned();
            return Err(Error::QueryTooCostly { message });
        }
        Ok(QueryEvents::new(queries, watched))
    }

    /// What a change means for saved queries: their names. Reads the log up to the change where nobody has.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Index`].
    pub fn saved_query_events(&self, seq: Seq) -> Result<Vec<(String, MatchKind)>> {
        self.0.queries.named_events(seq)
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

    fn compile(&self, query: &QueryParameters) -> Result<Arc<SavedQuery>> {
        let filters = query.filters.clone();
        let Some((text, threshold)) = meaning_of(query)? else {
            return Ok(Arc::new(SavedQuery::new(query.q.as_deref(), filters)?));
        };
        if let Some(meaning) = self.meaning() {
            return Ok(Arc::new(SavedQuery::by_meaning(text, threshold, filters, meaning)?));
        }
        let message = "this registry has no vectors to compare the meaning with; leave out `mode`".to_owned();
        Err(Error::InvalidQuery { message })
    }

    fn find_matching(&self, query: &SavedQuery, watched: &Watched) -> Result<()> {
        pollster::block_on(self.ready_to_search(true))?;
        // Of all Things: what a change means for the query is the same for whoever sees the change.
        let view = Registry::of(self.0.clone()).view()?;
        let ids = query.ids(&view.snapshot, &view.hidden)?;
        let ids = self.nearest_of(ids, query)?;
        self.0.queries.started(watched, &ids)
    }

    /// Those of the Things whose meaning is near enough; all where it doesn't count.
    fn nearest_of(&self, mut ids: Vec<String>, query: &SavedQuery) -> Result<Vec<String>> {
        if let Some(meaning) = self.meaning().filter(|_| query.is_by_meaning()) {
            pollster::block_on(self.ready_to_search_in(Mode::Semantic, true))?;
            let near = query.near(meaning).unwrap_or_default();
            ids.retain(|id| near.contains(id.as_str()));
        }
        Ok(ids)
    }
}

/// The text whose meaning counts, with the threshold; none where the words count.
///
/// # Errors
/// [`Error::InvalidQuery`] where the members contradict each other.
fn meaning_of(query: &QueryParameters) -> Result<Option<(&str, Option<f32>)>> {
    let refuse = |message: &str| Err(Error::InvalidQuery { message: message.to_owned() });
    match (query.mode.unwrap_or(Mode::Lexical), query.threshold) {
        (Mode::Hybrid, _) => refuse("`mode` of a saved query is `lexical` or `semantic`"),
        (Mode::Lexical, Some(_)) => refuse("`threshold` is for the mode `semantic`"),
        (Mode::Lexical, None) => Ok(None),
        (_, Some(threshold)) if !(0.0..=1.0).contains(&threshold) => refuse("`threshold` is from 0 to 1"),
        (_, threshold) => match query.q.as_deref() {
            Some(text) => Ok(Some((text, threshold))),
            None => refuse("the mode `semantic` needs `q`"),
        },
    }
}
