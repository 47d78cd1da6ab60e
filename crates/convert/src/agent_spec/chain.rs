//! Conversion of Flows to chains, in the format of [`sacp::Chain`].
//!
//! | node of the Flow | node of the chain |
//! |---|---|
//! | StartNode, EndNode, OutputMessageNode, BranchingNode | node that answers by itself |
//! | InputMessageNode | node that asks the user |
//! | ToolNode, ApiNode, AgentNode | call of the component's agent, with its description if it contains an address |
//! | FlowNode, CatchExceptionNode, AgentNode with a Flow | nested chain |
//! | MapNode, ParallelMapNode | nested chain for each element |
//! | ParallelFlowNode | parallel nested chains |
//! | LlmNode | call of the agent registered under the node's id |
//!
//! Data edges become links; without data edges, outputs are passed to inputs with the same name. Each agent has its own
//! conversation with the caller: no agent sees the messages of another agent. Nodes that a chain can't express are
//! refused by name.
//!
//! [`sacp::Chain`]: https://docs.rs/agentdex-sacp

mod data;
mod nodes;
mod request;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use serde_json::{Map, Value, json};

use super::{
    Configuration, Options,
    findings::Findings,
    graph::{Graph, Key, Keys},
    inference::{Inference, NEXT},
    reading, rules,
    secrets::Secrets,
    thing::Mapper,
};
use crate::{Error, Format, Result, casting::effort::Effort, td::Report};

/// The most nodes that a chain made of a Flow may run: Flows say nothing about it.
const MAX_STEPS: u32 = 1000;
/// The most runs at the same time where a node leaves it open.
const PARALLEL: usize = 8;

/// A chain converted from a Flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowChain {
    /// The chain, as input for `sacp::Chain::new`.
    pub chain: Value,
    /// The agents that must be registered, since the Flow doesn't say how to reach them.
    pub needed: Vec<NeededAgent>,
}

/// An agent required by a Flow that doesn't say how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededAgent {
    /// Name of the node that requires the agent.
    pub node: String,
    /// Type of the node's component, such as `LlmNode` or `ServerTool`.
    pub component_type: String,
    /// Id under which the agent must be registered, or `None` if any agent with the capability is sufficient.
    pub id: Option<String>,
    /// Capability that the agent must have.
    pub capability: Option<String>,
}

impl Configuration {
    /// Converts the Flow defined by the configuration to a chain.
    ///
    /// ```
    /// # if !cfg!(feature = "yaml") { return Ok(()); }
    /// use agentdex_convert::{Syntax, agent_spec::{Configuration, Options}};
    ///
    /// let yaml = b"component_type: Flow
    /// id: f
    /// name: echo
    /// start_node: {$component_ref: s}
    /// nodes: [{$component_ref: s}, {$component_ref: e}]
    /// control_flow_connections:
    ///   - {component_type: ControlFlowEdge, id: c, name: c, from_node: {$component_ref: s}, to_node: {$component_ref: e}}
    /// $referenced_components:
    ///   s: {component_type: StartNode, id: s, name: start, inputs: [{title: text, type: string}]}
    ///   e: {component_type: EndNode, id: e, name: end, outputs: [{title: text, type: string}]}
    /// agentspec_version: 25.4.2
    /// ";
    /// let flow = Configuration::parse(yaml, Syntax::Yaml, &[])?.to_chain(&Options::default())?;
    /// assert_eq!(flow.chain["start"], "start");
    /// assert!(flow.needed.is_empty());
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidSource`] if the configuration is invalid, doesn't define a Flow, or (rule `not-runnable`)
    /// contains nodes that a chain can't express.
    pub fn to_chain(&self, options: &Options) -> Result<FlowChain> {
        let Configuration { main, beside } = self;
        let mut findings = Findings::default();
        let graph = reading::read(main, beside, options.profile, &mut findings);
        let inference = rules::check(&graph, &mut findings);
        if !findings.is_valid() {
            return Err(refusal(self.with_way_out(findings.into_report(), options.profile)));
        }
        let secrets = Secrets::of(main, beside, options.publish_prompts);
        let Some(clean) = secrets.documents_without(main, beside)? else {
            return chain_of(&mapper(&graph, &inference, &secrets, &main.value, options));
        };
        let (main, beside) = &clean;
        let graph = reading::read(main, beside, options.profile, &mut Findings::default());
        let inference = rules::check(&graph, &mut Findings::default());
        chain_of(&mapper(&graph, &inference, &secrets, &self.main.value, options))
    }
}

fn mapper<'m, 'd>(
    graph: &'m Graph<'d>,
    inference: &'m Inference<'d>,
    secrets: &'m Secrets,
    sent: &'d Value,
    options: &'m Options,
) -> Mapper<'m, 'd> {
    Mapper {
        graph,
        inference,
        hidden: secrets.hidden(),
        sent,
        options,
        base: None,
        registered: HashSet::new(),
        spec_version: None,
        effort: Effort::for_document(),
        ids: RefCell::default(),
    }
}

fn refusal(report: Report) -> Error {
    Error::InvalidSource { format: Format::AgentSpec.name(), report }
}

fn chain_of(mapper: &Mapper<'_, '_>) -> Result<FlowChain> {
    let mut findings = Findings::default();
    let root = mapper.graph.root().filter(|root| mapper.graph.is_a(*root, "Flow"));
    let Some(root) = root else {
        let spot = || super::findings::Spot { pointer: String::new(), document: 0 };
        findings.error(spot, "not-runnable", || "the configuration doesn't define a Flow; only Flows can be run");
        return Err(refusal(findings.into_report()));
    };
    let mut maker = Maker { mapper, findings, names: HashMap::new(), parts: Vec::new(), needed: Vec::new() };
    let mut chain = maker.flow(root)?;
    let mut chains = Map::new();
    // Those within those within are added as they are found.
    let mut next = 0;
    while let Some((flow, name)) = maker.parts.get(next).cloned() {
        let part = maker.flow(flow)?;
        chains.insert(name, part);
        next += 1;
    }
    if let (Value::Object(members), false) = (&mut chain, chains.is_empty()) {
        members.insert("chains".into(), chains.into());
    }
    if !maker.findings.is_valid() {
        return Err(refusal(maker.findings.into_report()));
    }
    Ok(FlowChain { chain, needed: maker.needed })
}

/// Makes chains of Flows.
struct Maker<'m, 'd> {
    mapper: &'m Mapper<'m, 'd>,
    findings: Findings,
    /// The names of chains within, by their Flows.
    names: HashMap<Key, String>,
    /// The Flows within, with their names, in the order in which they were found.
    parts: Vec<(Key, String)>,
    needed: Vec<NeededAgent>,
}

/// A Flow that is being made a chain.
struct FlowParts {
    flow: Key,
    /// The names of its nodes that can be reached.
    names: HashMap<Key, String>,
}

impl<'d> Maker<'_, 'd> {
    /// The chain of a Flow.
    fn flow(&mut self, flow: Key) -> Result<Value> {
        let graph = self.mapper.graph;
        let edges: Vec<(Key, &str, Key)> = graph
            .parts(flow, "control_flow_connections")
            .iter()
            .filter_map(|edge| {
                let branch = graph.text(*edge, "from_branch").unwrap_or(NEXT);
                Some((graph.part(*edge, "from_node")?, branch, graph.part(*edge, "to_node")?))
            })
            .collect();
        let start = graph.part(flow, "start_node");
        let reached = reached(start, &edges);
        let mut taken = HashSet::from(["input".to_owned(), "given".to_owned()]);
        let names = reached.iter().map(|node| (*node, unique(graph.text(*node, "name").unwrap_or("node"), &mut taken)));
        let parts = FlowParts { flow, names: names.collect() };
        let (mut nodes, mut written) = (Map::new(), Vec::new());
        for node in &reached {
            let name = parts.names[node].clone();
            let (mut described, confirmation) = self.node(&parts, *node)?;
            if let Some(confirm) = confirmation {
                described["confirmed"] = true.into();
                let ask = unique(&format!("confirm {name}"), &mut taken);
                let refused = unique(&format!("refuse {name}"), &mut taken);
                written.push(json!({"from": ask, "to": name, "branch": "yes"}));
                written.push(json!({"from": ask, "to": refused, "branch": "default"}));
                let message = format!("the call to {name} was not confirmed");
                nodes.insert(refused, json!({"answer": {"status": "failure", "message": message}}));
                nodes.insert(ask, confirm);
            }
            nodes.insert(name, described);
        }
        let entry = |node: &Key| {
            let name = &parts.names[node];
            let confirm = format!("confirm {name}");
            if nodes.contains_key(&confirm) { confirm } else { name.clone() }
        };
        for (from, branch, to) in edges.iter().filter(|(from, ..)| parts.names.contains_key(from)) {
            let has_branches = self.mapper.inference.branches(*from).effective().is_some_and(|all| all.len() > 1);
            let mut edge = json!({"from": parts.names[from], "to": entry(to)});
            if has_branches {
                edge["branch"] = (*branch).into();
            }
            written.push(edge);
        }
        let start = start.map(|start| parts.names[&start].clone()).unwrap_or_default();
        let links = self.links(&parts);
        Ok(json!({"start": start, "max_steps": MAX_STEPS, "nodes": nodes, "edges": written, "links": links}))
    }

    /// The name of the chain that a Flow becomes within another.
    fn part(&mut self, flow: Key) -> String {
        if let Some(name) = self.names.get(&flow) {
            return name.clone();
        }
        let mut taken: HashSet<String> = self.names.values().cloned().collect();
        let name = unique(self.mapper.graph.text(flow, "name").unwrap_or("flow"), &mut taken);
        self.names.insert(flow, name.clone());
        self.parts.push((flow, name.clone()));
        name
    }

    fn refuse(&mut self, node: Key, message: String) {
        let graph = self.mapper.graph;
        let (kind, name) = (graph.type_name(node), graph.text(node, "name").unwrap_or_default());
        self.findings.error(|| graph.at(node), "not-runnable", || format!("{kind} {name:?} can't be run: {message}"));
    }
}

/// The nodes that control edges lead to from the start, in that order.
fn reached(start: Option<Key>, edges: &[(Key, &str, Key)]) -> Vec<Key> {
    let mut following: HashMap<Key, Vec<Key>> = HashMap::new();
    for (from, _, to) in edges {
        following.entry(*from).or_default().push(*to);
    }
    let (mut seen, mut reached) = (Keys::default(), Vec::new());
    let mut open: Vec<Key> = start.into_iter().collect();
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            reached.push(node);
            open.extend(following.get(&node).into_iter().flatten().rev());
        }
    }
    reached
}

/// A name that references can have, and no other node has.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let clean: String =
        name.chars().map(|character| if ".[]{}/".contains(character) { '_' } else { character }).collect();
    let mut candidate = clean.clone();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{clean} {number}");
        number += 1;
    }
    candidate
}
