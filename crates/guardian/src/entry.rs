//! An entry of the trail: a step, and what was decided of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    sacp_response::SacpResponse,
    verdict::{Decision, Finding},
};
use crate::Timestamp;

/// A step of an agent, and what was decided of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its number in the trail.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// What the step is called, such as `steps/message`.
    pub method: String,
    /// The id of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The step in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// When the agent recorded it, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// The tool that is called, if it is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What was answered.
    pub decision: Decision,
    /// What would have been answered, if policies weren't only tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Decision>,
    /// What rules found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The response in SACP that the step carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sacp: Option<SacpResponse>,
    /// How long the decision took.
    pub microseconds: u64,
    /// SHA-256 of what was exchanged, as `sha256:` and hexadecimal digits.
    pub hash: String,
    /// What was exchanged, where that is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}
