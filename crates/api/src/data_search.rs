//! Searches by data: what fits the data that a caller has and wants, and chains that lead from one to the other.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{DEFAULT_LIMIT, whole_number};

/// What a compatible search looks for; as JSON, the body of `POST /search/compatible`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompatibleQuery {
    /// The schema of the data that the caller has; none: what capabilities need doesn't matter.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub have: Option<Value>,
    /// The schema of the data that the caller wants; none: what capabilities give doesn't matter.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub want: Option<Value>,
    /// Of capabilities that fit as well, those come first whose Things this query finds.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub query: Option<String>,
    /// Whether capabilities are found of which one thing is missing.
    pub near_misses: bool,
    /// How many hits, at most 1,000.
    #[serde(deserialize_with = "whole_number::count")]
    pub limit: usize,
    /// How many hits are passed over first.
    #[serde(deserialize_with = "whole_number::count")]
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

/// What a composed search looks for; as JSON, the body of `POST /search/compose`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComposeQuery {
    /// The schema of the data that the caller has.
    #[serde(default)]
    pub have: Value,
    /// The schema of the data that the caller wants.
    #[serde(default)]
    pub want: Value,
    /// Of chains that fit as well, those come first whose Things this query finds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub query: Option<String>,
    /// The most steps of a chain, from 1 to 4.
    #[serde(default = "default_steps", deserialize_with = "whole_number::count")]
    pub max_steps: usize,
    /// How many chains, at most 100.
    #[serde(default = "default_limit", deserialize_with = "whole_number::count")]
    pub limit: usize,
}

fn default_steps() -> usize {
    3
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}
