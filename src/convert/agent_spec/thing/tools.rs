//! The tools that an agent has for itself: nobody else can call them, but they tell what it can do.

use std::collections::HashSet;

use serde_json::Value;

use super::{Mapper, data_schema::DataSchemas, endpoint::Variables, writer::Writer};
use crate::convert::agent_spec::{graph::Key, inference::Side};

/// A tool of an agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OwnTool<'d> {
    /// A tool or a signature of one, or a toolbox that doesn't say what is in it.
    Component(Key),
    /// One of a toolbox, by its name.
    Named(&'d str),
}

impl<'d> Mapper<'_, 'd> {
    /// The tools of an agent or in a toolbox, in their order, each once.
    pub(super) fn own_tools(&self, key: Key) -> Vec<OwnTool<'d>> {
        let mut tools = Vec::new();
        self.collect_tools(key, &mut tools);
        let mut known = HashSet::with_capacity(tools.len());
        tools.retain(|tool| known.insert(*tool));
        tools
    }

    fn collect_tools(&self, key: Key, tools: &mut Vec<OwnTool<'d>>) {
        let graph = self.graph;
        if graph.is_a(key, "SpecializedAgent") {
            graph.parts(key, "agent").iter().for_each(|agent| self.collect_tools(*agent, tools));
        }
        let parameters = graph.part(key, "agent_specialization_parameters");
        tools.extend(graph.parts(key, "tools").iter().copied().map(OwnTool::Component));
        let added = parameters.map_or(&[][..], |parameters| graph.parts(parameters, "additional_tools"));
        tools.extend(added.iter().copied().map(OwnTool::Component));
        let nodes = graph.parts(key, "nodes").iter();
        tools.extend(nodes.filter_map(|node| graph.part(*node, "tool")).map(OwnTool::Component));
        let mut known = HashSet::new();
        for toolbox in graph.parts(key, "toolboxes").iter().filter(|toolbox| known.insert(**toolbox)) {
            let first = tools.len();
            self.collect_filtered(*toolbox, tools);
            if tools.len() == first {
                tools.push(OwnTool::Component(*toolbox));
            }
        }
        self.collect_filtered(key, tools);
    }

    /// What a toolbox is said to have.
    fn collect_filtered(&self, toolbox: Key, tools: &mut Vec<OwnTool<'d>>) {
        let Some(Value::Array(filter)) = self.field(toolbox, "tool_filter") else { return };
        let mut signatures = self.graph.parts(toolbox, "tool_filter").iter();
        for entry in filter {
            match self.resolve(entry).and_then(Value::as_str) {
                Some(name) => tools.push(OwnTool::Named(name)),
                None => tools.extend(signatures.next().copied().map(OwnTool::Component)),
            }
        }
    }

    /// The names of tools.
    pub(super) fn tool_name(&self, tool: &OwnTool<'d>) -> Option<&'d str> {
        match tool {
            OwnTool::Component(key) => self.text(*key, "name"),
            OwnTool::Named(name) => Some(name),
        }
    }

    /// Writes `agentspec:tools`, if there are any.
    pub(super) fn write_tools(&self, schemas: &mut DataSchemas<'_>, tools: &[OwnTool<'d>]) {
        if tools.is_empty() {
            return;
        }
        schemas.writer.name("agentspec:tools").open('[');
        for tool in tools {
            if schemas.writer.is_full() {
                return;
            }
            schemas.writer.open('{');
            schemas.writer.name("name").text(self.tool_name(tool).unwrap_or_default());
            if let OwnTool::Component(key) = tool {
                self.write_tool(schemas, *key);
            }
            schemas.writer.close('}');
        }
        schemas.writer.close(']');
    }

    fn write_tool(&self, schemas: &mut DataSchemas<'_>, key: Key) {
        let writer: &mut Writer = schemas.writer;
        if let Some(description) = self.text(key, "description") {
            writer.name("description").text(description);
        }
        writer.name("type").text(self.graph.type_name(key));
        if self.field(key, "requires_confirmation") == Some(&Value::Bool(true)) {
            writer.name("requiresConfirmation").flag(true);
        }
        let elsewhere = &Variables::default();
        self.write_data(schemas, "inputs", key, Side::Inputs, elsewhere);
        self.write_data(schemas, "outputs", key, Side::Outputs, elsewhere);
    }
}
