//! Searches by data: what fits the data that a caller has and wants, and chains that lead from one to the other.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{DEFAULT_LIMIT, whole_number};

/// A compatible search; as JSON, the body of `POST /search/compatible`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(example = json!({
        "have": {"type": "object", "properties": {"city": {"type": "string"}}},
        "want": {"type": "object", "properties": {"temperature": {"type": "number"}}},
    }))
)]
pub struct CompatibleQuery {
    /// The schema of the data that the caller has; without it, the input of capabilities doesn't
    /// matter.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub have: Option<Value>,
    /// The schema of the data that the caller wants; without it, the output of capabilities doesn't
    /// matter.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub want: Option<Value>,
    /// Among equal fits, capabilities of Things that this query finds come first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(nullable = false, max_length = 4096))]
    pub query: Option<String>,
    /// True to also find capabilities that lack one part.
    #[cfg_attr(feature = "schema", schema(value_type = Option<bool>, nullable = false))]
    #[serde(default)]
    pub near_misses: bool,
    /// Maximum number of hits, at most 1,000.
    #[serde(default = "default_limit", deserialize_with = "whole_number::count")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false, maximum = 9007199254740991_u64))]
    pub limit: usize,
    /// Number of hits to skip.
    #[serde(default, deserialize_with = "whole_number::count")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false, maximum = 10000))]
    pub offset: usize,
}

/// Reads a member that may be missing, but not `null`.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(member: D) -> std::result::Result<Option<T>, D::Error> {
    T::deserialize(member).map(Some)
}

impl Default for CompatibleQuery {
    fn default() -> CompatibleQuery {
        CompatibleQuery { have: None, want: None, query: None, near_misses: false, limit: DEFAULT_LIMIT, offset: 0 }
    }
}

/// A composed search; as JSON, the body of `POST /search/compose`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(example = json!({
        "have": {"type": "object", "properties": {"city": {"type": "string"}}},
        "want": {"type": "object", "properties": {"temperature": {"type": "number"}}},
        "max_steps": 2,
    }))
)]
pub struct ComposeQuery {
    /// The schema of the data that the caller has.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required, value_type = Object))]
    pub have: Value,
    /// The schema of the data that the caller wants.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required, value_type = Object))]
    pub want: Value,
    /// Among equal fits, chains of Things that this query finds come first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(nullable = false, max_length = 4096))]
    pub query: Option<String>,
    /// Maximum number of steps of a chain, from 1 to 4.
    #[serde(default = "default_steps", deserialize_with = "whole_number::count")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false, minimum = 1, maximum = 4))]
    pub max_steps: usize,
    /// Maximum number of chains, at most 100.
    #[serde(default = "default_limit", deserialize_with = "whole_number::count")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false, maximum = 9007199254740991_u64))]
    pub limit: usize,
}

fn default_steps() -> usize {
    3
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}
