//! Errors of calls, by cause and by the side at fault.

use std::time::Duration;

use serde_json::Value;

use super::State;
use crate::td::{BoxError, Violation};

/// Result of the operations of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Reasons why a call of an agent failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry can't be queried.
    #[error("the registry can't be queried: {source}")]
    Directory {
        /// Underlying error.
        source: BoxError,
    },
    /// No registered agent matches.
    #[error("no agent matches {query:?}; `agentdex list` lists the agents")]
    NotFound {
        /// Search query, capability, or id.
        query: String,
    },
    /// The description of an agent is invalid.
    #[error("the description of {id} can't be read: {reason}")]
    InvalidDescription {
        /// Id of the agent, or words such as `the agent` if the id is unknown.
        id: String,
        /// Reason why the description is invalid.
        reason: String,
    },
    /// The description has no usable form for the operation.
    #[error("{id} can't be called: {reason}")]
    NoForm {
        /// Id of the agent.
        id: String,
        /// Reason why there is no usable form, such as a list of the forms found.
        reason: String,
    },
    /// A setting or credential is missing or invalid.
    #[error("{setting}: {reason}")]
    Setting {
        /// Environment variable, setting, or part of the form, such as `AGENTDEX_CREDENTIAL_API_KEY` or `endpoint`.
        setting: String,
        /// Reason why the setting is required or invalid, or a remedy.
        reason: String,
    },
    /// The action requires the user's confirmation, which was not given. Nothing was sent.
    #[error("{affordance} of {id} requires the user's confirmation, which was not given")]
    Unconfirmed {
        /// Id of the agent.
        id: String,
        /// Affordance of the action, such as `actions.pay`.
        affordance: String,
    },
    /// A credential was withheld because it is not allowed for the target.
    #[error("the credential for {scheme:?} is not sent to {origin}: {reason}")]
    CredentialWithheld {
        /// Name of the security scheme.
        scheme: String,
        /// Origin of the target.
        origin: String,
        /// Reason for withholding the credential: the origins that it is allowed for, or how to allow this origin.
        reason: String,
    },
    /// The input violates its schema. Nothing was sent.
    #[error("the input of {affordance} is not valid: {}", listed(.violations))]
    InvalidInput {
        /// Affordance to which the input belongs, such as `actions.forecast`.
        affordance: String,
        /// Violations of the schema, with pointers into the input.
        violations: Vec<Violation>,
    },
    /// The answer violates its agreed schema.
    #[error("the answer does not satisfy the schema of {expected}: {}", listed(.violations))]
    InvalidAnswer {
        /// Type or affordance to which the schema belongs, such as `Forecast` or `actions.forecast`.
        expected: String,
        /// Violations of the schema, with pointers into the answer.
        violations: Vec<Violation>,
        /// The invalid answer.
        answer: Box<Value>,
    },
    /// The URL must not be called.
    #[error("{url} was not called: {reason}")]
    Refused {
        /// URL without secrets.
        url: String,
        /// Violated rule or other obstacle, with a remedy if possible.
        reason: String,
    },
    /// No connection could be established, or the connection broke before the answer.
    #[error("{url} can't be reached: {reason}")]
    Unreachable {
        /// URL without secrets.
        url: String,
        /// Innermost cause, such as `Connection refused`.
        reason: String,
        /// Error of the HTTP or protocol library.
        #[source]
        source: Option<BoxError>,
    },
    /// A time limit of the call was exceeded.
    #[error("{id} did not answer in time: {waiting_for} took longer than {}", seconds(*.limit))]
    TimedOut {
        /// Id of the agent.
        id: String,
        /// Step that took too long, such as `the answer`.
        waiting_for: &'static str,
        /// The exceeded limit.
        limit: Duration,
    },
    /// The answer exceeds its size limit, either as a whole or assembled from its pieces.
    #[error("the answer from {url} exceeds the limit of {limit} bytes")]
    AnswerTooLarge {
        /// URL without secrets, or the id of an agent whose answer was assembled from pieces.
        url: String,
        /// Limit in bytes.
        limit: usize,
    },
    /// The stream of answers ended prematurely.
    #[error("the answer from {url} ended prematurely: {reason}")]
    Interrupted {
        /// URL without secrets.
        url: String,
        /// Missing part of the answer, or the connection error.
        reason: String,
    },
    /// The answer violates the protocol.
    #[error("the answer from {url} violates {binding}: {reason}")]
    Protocol {
        /// URL without secrets.
        url: String,
        /// Name of the binding.
        binding: &'static str,
        /// Deviation from the protocol.
        reason: String,
    },
    /// The server answered with an HTTP error status.
    #[error("{url} answered with status {status}{}", detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default())]
    Status {
        /// URL without secrets.
        url: String,
        /// HTTP status code.
        status: u16,
        /// Message from the body, truncated.
        detail: Option<String>,
        /// Pause requested by the server (`Retry-After`).
        retry_after: Option<Duration>,
    },
    /// The agent answered with an error of its protocol.
    #[error("the agent returned an error: {message} (code {code})")]
    Agent {
        /// Error code of the protocol.
        code: i64,
        /// Message of the agent.
        message: String,
        /// Further details from the agent.
        data: Option<Box<Value>>,
    },
    /// The agent ended the work without success.
    #[error("the agent's work ended without success: {state}{}", after_colon(message, data.as_deref()))]
    Failed {
        /// Final state: failed, rejected, or canceled.
        state: State,
        /// Message of the agent; empty if there is none.
        message: String,
        /// Structured data of the answer, if any.
        data: Option<Box<Value>>,
    },
    /// The caller canceled the call.
    #[error("the call was canceled")]
    Cancelled,
    /// The protocol or the form doesn't support the operation.
    #[error("this agent doesn't support {what}")]
    Unsupported {
        /// Requested operation or feature.
        what: String,
    },
    /// A middleware denied the call.
    #[error("the call was stopped by {by}: {reason}")]
    Denied {
        /// Middleware, such as `the guardian`.
        by: String,
        /// Reason for the denial.
        reason: String,
    },
    /// All of several agents failed.
    #[error("no agent answered: {}", failures.iter().map(|(id, error)| format!("{id}: {error}")).collect::<Vec<_>>().join("; "))]
    AllFailed {
        /// Ids of the agents, each with its error.
        failures: Vec<(String, Error)>,
    },
    /// A stored conversation or run can't be restored.
    #[error("the stored conversation or run can't be read: {reason}")]
    InvalidHistory {
        /// Reason why it can't be restored.
        reason: String,
    },
}

impl Error {
    /// True if another attempt may succeed because the agent was unreachable, busy, or slow.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Unreachable { .. } | Error::TimedOut { .. } | Error::Interrupted { .. } => true,
            Error::Status { status, .. } => matches!(status, 408 | 429 | 502..=504),
            _ => false,
        }
    }

    /// True if no connection to the agent was made: its name isn't resolved, or its server refuses.
    pub(crate) fn is_without_connection(&self) -> bool {
        let Error::Unreachable { source: Some(source), .. } = self else { return false };
        source.is::<NoConnection>() || source.downcast_ref().is_some_and(reqwest::Error::is_connect)
    }

    /// True if nothing reached the agent, so that a retry can't repeat an effect.
    pub fn is_before_sending(&self) -> bool {
        matches!(
            self,
            Error::Directory { .. }
                | Error::NotFound { .. }
                | Error::InvalidDescription { .. }
                | Error::NoForm { .. }
                | Error::Setting { .. }
                | Error::Unconfirmed { .. }
                | Error::CredentialWithheld { .. }
                | Error::InvalidInput { .. }
                | Error::Refused { .. }
                | Error::Denied { .. }
        )
    }
}

/// Source of [`Error::Unreachable`] if no connection was made and the library's error is not available.
#[derive(Debug, thiserror::Error)]
#[error("no connection")]
pub(crate) struct NoConnection;

/// Returns the agent's description of its failure: its text, or else its data.
fn after_colon(message: &str, data: Option<&Value>) -> String {
    match data {
        _ if !message.is_empty() => format!(": {message}"),
        Some(data) => format!(": {data}"),
        None => String::new(),
    }
}

fn listed(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn seconds(limit: Duration) -> String {
    format!("{} s", (limit.as_secs_f64() * 10.0).round() / 10.0)
}
