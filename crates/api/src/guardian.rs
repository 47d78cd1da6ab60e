//! The guardian: decisions about the steps of agents, as contained in its trail and events, and returned to clients.

use std::borrow::Cow;

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Owner;

/// The decision about a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = GuardianDecision))]
pub enum Decision {
    /// The agent may take the step.
    Allow,
    /// The agent must not take the step.
    Deny,
    /// The agent must take the step in its modified form.
    Modify,
}

impl Decision {
    /// All decisions.
    pub const ALL: [Decision; 3] = [Decision::Allow, Decision::Deny, Decision::Modify];

    /// Returns `allow`, `deny`, or `modify`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Deny => "deny",
            Decision::Modify => "modify",
        }
    }

    /// Returns the decision with the given name.
    pub fn from_name(word: &str) -> Option<Decision> {
        Decision::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

/// Strictness of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RuleMode))]
pub enum Mode {
    /// The rule isn't applied.
    Off,
    /// The step is allowed, and the finding is reported.
    Warn,
    /// The step is denied, or modified if the rule masks data.
    Enforce,
}

/// A finding of a rule in a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RuleFinding))]
pub struct Finding {
    /// Name of the rule, or of an expression in the policy.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rule: Cow<'static, str>,
    /// The strictness of the rule.
    pub mode: Mode,
    /// A sentence about the problem and its location.
    pub message: String,
}

/// A response in the Standard Agent Communication Protocol that is contained in a step, as stored in the trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SacpResponse {
    /// Status of the task, such as `success`.
    pub status: String,
    /// The agent's suggestion for the next step, if the trail stores content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_hint: Option<String>,
    /// Violations of the protocol, each with its location and a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The agent's reasoning, if the trail stores content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
}

/// A live session of an agent. Times are in RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LiveSession {
    /// Id of the session.
    pub id: String,
    /// Id of the agent.
    pub agent: String,
    /// The owner who reports the steps; absent for unauthenticated callers. Steps from different reporters belong to
    /// different sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub reporter: Option<Owner>,
    /// Time of the first step.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub since: Timestamp,
    /// Time of the last step.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub last: Timestamp,
    /// Number of steps.
    pub steps: u64,
    /// Number of turns.
    pub turns: u64,
    /// Number of denied steps.
    pub denied: u64,
    /// Number of tool calls.
    pub tool_calls: u64,
}

/// An entry of the trail: a step of an agent, and the decision about it. Times are in RFC 3339.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = GuardedStep))]
pub struct Entry {
    /// Number of the step in the trail.
    pub seq: u64,
    /// Time of the decision.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub at: Timestamp,
    /// The method of the step, such as `steps/message`.
    pub method: String,
    /// The id of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The owner who reported the step; absent for unauthenticated callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub reporter: Option<Owner>,
    /// The id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of the turn in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The id of the step in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The time at which the agent recorded the step, as written by the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// Id of the called tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The decision returned to the agent.
    pub decision: Decision,
    /// The decision required by the policy, in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Decision>,
    /// The findings of rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The SACP response contained in the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sacp: Option<SacpResponse>,
    /// Duration of the decision, in microseconds.
    pub microseconds: u64,
    /// SHA-256 of the content: `sha256:` and hexadecimal digits.
    pub hash: String,
    /// Content of the step without secrets, if the trail stores content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}
