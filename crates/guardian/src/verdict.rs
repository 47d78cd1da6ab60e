//! What is decided, and why.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rule::Mode;

/// What is decided of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The agent may go on.
    Allow,
    /// The agent must not take the step.
    Deny,
    /// The agent must take the step in its modified form.
    Modify,
}

impl Decision {
    /// All of them.
    pub const ALL: [Decision; 3] = [Decision::Allow, Decision::Deny, Decision::Modify];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Deny => "deny",
            Decision::Modify => "modify",
        }
    }

    /// What the word stands for.
    pub fn from_name(word: &str) -> Option<Decision> {
        Decision::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

/// Something that a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule, or the name of an expression.
    pub rule: Cow<'static, str>,
    /// How strict it is.
    pub mode: Mode,
    /// What it found.
    pub message: String,
}

/// What is decided of a step, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// What rules found, those that are enforced first.
    pub findings: Vec<Finding>,
    /// The step in its modified form.
    pub modified: Option<Value>,
}

impl Verdict {
    /// The codes of the rules that decided; where nothing was denied or modified, of all that found something.
    pub fn reason_codes(&self) -> Vec<&str> {
        let decides = |finding: &&Finding| self.decision == Decision::Allow || finding.mode == Mode::Enforce;
        let mut codes: Vec<&str> = self.findings.iter().filter(decides).map(|finding| finding.rule.as_ref()).collect();
        codes.dedup();
        codes
    }

    /// What people read of it.
    pub fn message(&self) -> String {
        let enforced = || self.findings.iter().filter(|finding| finding.mode == Mode::Enforce);
        let first = enforced().next().map_or("", |finding| finding.message.as_str());
        match self.decision {
            Decision::Allow if self.findings.is_empty() => "nothing is wrong with the step".to_owned(),
            Decision::Allow => format!("allowed, with {} remarks", self.findings.len()),
            Decision::Deny => first.to_owned(),
            Decision::Modify => format!("take the step in its modified form: {first}"),
        }
    }
}
