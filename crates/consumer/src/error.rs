//! Why a call of an agent failed, and whose fault it is.

use std::time::Duration;

use serde_json::Value;

use super::State;
use crate::td::{BoxError, Violation};

/// The result of everything that a consumer does.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call of an agent failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry can't be asked.
    #[error("the registry did not answer: {source}")]
    Directory {
        /// Its error.
        source: BoxError,
    },
    /// No agent is registered that does this.
    #[error("no agent matches {query:?}; `agentdex list` shows what there is")]
    NotFound {
        /// The search query, the capability, or the id.
        query: String,
    },
    /// The description that the registry returned is not valid.
    #[error("the description of {id} can't be read: {reason}")]
    InvalidDescription {
        /// The agent.
        id: String,
        /// The reason why it is not valid.
        reason: String,
    },
    /// No form of the description can be used for this.
    #[error("{id} can't be called: {reason}")]
    NoForm {
        /// The agent.
        id: String,
        /// The reason: the forms that were found, and what to do.
        reason: String,
    },
    /// A setting or credential is missing, or can't be used.
    #[error("{setting}: {reason}")]
    Setting {
        /// The variable or field, such as `AGENTDEX_CREDENTIAL_API_KEY` or `endpoint`.
        setting: String,
        /// The purpose of the setting, and the format of its value.
        reason: String,
    },
    /// The action requires the confirmation of its user, which wasn't given; nothing was sent.
    #[error("{affordance} of {id} is called only once the user agrees, and nothing says so")]
    Unconfirmed {
        /// The agent.
        id: String,
        /// The action.
        affordance: String,
    },
    /// A credential is not sent there.
    #[error("the credential for {scheme:?} is not sent to {origin}: {reason}")]
    CredentialWithheld {
        /// The name of the security scheme.
        scheme: String,
        /// The origin that it would have been sent to.
        origin: String,
        /// The reason: the origins that it is for, or how to allow this one.
        reason: String,
    },
    /// The input does not satisfy the schema of the action; nothing was sent.
    #[error("the input of {affordance} is not valid: {}", listed(.violations))]
    InvalidInput {
        /// The affordance.
        affordance: String,
        /// Violations of the schema, with pointers into the input.
        violations: Vec<Violation>,
    },
    /// The answer does not satisfy the schema that was agreed.
    #[error("the answer does not satisfy the schema of {expected}: {}", listed(.violations))]
    InvalidAnswer {
        /// The type, or the affordance, whose schema the answer should satisfy.
        expected: String,
        /// Violations of the schema, with pointers into the answer.
        violations: Vec<Violation>,
        /// The answer.
        answer: Box<Value>,
    },
    /// The URL is not called.
    #[error("{url} is not called: {reason}")]
    Refused {
        /// The URL, without secrets.
        url: String,
        /// Why, and what the operator can do.
        reason: String,
    },
    /// No connection, or it broke before an answer.
    #[error("{url} can't be reached: {reason}")]
    Unreachable {
        /// The URL, without secrets.
        url: String,
        /// The innermost reason.
        reason: String,
        /// The error of the library.
        #[source]
        source: Option<BoxError>,
    },
    /// It took too long.
    #[error("{id} did not answer in time: {waiting_for} took longer than {}", seconds(*.limit))]
    TimedOut {
        /// The agent.
        id: String,
        /// The step that took too long, such as `the answer`.
        waiting_for: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The answer is larger than allowed, whole or gathered from its pieces.
    #[error("the answer of {url} exceeds the limit of {limit} bytes")]
    AnswerTooLarge {
        /// The URL, without secrets, or the id of the agent whose pieces were gathered.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// The stream of answers ended before it was complete.
    #[error("the answer of {url} broke off: {reason}")]
    Interrupted {
        /// The URL, without secrets.
        url: String,
        /// The part that is missing, or the error of the connection.
        reason: String,
    },
    /// The answer is not one of the protocol.
    #[error("the answer of {url} is not one of {binding}: {reason}")]
    Protocol {
        /// The URL, without secrets.
        url: String,
        /// The name of the binding.
        binding: &'static str,
        /// The deviation from the protocol.
        reason: String,
    },
    /// The server answered with an error of HTTP.
    #[error("{url} answered with status {status}{}", detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default())]
    Status {
        /// The URL, without secrets.
        url: String,
        /// The status.
        status: u16,
        /// The message in the body, shortened.
        detail: Option<String>,
        /// Time that the server asks to wait before the next request (`Retry-After`).
        retry_after: Option<Duration>,
    },
    /// The agent answered with an error of its protocol.
    #[error("the agent refused: {message} (code {code})")]
    Agent {
        /// The code of the protocol.
        code: i64,
        /// The agent's message.
        message: String,
        /// Details.
        data: Option<Box<Value>>,
    },
    /// The agent ended the work without success.
    #[error("the agent gave up: {state}{}", after_colon(message, data.as_deref()))]
    Failed {
        /// The state that the work ended in: failed, rejected or cancelled.
        state: State,
        /// The agent's message; empty if it gave none.
        message: String,
        /// The data that it gave.
        data: Option<Box<Value>>,
    },
    /// The call was cancelled by its caller.
    #[error("the call was cancelled")]
    Cancelled,
    /// The protocol, or the form, can't do this.
    #[error("{what} is not possible with this agent")]
    Unsupported {
        /// The operation or feature that was requested.
        what: String,
    },
    /// A middleware stopped the call.
    #[error("the call was stopped by {by}: {reason}")]
    Denied {
        /// The middleware that stopped the call.
        by: String,
        /// Why.
        reason: String,
    },
    /// None of several agents answered.
    #[error("no agent answered: {}", failures.iter().map(|(id, error)| format!("{id}: {error}")).collect::<Vec<_>>().join("; "))]
    AllFailed {
        /// Each agent with its error.
        failures: Vec<(String, Error)>,
    },
    /// A conversation that was stored can't be read.
    #[error("the stored conversation can't be read: {reason}")]
    InvalidHistory {
        /// The reason why it can't be read.
        reason: String,
    },
}

impl Error {
    /// True if another attempt may succeed: the agent is away, busy or slow.
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

    /// True if nothing reached the agent, so that repeating the call repeats no effect.
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

/// The source of [`Error::Unreachable`] where no connection was made, and the library's error isn't at hand.
#[derive(Debug, thiserror::Error)]
#[error("no connection")]
pub(crate) struct NoConnection;

/// What an agent says of its failure: its text, else its data.
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
