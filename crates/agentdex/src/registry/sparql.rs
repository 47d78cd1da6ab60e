//! Things as RDF, and SPARQL queries over all Things.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use super::{
    Registry, Thing,
    followers::{FollowerState, Waited, quads::Sparql},
};
use crate::{
    Error, Result,
    search::sparql::{Format, Query},
    td::json_ld::Statements,
};

/// Maximum time that a query with `consistent` waits for the statements.
const CONSISTENCY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time that a query without it waits for them.
const FRESHNESS_TIMEOUT: Duration = Duration::from_secs(1);
/// Statements that lack more changes than this won't have them soon: queries without `consistent` don't wait.
const MAX_CHANGES_TO_WAIT_FOR: u64 = 4096;
/// The most queries at a time.
const MAX_QUERIES: usize = 4;

/// A running query, counted until it is dropped.
struct Turn<'a>(&'a AtomicUsize);

impl<'a> Turn<'a> {
    fn take(running: &'a AtomicUsize) -> Result<Turn<'a>> {
        let take = |count| (count < MAX_QUERIES).then_some(count + 1);
        match running.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            Ok(_) => Ok(Turn(running)),
            Err(_) => Err(Error::Overloaded { doing: "evaluating SPARQL queries" }),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Registry {
    /// Returns the RDF statements of a Thing: its enriched description, interpreted as JSON-LD. Blocks.
    ///
    /// # Errors
    /// Same as [`Expander::read`](crate::td::json_ld::Expander::read).
    pub fn statements(&self, thing: &Thing) -> Result<Statements> {
        Ok(self.0.rdf.expander.read(&thing.enriched())?)
    }

    /// True if SPARQL queries are enabled. See [`super::Options::sparql`].
    pub fn answers_sparql(&self) -> bool {
        self.0.rdf.sparql.is_some()
    }

    /// Evaluates a SPARQL query over the statements of all Things, and serializes the results in a format for the
    /// kind of query. Blocks for up to about 5 s. See [`Registry::ready_for_sparql`].
    ///
    /// ```
    /// use agentdex::{Registry, registry::Options, search::sparql::{Format, Query}, td::Description};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let directory = tempfile::tempdir()?;
    /// let options = Options::default().sparql(true);
    /// let registry = Registry::builder(directory.path()).options(options).open()?;
    /// registry.register(Description::new("Weather agent").id("urn:example:weather"))?;
    /// registry.ready_for_sparql(true).await?;
    ///
    /// let query = Query::parse("SELECT ?agent { ?agent <https://www.w3.org/2019/wot/td#title> ?title }")?;
    /// let results = String::from_utf8(registry.query_sparql(&query, Format::Csv)?)?;
    /// assert_eq!(results, "agent\r\nurn:example:weather\r\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`]; [`Error::QueryTooCostly`] if the query exceeds a limit; [`Error::Overloaded`] if four
    /// queries are already being evaluated; [`Error::IndexRebuilding`] while the statements are loaded at startup;
    /// [`Error::Unsupported`] if SPARQL is disabled.
    pub fn query_sparql(&self, query: &Query, format: Format) -> Result<Vec<u8>> {
        let sparql = self.sparql()?;
        let _turn = Turn::take(&sparql.running)?;
        let visible = sparql.quads.visible(self.grants().as_deref())?;
        let (snapshot, mut hidden) = visible.ok_or_else(|| self.reading_statements(sparql))?;
        hidden.extend(self.expired()?.iter().cloned());
        hidden.extend(self.unseen_ids());
        query.evaluate(&snapshot, &hidden, format)
    }

    /// Waits until a SPARQL query sees every acknowledged write. Unless `consistent`, waits for at most a second.
    /// Uses no thread while waiting.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if SPARQL is disabled; [`Error::IndexRebuilding`] while the statements are loaded at
    /// startup. If `consistent`, also [`Error::ConsistencyTimeout`] after 5 s, [`Error::LogUnavailable`],
    /// [`Error::ShuttingDown`].
    pub async fn ready_for_sparql(&self, consistent: bool) -> Result<()> {
        let sparql = self.sparql()?;
        let target = if consistent { self.0.store.acknowledged().await? } else { self.last_seq() };
        let status = sparql.following.status();
        let Some(seq) = status.seq else { return Err(self.reading_statements(sparql)) };
        if seq >= target {
            return Ok(());
        }
        if !consistent {
            if status.lag <= MAX_CHANGES_TO_WAIT_FOR && status.is_ready() {
                sparql.following.wait(target, FRESHNESS_TIMEOUT).await;
            }
            return Ok(());
        }
        match sparql.following.wait(target, CONSISTENCY_TIMEOUT).await {
            Waited::Reached(_) => Ok(()),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: CONSISTENCY_TIMEOUT.as_secs() }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }

    fn sparql(&self) -> Result<&Sparql> {
        self.0.rdf.sparql.as_ref().ok_or(Error::Unsupported {
            what: "SPARQL queries",
            instead: "start it with --sparql, or search with /search?q= or /search/jsonpath?query=",
        })
    }

    fn reading_statements(&self, sparql: &Sparql) -> Error {
        match sparql.following.status().state {
            FollowerState::Rebuilding { done, total } => Error::IndexRebuilding { done, total },
            _ => Error::IndexRebuilding { done: 0, total: self.len() },
        }
    }
}
