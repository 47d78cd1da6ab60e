//! What is remembered of an import by URL: durable beside its Thing, and gone with it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    look::{Arrival, Look},
    options::Follow,
    trust::Assessment,
};
use crate::{Error, Result, Timestamp, convert::Format, fetch::Validators};

/// The most revisions that are remembered.
const MAX_REVISIONS: usize = 100;

/// An import by URL that is looked at again from time to time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowedImport {
    /// The Thing that the document is about; the first where it became several.
    pub id: String,
    /// The URL of the document.
    pub source: String,
    /// Where that led to in the end, if it redirects; without a query, in which secrets may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The format of the document.
    #[serde(serialize_with = "write_format", deserialize_with = "read_format")]
    pub format: Format,
    /// Whether the source still gives the document.
    pub status: ImportStatus,
    /// Since when it is followed.
    pub followed_since: Timestamp,
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
    /// The versions of the document, the newest last; of very many the newest.
    pub revisions: Vec<Revision>,
}

/// Whether a followed source still gives its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportStatus {
    /// It does, or has failed a few times only.
    Current,
    /// It failed again and again: the Thing is what the document last said.
    Stale,
}

impl ImportStatus {
    /// The name in descriptions and filters.
    pub fn name(self) -> &'static str {
        match self {
            ImportStatus::Current => "current",
            ImportStatus::Stale => "stale",
        }
    }
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

impl FollowedImport {
    /// What there is to remember of a document that was just brought.
    pub(super) fn begin(id: &str, source: &str, follow: &Follow, arrival: &Arrival, now: Timestamp) -> FollowedImport {
        let mut import = FollowedImport {
            id: id.to_owned(),
            source: source.to_owned(),
            location: None,
            format: follow.format,
            status: ImportStatus::Current,
            followed_since: now,
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
        import.set_told(&arrival.validators, &arrival.url);
        import.saw(&arrival.hash, now);
        import
    }

    pub(super) fn from_note(note: &[u8]) -> Result<FollowedImport> {
        let corrupt =
            |error: serde_json::Error| Error::Store { doing: "reading a followed import", source: error.into() };
        serde_json::from_slice(note).map_err(corrupt)
    }

    pub(super) fn to_note(&self) -> Result<Vec<u8>> {
        let failed =
            |error: serde_json::Error| Error::Store { doing: "writing a followed import", source: error.into() };
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

    /// Keeps what an answer told beside the document.
    fn set_told(&mut self, validators: &Validators, url: &str) {
        (self.etag, self.last_modified) = (validators.etag.clone(), validators.last_modified.clone());
        let place = url.split(['?', '#']).next().unwrap_or_default();
        self.location = (url != self.source).then(|| place.to_owned());
    }

    /// Whether a check of a known card says something: keys that can't be had say nothing, until that
    /// has lasted for as many looks as make a source stale. Looks before their time don't count.
    pub(super) fn believes(&mut self, found: &Assessment, stale_after: u32, now: Timestamp) -> bool {
        if !found.is_certain && self.is_early(now) {
            return false;
        }
        self.unchecked = if found.is_certain { 0 } else { self.unchecked.saturating_add(1) };
        found.is_certain || self.unchecked >= stale_after
    }

    /// Notes that the source gave this version.
    pub(super) fn saw(&mut self, hash: &str, now: Timestamp) {
        if self.hash() != Some(hash) {
            self.revisions.push(Revision { hash: hash.to_owned(), seen: now });
            let surplus = self.revisions.len().saturating_sub(MAX_REVISIONS);
            self.revisions.drain(..surplus);
        }
    }

    /// Goes on from what was remembered before of the same source.
    pub(super) fn continue_from(&mut self, before: FollowedImport, hash: &str, now: Timestamp) {
        (self.followed_since, self.revisions) = (before.followed_since, before.revisions);
        self.saw(hash, now);
    }

    /// Whether it is still followed where another one looked, and knows no other version than that.
    pub(super) fn is_at(&self, looked: &FollowedImport) -> bool {
        (&self.source, self.hash()) == (&looked.source, looked.hash())
    }

    /// Notes what a look brought that didn't fail.
    pub(super) fn took(&mut self, look: &Look, now: Timestamp) {
        match look {
            Look::Same(same) => {
                if let Some((validators, url)) = &same.told {
                    self.set_told(validators, url);
                }
            }
            Look::New(arrival) => {
                if let Some(source) = &arrival.moved_to {
                    self.source.clone_from(source);
                }
                self.set_told(&arrival.validators, &arrival.url);
                self.saw(&arrival.hash, now);
                self.unchecked = 0;
            }
            Look::Failed(_) => return,
        }
        (self.status, self.failures, self.last_error) = (ImportStatus::Current, 0, None);
        (self.last_fetch, self.last_success) = (now, now);
    }

    /// Whether a look came before its time, on somebody's wish. It may say that all is well; but whoever asks
    /// often must not make a source stale by that, nor put its next look off.
    pub(super) fn is_early(&self, now: Timestamp) -> bool {
        now < self.next_try
    }

    /// Notes a failure; so many of them make it stale.
    pub(super) fn failed(&mut self, error: &Error, stale_after: u32, now: Timestamp) {
        (self.last_error, self.last_fetch) = (Some(error.to_string()), now);
        if self.is_early(now) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= stale_after {
            self.status = ImportStatus::Stale;
        }
    }
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
