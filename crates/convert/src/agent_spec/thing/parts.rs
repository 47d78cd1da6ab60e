//! Parts of a configuration that become separate Things, and their relations to each other.

use super::Mapper;
use crate::{
    agent_spec::{
        graph::{Key, Keys},
        types::{Call, Role},
    },
    td::LmosKind,
};

/// A part that is a Thing, or would be one.
pub(super) struct ThingPart {
    pub key: Key,
    /// Relation type of the link to the part.
    pub role: &'static str,
}

/// Fields that lead to edges, or to nodes that another field leads to as well.
const PASSED_BY: [&str; 3] = ["control_flow_connections", "data_flow_connections", "start_node"];

impl Mapper<'_, '_> {
    /// Returns the kind of Thing that a component is: an agent, or a tool that can be reached or run; none if it is
    /// neither.
    pub(in super::super) fn kind(&self, key: Key) -> Option<LmosKind> {
        let graph = self.graph;
        let known = graph.known(key)?;
        let is_served = || {
            let transport = graph.part(key, "client_transport");
            transport.is_some_and(|part| graph.is_a(part, "RemoteTransport") || graph.is_a(part, "StdioTransport"))
        };
        match (known.role, known.call) {
            (Role::Agent, _) => Some(LmosKind::Agent),
            (Role::Tool | Role::ToolBox, Call::Request) => Some(LmosKind::Tool),
            (Role::Tool | Role::ToolBox, Call::Mcp) if is_served() => Some(LmosKind::Tool),
            _ => None,
        }
    }

    /// The agents and tools that a component has, not those that these have; each once.
    pub(super) fn thing_parts(&self, key: Key) -> Vec<ThingPart> {
        let mut found = Vec::new();
        let mut seen = Keys::from_iter([key]);
        self.collect_parts(key, &mut seen, &mut found);
        found
    }

    fn collect_parts(&self, key: Key, seen: &mut Keys, found: &mut Vec<ThingPart>) {
        for (field, parts) in self.graph.all_parts(key) {
            if PASSED_BY.contains(&field) {
                continue;
            }
            if self.effort.spend(1 + parts.len()).is_err() {
                return;
            }
            for part in parts.iter().copied() {
                if !seen.insert(part) {
                    continue;
                }
                match self.is_part_of_its_own(part) {
                    true => found.push(ThingPart { key: part, role: role(field) }),
                    false => self.collect_parts(part, seen, found),
                }
            }
        }
    }

    pub(super) fn is_part_of_its_own(&self, key: Key) -> bool {
        self.graph.role(key).is_thing()
    }

    /// The parts of a component that are registered: behind one that isn't, those that it has.
    pub(super) fn registered_parts(&self, key: Key) -> Vec<ThingPart> {
        let (mut found, mut seen) = (Vec::new(), Keys::from_iter([key]));
        let mut rest = vec![key];
        while let Some(next) = rest.pop() {
            for part in self.thing_parts(next).into_iter().filter(|part| seen.insert(part.key)).collect::<Vec<_>>() {
                match self.registered.contains(&part.key) {
                    true => found.push(part),
                    false => rest.push(part.key),
                }
            }
        }
        found
    }

    /// The parts of `root`, at any depth, that become Things by the options; without `root`.
    pub(in super::super) fn nested_things(&self, root: Key) -> Vec<(Key, LmosKind)> {
        let mut things = Vec::new();
        if !self.options.nested && !self.options.tools {
            return things;
        }
        let mut seen = Keys::from_iter([root]);
        let mut rest = vec![root];
        while let Some(key) = rest.pop() {
            let mut parts: Vec<Key> =
                self.thing_parts(key).into_iter().map(|part| part.key).filter(|part| seen.insert(*part)).collect();
            let kinds = parts.iter().filter_map(|part| Some((*part, self.kind(*part)?)));
            things.extend(kinds.filter(|(_, kind)| *kind == LmosKind::Tool || self.options.nested));
            parts.reverse();
            rest.append(&mut parts);
        }
        things
    }
}

/// Returns the role of the parts in a field for the component around it.
fn role(field: &str) -> &'static str {
    match field {
        "tools" | "additional_tools" | "tool" => "agentspec:tool",
        "toolboxes" => "agentspec:toolbox",
        "agent" => "agentspec:agent",
        "first_agent" => "agentspec:firstAgent",
        "relationships" => "agentspec:member",
        "group_manager" => "agentspec:manager",
        "workers" => "agentspec:worker",
        "subflow" | "subflows" => "agentspec:subflow",
        _ => "agentspec:part",
    }
}
