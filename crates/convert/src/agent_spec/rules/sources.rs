//! Rules for the sources of node inputs: data edges or, if a flow has none, outputs with the same name. A source must
//! have a compatible type and belong to a node that runs earlier.

use std::{cell::Cell, collections::HashMap};

use super::{
    super::{graph::Keys, property::Property},
    Demand, Key, Profile, Rules, Side,
    flows::FlowGraph,
    quoted,
};

/// Outputs of one name whose types differ are compared up to this many.
const MOST_TYPES: usize = 8;
/// Maximum number of steps against the control flow, for each node of a flow and again for each that an edge leaves.
const STEPS_BACK: usize = 64;

/// The sources of the inputs of a flow's nodes.
enum Sources<'r, 'd> {
    /// Data edges: to each input of a node from these, in order.
    Edges(HashMap<(Key, &'d str), Vec<Key>>),
    /// Outputs, by their names.
    Names(HashMap<&'r str, Outputs<'r, 'd>>),
}

/// Outputs of one name.
#[derive(Default)]
struct Outputs<'r, 'd> {
    nodes: Keys,
    /// One of each type; none where there are too many.
    types: Option<Vec<&'r Property<'d>>>,
}

impl<'r, 'd> Rules<'r, 'd> {
    /// Every input of a node has a data edge to it or a default; where the flow says nothing of data edges,
    /// an output of the same name will do. The value has to be there when the node runs.
    pub(super) fn sources(&mut self, flow: &FlowGraph<'r, 'd>, reachable: &Keys) {
        let is_explicit = self.graph.field(flow.flow, "data_flow_connections").is_some_and(|edges| !edges.is_null());
        let sources = if is_explicit { Some(self.edges(flow)) } else { self.names(flow) };
        let Some(sources) = sources else { return };
        let steps = Cell::new(STEPS_BACK * (flow.nodes.len() + flow.following.len()));
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
                self.source(flow, &sources, (n, *node, input), |is_source| {
                    !reachable.contains(*node) || flow.may_run_before(*node, is_source, &steps)
                });
            }
        }
    }

    /// Checks one input of a node, the `n`th of the flow.
    fn source(
        &mut self,
        flow: &FlowGraph<'r, 'd>,
        sources: &Sources<'r, 'd>,
        (n, node, input): (usize, Key, &Property<'d>),
        may_run_before: impl FnOnce(&dyn Fn(Key) -> bool) -> bool,
    ) {
        let spot = || self.graph.at_part(flow.flow, "nodes", n);
        let title = &*input.title;
        let (has_source, is_there) = match sources {
            Sources::Edges(edges) => match edges.get(&(node, title)) {
                Some(from) => (true, input.has_default() || may_run_before(&|node| from.binary_search(&node).is_ok())),
                None => (false, false),
            },
            Sources::Names(names) => match names.get(title) {
                Some(outputs) => {
                    self.named_type(input, outputs, spot);
                    (true, input.has_default() || may_run_before(&|node| outputs.nodes.contains(node)))
                }
                None => (false, false),
            },
        };
        if !has_source && !input.has_default() {
            self.report(Demand::Text, "input-without-source", spot, || {
                let source = match sources {
                    Sources::Edges(_) => "data edge leads to",
                    Sources::Names(_) => "output has the same name as",
                };
                format!("no {source} the input {}, which has no default", quoted(title))
            });
        } else if has_source && !is_there {
            self.report(Demand::Text, "input-before-source", spot, || {
                format!(
                    "no node that provides the input {} can run before this node, and the input has no default",
                    quoted(title)
                )
            });
        }
    }

    /// Checks that an output with the name of an input can be cast to it.
    fn named_type(&mut self, input: &Property<'d>, outputs: &Outputs<'r, 'd>, spot: impl Fn() -> super::Spot) {
        let Some(types) = &outputs.types else { return };
        // A comparison that takes too long is reported for the document as a whole.
        let fits = types.iter().any(|output| output.casts_to(input, Profile::Spec, self.effort).unwrap_or(true));
        if !fits {
            self.report(Demand::Text, "input-source-type", spot, || {
                format!(
                    "no output with the same name as the input {} can be cast to the type of the input",
                    quoted(&input.title)
                )
            });
        }
    }

    fn edges(&self, flow: &FlowGraph<'r, 'd>) -> Sources<'r, 'd> {
        let mut edges: HashMap<(Key, &str), Vec<Key>> = HashMap::new();
        for edge in self.graph.parts(flow.flow, "data_flow_connections") {
            let ends = ["source_node", "destination_node"].map(|field| self.graph.part(*edge, field));
            let input = self.graph.text(*edge, "destination_input");
            if let ([Some(from), Some(to)], Some(input)) = (ends, input) {
                edges.entry((to, input)).or_default().push(from);
            }
        }
        edges.values_mut().for_each(|from| from.sort_unstable());
        Sources::Edges(edges)
    }

    /// Nothing where the outputs of a node aren't known.
    fn names(&self, flow: &FlowGraph<'r, 'd>) -> Option<Sources<'r, 'd>> {
        let inference = self.inference;
        let mut names: HashMap<&str, Outputs<'r, 'd>> = HashMap::new();
        for node in flow.nodes {
            let port = inference.port(*node, Side::Outputs);
            if !port.is_known() || !self.affords(port.properties().len()) {
                return None;
            }
            for output in port.properties() {
                let outputs = names
                    .entry(&output.title)
                    .or_insert_with(|| Outputs { types: Some(Vec::new()), ..Outputs::default() });
                outputs.nodes.insert(*node);
                outputs.add_type(output);
            }
        }
        Some(Sources::Names(names))
    }
}

impl<'r, 'd> Outputs<'r, 'd> {
    fn add_type(&mut self, output: &'r Property<'d>) {
        let Some(types) = &mut self.types else { return };
        // What many nodes run has the same outputs, which needn't be compared in full.
        let is_known = |is_same| types.iter().any(|known| output.has_schema_of(known, is_same));
        match is_known(|one, other| std::ptr::eq(one, other)) || is_known(|one, other| one == other) {
            true => {}
            false if types.len() < MOST_TYPES => types.push(output),
            false => self.types = None,
        }
    }
}

impl FlowGraph<'_, '_> {
    /// True if control edges lead from a source to the node; so it is taken to be once the steps are used up.
    fn may_run_before(&self, node: Key, is_source: &dyn Fn(Key) -> bool, steps: &Cell<usize>) -> bool {
        // Everything that is reached is so from the start.
        if self.start.is_some_and(|start| start != node && is_source(start)) {
            return true;
        }
        let mut known = Keys::default();
        let mut pending = vec![node];
        while let Some(next) = pending.pop() {
            for before in self.preceding.get(&next).map_or(&[][..], Vec::as_slice) {
                if is_source(*before) || steps.get() == 0 {
                    return true;
                }
                steps.set(steps.get() - 1);
                if known.insert(*before) {
                    pending.push(*before);
                }
            }
        }
        false
    }
}
