//! `State`: the progress of a run of a chain, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    compiled::{Chain, ChainError},
    description::Node,
};
use crate::{Outputs, Response, td::Violation, template::Sources};

/// Progress of a run of a chain, which can be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Name of the chain within a node that is run; `None` for the chain itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The input of the chain.
    pub input: Value,
    /// Latest response of each node.
    pub outputs: Outputs,
    /// The nodes that were run so far, each with its input.
    pub calls: Vec<(String, Value)>,
    /// Number of these nodes that were run again with an answer of the user.
    #[serde(default)]
    pub answers: u32,
    /// The next step.
    pub step: Step,
    /// The conversation with the agent that is called or that asks, as the caller stores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Value>,
    /// The failure whose error edge led to the current node: its `node` and `reason`, as `{{error.reason}}` names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// The instruction of a later agent (`retry_with_instruction`), for the agent that is called again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Notices since the caller last took them, in order.
    #[serde(skip)]
    pub notices: Vec<Notice>,
}

/// Something that a run did on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A node gave a message by itself.
    Said {
        /// The node.
        node: String,
        /// The message.
        message: String,
    },
    /// A failure was handed to the target of an error edge.
    ErrorHandled {
        /// The node that failed.
        node: String,
        /// The node that comes next.
        to: String,
        /// The reason of the failure.
        reason: String,
    },
}

/// The next step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Call this node's agent.
    Call {
        /// The node.
        node: String,
        /// Input of the agent.
        input: Value,
    },
    /// Ask the user.
    NeedsInput {
        /// The node that asks.
        node: String,
        /// The question.
        message: String,
    },
    /// Run the chains that this node consists of.
    Within {
        /// The node.
        node: String,
        /// Progress of each of its chains.
        runs: Vec<State>,
    },
    /// The chain has ended.
    End(Outcome),
}

/// The final result of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The response of the last node.
    Done(Response),
    /// A failure at this node.
    Failed {
        /// The node.
        node: String,
        /// Why.
        reason: String,
    },
}

/// The position of a due task. It is unique within a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The number of nodes that were run, and the index of the run within the current one, from the outermost chain
    /// inwards.
    pub(super) within: Vec<(usize, usize)>,
    pub(super) turn: usize,
}

/// Something that a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Due<'c> {
    /// Its position.
    pub place: Place,
    /// The name of the node, with the names of the nodes that contain it: `translate[2]/check`.
    pub name: String,
    /// The task.
    pub task: Task<'c>,
    /// The stored conversation with the agent.
    pub conversation: Option<&'c Value>,
    /// An instruction for the agent in addition to its input, from a later agent with the status
    /// `retry_with_instruction`.
    pub instruction: Option<&'c str>,
}

/// A task whose result a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Task<'c> {
    /// The response of an agent.
    Call {
        /// The node that names it.
        node: &'c Node,
        /// Input of the agent.
        input: &'c Value,
    },
    /// The answer of the user.
    Ask {
        /// The question.
        message: &'c str,
    },
}

impl State {
    /// Returns the result of the run, once it has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.step {
            Step::End(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// The node that is run now.
    pub fn node(&self) -> Option<&str> {
        match &self.step {
            Step::Call { node, .. } | Step::NeedsInput { node, .. } | Step::Within { node, .. } => Some(node),
            Step::End(_) => None,
        }
    }

    /// The values that references of a node may name; `given` is its input.
    pub(super) fn sources<'a>(&'a self, given: Option<&'a Value>) -> Sources<'a> {
        Sources { outputs: &self.outputs, input: Some(&self.input), given, error: self.error.as_ref() }
    }

    /// The state at a place.
    pub(super) fn at_mut(&mut self, place: &Place) -> Option<&mut State> {
        let mut state = self;
        for (turn, run) in &place.within {
            if state.calls.len() != *turn {
                return None;
            }
            let Step::Within { runs, .. } = &mut state.step else { return None };
            state = runs.get_mut(*run)?;
        }
        (state.calls.len() == place.turn).then_some(state)
    }
}

impl Chain {
    /// Returns the tasks that a run waits for, in the order of the chain; empty if the run has
    /// ended.
    pub fn due<'c>(&'c self, state: &'c State) -> Vec<Due<'c>> {
        let mut due = Vec::new();
        self.collect(state, &mut Vec::new(), "", &mut due);
        due
    }

    fn collect<'c>(&'c self, state: &'c State, within: &mut Vec<(usize, usize)>, before: &str, due: &mut Vec<Due<'c>>) {
        let turn = state.calls.len();
        let mut push = |node: &str, task| {
            let place = Place { within: within.clone(), turn };
            let (conversation, instruction) = (state.conversation.as_ref(), state.instruction.as_deref());
            due.push(Due { place, name: format!("{before}{node}"), task, conversation, instruction });
        };
        match &state.step {
            Step::Call { node, input } => {
                let found = self.part(state.chain.as_deref()).and_then(|part| part.nodes.get(node));
                if let Some(found) = found {
                    push(node, Task::Call { node: &found.node, input });
                }
            }
            Step::NeedsInput { node, message } => push(node, Task::Ask { message }),
            Step::Within { node, runs } => {
                let found = self.part(state.chain.as_deref()).and_then(|part| part.nodes.get(node));
                let Some(found) = found.map(|found| &found.node) else { return };
                let at_once = found.each.as_ref().map_or(runs.len(), |each| each.parallel);
                let open = runs.iter().enumerate().filter(|(_, run)| run.outcome().is_none());
                for (index, run) in open.take(at_once) {
                    let before = match (&found.each, &found.chains) {
                        (Some(_), _) => format!("{before}{node}[{index}]/"),
                        (None, Some(names)) => {
                            format!("{before}{node}/{}/", names.get(index).map_or("", String::as_str))
                        }
                        (None, None) => format!("{before}{node}/"),
                    };
                    within.push((turn, index));
                    self.collect(run, within, &before, due);
                    within.pop();
                }
            }
            Step::End(_) => {}
        }
    }

    /// Reads a state that was stored as JSON, if it belongs to this chain.
    ///
    /// # Errors
    /// What it has that the chain hasn't.
    pub fn restore(&self, stored: &str) -> Result<State, ChainError> {
        let refuse = |message: String| ChainError { violations: vec![Violation::new("", "chain/state", message)] };
        let state: State = serde_json::from_str(stored).map_err(|error| refuse(error.to_string()))?;
        self.check_state(&state).map_err(refuse)?;
        Ok(state)
    }

    fn check_state(&self, state: &State) -> Result<(), String> {
        let part = self.part(state.chain.as_deref());
        let part = part.ok_or_else(|| {
            let name = state.chain.as_deref().unwrap_or_default();
            format!("the stored run belongs to another chain: this chain has no inner chain {name:?}")
        })?;
        let called = state.calls.iter().map(|(node, _)| node.as_str());
        for name in called.chain(state.node()).chain(state.outputs.keys().map(String::as_str)) {
            if !part.nodes.contains_key(name) {
                return Err(format!("the stored run belongs to another chain: this chain has no node {name:?}"));
            }
        }
        if let Step::Within { node, runs } = &state.step {
            let chains: Vec<&str> = part.nodes.get(node).map(|node| node.node.parts()).unwrap_or_default();
            let is_part = |run: &State| run.chain.as_deref().is_some_and(|chain| chains.contains(&chain));
            if !runs.iter().all(is_part) {
                return Err(format!(
                    "the stored run belongs to another chain: in this chain, {node:?} runs other inner chains"
                ));
            }
            return runs.iter().try_for_each(|run| self.check_state(run));
        }
        Ok(())
    }
}
