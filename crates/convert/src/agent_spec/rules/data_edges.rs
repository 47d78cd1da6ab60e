//! Rules for data edges, which connect an output to an input of a compatible type.

use super::{Demand, Rules, Side, flows::FlowGraph, listed, quoted};
use crate::casting::describe;

impl Rules<'_, '_> {
    /// A data edge names an output and an input, and the one can be cast to the other.
    pub(super) fn data_edge(&mut self, edge: super::Key) {
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
                        format!("the node has no {what} {}; its {what}s are: {titles}", quoted(title))
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
                    format!("the node {} (`{field}`) isn't among the `nodes` of the flow", quoted(name))
                });
            }
        }
    }
}
