//! Search requests by data schemas: for capabilities that match the data available to a caller and wanted by it, and
//! for chains of capabilities.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{DEFAULT_LIMIT, whole_number};

/// A search for compatible capabilities, in JSON the body of `POST /search/compatible`.
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
    /// Schema of the data available to the caller. Without it, the inputs of capabilities are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub have: Option<Value>,
    /// Schema of the data wanted by the caller. Without it, the outputs of capabilities are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub want: Option<Value>,
    /// Search query that ranks matches of equal quality: capabilities of Things found by it come first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "schema", schema(nullable = false, max_length = 4096))]
    pub query: Option<String>,
    /// True to include capabilities for which a single member is missing.
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

/// A search for chains of capabilities, in JSON the body of `POST /search/compose`.
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
    /// Schema of the data available to the caller.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required, value_type = Object))]
    pub have: Value,
    /// Schema of the data wanted by the caller.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required, value_type = Object))]
    pub want: Value,
    /// Search query that ranks chains of equal quality: chains of Things found by it come first.
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
