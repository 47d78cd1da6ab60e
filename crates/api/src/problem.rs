//! Problem documents (RFC 9457): the answers to requests that fail.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A problem document (RFC 9457).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The kind of problem as a URI reference: `urn:agentdex:problem:<code>`, or `about:blank`.
    #[serde(default, rename = "type")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub kind: String,
    /// The phrase of the HTTP status.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub status: u16,
    /// The kind of problem as a stable name, such as `not-found`; empty if something other than a registry
    /// responded.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub code: String,
    /// A sentence about what is wrong, where, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Everything that is wrong with a description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation_errors: Vec<ValidationError>,
    /// The members that only problems of some codes have.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub members: Map<String, Value>,
}

/// An entry of `validationErrors`: one thing that is wrong with a description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ValidationError {
    /// `(root)`, or a path such as `actions.forecast.forms.0.href`.
    pub field: String,
    /// A sentence about what was found and what would be right.
    pub description: String,
    /// The JSON Pointer of the place.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub pointer: String,
    /// The rule: a stable code.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub rule: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.detail.as_deref().unwrap_or(&self.title);
        if words.is_empty() {
            return write!(f, "the registry responded with status {}", self.status);
        }
        write!(f, "{words} (status {})", self.status)
    }
}
