//! The registry as the directory of a consumer.

use agentdex_consumer::{self as consumer, Candidate, Directory, Error, Pending, Result};

use super::Registry;
use crate::{
    search::{self, Confidence, FilterField},
    td::BoxError,
};

impl Directory for Registry {
    fn search<'a>(&'a self, search: &'a consumer::Search) -> Pending<'a, Vec<Candidate>> {
        let mut asked = search::Search { query: search.query.clone(), ..search::Search::default() }.limit(search.limit);
        if let Some(capability) = &search.capability {
            asked = asked.filter(FilterField::Capability, capability);
        }
        Box::pin(async move {
            let registry = self.clone();
            let search = move || match registry.search(asked.clone().consistent()) {
                // An index that is far behind, or an encoder, takes longer than a caller waits.
                Err(crate::Error::ConsistencyTimeout { .. }) => registry.search(asked),
                answer => answer,
            };
            let answer = blocking(search).await?;
            let is_doubtful = answer.confidence == Some(Confidence::Low);
            Ok(answer.hits.into_iter().map(|hit| Candidate::of_hit(hit, is_doubtful)).collect())
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

fn failed(error: impl Into<BoxError>) -> Error {
    Error::Directory { source: error.into() }
}
