//! The state of a call or a task.

use std::fmt;

use serde::{Deserialize, Serialize};

/// State of a call or a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum State {
    /// Accepted, but not started.
    Submitted,
    /// In progress.
    Working,
    /// Started, but paused.
    Paused,
    /// Waiting for an answer from the caller.
    InputRequired,
    /// Waiting for credentials that the agent needs for another service.
    AuthRequired,
    /// Completed successfully.
    #[default]
    Completed,
    /// Ended with an error.
    Failed,
    /// Canceled by the caller or the agent.
    Cancelled,
    /// Not accepted by the agent.
    Rejected,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl State {
    /// True if the state can't change any more.
    pub fn is_final(self) -> bool {
        matches!(self, State::Completed | State::Failed | State::Cancelled | State::Rejected)
    }

    /// True if the work ended without success.
    pub fn is_failure(self) -> bool {
        matches!(self, State::Failed | State::Cancelled | State::Rejected)
    }

    /// True if the agent waits for the caller.
    pub fn needs_input(self) -> bool {
        matches!(self, State::InputRequired | State::AuthRequired)
    }

    /// Returns the name of the state, as used in storage.
    pub fn name(self) -> &'static str {
        match self {
            State::Submitted => "submitted",
            State::Working => "working",
            State::Paused => "paused",
            State::InputRequired => "input-required",
            State::AuthRequired => "auth-required",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
            State::Rejected => "rejected",
        }
    }
}
