//! Whose Things are, who sees them, and namespaces.

use agentdex_api::access::Visibility;
use utoipa::{IntoParams, ToSchema};

/// What requests that put Things ask for of the access to them; without it a new Thing is public, and one that is
/// there stays as it is.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct AccessParameters {
    /// Who sees it
    #[param(inline)]
    visibility: Option<Visibility>,
    /// The namespace that it is in, one that the caller is a member of; empty: in none
    #[param(pattern = "^([a-z0-9]+([.-][a-z0-9]+)*)?$", max_length = 128)]
    namespace: Option<String>,
}

/// A message to an agent.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Turn {
    /// The text.
    #[schema(example = "Will it rain in Bonn?")]
    message: String,
    /// The action that gets it, if the agent has several.
    action: Option<String>,
    /// What was said before: that of the last answer, as it is.
    conversation: Option<serde_json::Map<String, serde_json::Value>>,
}

/// What an agent answers.
#[derive(ToSchema)]
pub(in crate::http) struct Answered {
    /// The text of the message.
    text: String,
    /// The message: its parts, each of a `kind` (`text`, `data`, `image`, …).
    message: serde_json::Map<String, serde_json::Value>,
    /// `completed`, `input-required` where the agent asks something back, `working`, ….
    state: String,
    /// What was said so far, to be sent along with the next message.
    conversation: serde_json::Map<String, serde_json::Value>,
}
