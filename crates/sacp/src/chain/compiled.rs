//! `Chain`: a chain that is valid, with its conditions and templates compiled.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    check,
    description::{Description, Edge, Link, Node},
};
use crate::{Condition, Template, td::Violation};

/// A valid chain.
///
/// ```
/// use agentdex_sacp::Chain;
/// use serde_json::json;
///
/// let chain = Chain::new(json!({
///     "start": "writer",
///     "nodes": {
///         "writer": {"capability": "write"},
///         "translator": {"agent": "urn:example:translator", "action": "translate", "input": "{{writer.message}}"},
///     },
///     "edges": [{"from": "writer", "to": "translator", "when": "response.data.language != 'de'"}],
/// }))?;
/// assert_eq!(chain.node("translator").unwrap().action.as_deref(), Some("translate"));
/// # Ok::<(), agentdex_sacp::ChainError>(())
/// ```
#[derive(Debug)]
pub struct Chain {
    pub(super) main: Part,
    pub(super) chains: BTreeMap<String, Part>,
}

/// A chain, or one of those that its nodes consist of.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) start: String,
    pub(super) max_steps: u32,
    pub(super) nodes: BTreeMap<String, Prepared>,
    pub(super) edges: Vec<(Edge, Option<Condition>)>,
    pub(super) links: Vec<Link>,
}

/// A node with its templates.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) node: Node,
    pub(super) input: Template,
    /// Template of the answer that the node gives by itself, or of its question to the user.
    pub(super) own: Option<Template>,
    pub(super) otherwise: Option<Template>,
    pub(super) request: Option<Template>,
}

/// All faults of a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the chain is invalid: {}", .violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ChainError {
    /// The faults, each with its place.
    pub violations: Vec<Violation>,
}

impl Chain {
    /// Checks a chain: `start`, `nodes` by name, `edges` in the order in which they are tried, `links`, the `chains`
    /// of which nodes consist, and `max_steps`, which is required for a chain with a cycle.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn new(description: Value) -> Result<Chain, ChainError> {
        let mut description: Description = serde_json::from_value(description)
            .map_err(|error| ChainError { violations: vec![Violation::new("", "chain/shape", error.to_string())] })?;
        let violations = check::violations(&description);
        if !violations.is_empty() {
            return Err(ChainError { violations });
        }
        let chains = std::mem::take(&mut description.chains);
        let chains = chains.into_iter().map(|(name, chain)| (name, Part::new(chain)));
        Ok(Chain { chains: chains.collect(), main: Part::new(description) })
    }

    /// A node of the chain itself, not of the chains within nodes.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.main.nodes.get(name).map(|prepared| &prepared.node)
    }

    /// Every node with its name. Names of nodes of chains within nodes begin with the name of their chain.
    pub fn nodes(&self) -> impl Iterator<Item = (String, &Node)> {
        let own = self.main.nodes.iter().map(|(name, prepared)| (name.clone(), &prepared.node));
        let within = self.chains.iter().flat_map(|(chain, part)| {
            part.nodes.iter().map(move |(name, prepared)| (format!("{chain}/{name}"), &prepared.node))
        });
        own.chain(within)
    }

    pub(super) fn part(&self, name: Option<&str>) -> Option<&Part> {
        name.map_or(Some(&self.main), |name| self.chains.get(name))
    }
}

impl Part {
    fn new(description: Description) -> Part {
        let Description { start, max_steps, nodes, edges, links, .. } = description;
        let is_linked = |name: &String| links.iter().any(|link| link.to == *name);
        let prepared = |name: &String, node: Node| {
            let whole = if is_linked(name) { json!({}) } else { json!("{{input}}") };
            Prepared {
                input: Template::new(node.input.clone().unwrap_or(whole)),
                own: node.answer.clone().or_else(|| node.ask.clone()).map(Template::new),
                otherwise: node.otherwise.clone().map(Template::new),
                request: node.request.clone().map(Template::new),
                node,
            }
        };
        let nodes: BTreeMap<_, _> = nodes
            .into_iter()
            .map(|(name, node)| {
                let prepared = prepared(&name, node);
                (name, prepared)
            })
            .collect();
        let compiled = |edge: Edge| {
            let condition = edge.when.as_deref().and_then(|when| when.parse().ok());
            (edge, condition)
        };
        Part {
            max_steps: max_steps.unwrap_or(nodes.len() as u32),
            start,
            edges: edges.into_iter().map(compiled).collect(),
            nodes,
            links,
        }
    }
}
