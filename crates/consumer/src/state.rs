//! The state of a call or a task.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a call or a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum State {
    /// Accepted, not begun.
    Submitted,
    /// Under way.
    Working,
    /// Under way, and paused.
    Paused,
    /// Waiting for an answer of the caller.
    InputRequired,
    /// Waiting for credentials that the agent needs for something else.
    AuthRequired,
    /// Done.
    #[default]
    Completed,
    /// Given up.
    Failed,
    /// Cancelled.
    Cancelled,
    /// Not accepted.
    Rejected,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl State {
    /// True if nothing will change any more.
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

    /// Its name, as it is stored.
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
