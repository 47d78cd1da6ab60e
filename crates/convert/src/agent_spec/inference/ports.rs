//! Ports: the declared or inferred inputs and outputs of components, as lists of properties.

use std::{cell::OnceCell, collections::HashMap, rc::Rc};

use super::super::{graph::Key, property::Property};

/// A side of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Side {
    Inputs,
    Outputs,
}

impl Side {
    /// Both of them.
    pub(in super::super) const BOTH: [Side; 2] = [Side::Inputs, Side::Outputs];

    /// The field that declares them.
    pub(in super::super) fn field(self) -> &'static str {
        match self {
            Side::Inputs => "inputs",
            Side::Outputs => "outputs",
        }
    }
}

/// Properties in order, found by title.
#[derive(Debug, Default)]
pub(in super::super) struct PropertyList<'d> {
    entries: Vec<Property<'d>>,
    by_title: OnceCell<HashMap<String, usize>>,
}

/// A list that several components may have.
pub(in super::super) type List<'d> = Rc<PropertyList<'d>>;

impl<'d> PropertyList<'d> {
    pub(super) fn new(entries: Vec<Property<'d>>) -> List<'d> {
        Rc::new(PropertyList { entries, by_title: OnceCell::new() })
    }

    /// All of them.
    pub(in super::super) fn as_slice(&self) -> &[Property<'d>] {
        &self.entries
    }

    /// True if there are none.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The first of a title.
    pub(in super::super) fn find(&self, title: &str) -> Option<&Property<'d>> {
        self.position(title).map(|position| &self.entries[position])
    }

    /// Finds the index of the first property of a title.
    pub(in super::super) fn position(&self, title: &str) -> Option<usize> {
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
pub(in super::super) struct Port<'d> {
    /// Properties that the component declares; none if it has no list of them.
    pub(in super::super) declared: Option<List<'d>>,
    /// Properties that follow from its configuration, if any do.
    pub(in super::super) generated: Option<Generated<'d>>,
}

/// Properties that follow from a component's configuration, with the deviations that a declaration may have.
#[derive(Debug, Clone)]
pub(in super::super) struct Generated<'d> {
    pub(in super::super) list: List<'d>,
    /// Properties that may be declared beyond `list`.
    pub(in super::super) further: Further<'d>,
    /// They come from placeholders, so that a declaration may give them another type.
    pub(in super::super) is_retypable: bool,
    /// There are schemas that the SDK can't compare.
    pub(in super::super) is_unsupported: bool,
}

/// Properties that may be declared beyond the generated ones.
#[derive(Debug, Clone)]
pub(in super::super) enum Further<'d> {
    Nothing,
    /// Some of these.
    Some(List<'d>),
    /// It can't be told.
    Anything,
}

impl<'d> Generated<'d> {
    pub(super) fn exactly(list: List<'d>) -> Generated<'d> {
        Generated { list, further: Further::Nothing, is_retypable: false, is_unsupported: false }
    }

    pub(super) fn of(entries: Vec<Property<'d>>) -> Generated<'d> {
        Generated::exactly(PropertyList::new(entries))
    }
}

impl<'d> Port<'d> {
    /// The declared ones, else the generated ones.
    pub(in super::super) fn effective(&self) -> Option<&List<'d>> {
        self.declared.as_ref().or_else(|| self.generated.as_ref().map(|generated| &generated.list))
    }

    /// The properties that the component has for others.
    pub(in super::super) fn properties(&self) -> &[Property<'d>] {
        self.effective().map_or(&[], |list| list.as_slice())
    }

    /// The property of a title.
    pub(in super::super) fn find(&self, title: &str) -> Option<&Property<'d>> {
        self.effective()?.find(title)
    }

    /// True if what the component has is known: a plugin's that declares nothing may have anything.
    pub(in super::super) fn is_known(&self) -> bool {
        self.effective().is_some()
    }
}

/// The inputs and outputs of the components so far, in the order of their keys.
#[derive(Debug)]
pub(super) struct Ports<'d> {
    inputs: Vec<Port<'d>>,
    outputs: Vec<Port<'d>>,
}

impl<'d> Ports<'d> {
    /// Empty, with the capacity for a number of them.
    pub(super) fn with_capacity(length: usize) -> Ports<'d> {
        Ports { inputs: Vec::with_capacity(length), outputs: Vec::with_capacity(length) }
    }

    /// Adds those of the next component.
    pub(super) fn push(&mut self, inputs: Port<'d>, outputs: Port<'d>) {
        self.inputs.push(inputs);
        self.outputs.push(outputs);
    }

    /// One side of a component.
    pub(super) fn port(&self, key: Key, side: Side) -> &Port<'d> {
        match side {
            Side::Inputs => &self.inputs[key.index()],
            Side::Outputs => &self.outputs[key.index()],
        }
    }
}
