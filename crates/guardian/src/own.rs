//! Rules of a policy's author: what they test, and what they know.

use std::{
    cell::OnceCell,
    time::{Duration, Instant},
};

use agentdex_api::guardian::Mode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{description::Description, session::Session, step::Step, who::Who};
use crate::expression::{Expression, Facts, Scope};

/// Facts that the expressions of policies may use.
const SCOPE: Scope = Scope {
    noun: "expression",
    facts: &["step", "agent", "session"],
    example: "step.tool == \"refund\" and step.inputs.amount > 100",
};

/// How to treat a step in which an enforced rule of the policy's author finds a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consequence {
    /// The step is denied.
    #[default]
    Deny,
    /// The SACP response in the step becomes a failure before the next agent receives it (SACP, section 9.1). A step
    /// without one is denied.
    FailResponse,
}

/// A rule of the policy's author: an expression in CEL.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRule {
    /// Its name, which is its reason code.
    pub name: String,
    /// The expression in CEL that holds for the steps that it denies.
    pub denies: String,
    /// Its mode, by default enforced.
    #[serde(default = "enforce")]
    pub mode: Mode,
    /// How to treat a step in which it finds a fault, if it is enforced.
    #[serde(default)]
    pub then: Consequence,
    /// Message of its findings, for people; without one, they quote the expression.
    pub message: Option<String>,
    /// The methods to which it applies; all if empty.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Applies only to the agent with this id.
    pub agent: Option<String>,
    /// Applies only to agents with this tag.
    pub tag: Option<String>,
    /// Applies only to agents of this vendor.
    pub vendor: Option<String>,
}

fn enforce() -> Mode {
    Mode::Enforce
}

/// A rule that was compiled.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: OwnRule,
    pub(super) expression: Expression,
}

impl CompiledRule {
    pub(super) fn compile(rule: OwnRule) -> Result<CompiledRule, String> {
        let expression = Expression::compile(&rule.denies, SCOPE)?;
        Ok(CompiledRule { rule, expression })
    }

    /// True if it is about steps of this method.
    pub(super) fn is_about(&self, method: &str) -> bool {
        let is_of_method = self.rule.methods.is_empty() || self.rule.methods.iter().any(|known| known == method);
        self.rule.mode != Mode::Off && is_of_method
    }

    /// True if it is about a step of this method and agent.
    pub(super) fn concerns(&self, method: &str, agent: &Who<'_>) -> bool {
        self.is_about(method)
            && agent.fits(self.rule.agent.as_deref(), self.rule.tag.as_deref(), self.rule.vendor.as_deref())
    }

    /// True if it may read the response that a step carries.
    pub(super) fn may_read_response(&self) -> bool {
        self.rule.denies.contains("response")
    }

    /// The fault that it finds with a step. A rule that can't be evaluated finds one: what can't be decided is not allowed.
    pub(super) fn find(&self, facts: &OwnFacts) -> Option<String> {
        self.fault(facts).unwrap_or_else(Some)
    }

    fn fault(&self, facts: &OwnFacts) -> Result<Option<String>, String> {
        let expression = &self.expression;
        let holds = expression.holds(facts.in_time()?);
        let holds = holds.map_err(|reason| format!("`{expression}` can't be evaluated: {reason}"))?;
        let message = || self.rule.message.clone().unwrap_or_else(|| format!("`{expression}` holds"));
        Ok(holds.then(message))
    }
}

/// The facts that own rules read: `step`, `agent` and `session`, converted for CEL once.
pub(super) struct OwnFacts {
    started: Instant,
    budget: Duration,
    step: Value,
    agent: Value,
    session: Value,
    facts: OnceCell<Result<Facts, String>>,
}

impl OwnFacts {
    pub(super) fn new(
        step: &Step<'_>,
        description: Option<&Description>,
        session: Option<&Session>,
        budget: Duration,
    ) -> OwnFacts {
        let origin = step.origin.as_ref();
        let agent = match description {
            Some(known) => {
                let tools: Vec<&str> = known.tools.iter().map(|tool| tool.id.as_str()).collect();
                json!({
                    "id": known.id, "title": known.title, "version": known.version, "vendor": known.vendor,
                    "tags": known.tags, "standing": known.standing.as_str(), "tools": tools, "registered": true,
                })
            }
            None => json!({"id": origin.map(|origin| origin.agent), "registered": false}),
        };
        let id = origin.map_or("", |origin| origin.session);
        OwnFacts {
            started: Instant::now(),
            budget,
            step: step.facts(),
            agent,
            session: session.cloned().unwrap_or_default().facts(id),
            facts: OnceCell::new(),
        }
    }

    /// The facts, unless the time for all own rules is over.
    fn in_time(&self) -> Result<&Facts, String> {
        if self.started.elapsed() > self.budget {
            return Err("the custom rules of the policy took too long".to_owned());
        }
        let facts = self.facts.get_or_init(|| {
            let facts = Facts::within(self.budget).with("step", &self.step)?;
            facts.with("agent", &self.agent)?.with("session", &self.session)
        });
        facts.as_ref().map_err(Clone::clone)
    }
}
