//! Tracked sources: URLs that agents were imported from and that are polled.

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

/// A URL from which an agent was imported, and which is polled. Moments are in RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = json!({
    "id": "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
    "source": "https://weather.example/.well-known/agent-card.json",
    "format": "a2a",
    "status": "current",
    "trackedSince": "2026-11-22T10:00:00Z",
    "lastFetch": "2026-11-22T12:01:40Z",
    "lastSuccess": "2026-11-22T12:01:40Z",
    "nextTry": "2026-11-22T13:04:10Z",
    "failures": 0,
    "etag": "\"1\"",
    "revisions": [
        {"hash": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "seen": "2026-11-22T10:00:00Z"},
    ],
})))]
pub struct TrackedSource {
    /// The Thing that the document describes; the first if there are several.
    pub id: String,
    /// The URL of the document.
    pub source: String,
    /// The URL after redirects, if there are any; without its query, which may contain secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The name of the format of the document, such as `a2a`.
    pub format: String,
    /// `current`, or `stale` once polls failed repeatedly.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: SourceStatus,
    /// The moment since which the source is tracked.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub tracked_since: Timestamp,
    /// The moment of the last poll.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub last_fetch: Timestamp,
    /// The moment when it last served the document, or confirmed that the document is unchanged.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub last_success: Timestamp,
    /// The moment of the next poll.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub next_try: Timestamp,
    /// Number of failed polls in a row.
    pub failures: u32,
    /// The reason why the last poll failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Number of times in a row that the signatures of a card couldn't be checked, because keys couldn't be fetched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// The entity tag of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The moment when the document changed, as its server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The versions of the document, the newest last; at most 100.
    pub revisions: Vec<Revision>,
}

/// The state of a tracked source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SourceStatus {
    /// It serves its document, or has failed only a few times.
    Current,
    /// It failed repeatedly: the Thing is as the document last described it.
    Stale,
    /// A state that only a newer registry knows.
    #[serde(other)]
    Other,
}

impl SourceStatus {
    /// All states that this version knows.
    pub const ALL: [SourceStatus; 2] = [SourceStatus::Current, SourceStatus::Stale];

    /// The name in descriptions and filters.
    pub fn name(self) -> &'static str {
        match self {
            SourceStatus::Current => "current",
            SourceStatus::Stale => "stale",
            SourceStatus::Other => "other",
        }
    }
}

/// A version of a tracked document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Revision {
    /// SHA-256 of its bytes, as `sha256:` and hexadecimal digits.
    pub hash: String,
    /// The moment when it was first seen.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub seen: Timestamp,
}

/// The answer of `POST /things/{id}/refresh`: the result of a poll.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RefreshedImport))]
pub struct Refreshed {
    /// The state of the source; `null` if it is no longer tracked.
    pub import: Option<TrackedSource>,
    /// `unchanged`, `updated`, or `stopped` if the Thing was removed or edited in the meantime.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub result: RefreshResult,
}

/// The effect of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefreshResult {
    /// The description is unchanged, or another poll or import has already updated it.
    Unchanged,
    /// The document changed and was imported.
    Updated,
    /// The source is no longer tracked: its Thing was removed or edited during the poll.
    Stopped,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
