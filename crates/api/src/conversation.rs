//! Conversations with agents through the registry.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// A message to an agent: the body of `POST /things/{id}/conversation`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Turn {
    /// The text.
    #[cfg_attr(feature = "schema", schema(example = "Will it rain in Bonn?"))]
    pub message: String,
    /// The action that gets it, if the agent has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The conversation so far: that of the last answer, as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, Value>>))]
    pub conversation: Option<Box<RawValue>>,
}

/// The answer of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answered {
    /// The conversation so far, to be sent along with the next message.
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Map<String, Value>))]
    pub conversation: Value,
    /// The message: its parts, each of a `kind` (`text`, `data`, `image`, …).
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Map<String, Value>))]
    pub message: Value,
    /// `completed`, `input-required` where the agent asks something back, `working`, ….
    pub state: String,
    /// The text of the message.
    pub text: String,
}
