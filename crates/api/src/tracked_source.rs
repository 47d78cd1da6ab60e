//! Tracked sources: URLs from which agents were imported, and which the registry polls.

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};

/// A URL from which an agent was imported, and which the registry polls. Times are in RFC 3339.
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
    /// Id of the Thing described by the document, or of the first Thing if there are several.
    pub id: String,
    /// The URL of the document.
    pub source: String,
    /// The URL after redirects, if there were any, without its query, which may contain secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The name of the format of the document, such as `a2a`.
    pub format: String,
    /// `current`, or `stale` after repeated failures.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: SourceStatus,
    /// The time since which the source is tracked.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub tracked_since: Timestamp,
    /// Time of the last poll.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub last_fetch: Timestamp,
    /// Time at which the source last served the document, or confirmed that it is unchanged.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub last_success: Timestamp,
    /// Time of the next poll.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub next_try: Timestamp,
    /// Number of consecutive failed polls.
    pub failures: u32,
    /// The reason why the last poll failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Number of consecutive polls in which the signatures of a card couldn't be verified, because keys couldn't be
    /// fetched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchecked: u32,
    /// The entity tag of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Time of the document's last change, as sent by its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The latest versions of the document, at most 100, newest last.
    pub revisions: Vec<Revision>,
}

/// State of a tracked source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SourceStatus {
    /// The source serves its document, or has failed only a few times.
    Current,
    /// The source failed repeatedly. The Thing remains as described by the last document.
    Stale,
    /// A state introduced by a newer registry.
    #[serde(other)]
    Other,
}

impl SourceStatus {
    /// All states known to this version.
    pub const ALL: [SourceStatus; 2] = [SourceStatus::Current, SourceStatus::Stale];

    /// Returns the name of the state in descriptions and filters.
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
    /// SHA-256 of the document: `sha256:` and hexadecimal digits.
    pub hash: String,
    /// Time at which the version was first fetched.
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
