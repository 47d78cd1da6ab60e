//! What the guardian takes and answers.

use utoipa::ToSchema;

/// A request in JSON-RPC 2.0, or a batch of them. What isn't one is answered with an error of JSON-RPC.
#[derive(ToSchema)]
#[schema(value_type = Value, example = json!({
    "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"timestamp": "2026-11-22T10:00:00Z"},
}))]
pub(in crate::http) struct AosRequest(serde_json::Value);

/// A response in JSON-RPC 2.0, or those of a batch.
#[derive(ToSchema)]
#[schema(value_type = Value, example = json!({
    "jsonrpc": "2.0", "id": 1,
    "result": {"decision": "deny", "reasonCode": ["tool-declared"], "message": "the tool \"refund\" is not declared"},
}))]
pub(in crate::http) struct AosResponse(serde_json::Value);

/// What is decided of a step.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(in crate::http) enum GuardianDecision {
    Allow,
    Deny,
    Modify,
}

/// How strict a rule is.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(in crate::http) enum RuleMode {
    Off,
    Warn,
    Enforce,
}

/// A live session. Moments are in RFC 3339.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct LiveSession {
    id: String,
    /// The id of its agent.
    agent: String,
    /// When its first step came.
    since: String,
    /// When its last step came.
    last: String,
    steps: u64,
    turns: u64,
    denied: u64,
    tool_calls: u64,
}

/// Something that a rule found.
#[derive(ToSchema)]
pub(in crate::http) struct RuleFinding {
    /// Its name, or that of an expression of the policy.
    rule: String,
    mode: RuleMode,
    message: String,
}

/// A response in the Standard Agent Communication Protocol that a step carries.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct SacpResponse {
    /// How the task went, such as `success`.
    status: String,
    /// What the agent suggests to do next, where contents are stored.
    next_step_hint: Option<String>,
    /// What is wrong with the response.
    #[schema(required = false)]
    violations: Vec<String>,
    /// Why the agent decided so, where contents are stored.
    thought: Option<String>,
}

/// A step, and what was decided of it. Moments are in RFC 3339.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct GuardedStep {
    /// Its number in the trail.
    seq: u64,
    /// When it was decided.
    at: String,
    method: String,
    agent: Option<String>,
    session: Option<String>,
    turn: Option<String>,
    step: Option<String>,
    /// When the agent recorded it, in its words.
    recorded: Option<String>,
    /// The tool that is called.
    tool: Option<String>,
    decision: GuardianDecision,
    /// What would have been answered, where policies are only tried.
    would_be: Option<GuardianDecision>,
    #[schema(required = false)]
    findings: Vec<RuleFinding>,
    /// The response in SACP that the step carries.
    sacp: Option<SacpResponse>,
    /// How long the decision took.
    microseconds: u64,
    /// SHA-256 of what was exchanged.
    hash: String,
    /// What was exchanged, where that is stored.
    content: Option<serde_json::Value>,
}
