//! The tracked sources of a registry: listing them, polling them now, and ending it.

use percent_encoding::utf8_percent_encode;
use reqwest::Method;
use serde::{Deserialize, Serialize};

use super::{PATH_SEGMENT, RegistryClient, Result, read, text, thing_path};
use crate::api::Timestamp;

/// A URL that an agent was imported from and that the registry polls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackedSource {
    /// The Thing that the document is about; the first where it became several.
    pub id: String,
    /// The URL of the document.
    pub source: String,
    /// The URL at the end of its redirects, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The format of the document, such as `a2a`.
    pub format: String,
    /// `current`, or `stale` where polls failed repeatedly.
    pub status: String,
    /// Since when it is tracked.
    pub tracked_since: Timestamp,
    /// When it was last polled.
    pub last_fetch: Timestamp,
    /// When it last served the document, or confirmed that it is unchanged.
    pub last_success: Timestamp,
    /// When it will be polled again.
    pub next_try: Timestamp,
    /// How many polls failed in a row.
    pub failures: u32,
    /// Why the last poll failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How many times in a row the signatures of a card couldn't be checked, because keys couldn't be fetched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// The entity tag of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When the document changed, as its server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The versions of the document, the newest last.
    #[serde(default)]
    pub revisions: Vec<Revision>,
}

/// A version of a tracked document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// SHA-256 of its bytes, as `sha256:` and hexadecimal digits.
    pub hash: String,
    /// When it was first seen.
    pub seen: Timestamp,
}

/// The result of a poll.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refreshed {
    /// Whether the description changed.
    pub result: RefreshResult,
    /// The state of the source; none where it is no longer tracked.
    pub import: Option<TrackedSource>,
}

/// Whether a poll changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RefreshResult {
    /// The document changed and was imported.
    Updated,
    /// The description is what it was.
    Unchanged,
    /// The source is no longer tracked: its Thing was removed, or changed by hand, during the poll.
    Stopped,
}

impl RegistryClient {
    /// The tracked sources in ascending order of id. `parameters` are those of `GET /imports`:
    /// `status`, `limit`, `offset`.
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

    /// The tracked source of a Thing; none if it has none.
    ///
    /// # Errors
    /// As [`RegistryClient::imports`].
    pub async fn find_tracked_source(&self, id: &str) -> Result<Option<TrackedSource>> {
        match self.send(self.request(Method::GET, &import_path(id), &[])).await {
            Ok(response) => read(&text(response).await?, "a tracked source").map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has the registry poll the source of a Thing now, and import the document if it changed.
    ///
    /// # Errors
    /// As [`RegistryClient::imports`]; refused also where the source can't be had.
    pub async fn refresh(&self, id: &str) -> Result<Refreshed> {
        let request = self.request(Method::POST, &format!("{}/refresh", thing_path(id)), &[]);
        read(&text(self.send(request).await?).await?, "the result of a poll")
    }

    /// Stops tracking the source of a Thing. The Thing stays.
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

fn is_zero(number: &u32) -> bool {
    *number == 0
}
