//! Problem documents (RFC 9457), which are the answers to failed requests.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A problem document (RFC 9457).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Type of the problem as a URI reference: `urn:agentdex:problem:<code>`, or `about:blank`.
    #[serde(default, rename = "type")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub kind: String,
    /// Reason phrase of the HTTP status.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub status: u16,
    /// Stable name of the problem, such as `not-found`; empty if the response didn't come from a registry.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub code: String,
    /// A sentence about the problem, its location, and its solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// All errors of a description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation_errors: Vec<ValidationError>,
    /// Further members, which depend on the code.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub members: Map<String, Value>,
}

/// An entry of `validationErrors`: an error of a description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ValidationError {
    /// Location as `(root)` or a path such as `actions.forecast.forms.0.href`.
    pub field: String,
    /// A sentence about the value that was found and the values that are valid.
    pub description: String,
    /// Location as a JSON Pointer.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub pointer: String,
    /// Stable code of the violated rule.
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
