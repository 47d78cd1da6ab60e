//! Tracked sources of a registry: list, refresh, untrack.

use percent_encoding::utf8_percent_encode;
use reqwest::Method;

use super::{PATH_SEGMENT, RegistryClient, Result, read, text, thing_path};
use crate::api::{Refreshed, TrackedSource};

impl RegistryClient {
    /// Returns tracked sources in ascending order of id. `parameters` are those of `GET /imports`: `status`, `limit`,
    /// `offset`.
    ///
    /// ```no_run
    /// # async fn example() -> agentdex_client::Result<()> {
    /// let registry = agentdex_client::RegistryClient::new("http://127.0.0.1:8080")?;
    /// for import in registry.imports(&[("status", "stale")]).await? {
    ///     println!("{} failed {} times: {}", import.source, import.failures, import.last_error.unwrap_or_default());
    ///     registry.refresh(&import.id).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn imports(&self, parameters: &[(&str, &str)]) -> Result<Vec<TrackedSource>> {
        let text = text(self.send(self.request(Method::GET, "imports", parameters)).await?).await?;
        read(&text, "a list of tracked sources")
    }

    /// Returns the tracked source of a Thing, or `None` if the Thing has no tracked source.
    ///
    /// # Errors
    /// Same as [`RegistryClient::imports`].
    pub async fn find_tracked_source(&self, id: &str) -> Result<Option<TrackedSource>> {
        match self.send(self.request(Method::GET, &import_path(id), &[])).await {
            Ok(response) => read(&text(response).await?, "a tracked source").map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the registry poll the source of a Thing immediately, and import the document if it has changed.
    ///
    /// # Errors
    /// Same as [`RegistryClient::imports`], including [`Error::Refused`](super::Error::Refused) if the source can't be
    /// fetched.
    pub async fn refresh(&self, id: &str) -> Result<Refreshed> {
        let request = self.request(Method::POST, &format!("{}/refresh", thing_path(id)), &[]);
        read(&text(self.send(request).await?).await?, "the result of a poll")
    }

    /// Stops tracking the source of a Thing, without removing the Thing.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn untrack(&self, id: &str) -> Result<()> {
        self.send(self.request(Method::DELETE, &import_path(id), &[])).await.map(drop)
    }
}

fn import_path(id: &str) -> String {
    format!("imports/{}", utf8_percent_encode(id, PATH_SEGMENT))
}
