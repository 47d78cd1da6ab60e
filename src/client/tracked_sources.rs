//! Imports by URL that the registry follows: which there are, looking again, and ending it.

use percent_encoding::utf8_percent_encode;
use reqwest::Method;
use serde::{Deserialize, Serialize};

use super::{PATH_SEGMENT, RegistryClient, Result, read, text, thing_path};
use crate::Timestamp;

/// An import by URL that the registry looks at again from time to time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackedSource {
    /// The Thing that the document is about; the first where it became several.
    pub id: String,
    /// The URL of the document.
    pub source: String,
    /// Where that led to in the end, if it redirects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The format of the document, such as `a2a`.
    pub format: String,
    /// `current`, or `stale` where the source failed again and again.
    pub status: String,
    /// Since when it is followed.
    pub tracked_since: Timestamp,
    /// When the source was last asked.
    pub last_fetch: Timestamp,
    /// When the source last gave the document, or said that it is the same.
    pub last_success: Timestamp,
    /// When the source will be asked again.
    pub next_try: Timestamp,
    /// How often in a row the source failed.
    pub failures: u32,
    /// Why it failed the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How often in a row the signatures of a card couldn't be checked, since keys couldn't be had.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// The entity tag of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When the document changed, in the words of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The versions of the document, the newest last.
    #[serde(default)]
    pub revisions: Vec<Revision>,
}

/// A version of a followed document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// SHA-256 of its bytes, as `sha256:` and hexadecimal digits.
    pub hash: String,
    /// When it was first seen.
    pub seen: Timestamp,
}

/// What a look at a source came to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refreshed {
    /// Whether the description changed.
    pub result: RefreshResult,
    /// How the source is followed from now on; none where it no longer is.
    pub import: Option<TrackedSource>,
}

/// Whether a look at a source changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RefreshResult {
    /// The document changed and was imported.
    Updated,
    /// The description is what it was.
    Unchanged,
    /// It is no longer followed: the Thing was removed, or changed by hand, while the source was asked.
    Stopped,
}

impl RegistryClient {
    /// The followed imports in ascending order of id. `parameters` are those of `GET /imports`:
    /// `status`, `limit`, `offset`.
    ///
    /// ```no_run
    /// # async fn example() -> agentdex::client::Result<()> {
    /// let registry = agentdex::client::RegistryClient::new("http://127.0.0.1:8080")?;
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
        read(&text, "a list of followed imports")
    }

    /// How the source of a Thing is followed; none if it isn't.
    ///
    /// # Errors
    /// As [`RegistryClient::imports`].
    pub async fn find_tracked_source(&self, id: &str) -> Result<Option<TrackedSource>> {
        match self.send(self.request(Method::GET, &import_path(id), &[])).await {
            Ok(response) => read(&text(response).await?, "a followed import").map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has the registry look at the source of a Thing now, and import the document if it changed.
    ///
    /// # Errors
    /// As [`RegistryClient::imports`]; refused also where the source can't be had.
    pub async fn refresh(&self, id: &str) -> Result<Refreshed> {
        let request = self.request(Method::POST, &format!("{}/refresh", thing_path(id)), &[]);
        read(&text(self.send(request).await?).await?, "what became of a look at a source")
    }

    /// Ends the following of a source. Its Thing stays.
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
