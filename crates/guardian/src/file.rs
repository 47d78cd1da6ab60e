//! A policy as its file has it, and compiled.

use std::collections::{BTreeMap, HashSet};

use agentdex_api::guardian::Mode;
use serde::Deserialize;

use super::{
    own::{CompiledRule, OwnRule},
    rule::{Modes, Rule},
    who::Who,
};

/// Maximum number of expressions of a policy.
pub const MAX_EXPRESSIONS: usize = 100;

/// A policy as written.
///
/// ```toml
/// [rules]
/// tool-arguments = "warn"
/// mask-secrets = "enforce"
///
/// [[for]]
/// tag = "beta"
/// rules = { agent-version = "off" }
///
/// [[expression]]
/// name = "large-refund"
/// denies = 'step.tool == "refund" and step.inputs.amount > 100'
/// message = "refunds over 100 need a person"
///
/// [[expression]]
/// name = "promise"
/// denies = 'step.response.message.contains("guarantee")'
/// then = "fail-response"
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// Modes of rules for all agents; a rule that isn't named has its default mode.
    #[serde(default)]
    pub rules: BTreeMap<Rule, Mode>,
    /// Other modes for some agents.
    #[serde(default, rename = "for")]
    pub exceptions: Vec<Exception>,
    /// Rules by the policy's author.
    #[serde(default, rename = "expression")]
    pub expressions: Vec<OwnRule>,
}

/// Modes of rules for the agents that match all given members of `agent`, `tag`, and `vendor`. If several exceptions
/// match an agent, those with its id take precedence over those with a tag, and these over those with a vendor; among
/// equal ones, the last takes precedence.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The id of the agent.
    pub agent: Option<String>,
    /// A tag of the agent.
    pub tag: Option<String>,
    /// The vendor of the agent.
    pub vendor: Option<String>,
    /// Modes of rules for these agents.
    pub rules: BTreeMap<Rule, Mode>,
}

/// An error in a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct PolicyError {
    /// Place of the error, such as `expression 2 (large-refund)`.
    pub place: String,
    /// Description of the error, and what would be right.
    pub reason: String,
}

/// A compiled policy.
#[derive(Debug, Default)]
pub struct Policy {
    modes: Modes,
    exceptions: Vec<Exception>,
    pub(super) own_rules: Vec<CompiledRule>,
}

impl Policy {
    /// Compiles a policy.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn compile(file: PolicyFile) -> Result<Policy, PolicyError> {
        let mut modes = Modes::default();
        file.rules.iter().for_each(|(rule, mode)| modes.set(*rule, *mode));
        for (index, exception) in file.exceptions.iter().enumerate() {
            if exception.agent.is_none() && exception.tag.is_none() && exception.vendor.is_none() {
                let place = format!("entry {} of `for`", index + 1);
                return Err(PolicyError {
                    place,
                    reason: "it names no agents; add `agent`, `tag`, or `vendor`".into(),
                });
            }
        }
        if file.expressions.len() > MAX_EXPRESSIONS {
            let reason = format!(
                "more than {MAX_EXPRESSIONS} expressions are not allowed, since each is evaluated \
                                  in every step"
            );
            return Err(PolicyError { place: "expression".into(), reason });
        }
        let mut names = HashSet::new();
        let mut own_rules = Vec::with_capacity(file.expressions.len());
        for (index, rule) in file.expressions.into_iter().enumerate() {
            let place = format!("expression {} ({})", index + 1, rule.name);
            let refuse = |reason: String| PolicyError { place, reason };
            if rule.name.is_empty() || Rule::ALL.iter().any(|known| known.name() == rule.name) {
                return Err(refuse("`name` is empty, or the name of a built-in rule; choose another name".into()));
            }
            if !names.insert(rule.name.clone()) {
                return Err(refuse("the name is already used; choose another name".into()));
            }
            own_rules.push(CompiledRule::compile(rule).map_err(refuse)?);
        }
        Ok(Policy { modes, exceptions: file.exceptions, own_rules })
    }

    /// True if the author's rules may use the SACP response in a step of this method ([`Step::response`]), which must
    /// then be read.
    ///
    /// [`Step::response`]: super::Step::response
    pub fn reads_response_of(&self, method: &str) -> bool {
        let may_read = |rule: &CompiledRule| rule.is_about(method) && rule.may_read_response();
        self.own_rules.iter().any(may_read)
    }

    /// Returns the mode of each rule for an agent, with the exceptions that match it.
    pub fn modes_for(&self, agent: &Who<'_>) -> Modes {
        let mut modes = self.modes;
        let fitting = self.exceptions.iter().filter(|exception| {
            agent.fits(exception.agent.as_deref(), exception.tag.as_deref(), exception.vendor.as_deref())
        });
        let mut fitting: Vec<&Exception> = fitting.collect();
        fitting.sort_by_key(|exception| match (&exception.agent, &exception.tag) {
            (Some(_), _) => 2,
            (None, Some(_)) => 1,
            (None, None) => 0,
        });
        for (rule, mode) in fitting.into_iter().flat_map(|exception| &exception.rules) {
            modes.set(*rule, *mode);
        }
        modes
    }
}
