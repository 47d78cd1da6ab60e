//! The Thing Description: reading, validating, mending, and what agentdex needs to know of one.
//!
//! The document's own text is the truth: member order and number tokens are kept, and edits (a
//! mended id, a scheme that was missing) touch only the members they are about.

use std::{borrow::Cow, fmt};

use serde::Serialize;

pub mod merge_patch;

use crate::{Result, Timestamp};

/// The most bytes an id may have.
pub const MAX_ID_BYTES: usize = 1024;
/// The deepest nesting of a document.
pub const MAX_NESTING: usize = 64;
/// The most properties, actions and events together.
pub const MAX_AFFORDANCES: usize = 1000;
/// The largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The version of the TD specification that a document's `@context` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Version {
    /// `https://www.w3.org/2019/wot/td/v1`
    #[serde(rename = "1.0")]
    V1_0,
    /// `https://www.w3.org/2022/wot/td/v1.1`
    #[serde(rename = "1.1")]
    V1_1,
}

/// One thing that is wrong with a document, or worth a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Where: a JSON Pointer (RFC 6901); empty for the root.
    pub pointer: String,
    /// Which rule: a stable code, such as `schema/required` or `security-undefined`.
    pub rule: Cow<'static, str>,
    /// What was found and what would be right.
    pub message: String,
}

/// What validation found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The version the document was read as.
    pub version: Option<Version>,
    /// What makes it invalid; empty if it is valid.
    pub violations: Vec<Violation>,
    /// What is allowed, but probably not meant; and what was or would be mended.
    pub warnings: Vec<Violation>,
}

impl Report {
    /// Whether nothing makes the document invalid.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.violations.iter().take(3).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", violation.pointer, violation.message)?;
        }
        match self.violations.len() {
            0..=3 => Ok(()),
            more => write!(f, "; and {} more", more - 3),
        }
    }
}

/// Whether documents are mended or refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// What can be mended is mended, with a warning.
    #[default]
    Lenient,
    /// What would have to be mended is refused.
    Strict,
}

/// Which layers of validation are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layers {
    /// The JSON Schemas alone.
    Schema,
    /// The JSON Schemas and the semantic checks.
    #[default]
    All,
}

/// A JSON document as it came: its text and its value; nothing is said about its validity yet.
#[derive(Debug, Clone)]
pub struct Document {
    _text: String,
}

impl Document {
    /// Reads JSON (UTF-8, a byte order mark is skipped).
    ///
    /// # Errors
    /// [`crate::Error::MalformedJson`] and [`crate::Error::LimitExceeded`] (size, nesting).
    pub fn parse(_json: &[u8]) -> Result<Document> {
        todo!()
    }

    /// The text as it came, without a byte order mark.
    pub fn text(&self) -> &str {
        todo!()
    }

    /// The value of the document; of repeated members the last.
    pub fn value(&self) -> &serde_json::Value {
        todo!()
    }
}

/// Where the id of an admitted document comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity<'a> {
    /// The document has it.
    Own,
    /// The document must not have one (that is [`crate::Error::UnexpectedId`]); it gets this one.
    Assigned(&'a str),
    /// The document must have this one, up to [`normalize_id`]: else [`crate::Error::IdMismatch`] or
    /// [`crate::Error::MissingId`].
    Addressed(&'a str),
}

/// What a client asked for in the `registration` member of a document or patch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RegistrationRequest {
    /// Time to live in seconds.
    pub ttl: Option<u64>,
    /// Absolute expiry; ignored where there is a `ttl`.
    pub expires: Option<Timestamp>,
}

/// The `registration` member of an enriched TD (WoT Discovery, section 7.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Registration {
    /// When the Thing was created.
    pub created: Timestamp,
    /// When its description was last changed.
    pub modified: Timestamp,
    /// When it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Time to live in seconds, as the client gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// When it was read: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<Timestamp>,
}

/// A valid Thing Description in its stored form: compact enough, with an id, without `registration`
/// and without the discovery context.
#[derive(Debug, Clone)]
pub struct ThingDescription {
    _text: String,
}

impl ThingDescription {
    /// The id: an absolute URI of at most [`MAX_ID_BYTES`].
    pub fn id(&self) -> &str {
        todo!()
    }

    /// The stored form.
    pub fn text(&self) -> &str {
        todo!()
    }

    /// The stored form as a value.
    pub fn value(&self) -> &serde_json::Value {
        todo!()
    }

    /// Takes the stored form apart into what the store keeps.
    pub fn into_text(self) -> String {
        todo!()
    }
}

/// A document that may be stored.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The description as it is to be stored.
    pub thing: ThingDescription,
    /// What the client asked for in `registration`, which is no part of the stored form.
    pub registration: RegistrationRequest,
    /// The mends, and what else validation warned of.
    pub warnings: Vec<Violation>,
}

/// Mends (unless strict), validates, and brings a document into its stored form.
///
/// # Errors
/// [`crate::Error::Invalid`] with all violations at once; the errors of [`Identity`] and [`normalize_id`].
pub fn admit(_document: Document, _identity: Identity<'_>, _strictness: Strictness) -> Result<Admission> {
    todo!()
}

/// Validates a document as it is, without mending. What lenient admission would mend is a violation
/// here if the document is invalid without the mend.
pub fn validate(_document: &Document, _layers: Layers) -> Report {
    todo!()
}

/// An id as it is stored: an absolute URI stays as it is, anything else becomes
/// `urn:agentdex:<percent-encoded>`. The same function serves ids in documents and in paths.
///
/// # Errors
/// [`crate::Error::InvalidId`] where it is empty, [`crate::Error::LimitExceeded`] over [`MAX_ID_BYTES`].
pub fn normalize_id(_id: &str) -> Result<Cow<'_, str>> {
    todo!()
}

/// The description as it is handed out: `registration` and the discovery context spliced in.
pub fn enrich(_stored: &str, _registration: &Registration) -> String {
    todo!()
}

/// Something an agent can do: an entry of `lmos:capabilities`, or an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability<'a> {
    /// The `id` of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// The name of the entry or of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}

impl<'a> Capability<'a> {
    /// The key that events and topics carry: the `id`, else the name.
    pub fn key(&self) -> &'a str {
        self.id.or(self.name).unwrap_or_default()
    }
}

/// The capabilities of a Thing: its `lmos:capabilities`, then its actions, without repeated keys.
pub fn capabilities(_thing: &serde_json::Value) -> Vec<Capability<'_>> {
    todo!()
}
