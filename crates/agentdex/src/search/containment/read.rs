//! Conversion of JSON Schemas to comparable schemas, within limits.

use std::{collections::HashMap, ptr};

use serde_json::Value;

use super::{
    merge,
    nodes::{Limits, Nodes},
    parts::{is_reference, own},
    schema::{ANY, At, Kinds, Member, NEVER, Node, Schema},
};
use crate::td::internal::source_schema;

/// Maximum depth of schemas.
const MAX_DEPTH: usize = 16;
/// Maximum length of a chain of references.
const MAX_REFERENCES: usize = 16;
/// Members of a schema that contain definitions.
const DEFINITIONS: [&str; 3] = ["$defs", "definitions", "schemaDefinitions"];

/// Documents in which `$ref` is resolved, starting with the innermost schema that has definitions.
#[derive(Debug, Clone, Default)]
pub(in crate::search) struct Bases<'v> {
    /// Documents from the outermost inwards. The second one is the schema of the data, to which `#` refers.
    all: Vec<&'v Value>,
    root: Option<&'v Value>,
}

impl<'v> Bases<'v> {
    /// Creates the bases for a schema, which may be part of a document.
    pub fn of(schema: &'v Value, document: Option<&'v Value>) -> Bases<'v> {
        let schema = unwrapped(schema);
        Bases { all: document.into_iter().chain([schema]).collect(), root: Some(schema) }
    }

    /// Returns the target of a reference within the document.
    pub fn target(&self, reference: &str) -> Option<&'v Value> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.is_empty() {
            return self.root;
        }
        if !pointer.starts_with('/') {
            return self.all.iter().rev().find_map(|base| anchored(base, pointer));
        }
        let decoded = pointer.replace("%25", "%").replace("%24", "$").replace("%20", " ");
        self.all.iter().rev().find_map(|base| base.pointer(&decoded))
    }

    /// True if a schema has definitions of its own; if so they come first from now on.
    fn enter(&mut self, schema: &'v Value) -> bool {
        let has_own = DEFINITIONS.iter().any(|name| schema.get(name).is_some());
        let is_new = has_own && self.all.last().is_none_or(|last| !ptr::eq(*last, schema));
        if is_new {
            self.all.push(schema);
        }
        is_new
    }

    fn leave(&mut self) {
        self.all.pop();
    }
}

/// A definition by its `$anchor`.
fn anchored<'v>(base: &'v Value, anchor: &str) -> Option<&'v Value> {
    let definitions = DEFINITIONS.iter().filter_map(|name| base.get(name)?.as_object());
    definitions.flat_map(|all| all.values()).find(|schema| schema.get("$anchor").is_some_and(|own| own == anchor))
}

/// Returns the schema itself or, if it was created by a conversion, the JSON Schema from which it was converted.
pub(in crate::search) fn unwrapped(schema: &Value) -> &Value {
    source_schema(schema).filter(|own| own.is_object()).unwrap_or(schema)
}

/// Reader of a schema.
pub(in crate::search) struct Read<'v, 'l> {
    nodes: Nodes<'l>,
    known: HashMap<*const Value, At>,
    bases: Bases<'v>,
    root: At,
}

impl<'v, 'l> Read<'v, 'l> {
    /// Reads a schema.
    pub fn new(schema: &'v Value, bases: Bases<'v>, limits: &'l mut Limits) -> Read<'v, 'l> {
        let mut read = Read { nodes: Nodes::new(limits), known: HashMap::new(), bases, root: 0 };
        read.root = read.node(schema, 0);
        read
    }

    /// Returns the complete schema.
    pub fn schema(&self) -> Schema {
        self.nodes.schema_at(self.root)
    }

    /// Returns the members of the data, each with its name, true if it is required, and its schema. Returns `None`
    /// unless the data must be an object with listed members.
    pub fn members(&self) -> Option<Vec<(String, bool, Schema)>> {
        let node = self.nodes.get(self.root)?;
        let kinds = if node.is_typed { node.kinds } else { node.implied_kinds() };
        let objects = node.objects().filter(|objects| objects.is_listed && kinds == Kinds::OBJECT)?;
        let member = |member: &Member| (member.name.to_string(), member.is_required, self.nodes.schema_at(member.at));
        Some(objects.members.iter().map(member).collect())
    }

    /// The number of the node for a schema.
    fn node(&mut self, schema: &'v Value, depth: usize) -> At {
        let schema = unwrapped(schema);
        if let Some(known) = self.known.get(&ptr::from_ref(schema)) {
            return *known;
        }
        if depth >= MAX_DEPTH {
            self.nodes.limits.exceed("nesting of a data schema", MAX_DEPTH);
            return self.nodes.add(Node::unknown("nesting"));
        }
        if let Err(limit) = self.nodes.begin() {
            return self.nodes.add(Node::unknown(limit));
        }
        let is_entered = self.bases.enter(schema);
        let at = self.read(schema, depth);
        if is_entered {
            self.bases.leave();
        }
        self.nodes.end();
        at
    }

    fn read(&mut self, schema: &'v Value, depth: usize) -> At {
        let Some(keywords) = schema.as_object() else {
            return self.nodes.add(if *schema == Value::Bool(false) { NEVER } else { ANY });
        };
        let reference = keywords.get("$ref").and_then(Value::as_str);
        if let Some(reference) = reference.filter(|_| is_reference(keywords)) {
            return self.referred(reference);
        }
        let at = self.nodes.reserve();
        self.known.insert(ptr::from_ref(schema), at);
        let node = own(keywords, &mut |inner| self.node(inner, depth + 1));
        let mut whole = self.nodes.add(node);
        if let Some(reference) = reference {
            let other = self.referred(reference);
            whole = merge::both(&mut self.nodes, whole, other);
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let other = self.node(part, depth + 1);
            whole = merge::both(&mut self.nodes, whole, other);
        }
        for (name, is_one) in [("anyOf", false), ("oneOf", true)] {
            let Some(branches) = keywords.get(name).and_then(Value::as_array).filter(|all| !all.is_empty()) else {
                continue;
            };
            let branches: Vec<At> = branches.iter().map(|branch| self.node(branch, depth + 1)).collect();
            let union = self.nodes.union(branches, is_one);
            whole = merge::both(&mut self.nodes, whole, union);
        }
        let node = self.nodes.get(whole).cloned().unwrap_or_else(|| Node::unknown("$ref"));
        self.nodes.set(at, node);
        at
    }

    /// Returns the node for the target of a reference.
    fn referred(&mut self, reference: &'v str) -> At {
        let mut target = self.bases.target(reference);
        for _ in 0..MAX_REFERENCES {
            let Some(schema) = target else { break };
            let next = schema.as_object().filter(|keywords| is_reference(keywords));
            match next.and_then(|keywords| self.bases.target(keywords.get("$ref")?.as_str()?)) {
                Some(next) => target = Some(next),
                // What is defined is no deeper than what refers to it.
                None => return self.node(schema, 1),
            }
        }
        // It points nowhere, or in circles.
        self.nodes.add(Node::unknown("$ref"))
    }
}
