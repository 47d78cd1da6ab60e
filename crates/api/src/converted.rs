//! Documents of any format, converted without being registered.

use agentdex_td::{Version, Violation};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The answer of `POST /convert`: the format of a document, and the descriptions as which it would be
/// registered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Converted {
    /// The name of its format, such as `a2a`.
    pub format: String,
    /// A phrase for the document, such as `an A2A agent card`.
    pub noun: String,
    /// The path to which documents in this format are posted.
    pub register: String,
    /// True if it would be registered.
    pub valid: bool,
    /// `1.0` or `1.1`, by the `@context` of a Thing Description that is invalid or has no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub version: Option<Version>,
    /// Faults that make it invalid; pointers are into the document.
    pub violations: Vec<Violation>,
    /// Oddities, what would be fixed, and what is left out.
    pub warnings: Vec<Violation>,
    /// The descriptions; empty for an invalid document.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::descriptions, required))]
    pub things: Vec<Box<RawValue>>,
}

/// The answer to an export with `Prefer: return=effect`: the document, and the parts of the Thing
/// that are missing from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportedDocument {
    /// The media type of the document.
    pub media_type: String,
    /// The document as text.
    pub document: String,
    /// Parts of the Thing that the document can't express or that were omitted; pointers are into
    /// the Thing.
    pub warnings: Vec<Violation>,
}
