//! Search for compatible capabilities, by the schemas of the caller's data or of another Thing.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use agentdex_api::{CapabilityNeighbors, CompatibleQuery, Neighbors};
use serde::Serialize;
use serde_json::Value;

use super::{
    Registry,
    followers::{FollowerState, Waited},
};
use crate::{
    Error, Result,
    change::Seq,
    search::{
        MAX_DEPTH, MAX_LIMIT, Search,
        compatible::{Data, Found, Relevance, Request, shapes},
    },
    td,
};

/// Maximum time of a search.
const TIME_BUDGET: Duration = Duration::from_secs(2);
/// Maximum time that a search waits for the shapes of earlier writes.
const FRESHNESS_TIMEOUT: Duration = Duration::from_secs(5);

/// Result of a compatible search, with the log position it reflects.
#[derive(Debug, Serialize)]
pub struct CompatibleAnswer {
    /// Compatible capabilities: their total number, and a page of them.
    #[serde(flatten)]
    pub found: Found,
    /// Last change reflected in the result.
    pub seq: Seq,
}

impl Registry {
    /// Finds capabilities whose required inputs are available to the caller, and whose outputs contain the data
    /// wanted by the caller, according to their schemas. Members correspond if their names or titles are equal or
    /// synonyms. The fit of a match is below 0.5 if values may violate a schema, or must be converted by the type
    /// compatibility rules of Agent Spec. Doubts about a match are listed. Every acknowledged write is found. Blocks.
    ///
    /// ```
    /// # fn main() -> agentdex::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("agentdex-compatible-{}", std::process::id()));
    /// # let registry = agentdex::Registry::builder(&directory).open()?;
    /// use agentdex::registry::CompatibleQuery;
    /// use serde_json::json;
    ///
    /// registry.put(&json!({
    ///     "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:weather", "title": "Weather",
    ///     "security": "open", "securityDefinitions": {"open": {"scheme": "nosec"}},
    ///     "actions": {"forecast": {
    ///         "input": {"type": "object", "properties": {"city": {"type": "string"}}},
    ///         "output": {"type": "object", "properties": {"temperature": {"type": "number"}}},
    ///         "forms": [{"href": "https://weather.example/forecast"}],
    ///     }},
    /// }).to_string())?;
    /// let query = CompatibleQuery {
    ///     have: Some(json!({"properties": {"City": {"type": "string"}}})),
    ///     want: Some(json!({"properties": {"temperature": {"type": "string"}}})),
    ///     ..CompatibleQuery::default()
    /// };
    /// let hit = registry.search_compatible(&query)?.found.hits.remove(0);
    /// assert_eq!((hit.capability.as_str(), hit.why.as_str()), (
    ///     "forecast",
    ///     "takes `City` as `city`; gives `temperature` (converted); but `temperature` has to be converted from number to string",
    /// ));
    /// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if both `have` and `want` are missing or if either is not a schema;
    /// [`Error::LimitExceeded`], [`Error::IndexRebuilding`]; [`Error::ConsistencyTimeout`] if the latest writes aren't
    /// indexed after 5 s; [`Error::QueryTooCostly`] after 2 s.
    pub fn search_compatible(&self, query: &CompatibleQuery) -> Result<CompatibleAnswer> {
        let (have, want) = have_and_want(query.have.as_ref(), query.want.as_ref())?;
        if query.offset.saturating_add(query.limit) > MAX_DEPTH {
            return Err(Error::LimitExceeded { what: "offset + limit", maximum: MAX_DEPTH as u64 });
        }
        let relevance = self.relevance(query.query.as_deref())?;
        let seq = self.shapes_at_the_end()?;
        let (expired, grants, known) = (self.expired()?, self.grants(), self.0.shapes.read());
        let unseen = self.unseen_ids();
        let hidden = expired.iter().chain(&unseen).map(String::as_str).chain(known.unseen_by(grants.as_deref()));
        let request = Request {
            have: have.as_ref(),
            want: want.as_ref(),
            relevance: &relevance,
            near_misses: query.near_misses,
            hidden: &hidden.collect(),
            limit: query.limit.min(MAX_LIMIT),
            offset: query.offset,
            deadline: Instant::now() + TIME_BUDGET,
        };
        Ok(CompatibleAnswer { found: known.index.find(&request)?, seq })
    }

    /// Finds the neighbors of each capability of a Thing: up to `limit` capabilities of other Things that accept its
    /// output, and up to `limit` that produce its input. With `near_misses`, includes capabilities for which a single
    /// value is missing. Returns `None` if the Thing doesn't exist. Blocks.
    ///
    /// # Errors
    /// [`Error::InvalidId`]; otherwise the same as [`Registry::search_compatible`].
    pub fn compatible_with(&self, id: &str, near_misses: bool, limit: usize) -> Result<Option<Neighbors>> {
        let id = td::normalize_id(id)?.into_owned();
        let seq = self.shapes_at_the_end()?;
        let Some(thing) = self.find(&id)? else { return Ok(None) };
        let (expired, grants, known) = (self.expired()?, self.grants(), self.0.shapes.read());
        let unseen = self.unseen_ids();
        let hidden = expired.iter().chain(&unseen).map(String::as_str).chain(known.unseen_by(grants.as_deref()));
        let hidden: HashSet<&str> = hidden.chain([id.as_str()]).collect();
        let deadline = Instant::now() + TIME_BUDGET;
        let find = |have: Option<&Data>, want: Option<&Data>| {
            // By its type alone nearly everything would fit.
            if !have.or(want).is_some_and(Data::has_names) {
                return Ok(Vec::new());
            }
            let (relevance, limit) = (&Relevance::new(), limit.min(MAX_LIMIT));
            let request = Request { have, want, relevance, near_misses, hidden: &hidden, limit, offset: 0, deadline };
            known.index.find(&request).map(|found| found.hits)
        };
        let mut capabilities = Vec::new();
        for (capability, needed, given) in shapes(thing.text())?.iter() {
            capabilities.push(CapabilityNeighbors {
                capability: capability.to_owned(),
                takes_output: find(Some(&given), None)?,
                gives_input: find(None, Some(&needed))?,
            });
        }
        Ok(Some(Neighbors { id, capabilities, seq }))
    }

    /// Maps the Things that best match a query to their relevance, from 0 to 1. Empty without a query.
    pub(super) fn relevance(&self, query: Option<&str>) -> Result<Relevance> {
        let Some(query) = query.filter(|query| !query.trim().is_empty()) else { return Ok(Relevance::new()) };
        let hits = self.search(Search::words(query).limit(MAX_LIMIT))?.hits;
        let best = hits.iter().map(|hit| hit.score).fold(f32::MIN_POSITIVE, f32::max);
        Ok(hits.into_iter().map(|hit| (hit.id, hit.score / best)).collect())
    }

    /// Waits until the shapes reflect all acknowledged writes, and returns the last change they reflect.
    pub(super) fn shapes_at_the_end(&self) -> Result<Seq> {
        let target = pollster::block_on(self.0.store.acknowledged())?;
        let status = self.0.shaping.status();
        if let FollowerState::Rebuilding { done, total } = status.state {
            return Err(Error::IndexRebuilding { done, total });
        }
        if let Some(seq) = status.seq.filter(|seq| *seq >= target) {
            return Ok(seq);
        }
        match pollster::block_on(self.0.shaping.wait(target, FRESHNESS_TIMEOUT)) {
            Waited::Reached(seq) => Ok(seq),
            Waited::TooLong => Err(Error::ConsistencyTimeout { seconds: FRESHNESS_TIMEOUT.as_secs() }),
            Waited::Stopped => Err(Error::ShuttingDown),
        }
    }
}

/// Parses the schemas of the available and the wanted data. At least one of them is required.
pub(super) fn have_and_want(have: Option<&Value>, want: Option<&Value>) -> Result<(Option<Data>, Option<Data>)> {
    if have.is_none() && want.is_none() {
        let message =
            "give `have`, the schema of the available data, or `want`, the schema of the desired data".to_owned();
        return Err(Error::InvalidQuery { message });
    }
    let have = have.map(|schema| Data::parse(schema, "have")).transpose()?;
    Ok((have, want.map(|schema| Data::parse(schema, "want")).transpose()?))
}
