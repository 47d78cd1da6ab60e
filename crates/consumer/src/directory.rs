//! The directory in which agents are found: an embedded registry, or a client of one that runs elsewhere.

use std::fmt;

use super::{Error, Pending};
use crate::client::{
    RegistryClient, SearchHit,
    api::{CapabilityHit, Confidence},
};
use agentdex_td::BoxError;

/// Finds descriptions of agents.
pub trait Directory: fmt::Debug + Send + Sync {
    /// The agents that match, the best first: also those that the caller has just registered.
    ///
    /// # Errors
    /// [`Error::Directory`]
    fn search<'a>(&'a self, search: &'a Search) -> Pending<'a, Vec<Candidate>>;

    /// The description of an agent; none if there is no such agent.
    ///
    /// # Errors
    /// [`Error::Directory`]
    fn description<'a>(&'a self, id: &'a str) -> Pending<'a, Option<String>>;
}

/// A query for agents: words, a capability, and the maximum number of results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Words, as in `GET /search`.
    pub query: Option<String>,
    /// A capability that they have, by id or name, also with a range of versions.
    pub capability: Option<String>,
    /// Maximum number of agents.
    pub limit: usize,
}

/// An agent that matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The relevance by which matches are ranked.
    pub score: f32,
    /// The capabilities that match, the best first.
    pub capabilities: Vec<String>,
    /// True if the directory doubts that any match is what was asked for.
    pub is_doubtful: bool,
}

impl Candidate {
    /// A hit of a search. `is_doubtful`: its confidence is low.
    pub fn of_hit(hit: SearchHit, is_doubtful: bool) -> Candidate {
        let capabilities = matching(hit.capabilities);
        Candidate { id: hit.id, title: hit.title, score: hit.score, capabilities, is_doubtful }
    }
}

/// The capabilities that have words of the request. A hit without any by its words lists those that are nearest by their meaning,
/// which says something if it is one.
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
