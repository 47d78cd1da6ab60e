//! The state of a tracked source: durable beside its Thing, and removed with it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    Error, Result, Timestamp,
    convert::Format,
    fetch::{Validators, is_same_url},
};

/// The maximum number of revisions that are stored.
const MAX_REVISIONS: usize = 100;

/// A URL that an agent was imported from and that is polled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackedSource {
    /// The Thing that the document is about; the first where it became several.
    pub id: String,
    /// The URL of the document.
    pub source: String,
    /// The URL at the end of its redirects, if there are any; without a query, in which secrets may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The format of the document.
    #[serde(serialize_with = "write_format", deserialize_with = "read_format")]
    pub format: Format,
    /// Whether the source still serves the document.
    pub status: SourceStatus,
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
    /// The versions of the document, the newest last; at most 100.
    pub revisions: Vec<Revision>,
}

/// Whether a tracked source still serves its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceStatus {
    /// It does, or has failed a few times only.
    Current,
    /// It failed repeatedly: the Thing is as the document last described it.
    Stale,
}

impl SourceStatus {
    /// The name in descriptions and filters.
    pub fn name(self) -> &'static str {
        match self {
            SourceStatus::Current => "current",
            SourceStatus::Stale => "stale",
        }
    }
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

/// What a poll changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// Nothing: the description is as before, or as another poll or import has written it in the meantime.
    Unchanged,
    /// The document changed and was imported.
    Updated,
    /// The source is no longer tracked: its Thing was removed, or changed by hand.
    Stopped,
}

impl TrackedSource {
    /// The state of a source that was just fetched for the first time.
    pub(super) fn begin(id: &str, source: &str, format: Format, now: Timestamp) -> TrackedSource {
        TrackedSource {
            id: id.to_owned(),
            source: source.to_owned(),
            location: None,
            format,
            status: SourceStatus::Current,
            tracked_since: now,
            last_fetch: now,
            last_success: now,
            next_try: now,
            failures: 0,
            last_error: None,
            unchecked: 0,
            etag: None,
            last_modified: None,
            revisions: Vec::new(),
        }
    }

    pub(in crate::registry) fn from_metadata(metadata: &[u8]) -> Result<TrackedSource> {
        let corrupt =
            |error: serde_json::Error| Error::Store { doing: "reading a tracked source", source: error.into() };
        serde_json::from_slice(metadata).map_err(corrupt)
    }

    pub(super) fn to_metadata(&self) -> Result<Vec<u8>> {
        let failed =
            |error: serde_json::Error| Error::Store { doing: "writing a tracked source", source: error.into() };
        serde_json::to_vec(self).map_err(failed)
    }

    /// The hash of the newest version.
    pub fn hash(&self) -> Option<&str> {
        self.revisions.last().map(|revision| revision.hash.as_str())
    }

    pub(super) fn validators(&self) -> Validators {
        Validators { etag: self.etag.clone(), last_modified: self.last_modified.clone() }
    }

    /// Where the document comes from, as far as is known.
    pub(super) fn location(&self) -> &str {
        self.location.as_deref().unwrap_or(&self.source)
    }

    /// Stores the validators of a response, and the URL that it came from.
    pub(super) fn set_response(&mut self, validators: &Validators, url: &str) {
        (self.etag, self.last_modified) = (validators.etag.clone(), validators.last_modified.clone());
        let place = url.split(['?', '#']).next().unwrap_or_default();
        self.location = (!is_same_url(url, &self.source)).then(|| place.to_owned());
    }

    /// Adds a version, unless it is the newest already.
    pub(super) fn add_revision(&mut self, hash: &str, now: Timestamp) {
        if self.hash() != Some(hash) {
            self.revisions.push(Revision { hash: hash.to_owned(), seen: now });
            let surplus = self.revisions.len().saturating_sub(MAX_REVISIONS);
            self.revisions.drain(..surplus);
        }
    }

    /// Continues from the state before of the same source.
    pub(super) fn continue_from(&mut self, before: TrackedSource, hash: &str, now: Timestamp) {
        (self.tracked_since, self.revisions) = (before.tracked_since, before.revisions);
        self.add_revision(hash, now);
    }

    /// Whether it still has the URL and the version that were polled.
    pub(super) fn is_at(&self, polled: &TrackedSource) -> bool {
        (&self.source, self.hash()) == (&polled.source, polled.hash())
    }

    /// Whether a poll came before its time, on request. It may report success; but callers who poll often must not
    /// make a source stale by that, nor delay its next poll.
    pub(super) fn is_early(&self, now: Timestamp) -> bool {
        now < self.next_try
    }

    /// Whether the check of a known card counts. Keys that can't be fetched prove nothing, until that has lasted for
    /// as many polls as make a source stale. Polls before their time don't count.
    pub(super) fn accepts_check(&mut self, is_certain: bool, stale_after: u32, now: Timestamp) -> bool {
        if !is_certain && self.is_early(now) {
            return false;
        }
        self.unchecked = if is_certain { 0 } else { self.unchecked.saturating_add(1) };
        is_certain || self.unchecked >= stale_after
    }

    /// Records a poll that succeeded.
    pub(super) fn succeeded(&mut self, now: Timestamp) {
        (self.status, self.failures, self.last_error) = (SourceStatus::Current, 0, None);
        (self.last_fetch, self.last_success) = (now, now);
    }

    /// Records a failure; `stale_after` of them make it stale.
    pub(super) fn failed(&mut self, error: &Error, stale_after: u32, now: Timestamp) {
        (self.last_error, self.last_fetch) = (Some(error.to_string()), now);
        if self.is_early(now) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= stale_after {
            self.status = SourceStatus::Stale;
        }
    }
}

/// Reads the state of a source. One that can't be read is logged, so that it hides no other.
pub(super) fn read_metadata(id: &str, metadata: &[u8]) -> Option<TrackedSource> {
    let source = TrackedSource::from_metadata(metadata);
    source.inspect_err(|error| tracing::warn!(id, %error, "a tracked source can't be read")).ok()
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn write_format<S: Serializer>(format: &Format, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(format.name())
}

fn read_format<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Format, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}
