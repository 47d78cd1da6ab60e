//! Conversion of documents in any format, without registering them.

use agentdex_td::{Version, Violation};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The answer of `POST /convert`: the format of a document, and the descriptions that an import would register.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Converted {
    /// The name of its format, such as `a2a`.
    pub format: String,
    /// A phrase for the document, such as `an A2A agent card`.
    pub noun: String,
    /// The path to which documents in this format are posted.
    pub register: String,
    /// True if an import would register the document.
    pub valid: bool,
    /// `1.0` or `1.1`, according to the `@context` of the document, if it is a Thing Description that is invalid or has
    /// no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub version: Option<Version>,
    /// Faults that make the document invalid; pointers refer to the document.
    pub violations: Vec<Violation>,
    /// Unusual content, fixable problems, and content that the conversion omits.
    pub warnings: Vec<Violation>,
    /// The descriptions, or an empty array if the document is invalid.
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
    /// Parts of the Thing that the document can't express or that were omitted; pointers refer to the Thing.
    pub warnings: Vec<Violation>,
}
