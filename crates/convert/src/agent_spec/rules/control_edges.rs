//! Rules for control edges, which connect nodes of the same flow: one edge starts from each branch
//! of a node.

use std::collections::{HashMap, HashSet};

use super::{
    super::{graph::Keys, inference::NEXT},
    Demand, Key, Rules,
    flows::FlowGraph,
    listed, quoted,
};

impl<'d> Rules<'_, 'd> {
    pub(super) fn control_edges(&mut self, flow: &FlowGraph<'_, '_>) {
        let mut leaving: HashMap<(Key, &str), usize> = HashMap::new();
        let mut branches: HashMap<Key, HashSet<&str>> = HashMap::new();
        for (n, edge) in self.graph.parts(flow.flow, "control_flow_connections").iter().enumerate() {
            let spot = || self.graph.at_part(flow.flow, "control_flow_connections", n);
            let (from, to) = (self.graph.part(*edge, "from_node"), self.graph.part(*edge, "to_node"));
            if let Some(to) = to {
                self.listed_end(flow, *edge, "to_node", to, n);
                if self.graph.is_a(to, "StartNode") {
                    self.report(
                        Demand::Both,
                        "control-edge-to-start",
                        spot,
                        || "a control edge can't lead to a StartNode",
                    );
                }
            }
            let Some(from) = from else { continue };
            self.listed_end(flow, *edge, "from_node", from, n);
            if self.graph.is_a(from, "EndNode") {
                self.report(
                    Demand::Both,
                    "control-edge-from-end",
                    spot,
                    || "a control edge can't start from an EndNode",
                );
                continue;
            }
            let branch = self.graph.text(*edge, "from_branch").unwrap_or(NEXT);
            let known = branches.entry(from).or_insert_with(|| self.branch_names(from));
            if !known.is_empty() && !known.contains(branch) {
                self.unknown_branch(from, branch, *edge);
            }
            // The SDK counts those of the start node only, whatever their branch is.
            let is_start = flow.start == Some(from);
            let count = leaving.entry((from, if is_start { NEXT } else { branch })).or_default();
            *count += 1;
            if *count == 2 {
                let demand = if is_start { Demand::Both } else { Demand::Text };
                self.report(demand, "control-edge-repeated", spot, || match is_start {
                    true => "another control edge also starts from the start node; remove one of them".to_owned(),
                    false => format!(
                        "another control edge also starts from the branch {} of the same node; remove one of them",
                        quoted(branch)
                    ),
                });
            }
        }
    }

    fn listed_end(&mut self, flow: &FlowGraph<'_, '_>, edge: Key, field: &'static str, node: Key, n: usize) {
        if flow.lists(self, node) {
            return;
        }
        let spot = || self.graph.at_part(flow.flow, "control_flow_connections", n);
        self.report(Demand::Both, "control-edge-foreign-node", spot, || {
            let name = self.graph.text(edge, "name").unwrap_or_default();
            format!("the `{field}` of the edge {} isn't among the `nodes` of the flow", quoted(name))
        });
    }

    /// The branches of a node, none if they aren't known.
    fn branch_names(&self, node: Key) -> HashSet<&'d str> {
        let names = self.inference.branches(node).effective().unwrap_or_default();
        if self.affords(names.len()) { names.iter().copied().collect() } else { HashSet::new() }
    }

    fn unknown_branch(&mut self, from: Key, branch: &str, edge: Key) {
        let spot = || self.graph.at(edge).member("from_branch");
        self.report(Demand::Text, "control-edge-unknown-branch", spot, || {
            let known = self.inference.branches(from).effective().unwrap_or_default();
            format!("the node has no branch {}; its branches are: {}", quoted(branch), listed(known.iter().copied()))
        });
    }

    /// From every branch of a node that can be reached an edge leads on.
    pub(super) fn connected_branches(&mut self, flow: &FlowGraph<'_, '_>, reachable: &Keys) {
        let edges = self.graph.parts(flow.flow, "control_flow_connections");
        let mut connected: HashSet<(Key, &str)> = HashSet::with_capacity(edges.len());
        for edge in edges {
            if let Some(from) = self.graph.part(*edge, "from_node") {
                connected.insert((from, self.graph.text(*edge, "from_branch").unwrap_or(NEXT)));
            }
        }
        let mut known = Keys::default();
        for (n, node) in flow.nodes.iter().enumerate() {
            if !reachable.contains(*node) || !known.insert(*node) {
                continue;
            }
            let branches = self.inference.branches(*node).effective().unwrap_or_default();
            if !self.affords(branches.len()) {
                return;
            }
            for branch in branches.iter().filter(|branch| !connected.contains(&(*node, **branch))) {
                let is_start = flow.start == Some(*node) && !flow.following.contains_key(node);
                let demand = if is_start { Demand::Both } else { Demand::Text };
                let spot = || self.graph.at_part(flow.flow, "nodes", n);
                self.report(demand, "branch-unconnected", spot, || {
                    format!("no control edge starts from the branch {} of this node", quoted(branch))
                });
            }
        }
    }
}
