//! Responses of a guardian (section 5).

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    json_rpc::{Id, JSON_RPC, RpcError},
    moment::Moment,
    strict::{object, words},
};

words! {
    /// Decision of a guardian about a step (section 5.1.1).
    Decision {
        /// The agent may take the step.
        Allow = "allow",
        /// The agent must not take the step.
        Deny = "deny",
        /// The agent must take the step in its modified form.
        Modify = "modify",
    }
}

object! {
    /// A decision and its reasons (section 5.1.1).
    SuccessResult = "an AOSSuccessResult object" {
        /// The decision.
        decision: Decision = "decision",
        /// Reasoning of the guardian.
        reasoning: Option<String> = "reasoning",
        /// Codes of the reasons for the decision.
        reason_code: Option<Vec<String>> = "reasonCode",
        /// Explanation for users.
        message: String = "message",
        /// Further details.
        data: Option<Map<String, Value>> = "data",
        /// Modified request with which the agent may continue, if the guardian modified it.
        modified_request: Option<Value> = "modifiedRequest",
    }
}

words! {
    /// The status of a guardian (section 5.3.1).
    PingStatus {
        /// The guardian can decide.
        Connected = "connected",
        /// The guardian can't decide.
        Error = "error",
    }
}

object! {
    /// The result of `ping`: status and version of a guardian (section 5.3.1).
    PingResult = "a PingRequestResult object" {
        /// Ability of the guardian to decide.
        status: PingStatus = "status",
        /// Version of the guardian.
        version: String = "version",
        /// Time of the response.
        timestamp: Moment = "timestamp",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

/// A response (sections 3.12.2, 5.1, 5.2, and 5.3): either a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Response {
    jsonrpc: &'static str,
    /// Id of the request; `null` if the request had no readable id.
    pub id: Option<Id>,
    /// Result or error.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome of a request: a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A result.
    Result(Answer),
    /// An error of JSON-RPC. It is an object, as in sections 3.12.2 and 6, although section 5.2 has a string.
    Error(RpcError),
}

/// A result, depending on the method.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// The result of a step: a decision.
    Decision(Box<SuccessResult>),
    /// The result of `ping`.
    Ping(PingResult),
}

impl Response {
    /// Creates a response with a result.
    pub fn result(id: Option<Id>, answer: Answer) -> Response {
        Response { jsonrpc: JSON_RPC, id, outcome: Outcome::Result(answer) }
    }

    /// Creates a response with an error.
    pub fn error(id: Option<Id>, error: RpcError) -> Response {
        Response { jsonrpc: JSON_RPC, id, outcome: Outcome::Error(error) }
    }
}
