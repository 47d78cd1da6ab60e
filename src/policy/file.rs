//! A policy as its file has it, and compiled.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::rule::{Mode, Modes, Rule};
use crate::expression::{Expression, Scope};

/// What expressions of policies are about.
const SCOPE: Scope = Scope {
    noun: "expression",
    facts: &["step", "agent", "session"],
    example: "step.tool == \"refund\" and step.inputs.amount > 100",
};
/// The most expressions of a policy.
pub const MAX_EXPRESSIONS: usize = 100;

/// A policy as it is written.
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
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// How strict rules are.
    #[serde(default)]
    pub rules: BTreeMap<Rule, Mode>,
    /// How strict they are with some agents.
    #[serde(default, rename = "for")]
    pub exceptions: Vec<Exception>,
    /// Rules of its author.
    #[serde(default, rename = "expression")]
    pub expressions: Vec<OwnRule>,
}

/// How strict rules are with some agents. Of several that concern one agent, those that name it count more than those
/// that name a tag, and these more than those that name a vendor; of equal ones the last counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The id of the agent.
    pub agent: Option<String>,
    /// A tag of the agent.
    pub tag: Option<String>,
    /// The vendor of the agent.
    pub vendor: Option<String>,
    /// How strict rules are.
    pub rules: BTreeMap<Rule, Mode>,
}

/// A rule of the policy's author.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRule {
    /// Its name, which is its reason code.
    pub name: String,
    /// What holds of the steps that it denies.
    pub denies: String,
    /// How strict it is.
    #[serde(default = "enforce")]
    pub mode: Mode,
    /// What people read of it.
    pub message: Option<String>,
    /// The methods that it is about; none: all.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Only the agent of this id.
    pub agent: Option<String>,
    /// Only agents with this tag.
    pub tag: Option<String>,
    /// Only agents of this vendor.
    pub vendor: Option<String>,
}

fn enforce() -> Mode {
    Mode::Enforce
}

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct PolicyError {
    /// Where, such as `expression 2 (large-refund)`.
    pub place: String,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// A compiled policy.
#[derive(Debug, Default)]
pub struct Policy {
    modes: Modes,
    exceptions: Vec<Exception>,
    pub(super) expressions: Vec<CompiledRule>,
}

/// An expression that was compiled.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: OwnRule,
    pub(super) expression: Expression,
}

impl CompiledRule {
    /// Whether it is about a step of this method and agent.
    pub(super) fn concerns(&self, method: &str, agent: &Who<'_>) -> bool {
        let is_of_method = self.rule.methods.is_empty() || self.rule.methods.iter().any(|known| known == method);
        self.rule.mode != Mode::Off
            && is_of_method
            && agent.fits(self.rule.agent.as_deref(), self.rule.tag.as_deref(), self.rule.vendor.as_deref())
    }
}

/// Whom a policy is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Who<'a> {
    /// The id of the agent.
    pub id: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// Its vendor.
    pub vendor: Option<&'a str>,
}

impl Who<'_> {
    fn fits(&self, agent: Option<&str>, tag: Option<&str>, vendor: Option<&str>) -> bool {
        agent.is_none_or(|id| id == self.id)
            && tag.is_none_or(|tag| self.tags.iter().any(|own| own.eq_ignore_ascii_case(tag)))
            && vendor.is_none_or(|vendor| self.vendor.is_some_and(|own| own.eq_ignore_ascii_case(vendor)))
    }
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
                let place = format!("for {}", index + 1);
                return Err(PolicyError { place, reason: "it names no agents; add `agent`, `tag` or `vendor`".into() });
            }
        }
        if file.expressions.len() > MAX_EXPRESSIONS {
            let reason = format!("there are more than {MAX_EXPRESSIONS}; each costs time in every step");
            return Err(PolicyError { place: "expression".into(), reason });
        }
        let mut names = HashSet::new();
        let mut expressions = Vec::with_capacity(file.expressions.len());
        for (index, rule) in file.expressions.into_iter().enumerate() {
            let refuse =
                |reason: String| PolicyError { place: format!("expression {} ({})", index + 1, rule.name), reason };
            if rule.name.is_empty() || Rule::ALL.iter().any(|known| known.name() == rule.name) {
                return Err(refuse("`name` is empty, or that of a built-in rule; choose another".into()));
            }
            if !names.insert(rule.name.clone()) {
                return Err(refuse("there is another of that name; choose another".into()));
            }
            let expression = Expression::compile(&rule.denies, SCOPE).map_err(refuse)?;
            expressions.push(CompiledRule { rule, expression });
        }
        Ok(Policy { modes, exceptions: file.exceptions, expressions })
    }

    /// How strict the rules are with an agent.
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
