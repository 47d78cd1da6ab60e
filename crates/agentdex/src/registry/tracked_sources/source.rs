//! State of a tracked source, stored with its Thing and removed with it.

use std::ops::{Deref, DerefMut};

use agentdex_api::{Revision, SourceStatus, TrackedSource};

use crate::{
    Error, Result, Timestamp,
    convert::Format,
    error::BoxError,
    fetch::{Validators, is_same_url},
};

/// Maximum number of stored revisions.
const MAX_REVISIONS: usize = 100;

/// A tracked source with a known format.
#[derive(Debug, Clone)]
pub(in crate::registry) struct Tracked {
    /// State of the source, as stored and sent to clients.
    pub state: TrackedSource,
    /// Format of the document.
    pub format: Format,
}

impl Deref for Tracked {
    type Target = TrackedSource;

    fn deref(&self) -> &TrackedSource {
        &self.state
    }
}

impl DerefMut for Tracked {
    fn deref_mut(&mut self) -> &mut TrackedSource {
        &mut self.state
    }
}

impl Tracked {
    /// Creates the state of a source after its first fetch.
    pub(super) fn begin(id: &str, source: &str, format: Format, now: Timestamp) -> Tracked {
        let state = TrackedSource {
            id: id.to_owned(),
            source: source.to_owned(),
            location: None,
            format: format.name().to_owned(),
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
        };
        Tracked { state, format }
    }

    pub(in crate::registry) fn from_metadata(metadata: &[u8]) -> Result<Tracked> {
        let corrupt = |error: BoxError| Error::Store { doing: "reading a tracked source", source: error };
        let state: TrackedSource = serde_json::from_slice(metadata).map_err(|error| corrupt(error.into()))?;
        let format = state.format.parse().map_err(|error: String| corrupt(error.into()))?;
        Ok(Tracked { state, format })
    }

    pub(super) fn to_metadata(&self) -> Result<Vec<u8>> {
        let failed =
            |error: serde_json::Error| Error::Store { doing: "writing a tracked source", source: error.into() };
        serde_json::to_vec(&self.state).map_err(failed)
    }

    /// The hash of the newest version.
    pub(super) fn hash(&self) -> Option<&str> {
        self.revisions.last().map(|revision| revision.hash.as_str())
    }

    pub(super) fn validators(&self) -> Validators {
        Validators { etag: self.etag.clone(), last_modified: self.last_modified.clone() }
    }

    /// Returns the URL that the document comes from, after redirects as far as these are known.
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
            self.state.revisions.push(Revision { hash: hash.to_owned(), seen: now });
            let surplus = self.revisions.len().saturating_sub(MAX_REVISIONS);
            self.revisions.drain(..surplus);
        }
    }

    /// Continues from the state before of the same source.
    pub(super) fn continue_from(&mut self, before: Tracked, hash: &str, now: Timestamp) {
        (self.tracked_since, self.revisions) = (before.state.tracked_since, before.state.revisions);
        self.add_revision(hash, now);
    }

    /// True if it still has the URL and the version that were polled.
    pub(super) fn is_at(&self, polled: &Tracked) -> bool {
        (&self.source, self.hash()) == (&polled.source, polled.hash())
    }

    /// True for a poll on request before it was due. It may report success, but must neither make a source stale nor
    /// delay its next poll, regardless of how often callers request it.
    pub(super) fn is_early(&self, now: Timestamp) -> bool {
        now < self.next_try
    }

    /// True if the verification of a known card is accepted. Keys that can't be fetched prove nothing, until that has
    /// lasted for as many polls as make a source stale. Early polls don't count.
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

/// Reads the state of a source. An unreadable state is logged, so that it doesn't affect other sources.
pub(super) fn read_metadata(id: &str, metadata: &[u8]) -> Option<Tracked> {
    let source = Tracked::from_metadata(metadata);
    source.inspect_err(|error| tracing::warn!(id, %error, "a tracked source can't be read")).ok()
}
