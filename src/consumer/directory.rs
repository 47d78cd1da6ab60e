//! Where agents are found: an embedded registry, or a client of one that runs elsewhere.

use std::fmt;

use super::{Error, Pending, Result};
use crate::{
    Registry,
    client::RegistryClient,
    search::{self, FilterField},
};

/// Finds descriptions of agents.
pub trait Directory: fmt::Debug + Send + Sync {
    /// The agents that match, the best first.
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

/// What is searched for.
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
    /// What the matches are ranked by.
    pub score: f32,
    /// The capabilities that match, the best first.
    pub capabilities: Vec<String>,
}

fn failed(error: impl Into<crate::error::BoxError>) -> Error {
    Error::Directory { source: error.into() }
}

impl Directory for RegistryClient {
    fn search<'a>(&'a self, search: &'a Search) -> Pending<'a, Vec<Candidate>> {
        Box::pin(async move {
            let limit = search.limit.to_string();
            let mut parameters = vec![("limit", limit.as_str())];
            parameters.extend(search.query.as_deref().map(|query| ("q", query)));
            parameters.extend(search.capability.as_deref().map(|capability| ("capability", capability)));
            let answer = RegistryClient::search(self, &parameters).await.map_err(failed)?;
            let candidate = |hit: crate::client::SearchHit| Candidate {
                id: hit.id,
                title: hit.title,
                score: hit.score,
                capabilities: hit.capabilities.into_iter().map(|capability| capability.name).collect(),
            };
            Ok(answer.hits.into_iter().map(candidate).collect())
        })
    }

    fn description<'a>(&'a self, id: &'a str) -> Pending<'a, Option<String>> {
        Box::pin(async move { self.find(id).await.map_err(failed) })
    }
}

impl Directory for Registry {
    fn search<'a>(&'a self, search: &'a Search) -> Pending<'a, Vec<Candidate>> {
        let mut asked = search::Search { query: search.query.clone(), ..search::Search::default() }.limit(search.limit);
        if let Some(capability) = &search.capability {
            asked = asked.filter(FilterField::Capability, capability);
        }
        Box::pin(async move {
            let registry = self.clone();
            let answer = blocking(move || registry.search(asked)).await?;
            let candidate = |hit: crate::search::Hit| Candidate {
                id: hit.id,
                title: hit.title,
                score: hit.score,
                capabilities: hit.capabilities.into_iter().map(|capability| capability.name).collect(),
            };
            Ok(answer.hits.into_iter().map(candidate).collect())
        })
    }

    fn description<'a>(&'a self, id: &'a str) -> Pending<'a, Option<String>> {
        let (registry, id) = (self.clone(), id.to_owned());
        Box::pin(async move {
            let found = blocking(move || registry.find(&id)).await?;
            Ok(found.map(|thing| thing.text().to_owned()))
        })
    }
}

/// A registry reads from disk.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> crate::Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(read).await.map_err(failed)?.map_err(failed)
}
