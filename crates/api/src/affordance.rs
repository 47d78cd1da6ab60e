//! Properties and events of agents, accessed through the registry.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The value of a property of an agent: the answer of `GET /things/{id}/properties/{name}/value`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PropertyValue {
    /// The value; `null` for binary content.
    pub value: Value,
    /// Binary content: either `bytes` in Base64 or a `url`, with its `mediaType`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, Value>>))]
    pub media: Option<Value>,
}

/// A value for a property of an agent: the body of `PUT /things/{id}/properties/{name}/value`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NewPropertyValue {
    /// The value.
    pub value: Value,
}

/// A notification about an event of an agent, as sent in the event stream `GET
/// /things/{id}/events/{name}/notifications`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentEvent {
    /// The name of the event.
    pub event: String,
    /// Data of the event; `null` for binary content.
    pub data: Value,
    /// Binary content: either `bytes` in Base64 or a `url`, with its `mediaType`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, Value>>))]
    pub media: Option<Value>,
}
