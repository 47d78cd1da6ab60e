//! The guardian: decisions about the steps of agents, as its trail, its events and its clients have them.

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

    /// `allow`, `deny` or `modify`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Deny => "deny",
            Decision::Modify => "modify",
        }
    }

    /// The decision of that name.
    pub fn from_name(word: &str) -> Option<Decision> {
        Decision::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

/// The strictness of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RuleMode))]
pub enum Mode {
    /// The rule isn't applied.
    Off,
    /// The step is allowed, and the finding reported.
    Warn,
    /// The step is denied, or modified if the rule masks something.
    Enforce,
}

/// The finding of a rule in a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RuleFinding))]
pub struct Finding {
    /// The name of the rule, or of an expression of the policy.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rule: Cow<'static, str>,
    /// The strictness of the rule.
    pub mode: Mode,
    /// A sentence about what is wrong, and where.
    pub message: String,
}

/// A response in the Standard Agent Communication Protocol that a step carries, as the trail shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SacpResponse {
    /// The status of the task, such as `success`.
    pub status: String,
    /// The agent's suggestion for the next step, if contents are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_hint: Option<String>,
    /// Violations of the protocol, each as a place and a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The agent's reasons, if contents are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
}

/// A live session of an agent. Moments are in RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LiveSession {
    /// Id of the session.
    pub id: String,
    /// Id of the agent.
    pub agent: String,
    /// The owner that reports its steps; absent for unauthenticated callers. Steps of different reporters belong to
    /// different sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub reporter: Option<Owner>,
    /// The moment of the first step.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub since: Timestamp,
    /// The moment of the last step.
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

/// An entry of the trail: a step of an agent, and the decision about it. Moments are in RFC 3339.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = GuardedStep))]
pub struct Entry {
    /// Number of the step in the trail.
    pub seq: u64,
    /// The moment of the decision.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub at: Timestamp,
    /// The method of the step, such as `steps/message`.
    pub method: String,
    /// The id of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The owner that reported the step; absent for unauthenticated callers.
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
    /// The moment when the agent recorded it, in the agent's notation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// The id of the tool that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The decision that was returned.
    pub decision: Decision,
    /// In a dry run, the decision that the policy would have made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<Decision>,
    /// The findings of rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The response in SACP that the step carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sacp: Option<SacpResponse>,
    /// The duration of the decision in microseconds.
    pub microseconds: u64,
    /// SHA-256 of the content, as `sha256:` and hexadecimal digits.
    pub hash: String,
    /// The content of the step without secrets, if contents are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}
