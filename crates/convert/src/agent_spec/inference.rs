//! Inputs and outputs of every component: declared explicitly, or inferred from its parts.
//!
//! A single pass infers all of them, parts before the components that contain them. A list shared by several components
//! is stored once.

mod branches;
mod generate;
mod ports;

use std::collections::HashMap;

use serde_json::Value;

use self::{
    branches::{Branches, NodeBranches},
    generate::Generator,
    ports::{Port, Ports, PropertyList},
};
pub(super) use self::{
    branches::{CAUGHT_EXCEPTION, NEXT},
    generate::{EXCEPTION_INFO, end_nodes},
    ports::{Further, Generated, List, Side},
};
use super::{
    findings::Spot,
    graph::{Graph, Key},
    property::Property,
    references::as_reference,
};
use crate::casting::effort::Effort;

/// The inputs, outputs and branches of all components of a graph.
#[derive(Debug)]
pub(super) struct Inference<'d> {
    ports: Ports<'d>,
    branches: Branches<'d>,
}

impl<'d> Inference<'d> {
    /// Finds them for every component of `graph`.
    pub(super) fn of(graph: &Graph<'d>, effort: &Effort) -> Inference<'d> {
        let mut ports = Ports::with_capacity(graph.len());
        let mut branches = Branches::default();
        let mut shared = Shared::new();
        for key in graph.keys() {
            let (mut inputs, mut outputs) = (Port::default(), Port::default());
            if graph.is_plugin(key) || graph.is_a(key, "ComponentWithIO") {
                inputs.declared = declared(graph, key, Side::Inputs, &mut shared);
                outputs.declared = declared(graph, key, Side::Outputs, &mut shared);
            }
            // What would take too much is left out, which the effort remembers.
            let generator = Generator { graph, effort, ports: &ports };
            if let Ok(generated) = generator.generate(key, &inputs.declared, &outputs.declared) {
                (inputs.generated, outputs.generated) = generated;
            }
            ports.push(inputs, outputs);
            branches.add(graph, key, effort);
        }
        Inference { ports, branches }
    }

    /// One side of a component.
    pub(super) fn port(&self, key: Key, side: Side) -> &Port<'d> {
        self.ports.port(key, side)
    }

    /// The inputs of a component, declared or else inferred.
    pub(super) fn inputs(&self, key: Key) -> &[Property<'d>] {
        self.port(key, Side::Inputs).properties()
    }

    /// The outputs of a component, declared or else inferred.
    pub(super) fn outputs(&self, key: Key) -> &[Property<'d>] {
        self.port(key, Side::Outputs).properties()
    }

    /// Returns the place of the property at `position` on a side of a component; of the component if the side is
    /// inferred.
    pub(super) fn spot(&self, graph: &Graph<'d>, key: Key, side: Side, position: usize) -> Spot {
        match self.port(key, side).declared {
            Some(_) => graph.at(key).member(side.field()).index(position),
            None => graph.at(key),
        }
    }

    /// The branches that the end nodes of a flow close, sorted.
    pub(super) fn end_branches(&self, flow: Key) -> &[&'d str] {
        self.branches.of_flow(flow)
    }

    /// The branches that can follow a node.
    pub(super) fn branches(&self, node: Key) -> &NodeBranches<'d> {
        self.branches.of(node)
    }
}

/// Lists that several components refer to, by where they are.
type Shared<'d> = HashMap<*const Value, List<'d>>;

fn declared<'d>(graph: &Graph<'d>, key: Key, side: Side, shared: &mut Shared<'d>) -> Option<List<'d>> {
    let Some(Value::Array(entries)) = graph.field(key, side.field()) else { return None };
    let is_shared = graph.component(key).members.get(side.field()).is_some_and(|value| as_reference(value).is_some());
    let place = is_shared.then_some(entries.as_ptr());
    if let Some(list) = place.and_then(|place| shared.get(&place)) {
        return Some(list.clone());
    }
    let given = entries.iter().filter_map(|entry| graph.resolve(entry)).filter(|entry| entry.is_object());
    let list = PropertyList::new(given.map(Property::given).collect());
    if let Some(place) = place {
        shared.insert(place, list.clone());
    }
    Some(list)
}
