//! The shared state of the agents of a demo, and the reports of searches, messages and calls.

use std::{fmt, sync::Arc};

use serde_json::Value;

use super::{dice::Dice, tasks::Tasks};
use crate::mcp;

/// The agents of a demo. Cloning is cheap, and clones share the state of the agents.
#[derive(Clone)]
pub struct Demo(Arc<Agents>);

struct Agents {
    /// The agent card of the converter.
    card: String,
    report: Reporter,
    tasks: Tasks,
    dice: mcp::Server<Dice>,
}

type Reporter = Arc<dyn Fn(Activity) + Send + Sync>;

/// An event of a demo.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Activity {
    /// A search of the registry.
    Searched {
        /// The words.
        query: String,
        /// The title of the best match, else its id.
        found: Option<String>,
    },
    /// A message to an agent, and its answer.
    Asked {
        /// The id of the agent.
        agent: &'static str,
        /// The message.
        question: String,
        /// The answer.
        answer: String,
    },
    /// A call of an action.
    Called {
        /// The id of the agent.
        agent: &'static str,
        /// The action.
        action: String,
        /// Its input.
        input: Value,
        /// Its output.
        output: Value,
    },
}

impl Demo {
    /// Agents whose converter has this agent card. `report` is called for each search and each answer, on threads that
    /// serve: it must not block.
    pub fn new(card: impl Into<String>, report: impl Fn(Activity) + Send + Sync + 'static) -> Demo {
        let report: Reporter = Arc::new(report);
        let reporter = report.clone();
        let dice = Dice::new(move |action, input, output| {
            let called = Activity::Called { agent: "urn:demo:dice", action, input, output };
            reporter(called);
        });
        Demo(Arc::new(Agents { card: card.into(), report, tasks: Tasks::default(), dice: mcp::Server::new(dice) }))
    }

    pub(in crate::http) fn report(&self, activity: Activity) {
        (self.0.report)(activity);
    }

    pub(super) fn card(&self) -> &str {
        &self.0.card
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    pub(super) fn dice(&self) -> &mcp::Server<Dice> {
        &self.0.dice
    }
}

impl fmt::Debug for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Demo")
    }
}
