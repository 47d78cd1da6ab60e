//! Data edges: from an output to an input that takes it, so that every input has a value.

use std::collections::HashSet;

use super::{super::graph::Keys, Demand, Key, Rules, Side, flows::FlowGraph, listed, quoted};
use crate::td::casting::describe;

impl Rules<'_, '_> {
    /// A data edge names an output and an input, and the one can be cast to the other.
    pub(super) fn data_edge(&mut self, edge: Key) {
        let graph = self.graph;
        let end = |node, property, side| {
            let node = graph.part(edge, node)?;
            let title = graph.text(edge, property)?;
            Some((self.inference.port(node, side), title))
        };
        let source = end("source_node", "source_output", Side::Outputs);
        let destination = end("destination_node", "destination_input", Side::Inputs);
        let mut ends = Vec::with_capacity(2);
        for (found, field, rule, what) in [
            (source, "source_output", "data-edge-unknown-output", "output"),
            (destination, "destination_input", "data-edge-unknown-input", "input"),
        ] {
            let Some((port, title)) = found.filter(|(port, _)| port.is_known()) else { continue };
            match port.find(title) {
                Some(property) => ends.push(property),
                None => self.report(
                    Demand::Both,
                    rule,
                    || graph.at(edge).member(field),
                    || {
                        let titles = listed(port.properties().iter().map(|property| &*property.title));
                        format!("the node has no {what} {}; it has: {titles}", quoted(title))
                    },
                ),
            }
        }
        let [output, input] = ends[..] else { return };
        if !self.casts(output, input, || graph.at(edge)) {
            self.report(
                Demand::Both,
                "data-edge-incompatible",
                || graph.at(edge),
                || {
                    let (from, to) = (describe(&output.schema()), describe(&input.schema()));
                    format!("an output of type {from} can't be cast to an input of type {to}")
                },
            );
        }
    }

    /// Data edges of a flow lead between its nodes.
    pub(super) fn data_edge_nodes(&mut self, flow: &FlowGraph<'_, '_>) {
        for (n, edge) in self.graph.parts(flow.flow, "data_flow_connections").iter().enumerate() {
            for field in ["source_node", "destination_node"] {
                let Some(node) = self.graph.part(*edge, field).filter(|node| !flow.lists(self, *node)) else {
                    continue;
                };
                let spot = || self.graph.at_part(flow.flow, "data_flow_connections", n);
                self.report(Demand::Both, "data-edge-foreign-node", spot, || {
                    let name = self.graph.text(node, "name").unwrap_or_default();
                    format!("the `{field}` {} isn't among the `nodes` of the flow", quoted(name))
                });
            }
        }
    }

    /// Every input of a node has a data edge to it or a default; where the flow says nothing of data edges,
    /// an output of the same name somewhere in the flow will do.
    pub(super) fn sources(&mut self, flow: &FlowGraph<'_, '_>) {
        let is_explicit = self.graph.field(flow.flow, "data_flow_connections").is_some_and(|edges| !edges.is_null());
        let mut fed: HashSet<(Key, &str)> = HashSet::new();
        let mut written: HashSet<&str> = HashSet::new();
        if is_explicit {
            for edge in self.graph.parts(flow.flow, "data_flow_connections") {
                let (node, input) =
                    (self.graph.part(*edge, "destination_node"), self.graph.text(*edge, "destination_input"));
                fed.extend(node.zip(input));
            }
        } else {
            for node in flow.nodes {
                let port = self.inference.port(*node, Side::Outputs);
                if !port.is_known() || !self.affords(port.properties().len()) {
                    return;
                }
                written.extend(port.properties().iter().map(|output| &*output.title));
            }
        }
        let mut known = Keys::default();
        for (n, node) in flow.nodes.iter().enumerate() {
            // The inputs of the StartNode are those of the flow, which its caller gives.
            if self.graph.is_a(*node, "StartNode") || !known.insert(*node) {
                continue;
            }
            let inputs = self.inference.inputs(*node);
            if !self.affords(inputs.len()) {
                return;
            }
            for input in inputs {
                let has_source =
                    if is_explicit { fed.contains(&(*node, &*input.title)) } else { written.contains(&*input.title) };
                if has_source || input.has_default() {
                    continue;
                }
                let spot = || self.graph.at_part(flow.flow, "nodes", n);
                self.report(Demand::Text, "input-without-source", spot, || {
                    let source = if is_explicit { "data edge leads to" } else { "output has the name of" };
                    format!("no {source} the input {}, which has no default", quoted(&input.title))
                });
            }
        }
    }
}
