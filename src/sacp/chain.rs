//! `Chain`: agents one after another, as plain data, and the function that says what comes next
//! (SACP, sections 4 and 6).
//!
//! A chain calls nobody. [`Chain::start`] names the first call, [`Chain::next`] takes its response and
//! names the one after it, until the chain is done, needs an answer of the user, or failed. A [`State`]
//! is data and can be stored in between.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    condition::Condition,
    response::{Response, Status},
    template::{Outputs, Template},
};
use crate::td::Violation;

/// The most nodes, and the most edges, of a chain.
const MAX_PARTS: usize = 1000;
/// The most calls that a chain may allow itself.
const MAX_STEPS: u32 = 10_000;

/// An agent of a chain.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The id of the agent; or else a capability, by which one is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What an agent must be able to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// The action to invoke; where there is none, the agent is sent a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Its input, with references to what came before; the input of the chain where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// What leads from one node to another.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The node that has answered.
    pub from: String,
    /// The node that comes next.
    pub to: String,
    /// The [`Condition`] under which this edge is taken, whatever the status. Without one it is taken after
    /// success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Whether it is taken after a failure for which no condition holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_error: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    start: String,
    max_steps: Option<u32>,
    nodes: BTreeMap<String, Node>,
    #[serde(default)]
    edges: Vec<Edge>,
}

/// A valid chain.
///
/// ```
/// use agentdex::{convert::Syntax, sacp::Chain};
///
/// let yaml = "
/// start: writer
/// nodes:
///   writer: {capability: write}
///   translator: {agent: 'urn:example:translator', action: translate, input: '{{writer.message}}'}
/// edges:
///   - {from: writer, to: translator, when: \"response.data.language != 'de'\"}
/// ";
/// let json = Syntax::Yaml.to_json(yaml.as_bytes()).unwrap();
/// let chain = Chain::new(serde_json::from_str(&json).unwrap()).unwrap();
/// assert_eq!(chain.node("translator").unwrap().action.as_deref(), Some("translate"));
/// ```
#[derive(Debug)]
pub struct Chain {
    start: String,
    max_steps: u32,
    nodes: BTreeMap<String, (Node, Template)>,
    edges: Vec<(Edge, Option<Condition>)>,
}

/// All that is wrong with a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the chain is invalid: {}", .violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ChainError {
    /// Each with its place.
    pub violations: Vec<Violation>,
}

/// Where a run of a chain stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The input of the chain.
    pub input: Value,
    /// The node that was called last.
    pub node: String,
    /// What the nodes answered last.
    pub outputs: Outputs,
    /// The calls so far, with what each was given.
    pub calls: Vec<(String, Value)>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Call this node's agent.
    Call {
        /// The node.
        node: String,
        /// What the agent is given.
        input: Value,
    },
    /// Ask the user; [`Chain::answer`] goes on.
    NeedsInput {
        /// The node that asks.
        node: String,
        /// The question.
        message: String,
    },
    /// The chain has ended.
    End(Outcome),
}

/// How a chain ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With the response of the last node.
    Done(Response),
    /// At this node.
    Failed {
        /// The node.
        node: String,
        /// Why.
        reason: String,
    },
}

impl Chain {
    /// Checks a chain: `start`, `nodes` by name, `edges` in the order in which they are tried, and
    /// `max_steps`, which a chain with a cycle needs.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn new(description: Value) -> Result<Chain, ChainError> {
        let description: Description = serde_json::from_value(description)
            .map_err(|error| ChainError { violations: vec![Violation::new("", "chain/shape", error.to_string())] })?;
        let violations = violations(&description);
        if !violations.is_empty() {
            return Err(ChainError { violations });
        }
        let template = |node: &Node| Template::new(node.input.clone().unwrap_or_else(|| json!("{{input}}")));
        let nodes = description.nodes.into_iter().map(|(name, node)| {
            let template = template(&node);
            (name, (node, template))
        });
        let nodes: BTreeMap<_, _> = nodes.collect();
        let compiled = |edge: Edge| {
            let condition = edge.when.as_deref().and_then(|when| when.parse().ok());
            (edge, condition)
        };
        Ok(Chain {
            max_steps: description.max_steps.unwrap_or(nodes.len() as u32),
            start: description.start,
            edges: description.edges.into_iter().map(compiled).collect(),
            nodes,
        })
    }

    /// A node.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).map(|(node, _)| node)
    }

    /// Begins a run.
    pub fn start(&self, input: Value) -> (State, Step) {
        let mut state = State { input, node: self.start.clone(), outputs: Outputs::new(), calls: Vec::new() };
        let step = self.call(&mut state, &self.start);
        (state, step)
    }

    /// Takes the response of the node that was called last.
    pub fn next(&self, state: &mut State, response: Response) -> Step {
        let (node, status) = (state.node.clone(), response.status);
        state.outputs.insert(node.clone(), response.clone());
        match self.edge_that_holds(&node, &response) {
            Ok(Some(edge)) => return self.call(state, &edge.to),
            Ok(None) => {}
            Err(reason) => return self.fail(state, reason),
        }
        match status {
            Status::Success => {
                match self.edges_of(&node).find(|(edge, condition)| condition.is_none() && !edge.on_error) {
                    Some((edge, _)) => self.call(state, &edge.to),
                    None => Step::End(Outcome::Done(response)),
                }
            }
            Status::Completed => Step::End(Outcome::Done(response)),
            Status::ClarificationNeeded => Step::NeedsInput { node, message: response.message },
            Status::Failure => self.fail(state, response.message),
            Status::RetryWithInstruction => {
                let before = state.calls.iter().rev().find(|(called, _)| *called != node).cloned();
                match before {
                    Some((before, input)) => {
                        let input = json!({"input": input, "instruction": response.message});
                        self.call_with(state, &before, input)
                    }
                    None => self.fail(state, "no agent comes before the one that asks for another try".into()),
                }
            }
        }
    }

    /// Gives the node that asked what the user answered.
    pub fn answer(&self, state: &mut State, answer: Value) -> Step {
        let node = state.node.clone();
        self.call_with(state, &node, answer)
    }

    fn edges_of<'c, 'n>(&'c self, node: &'n str) -> impl Iterator<Item = &'c (Edge, Option<Condition>)> + use<'c, 'n> {
        self.edges.iter().filter(move |(edge, _)| edge.from == node)
    }

    /// The first edge whose condition holds.
    fn edge_that_holds<'c>(&'c self, node: &str, response: &Response) -> Result<Option<&'c Edge>, String> {
        for (edge, condition) in self.edges_of(node) {
            let Some(condition) = condition else { continue };
            if condition.holds(response).map_err(|error| error.to_string())? {
                return Ok(Some(edge));
            }
        }
        Ok(None)
    }

    fn call(&self, state: &mut State, node: &str) -> Step {
        let template = self.nodes.get(node).map(|(_, template)| template);
        let filled = template.map(|template| template.fill(&state.outputs, Some(&state.input)));
        match filled {
            Some(Ok(input)) => self.call_with(state, node, input),
            Some(Err(error)) if state.calls.is_empty() => {
                Step::End(Outcome::Failed { node: node.to_owned(), reason: error.to_string() })
            }
            Some(Err(error)) => self.fail(state, format!("the input of {node:?}: {error}")),
            None => Step::End(Outcome::Failed { node: node.to_owned(), reason: "there is no such node".into() }),
        }
    }

    fn call_with(&self, state: &mut State, node: &str, input: Value) -> Step {
        if state.calls.len() >= self.max_steps as usize {
            let reason =
                format!("the limit of {} steps is reached; raise max_steps if that is intended", self.max_steps);
            return Step::End(Outcome::Failed { node: node.to_owned(), reason });
        }
        node.clone_into(&mut state.node);
        state.calls.push((node.to_owned(), input.clone()));
        Step::Call { node: node.to_owned(), input }
    }

    /// Takes the error edge of the node that was called last, or ends.
    fn fail(&self, state: &mut State, reason: String) -> Step {
        let node = state.node.clone();
        let handler = self.edges_of(&node).find(|(edge, _)| edge.on_error).map(|(edge, _)| edge);
        let filled = handler.and_then(|edge| {
            let (_, template) = self.nodes.get(&edge.to)?;
            Some((edge, template.fill(&state.outputs, Some(&state.input)).ok()?))
        });
        match filled {
            Some((edge, input)) => self.call_with(state, &edge.to, input),
            None => Step::End(Outcome::Failed { node, reason }),
        }
    }
}

fn violations(chain: &Description) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut report = |pointer: String, rule: &'static str, message: String| {
        violations.push(Violation::new(pointer, rule, message));
    };
    if chain.nodes.len() > MAX_PARTS || chain.edges.len() > MAX_PARTS {
        report(String::new(), "chain/limit", format!("a chain has at most {MAX_PARTS} nodes and {MAX_PARTS} edges"));
        return violations;
    }
    let is_node = |name: &str| chain.nodes.contains_key(name);
    if !is_node(&chain.start) {
        report("/start".into(), "chain/unknown-node", format!("there is no node {:?}", chain.start));
    }
    for (name, node) in &chain.nodes {
        let pointer = format!("/nodes/{}", name.replace('~', "~0").replace('/', "~1"));
        if name == "input" || name.contains(['.', '[', '{', '}']) {
            let message = format!("{name:?} can't be referenced; choose a name without . [ {{ }} that isn't `input`");
            report(pointer.clone(), "chain/node-name", message);
        }
        if node.agent.is_some() == node.capability.is_some() {
            report(pointer.clone(), "chain/agent", "name either an `agent` or a `capability`".into());
        }
        let template = Template::new(node.input.clone().unwrap_or_default());
        for source in template.sources().into_iter().filter(|source| *source != "input" && !is_node(source)) {
            let message = format!("the reference to {source:?} leads to no node");
            report(format!("{pointer}/input"), "chain/unknown-node", message);
        }
    }
    for (index, edge) in chain.edges.iter().enumerate() {
        for (member, name) in [("from", &edge.from), ("to", &edge.to)] {
            if !is_node(name) {
                report(format!("/edges/{index}/{member}"), "chain/unknown-node", format!("there is no node {name:?}"));
            }
        }
        if let Some(Err(error)) = edge.when.as_deref().map(str::parse::<Condition>) {
            report(format!("/edges/{index}/when"), "chain/condition", error.to_string());
        }
        if edge.on_error && edge.when.is_some() {
            let message = "an edge has either `when` or `on_error`".to_owned();
            report(format!("/edges/{index}"), "chain/condition", message);
        }
    }
    let (reached, has_cycle) = walk(chain);
    for name in chain.nodes.keys().filter(|name| !reached.contains(name.as_str())) {
        report(format!("/nodes/{name}"), "chain/unreachable", format!("no edge leads to {name:?}"));
    }
    match chain.max_steps {
        None if has_cycle => {
            let message = "the chain has a cycle; set max_steps to the number of calls that it may make";
            report("/max_steps".into(), "chain/cycle", message.into());
        }
        Some(steps) if steps == 0 || steps > MAX_STEPS => {
            report("/max_steps".into(), "chain/limit", format!("max_steps is {steps}; it must be 1 to {MAX_STEPS}"));
        }
        _ => {}
    }
    violations
}

/// The nodes that can be reached from the start, and whether any of them can be reached again.
fn walk(chain: &Description) -> (BTreeSet<&str>, bool) {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in &chain.edges {
        targets.entry(&edge.from).or_default().push(&edge.to);
    }
    let (mut reached, mut done, mut has_cycle) = (BTreeSet::new(), BTreeSet::new(), false);
    // Each node twice on the stack: when it is entered, and when all behind it is done.
    let mut stack = vec![(chain.start.as_str(), false)];
    while let Some((node, is_exit)) = stack.pop() {
        if is_exit {
            done.insert(node);
            continue;
        }
        if !reached.insert(node) {
            has_cycle |= !done.contains(node);
            continue;
        }
        stack.push((node, true));
        stack.extend(targets.get(node).into_iter().flatten().map(|target| (*target, false)));
    }
    (reached, has_cycle)
}
