//! Rules of a policy's author: what they test, and what they know.

use std::{
    cell::OnceCell,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};

#[cfg(feature = "rego")]
use super::rego::{Input, Module};
use super::{description::Description, rule::Mode, session::Session, step::Step, who::Who};
use crate::expression::{Expression, Facts, Scope};

/// What expressions of policies are about.
const SCOPE: Scope = Scope {
    noun: "expression",
    facts: &["step", "agent", "session"],
    example: "step.tool == \"refund\" and step.inputs.amount > 100",
};

/// What becomes of a step that an enforced rule finds fault with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consequence {
    /// It is denied.
    #[default]
    Deny,
    /// The response in SACP that it carries becomes a failure before the next agent receives it (SACP, section 9.1). A
    /// step that carries none is denied.
    FailResponse,
}

/// A rule of the policy's author: an expression in CEL, or a module in Rego.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRule {
    /// Its name, which is its reason code.
    pub name: String,
    /// What holds of the steps that it denies, in CEL.
    pub denies: Option<String>,
    /// A module in Rego whose `deny` has a message for each fault of a step, or is true where there is one. Its `input`
    /// has `step`, `agent` and `session`. Needs the feature `rego`.
    pub rego: Option<String>,
    /// A file with such a module. Whoever reads the policy puts its text into `rego`.
    pub rego_file: Option<PathBuf>,
    /// How strict it is.
    #[serde(default = "enforce")]
    pub mode: Mode,
    /// What becomes of a step that it finds fault with.
    #[serde(default)]
    pub then: Consequence,
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

/// A rule that was compiled.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: OwnRule,
    pub(super) test: Test,
}

/// What says which steps a rule denies.
#[derive(Debug)]
pub(super) enum Test {
    Expression(Expression),
    #[cfg(feature = "rego")]
    Rego(Box<Module>),
}

impl Test {
    pub(super) fn compile(rule: &OwnRule) -> Result<Test, String> {
        match (&rule.denies, &rule.rego, &rule.rego_file) {
            (Some(denies), None, None) => Expression::compile(denies, SCOPE).map(Test::Expression),
            #[cfg(feature = "rego")]
            (None, Some(text), None) => Module::compile(&rule.name, text).map(|module| Test::Rego(Box::new(module))),
            #[cfg(not(feature = "rego"))]
            (None, Some(_), None) => {
                Err("this program was built without Rego; build it with the feature `rego`, or write `denies`".into())
            }
            (None, None, Some(file)) => {
                Err(format!("nothing has read {}; put the text of the module into `rego`", file.display()))
            }
            _ => Err("it has to say what it denies in one way: `denies` (CEL), `rego` or `rego_file`".into()),
        }
    }
}

impl CompiledRule {
    /// Whether it is about steps of this method.
    pub(super) fn is_about(&self, method: &str) -> bool {
        let is_of_method = self.rule.methods.is_empty() || self.rule.methods.iter().any(|known| known == method);
        self.rule.mode != Mode::Off && is_of_method
    }

    /// Whether it is about a step of this method and agent.
    pub(super) fn concerns(&self, method: &str, agent: &Who<'_>) -> bool {
        self.is_about(method)
            && agent.fits(self.rule.agent.as_deref(), self.rule.tag.as_deref(), self.rule.vendor.as_deref())
    }

    /// Whether it may read the response that a step carries.
    pub(super) fn may_read_response(&self) -> bool {
        [&self.rule.denies, &self.rule.rego].into_iter().flatten().any(|text| text.contains("response"))
    }

    /// What is wrong with a step.
    pub(super) fn find(&self, facts: &OwnFacts) -> Vec<String> {
        let found = match facts.remaining() {
            None => Err("the own rules of the policy took too long".to_owned()),
            Some(remaining) => self.faults(facts, remaining),
        };
        // What can't be decided is not allowed.
        found.unwrap_or_else(|reason| vec![reason])
    }

    fn faults(&self, facts: &OwnFacts, remaining: Duration) -> Result<Vec<String>, String> {
        #[cfg(not(feature = "rego"))]
        let _ = remaining;
        match &self.test {
            Test::Expression(expression) => {
                let holds = expression.holds(facts.of_expressions()?);
                match holds.map_err(|reason| format!("`{expression}` can't be decided: {reason}"))? {
                    false => Ok(Vec::new()),
                    true => Ok(vec![self.rule.message.clone().unwrap_or_else(|| format!("`{expression}` holds"))]),
                }
            }
            #[cfg(feature = "rego")]
            Test::Rego(module) => {
                let found = module.denied(facts.of_rego()?, remaining);
                let messages = found.map_err(|reason| format!("`{}` can't be decided: {reason}", self.rule.name))?;
                let message = |own: Option<String>| {
                    own.or_else(|| self.rule.message.clone())
                        .unwrap_or_else(|| format!("`{}` denies it", self.rule.name))
                };
                Ok(messages.into_iter().map(message).collect())
            }
        }
    }
}

/// What own rules know: `step`, `agent` and `session`, in the form that each language reads, made once.
pub(super) struct OwnFacts {
    started: Instant,
    budget: Duration,
    step: Value,
    agent: Value,
    session: Value,
    expressions: OnceCell<Result<Facts, String>>,
    #[cfg(feature = "rego")]
    rego: OnceCell<Result<Input, String>>,
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
            expressions: OnceCell::new(),
            #[cfg(feature = "rego")]
            rego: OnceCell::new(),
        }
    }

    /// What is left of the time; none where it is over.
    fn remaining(&self) -> Option<Duration> {
        self.budget.checked_sub(self.started.elapsed())
    }

    fn of_expressions(&self) -> Result<&Facts, String> {
        let facts = self.expressions.get_or_init(|| {
            let facts = Facts::within(self.budget).with("step", &self.step)?;
            facts.with("agent", &self.agent)?.with("session", &self.session)
        });
        facts.as_ref().map_err(Clone::clone)
    }

    #[cfg(feature = "rego")]
    fn of_rego(&self) -> Result<&Input, String> {
        let input = self
            .rego
            .get_or_init(|| Input::new([("step", &self.step), ("agent", &self.agent), ("session", &self.session)]));
        input.as_ref().map_err(Clone::clone)
    }
}
