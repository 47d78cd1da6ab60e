//! Rules for flows: the required nodes, and the connections between nodes.

use std::collections::{HashMap, HashSet};

use super::{super::graph::Keys, Demand, Key, Profile, Rules, Side, quoted};

/// A flow with its nodes and control edges, for all that is checked of them.
pub(super) struct FlowGraph<'r, 'd> {
    pub(super) flow: Key,
    pub(super) start: Option<Key>,
    /// The nodes that are listed, as often as they are.
    pub(super) nodes: &'r [Key],
    /// Ids of the nodes that are listed, which the SDK goes by.
    ids: HashSet<&'d str>,
    listed: Keys,
    /// Nodes that the edges of each node lead to.
    pub(super) following: HashMap<Key, Vec<Key>>,
    /// Nodes that the edges to each node come from.
    pub(super) preceding: HashMap<Key, Vec<Key>>,
    /// The nodes that an edge leads to.
    pub(super) entered: Keys,
}

impl FlowGraph<'_, '_> {
    /// True if a node is among those of the flow.
    pub(super) fn lists(&self, rules: &Rules<'_, '_>, node: Key) -> bool {
        self.listed.contains(node)
            || rules.profile() == Profile::Sdk && rules.graph.id(node).is_some_and(|id| self.ids.contains(id))
    }
}

impl<'r, 'd> Rules<'r, 'd> {
    pub(super) fn flow(&mut self, key: Key) {
        let flow = self.flow_graph(key);
        self.start_node(&flow);
        self.end_nodes(&flow);
        self.listed_twice(&flow);
        self.control_edges(&flow);
        let reachable = self.reachable(&flow);
        self.connected_branches(&flow, &reachable);
        self.data_edge_nodes(&flow);
        self.sources(&flow, &reachable);
        self.flow_outputs(key);
        self.titles_needed(key, Side::Outputs, "a flow");
    }

    fn flow_graph(&self, flow: Key) -> FlowGraph<'r, 'd> {
        let graph = self.graph;
        let nodes = graph.parts(flow, "nodes");
        let mut following: HashMap<Key, Vec<Key>> = HashMap::new();
        let mut preceding: HashMap<Key, Vec<Key>> = HashMap::new();
        let mut entered = Keys::default();
        for edge in graph.parts(flow, "control_flow_connections") {
            let (from, to) = (graph.part(*edge, "from_node"), graph.part(*edge, "to_node"));
            to.map(|to| entered.insert(to));
            if let (Some(from), Some(to)) = (from, to) {
                following.entry(from).or_default().push(to);
                preceding.entry(to).or_default().push(from);
            }
        }
        let ids = nodes.iter().filter_map(|node| graph.id(*node)).collect();
        let listed = nodes.iter().copied().collect();
        FlowGraph { flow, start: graph.part(flow, "start_node"), nodes, ids, listed, following, preceding, entered }
    }

    /// There is exactly one StartNode, it is listed, and it is the `start_node`.
    fn start_node(&mut self, flow: &FlowGraph<'_, '_>) {
        let starts: Vec<Key> = flow.nodes.iter().copied().filter(|node| self.graph.is_a(*node, "StartNode")).collect();
        let Some(start) = flow.start else { return };
        let spot = || self.graph.at(flow.flow).member("start_node");
        match starts[..] {
            [only] if only == start => {}
            [_] => self.report(
                Demand::Both,
                "flow-start-node",
                spot,
                || "`start_node` must be the StartNode in the `nodes` of the flow",
            ),
            [] => self.report(
                Demand::Both,
                "flow-start-node",
                spot,
                || "the `nodes` of the flow contain no StartNode; add one, and refer to it in `start_node`",
            ),
            [..] => {
                let count = starts.len();
                let spot = || self.graph.at(flow.flow).member("nodes");
                self.report(Demand::Both, "flow-start-node", spot, || {
                    format!("the `nodes` of the flow contain {count} StartNodes; exactly one is needed")
                });
            }
        }
    }

    fn end_nodes(&mut self, flow: &FlowGraph<'_, '_>) {
        let mut has_any = false;
        for (n, node) in flow.nodes.iter().enumerate() {
            if !self.graph.is_a(*node, "EndNode") {
                continue;
            }
            has_any = true;
            if !flow.entered.contains(*node) {
                let spot = || self.graph.at_part(flow.flow, "nodes", n);
                self.report(
                    Demand::Both,
                    "flow-end-node-not-entered",
                    spot,
                    || "no control edge leads to this end node",
                );
            }
        }
        if !has_any {
            let spot = || self.graph.at(flow.flow).member("nodes");
            self.report(
                Demand::Both,
                "flow-end-node-missing",
                spot,
                || "there is no EndNode; a flow needs at least one",
            );
        }
    }

    fn listed_twice(&mut self, flow: &FlowGraph<'_, '_>) {
        let mut known = Keys::default();
        for (n, node) in flow.nodes.iter().enumerate() {
            // Of a StartNode that is listed twice that is reported already.
            if !known.insert(*node) && !self.graph.is_a(*node, "StartNode") {
                let spot = || self.graph.at_part(flow.flow, "nodes", n);
                self.report(Demand::Nobody, "flow-node-repeated", spot, || "the node is listed twice");
            }
        }
    }

    /// The nodes that control edges lead to from the start, itself included.
    fn reachable(&mut self, flow: &FlowGraph<'_, '_>) -> Keys {
        let mut reachable: Keys = flow.start.into_iter().collect();
        let mut pending: Vec<Key> = flow.start.into_iter().collect();
        while let Some(node) = pending.pop() {
            let next = flow.following.get(&node).map_or(&[][..], Vec::as_slice);
            pending.extend(next.iter().copied().filter(|next| reachable.insert(*next)));
        }
        let mut known = Keys::default();
        for (n, node) in flow.nodes.iter().enumerate() {
            let is_told = self.graph.is_a(*node, "StartNode")
                || self.graph.is_a(*node, "EndNode") && !flow.entered.contains(*node);
            if !is_told && !reachable.contains(*node) && known.insert(*node) {
                let spot = || self.graph.at_part(flow.flow, "nodes", n);
                self.report(Demand::Text, "flow-node-unreachable", spot, || {
                    let name = self.graph.text(*node, "name").unwrap_or_default();
                    format!("no path of control edges leads from the start node to {}", quoted(name))
                });
            }
        }
        reachable
    }
}
