//! Which inputs and outputs every component has: the ones that it declares, or else the ones that follow
//! from what it is made of.
//!
//! All are found in one pass, parts before what they are part of, and lists that several components have
//! in common exist once.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    rc::Rc,
};

use serde_json::Value;

use super::{
    Profile,
    effort::Effort,
    findings::Spot,
    graph::{Graph, Key},
    placeholders::{Collected, Within},
    property::Property,
    references::as_reference,
    sdk_types::Refusal,
};

mod branches;
mod generate;

pub(super) use self::{
    branches::{CAUGHT_EXCEPTION, NEXT},
    generate::{EXCEPTION_INFO, end_nodes},
};

/// Properties in order, found by title.
#[derive(Debug, Default)]
pub(super) struct PropertyList<'d> {
    entries: Vec<Property<'d>>,
    by_title: OnceCell<HashMap<String, usize>>,
}

/// A list that several components may have.
pub(super) type List<'d> = Rc<PropertyList<'d>>;

impl<'d> PropertyList<'d> {
    fn new(entries: Vec<Property<'d>>) -> List<'d> {
        Rc::new(PropertyList { entries, by_title: OnceCell::new() })
    }

    /// All of them.
    pub(super) fn as_slice(&self) -> &[Property<'d>] {
        &self.entries
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The first of a title.
    pub(super) fn find(&self, title: &str) -> Option<&Property<'d>> {
        self.position(title).map(|position| &self.entries[position])
    }

    /// Where the first of a title is.
    pub(super) fn position(&self, title: &str) -> Option<usize> {
        const SHORT: usize = 8;
        if self.entries.len() <= SHORT {
            return self.entries.iter().position(|property| property.title == title);
        }
        let index = self.by_title.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.entries.len());
            for (position, property) in self.entries.iter().enumerate() {
                index.entry(property.title.to_string()).or_insert(position);
            }
            index
        });
        index.get(title).copied()
    }
}

/// The inputs or the outputs of a component.
#[derive(Debug, Clone, Default)]
pub(super) struct Port<'d> {
    /// What the component says.
    pub(super) declared: Option<List<'d>>,
    /// What follows from its configuration, where something does.
    pub(super) generated: Option<Generated<'d>>,
}

/// What follows from a component's configuration.
#[derive(Debug, Clone)]
pub(super) struct Generated<'d> {
    pub(super) list: List<'d>,
    /// What may be declared besides.
    pub(super) further: Further<'d>,
    /// They come from placeholders, so that a declaration may give them another type.
    pub(super) is_retypable: bool,
    /// There are schemas that the SDK can't compare.
    pub(super) is_unsupported: bool,
}

/// What may be declared beyond what is generated.
#[derive(Debug, Clone)]
pub(super) enum Further<'d> {
    Nothing,
    /// Some of these.
    Some(List<'d>),
    /// It can't be told.
    Anything,
}

impl<'d> Generated<'d> {
    fn exactly(list: List<'d>) -> Generated<'d> {
        Generated { list, further: Further::Nothing, is_retypable: false, is_unsupported: false }
    }

    fn of(entries: Vec<Property<'d>>) -> Generated<'d> {
        Generated::exactly(PropertyList::new(entries))
    }
}

impl<'d> Port<'d> {
    /// The declared ones, else the generated ones.
    pub(super) fn effective(&self) -> Option<&List<'d>> {
        self.declared.as_ref().or_else(|| self.generated.as_ref().map(|generated| &generated.list))
    }

    /// The properties that the component has for others.
    pub(super) fn properties(&self) -> &[Property<'d>] {
        self.effective().map_or(&[], |list| list.as_slice())
    }

    /// The property of a title.
    pub(super) fn find(&self, title: &str) -> Option<&Property<'d>> {
        self.effective()?.find(title)
    }

    /// Whether what the component has is known: a plugin's that declares nothing may have anything.
    pub(super) fn is_known(&self) -> bool {
        self.effective().is_some()
    }
}

/// The inputs, outputs and branches of all components of a graph.
#[derive(Debug)]
pub(super) struct Inference<'d> {
    inputs: Vec<Port<'d>>,
    outputs: Vec<Port<'d>>,
    branches: branches::Branches<'d>,
}

/// Which side of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Inputs,
    Outputs,
}

impl Side {
    /// Both of them.
    pub(super) const BOTH: [Side; 2] = [Side::Inputs, Side::Outputs];

    /// The field that declares them.
    pub(super) fn field(self) -> &'static str {
        match self {
            Side::Inputs => "inputs",
            Side::Outputs => "outputs",
        }
    }
}

impl<'d> Inference<'d> {
    /// Finds them for every component of `graph`.
    pub(super) fn of(graph: &Graph<'d>, effort: &Effort) -> Inference<'d> {
        let mut builder = Builder { graph, effort, shared: HashMap::new(), done: Inference::empty(graph.len()) };
        for key in graph.keys() {
            builder.add(key);
        }
        builder.done
    }

    fn empty(length: usize) -> Inference<'d> {
        let (inputs, outputs) = (Vec::with_capacity(length), Vec::with_capacity(length));
        Inference { inputs, outputs, branches: branches::Branches::default() }
    }

    /// One side of a component.
    pub(super) fn port(&self, key: Key, side: Side) -> &Port<'d> {
        match side {
            Side::Inputs => &self.inputs[key.index()],
            Side::Outputs => &self.outputs[key.index()],
        }
    }

    /// The inputs of a component, declared or else inferred.
    pub(super) fn inputs(&self, key: Key) -> &[Property<'d>] {
        self.port(key, Side::Inputs).properties()
    }

    /// The outputs of a component, declared or else inferred.
    pub(super) fn outputs(&self, key: Key) -> &[Property<'d>] {
        self.port(key, Side::Outputs).properties()
    }

    /// Where the property at `position` on a side of a component is, or the component if it follows from that.
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
    pub(super) fn branches(&self, node: Key) -> &branches::NodeBranches<'d> {
        self.branches.of(node)
    }
}

struct Builder<'g, 'd> {
    graph: &'g Graph<'d>,
    effort: &'g Effort,
    /// Lists that several components refer to, by where they are.
    shared: HashMap<*const Value, List<'d>>,
    done: Inference<'d>,
}

impl<'d> Builder<'_, 'd> {
    fn add(&mut self, key: Key) {
        let (inputs, outputs) = match self.graph.is_plugin(key) || self.graph.is_a(key, "ComponentWithIO") {
            true => (self.declared(key, "inputs"), self.declared(key, "outputs")),
            false => (None, None),
        };
        let (mut inputs, mut outputs) =
            (Port { declared: inputs, generated: None }, Port { declared: outputs, generated: None });
        // What would take too much is left out, which the effort remembers.
        if let Ok(generated) = self.generate(key, &inputs.declared, &outputs.declared) {
            (inputs.generated, outputs.generated) = generated;
        }
        self.done.inputs.push(inputs);
        self.done.outputs.push(outputs);
        self.done.branches.add(self.graph, key, self.effort);
    }

    fn declared(&mut self, key: Key, field: &str) -> Option<List<'d>> {
        let Some(Value::Array(entries)) = self.graph.field(key, field) else { return None };
        let is_shared = self.graph.component(key).members.get(field).is_some_and(|value| as_reference(value).is_some());
        let place = is_shared.then_some(entries.as_ptr());
        if let Some(list) = place.and_then(|place| self.shared.get(&place)) {
            return Some(list.clone());
        }
        let given = entries.iter().filter_map(|entry| self.graph.resolve(entry)).filter(|entry| entry.is_object());
        let list = PropertyList::new(given.map(Property::given).collect());
        if let Some(place) = place {
            self.shared.insert(place, list.clone());
        }
        Some(list)
    }
}
