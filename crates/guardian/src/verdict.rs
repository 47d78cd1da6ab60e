//! Verdicts: the decision about a step, and the findings behind it.

use agentdex_api::guardian::{Decision, Finding, Mode};
use serde_json::Value;

/// The most findings of one rule.
pub(super) const MOST_FINDINGS: usize = 20;

/// The decision about a step, with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// Findings of the rules, those of enforced rules first.
    pub findings: Vec<Finding>,
    /// The step in its modified form.
    pub modified: Option<Value>,
}

impl Verdict {
    /// The codes of the rules that decided; if nothing was denied or modified, of all rules with findings.
    pub fn reason_codes(&self) -> Vec<&str> {
        let decides = |finding: &&Finding| self.decision == Decision::Allow || finding.mode == Mode::Enforce;
        let mut codes: Vec<&str> = self.findings.iter().filter(decides).map(|finding| finding.rule.as_ref()).collect();
        codes.dedup();
        codes
    }

    /// Returns the decision in words, for people.
    pub fn message(&self) -> String {
        let enforced = || self.findings.iter().filter(|finding| finding.mode == Mode::Enforce);
        let first = enforced().next().map_or("", |finding| finding.message.as_str());
        match self.decision {
            Decision::Allow if self.findings.is_empty() => "nothing is wrong with the step".to_owned(),
            Decision::Allow if self.findings.len() == 1 => "allowed, with a warning".to_owned(),
            Decision::Allow => format!("allowed, with {} warnings", self.findings.len()),
            Decision::Deny => first.to_owned(),
            Decision::Modify => format!("use the modified step: {first}"),
        }
    }
}
