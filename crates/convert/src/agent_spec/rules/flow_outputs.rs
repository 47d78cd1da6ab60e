//! Rules for the outputs of flows, each of which is an output of an end node or has a default.

use std::collections::HashMap;

use super::{
    super::{
        inference::{List, end_nodes},
        property::Property,
    },
    Demand, Key, Profile, Rules, Side, quoted,
};
use crate::casting::describe;

impl<'d> Rules<'_, 'd> {
    pub(super) fn flow_outputs(&mut self, flow: Key) {
        let ends = end_nodes(self.graph, flow);
        self.agreeing_ends(&ends);
        let lists: Vec<List<'d>> = ends
            .iter()
            .map(|end| self.inference.port(*end, Side::Outputs).effective().cloned().unwrap_or_default())
            .collect();
        let outputs = self.inference.port(flow, Side::Outputs);
        for (position, output) in outputs.properties().iter().enumerate() {
            if !self.affords(lists.len()) {
                return;
            }
            self.flow_output(flow, output, position, &lists);
        }
    }

    /// Outputs of the same name have the same type in all end nodes of a flow.
    fn agreeing_ends(&mut self, ends: &[Key]) {
        let mut known: HashMap<&str, &Property<'d>> = HashMap::new();
        for end in ends {
            let port = self.inference.port(*end, Side::Outputs);
            self.titles_needed(*end, Side::Outputs, "an end node");
            if ends.len() < 2 || !self.affords(port.properties().len()) {
                return;
            }
            for (position, output) in port.properties().iter().enumerate() {
                let Some(first) = known.get(&*output.title).copied() else {
                    known.insert(&output.title, output);
                    continue;
                };
                let spot = || self.inference.spot(self.graph, *end, Side::Outputs, position);
                if !self.is_same_type(output, first, spot) {
                    self.report(
                        Demand::Both,
                        "end-outputs-conflict",
                        || self.inference.spot(self.graph, *end, Side::Outputs, position),
                        || {
                            let (here, there) = (describe(&output.schema()), describe(&first.schema()));
                            format!(
                                "{} has the type {here} in this end node, but {there} in another end node of the flow",
                                quoted(&output.title)
                            )
                        },
                    );
                }
            }
        }
    }

    fn flow_output(&mut self, flow: Key, output: &Property<'d>, position: usize, ends: &[List<'d>]) {
        let spot = || self.inference.spot(self.graph, flow, Side::Outputs, position);
        let name = || quoted(&output.title);
        let given: Vec<&Property<'d>> = ends.iter().filter_map(|end| end.find(&output.title)).collect();
        let is_text = self.profile() == Profile::Spec;
        if given.len() < ends.len() && !output.has_default() {
            self.report(Demand::Both, "flow-output-without-default", spot, || {
                format!("{} needs a default, because not every end node has this output", name())
            });
            return;
        }
        if given.is_empty() && is_text {
            self.report(Demand::Nobody, "flow-output-unknown", spot, || {
                format!("no end node has an output {}, so this output of the flow always has its default value", name())
            });
        }
        for end in given {
            // The SDK compares the types of those without a default only, and takes no conversion.
            let fits = match is_text {
                true => self.casts(end, output, spot),
                false => output.has_default() || self.is_same_type(end, output, spot),
            };
            if !fits {
                self.report(Demand::Both, "flow-output-type", spot, || {
                    let (from, to) = (describe(&end.schema()), describe(&output.schema()));
                    format!("{} has the type {to} in the Flow, but the incompatible type {from} in an end node", name())
                });
                return;
            }
        }
    }
}
