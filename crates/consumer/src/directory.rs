//! Directories for finding agents: an embedded registry, or a client of a remote registry.

use std::fmt;

use super::{Error, Pending};
use crate::client::{
    RegistryClient, SearchHit,
    api::{CapabilityHit, Confidence},
};
use agentdex_td::BoxError;

/// A source of agent descriptions that can be searched.
pub trait Directory: fmt::Debug + Send + Sync {
    /// Returns the matching agents, best match first. Agents registered shortly before the search should be found, too.
    ///
    /// # Errors
    /// [`Error::Directory`] if the directory can't be queried.
    fn search<'a>(&'a self, search: &'a Search) -> Pending<'a, Vec<Candidate>>;

    /// Returns the description of an agent, or `None` if the agent doesn't exist.
    ///
    /// # Errors
    /// [`Error::Directory`] if the directory can't be queried.
    fn description<'a>(&'a self, id: &'a str) -> Pending<'a, Option<String>>;
}

/// Query for agents: words, a capability, and the maximum number of results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Words, with the syntax of `GET /search`.
    pub query: Option<String>,
    /// Required capability, by id or name, optionally with a version range such as `translate@^1.2`.
    pub capability: Option<String>,
    /// Maximum number of agents.
    pub limit: usize,
}

/// A matching agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidate {
    /// Id of the agent.
    pub id: String,
    /// Title of the agent.
    pub title: Option<String>,
    /// Relevance score for ranking.
    pub score: f32,
    /// Names of the matching capabilities, best match first.
    pub capabilities: Vec<String>,
    /// True if the directory has low confidence in all of the matches.
    pub is_doubtful: bool,
}

impl Candidate {
    /// Converts a hit of a search. `is_doubtful` is true if the confidence of the search is low.
    pub fn of_hit(hit: SearchHit, is_doubtful: bool) -> Candidate {
        let capabilities = matching(hit.capabilities);
        Candidate { id: hit.id, title: hit.title, score: hit.score, capabilities, is_doubtful }
    }
}

/// Returns the capabilities that contain words of the request. If no capability contains a word, the hit lists those
/// nearest by meaning, which is only informative for a single capability.
fn matching(listed: Vec<CapabilityHit>) -> Vec<String> {
    let is_marked = |capability: &CapabilityHit| capability.snippet.contains("<b>");
    let (marked, others): (Vec<_>, Vec<_>) = listed.into_iter().partition(is_marked);
    let matching = if marked.is_empty() && others.len() == 1 { others } else { marked };
    matching.into_iter().map(|capability| capability.name).collect()
}

fn failed(error: impl Into<BoxError>) -> Error {
    Error::Directory { source: error.into() }
}

impl Directory for RegistryClient {
    fn search<'a>(&'a self, search: &'a Search) -> Pending<'a, Vec<Candidate>> {
        Box::pin(async move {
            let limit = search.limit.to_string();
            let mut parameters = vec![("limit", limit.as_str())];
            parameters.extend(search.query.as_deref().map(|query| ("q", query)));
            parameters.extend(search.capability.as_deref().map(|capability| ("capability", capability)));
            let consistent = [parameters.as_slice(), &[("consistent", "true")]].concat();
            let answer = match RegistryClient::search(self, &consistent).await {
                // An index that is far behind, or an encoder, takes longer than a caller waits.
                Err(error) if error.problem().is_some_and(|problem| problem.code == "consistency-timeout") => {
                    RegistryClient::search(self, &parameters).await
                }
                answer => answer,
            };
            let answer = answer.map_err(failed)?;
            let is_doubtful = answer.confidence == Some(Confidence::Low);
            Ok(answer.hits.into_iter().map(|hit| Candidate::of_hit(hit, is_doubtful)).collect())
        })
    }

    fn description<'a>(&'a self, id: &'a str) -> Pending<'a, Option<String>> {
        Box::pin(async move { self.find(id).await.map_err(failed) })
    }
}
