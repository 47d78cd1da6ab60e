//! Nodes of a schema under construction, within limits.

use std::collections::HashMap;

use super::schema::{ANY, At, Branches, Kinds, NEVER, Node, Parts, Schema};

/// Maximum depth of reading and merging schemas, including references.
const MAX_STACK: usize = 64;
/// Maximum number of schemas within a schema.
const MAX_SCHEMAS: usize = 2_000;

/// Limits for all schemas of a capability's inputs or outputs, and the first exceeded limit.
#[derive(Debug, Default)]
pub(in crate::search) struct Limits {
    schemas: usize,
    pub exceeded: Option<(&'static str, usize)>,
}

impl Limits {
    pub(super) fn exceed(&mut self, what: &'static str, most: usize) {
        self.exceeded.get_or_insert((what, most));
    }
}

/// Nodes, of which some are still being made.
pub(super) struct Nodes<'l> {
    all: Vec<Option<Node>>,
    pub merged: HashMap<(At, At), At>,
    pub limits: &'l mut Limits,
    stack: usize,
}

impl<'l> Nodes<'l> {
    pub fn new(limits: &'l mut Limits) -> Nodes<'l> {
        Nodes { all: Vec::new(), merged: HashMap::new(), limits, stack: 0 }
    }

    pub fn add(&mut self, node: Node) -> At {
        self.all.push(Some(node));
        (self.all.len() - 1) as At
    }

    /// Reserves the number of a node to be created later.
    pub fn reserve(&mut self) -> At {
        self.all.push(None);
        (self.all.len() - 1) as At
    }

    pub fn set(&mut self, at: At, node: Node) {
        if let Some(slot) = self.all.get_mut(at as usize) {
            *slot = Some(node);
        }
    }

    /// Returns a node, or `None` while it is under construction.
    pub fn get(&self, at: At) -> Option<&Node> {
        self.all.get(at as usize)?.as_ref()
    }

    /// Creates a node for alternatives. `is_one` is true for `oneOf`.
    pub fn union(&mut self, branches: Vec<At>, is_one: bool) -> At {
        let kinds = branches.iter().map(|at| self.get(*at).map_or(ANY.kinds, |node| node.kinds));
        let kinds = kinds.fold(NEVER.kinds, Kinds::or);
        let branches = Branches { at: branches.into(), is_one };
        let parts = Parts { branches: Some(branches), ..Parts::default() };
        self.add(Node { kinds, is_typed: true, parts: Some(Box::new(parts)) })
    }

    /// Starts another schema. Fails with the name of the exceeded limit if no further schema is allowed.
    pub fn begin(&mut self) -> Result<(), &'static str> {
        if self.limits.schemas >= MAX_SCHEMAS {
            self.limits.exceed("number of schemas within a data schema", MAX_SCHEMAS);
            return Err("size");
        }
        if self.stack >= MAX_STACK {
            return Err("nesting");
        }
        self.limits.schemas += 1;
        self.stack += 1;
        Ok(())
    }

    /// Ends the schema started last.
    pub fn end(&mut self) {
        self.stack -= 1;
    }

    /// Returns a node with all referenced nodes, numbered in order of reference.
    pub fn schema_at(&self, root: At) -> Schema {
        if let Some(node) = self.get(root).filter(|node| node.parts.is_none()) {
            return Schema { nodes: [node.clone()].into() };
        }
        let mut numbers: HashMap<At, At> = HashMap::from([(root, 0)]);
        let mut waiting = vec![root];
        let mut found = 0;
        while let Some(at) = waiting.get(found).copied() {
            found += 1;
            for child in self.get(at).map(children).unwrap_or_default() {
                let next = numbers.len() as At;
                numbers.entry(child).or_insert_with(|| {
                    waiting.push(child);
                    next
                });
            }
        }
        let renumbered = |at: &At| {
            let mut node = self.get(*at).cloned().unwrap_or_else(|| Node::unknown("$ref"));
            if let Some(parts) = &mut node.parts {
                each_child(parts, |child| *child = numbers.get(child).copied().unwrap_or_default());
            }
            node
        };
        Schema { nodes: waiting.iter().map(renumbered).collect() }
    }
}

fn children(node: &Node) -> Vec<At> {
    let mut found = Vec::new();
    if let Some(parts) = &node.parts {
        found.extend(parts.branches.iter().flat_map(|branches| &branches.at).copied());
        found.extend(parts.lists.iter().flat_map(|lists| lists.first.iter().chain(&lists.others)).copied());
        let objects = parts.objects.iter();
        found.extend(objects.clone().flat_map(|objects| &objects.members).map(|member| member.at));
        found.extend(objects.filter_map(|objects| objects.others));
    }
    found
}

/// Visits the references of a node mutably.
fn each_child(parts: &mut Parts, mut each: impl FnMut(&mut At)) {
    if let Some(branches) = &mut parts.branches {
        branches.at.iter_mut().for_each(&mut each);
    }
    if let Some(lists) = &mut parts.lists {
        lists.first.iter_mut().chain(&mut lists.others).for_each(&mut each);
    }
    if let Some(objects) = &mut parts.objects {
        objects.members.iter_mut().for_each(|member| each(&mut member.at));
        objects.others.iter_mut().for_each(&mut each);
    }
}
