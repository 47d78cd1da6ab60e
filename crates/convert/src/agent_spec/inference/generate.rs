//! Inputs and outputs inferred from the configuration of a component, for each type.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    super::{
        Profile,
        graph::{Graph, Key, Keys},
        placeholders::{Collected, Within},
        property::Property,
        types::{Io, Outputs},
    },
    ports::{Further, Generated, List, Ports, PropertyList, Side},
};
use crate::casting::effort::{Effort, Refusal};

/// The output of a node that asks a language model.
const GENERATED_TEXT: &str = "generated_text";
/// The output of a node that makes a request.
const RESPONSE: &str = "response";
/// The output of a node that waits for its user.
const USER_INPUT: &str = "user_input";
/// The input of a node that chooses a branch.
const BRANCHING_KEY: &str = "branching_mapping_key";
/// The output that tells of an exception.
pub(in super::super) const EXCEPTION_INFO: &str = "caught_exception_info";

type Outcome<'d> = Result<Option<Generated<'d>>, Refusal>;
type Sides<'d> = (Option<Generated<'d>>, Option<Generated<'d>>);
type Declared<'a, 'd> = &'a Option<List<'d>>;

/// The graph, and the inputs and outputs of the components so far, from which those of the next one follow.
pub(super) struct Generator<'g, 'd> {
    pub(super) graph: &'g Graph<'d>,
    pub(super) effort: &'g Effort,
    pub(super) ports: &'g Ports<'d>,
}

impl<'d> Generator<'_, 'd> {
    pub(super) fn generate(
        &self,
        key: Key,
        inputs: Declared<'_, 'd>,
        outputs: Declared<'_, 'd>,
    ) -> Result<Sides<'d>, Refusal> {
        let Some(known) = self.graph.known(key) else { return Ok((None, None)) };
        let part = |field| self.graph.part(key, field);
        Ok(match known.io {
            Io::Declared => (own(inputs), own(outputs)),
            Io::Template { outputs: which, .. } => (self.placeholders(key), self.outputs_of(which, outputs)),
            Io::Choice => (Some(one_named_as(inputs, BRANCHING_KEY)), Some(Generated::of(Vec::new()))),
            Io::Mirror => (Some(mirror(inputs, outputs)), Some(mirror(outputs, inputs))),
            Io::Part(field, _) => self.same_as(part(field)),
            Io::Caught => self.catching(key)?,
            Io::Mapped => (self.iterated(key)?, self.collected(key)?),
            Io::Parallel => self.parallel(key, inputs, outputs)?,
            Io::Specialized => (self.specialised(key, Side::Inputs)?, self.specialised(key, Side::Outputs)?),
            Io::Flow => (self.same_as(part("start_node")).0, self.flow_outputs(key, outputs)?),
        })
    }

    fn outputs_of(&self, which: Outputs, declared: Declared<'_, 'd>) -> Option<Generated<'d>> {
        let has_any = || declared.as_ref().is_some_and(|list| !list.is_empty());
        match which {
            Outputs::Declared => own(declared),
            Outputs::Nothing => Some(Generated::of(Vec::new())),
            Outputs::Generated => (!has_any()).then(|| Generated::of(vec![Property::text(GENERATED_TEXT)])),
            Outputs::Response => declared.is_none().then(|| Generated::of(vec![Property::any(RESPONSE)])),
            Outputs::Message => Some(one_named_as(declared, USER_INPUT)),
        }
    }

    fn effective(&self, key: Key, side: Side) -> Option<&List<'d>> {
        self.ports.port(key, side).effective()
    }

    /// Returns the inputs and outputs of a part, which declared ones must match exactly; none where these aren't known.
    fn same_as(&self, part: Option<Key>) -> Sides<'d> {
        let side = |side| self.effective(part?, side).cloned().map(Generated::exactly);
        (side(Side::Inputs), side(Side::Outputs))
    }

    /// One string for each placeholder in the fields that have any.
    fn placeholders(&self, key: Key) -> Option<Generated<'d>> {
        let known = self.graph.known(key)?;
        let is_spec = self.graph.profile == Profile::Spec;
        // The SDK takes the names of members for templates as well; to the text only values are.
        let within = if is_spec { Within::Values } else { Within::NamesAndValues };
        let mut collected = Collected::default();
        let (mut optional, mut is_open, mut is_withheld) = (Collected::default(), false, false);
        for field in known.fields().iter().filter(|field| field.has_placeholders) {
            is_withheld |= self.graph.is_withheld(key, field.name);
            let Some(value) = self.graph.field(key, field.name) else { continue };
            collected.add(value, within);
            optional.add(value, Within::NamesAndValues);
        }
        if is_spec && known.is_a("RemoteTool") {
            is_open = self.graph.is_withheld(key, "sensitive_headers");
            self.graph.field(key, "sensitive_headers").into_iter().for_each(|headers| collected.add(headers, within));
        }
        // What else a request takes may follow from the API's own description, which nobody fetches here.
        is_open |= is_spec && known.is_a("ApiNode") && self.graph.text(key, "api_spec_uri").is_some();
        // What was held back may ask for anything: without a declaration nobody knows.
        if is_withheld && !matches!(self.graph.field(key, "inputs"), Some(Value::Array(_))) {
            return None;
        }
        let further = match is_spec {
            _ if is_withheld => Further::Anything,
            true if is_open => Further::Anything,
            true => Further::Some(texts(optional)),
            false => Further::Nothing,
        };
        Some(Generated { further, is_retypable: true, ..Generated::exactly(texts(collected)) })
    }

    fn catching(&self, key: Key) -> Result<Sides<'d>, Refusal> {
        let Some(subflow) = self.graph.part(key, "subflow") else { return Ok((None, None)) };
        let (inputs, outputs) = self.same_as(Some(subflow));
        let mut entries = self.copied(outputs.as_ref().map(|outputs| &outputs.list))?;
        if entries.iter().all(|property| property.title != EXCEPTION_INFO) {
            entries.push(Property::optional_text(EXCEPTION_INFO));
        }
        Ok((inputs, outputs.map(|_| Generated::of(entries))))
    }

    fn copied(&self, list: Option<&List<'d>>) -> Result<Vec<Property<'d>>, Refusal> {
        let entries = list.map_or(&[][..], |list| list.as_slice());
        self.effort.spend(entries.len())?;
        Ok(entries.to_vec())
    }

    fn iterated(&self, key: Key) -> Outcome<'d> {
        let subflow = self.graph.part(key, "subflow");
        let Some(inner) = subflow.and_then(|subflow| self.effective(subflow, Side::Inputs)) else { return Ok(None) };
        self.effort.spend(4 * inner.as_slice().len())?;
        let iterate = |input: &Property<'d>| input.one_or_many(format!("iterated_{}", input.title));
        Ok(Some(Generated::of(inner.as_slice().iter().map(iterate).collect())))
    }

    fn collected(&self, key: Key) -> Outcome<'d> {
        let subflow = self.graph.part(key, "subflow");
        let Some(inner) = subflow.and_then(|subflow| self.effective(subflow, Side::Outputs)) else { return Ok(None) };
        self.effort.spend(4 * inner.as_slice().len())?;
        let reducers = self.graph.field(key, "reducers").and_then(Value::as_object);
        let (mut entries, mut unreduced) = (Vec::new(), Vec::new());
        for output in inner.as_slice() {
            let title = format!("collected_{}", output.title);
            let reducer = reducers.map(|reducers| reducers.get(&*output.title).and_then(Value::as_str));
            match reducer {
                None | Some(Some("append")) => entries.push(output.many(title)),
                Some(Some(_)) => entries.push(output.renamed(title)),
                Some(None) => unreduced.push(output.many(title)),
            }
        }
        let mut generated = Generated::of(entries);
        if self.graph.profile == Profile::Spec && !unreduced.is_empty() {
            // The text says what becomes of all outputs and of those with a reducer, but not of the others.
            generated.further = Further::Some(PropertyList::new(unreduced));
        }
        Ok(Some(generated))
    }

    /// The union of the subflows' properties; of outputs, whose names must differ, all. The SDK asks for it
    /// only if nothing is declared.
    fn parallel(&self, key: Key, inputs: Declared<'_, 'd>, outputs: Declared<'_, 'd>) -> Result<Sides<'d>, Refusal> {
        let is_asked = |declared: Declared<'_, 'd>| self.graph.profile == Profile::Spec || declared.is_none();
        let subflows = self.subflows(key);
        let inputs = if is_asked(inputs) { self.union(&subflows, Side::Inputs, Merging::SameType)? } else { None };
        let outputs = if is_asked(outputs) { self.union(&subflows, Side::Outputs, Merging::Never)? } else { None };
        Ok((inputs, outputs))
    }

    /// Each subflow, those that are there more often twice: a third time says nothing more.
    fn subflows(&self, key: Key) -> Vec<Key> {
        let mut count: HashMap<Key, usize> = HashMap::new();
        let few = |subflow: &Key| {
            let count = count.entry(*subflow).or_default();
            *count += 1;
            *count <= 2
        };
        self.graph.parts(key, "subflows").iter().copied().filter(few).collect()
    }

    fn specialised(&self, key: Key, side: Side) -> Outcome<'d> {
        let parts = ["agent", "agent_specialization_parameters"].map(|field| self.graph.part(key, field));
        let parts: Vec<Key> = parts.into_iter().flatten().collect();
        if parts.len() == 2 { self.union(&parts, side, Merging::SameType) } else { Ok(None) }
    }

    /// The properties of several components.
    fn union(&self, of: &[Key], side: Side, merging: Merging) -> Outcome<'d> {
        let mut entries: Vec<Property<'d>> = Vec::new();
        let mut by_title: HashMap<String, Vec<usize>> = HashMap::new();
        let mut is_unsupported = false;
        for part in of {
            let Some(list) = self.effective(*part, side) else { return Ok(None) };
            for property in list.as_slice() {
                self.effort.spend(2)?;
                let known = by_title.entry(property.title.to_string()).or_default();
                let mut is_known = false;
                for position in known.iter().filter(|_| merging == Merging::SameType) {
                    match property.is_same_type(&entries[*position], self.graph.profile, self.effort) {
                        Ok(same) => is_known = same,
                        Err(Refusal::Unsupported) => (is_known, is_unsupported) = (true, true),
                        Err(Refusal::TooComplex) => return Err(Refusal::TooComplex),
                    }
                    if is_known {
                        break;
                    }
                }
                if !is_known {
                    known.push(entries.len());
                    entries.push(property.clone());
                }
            }
        }
        Ok(Some(Generated { is_unsupported, ..Generated::of(entries) }))
    }

    /// Unless it says otherwise, a flow has the outputs that all its end nodes have.
    fn flow_outputs(&self, key: Key, declared: Declared<'_, 'd>) -> Outcome<'d> {
        if declared.is_some() {
            return Ok(None);
        }
        let ends = end_nodes(self.graph, key);
        let mut lists = Vec::with_capacity(ends.len());
        for end in &ends {
            lists.push(self.effective(*end, Side::Outputs).cloned().unwrap_or_default());
        }
        let (first, others) = match &lists[..] {
            [] => return Ok(Some(Generated::of(Vec::new()))),
            [only] => return Ok(Some(Generated::exactly(only.clone()))),
            [first, others @ ..] => (first, others),
        };
        let mut entries = Vec::new();
        for output in first.as_slice() {
            self.effort.spend(lists.len())?;
            if others.iter().all(|list| list.find(&output.title).is_some()) {
                entries.push(output.clone());
            }
        }
        Ok(Some(Generated::of(entries)))
    }
}

/// The rule by which properties of the same title are merged into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merging {
    SameType,
    Never,
}

/// The end nodes that a flow lists, each once.
pub(in super::super) fn end_nodes(graph: &Graph<'_>, flow: Key) -> Vec<Key> {
    let mut known = Keys::default();
    let is_end = |node: &Key| graph.is_a(*node, "EndNode");
    graph.parts(flow, "nodes").iter().copied().filter(is_end).filter(|end| known.insert(*end)).collect()
}

fn texts(names: Collected<'_>) -> List<'_> {
    PropertyList::new(names.into_names().into_iter().map(Property::text).collect())
}

/// Nothing follows from the configuration: the component has what it declares, or else nothing.
fn own<'d>(declared: Declared<'_, 'd>) -> Option<Generated<'d>> {
    declared.is_none().then(|| Generated::of(Vec::new()))
}

/// One string, named as the first that is declared.
fn one_named_as<'d>(declared: Declared<'_, 'd>, otherwise: &'static str) -> Generated<'d> {
    let first = declared.as_ref().and_then(|list| list.as_slice().first());
    let title = first.map_or(otherwise.into(), |property| property.title.clone());
    Generated { is_retypable: true, ..Generated::of(vec![Property::text(title)]) }
}

/// Returns the properties that a node declares on a side, or else those on the other side: it has the same on both.
fn mirror<'d>(declared: Declared<'_, 'd>, other_side: Declared<'_, 'd>) -> Generated<'d> {
    let has_any = |list: &&List<'d>| !list.is_empty();
    let list = declared.as_ref().filter(has_any).or_else(|| other_side.as_ref().filter(has_any));
    Generated::exactly(list.cloned().unwrap_or_default())
}
