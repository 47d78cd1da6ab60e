//! Inputs and outputs of a chain's nodes: conversion of data edges to links, default values, and list inputs of map
//! nodes.

use serde_json::{Map, Value, json};

use super::{FlowParts, Key, Maker};

/// Before the names of the inputs of a map, and of its outputs.
const ITERATED: &str = "iterated_";
const COLLECTED: &str = "collected_";

/// A data edge: an output of one node to an input of another.
#[derive(Clone)]
pub(super) struct DataEdge {
    from: Key,
    output: String,
    to: Key,
    input: String,
}

impl Maker<'_, '_> {
    pub(super) fn links(&self, parts: &FlowParts) -> Vec<Value> {
        let mut links = Vec::new();
        if let Some(start) = self.mapper.graph.part(parts.flow, "start_node") {
            for input in self.mapper.inference.inputs(start) {
                links.push(json!({
                    "from": "input", "output": input.title, "to": parts.names[&start], "input": input.title,
                }));
            }
        }
        for edge in self.data_edges(parts) {
            links.push(json!({
                "from": parts.names[&edge.from], "output": self.output_name(edge.from, &edge.output),
                "to": parts.names[&edge.to], "input": self.input_name(edge.to, &edge.input),
            }));
        }
        links
    }

    /// The data edges between nodes that can be reached; where the Flow has none, by the names of the data.
    fn data_edges(&self, parts: &FlowParts) -> Vec<DataEdge> {
        let (graph, inference) = (self.mapper.graph, self.mapper.inference);
        if graph.field(parts.flow, "data_flow_connections").is_some_and(Value::is_array) {
            let edge = |edge: &Key| {
                Some(DataEdge {
                    from: graph.part(*edge, "source_node")?,
                    output: graph.text(*edge, "source_output")?.to_owned(),
                    to: graph.part(*edge, "destination_node")?,
                    input: graph.text(*edge, "destination_input")?.to_owned(),
                })
            };
            let edges = graph.parts(parts.flow, "data_flow_connections").iter().filter_map(edge);
            let is_reached = |edge: &DataEdge| [edge.from, edge.to].iter().all(|node| parts.names.contains_key(node));
            return edges.filter(is_reached).collect();
        }
        let mut nodes: Vec<Key> = parts.names.keys().copied().collect();
        nodes.sort_unstable();
        let mut edges = Vec::new();
        for to in nodes.iter().copied().filter(|to| !graph.is_a(*to, "StartNode")) {
            for input in inference.inputs(to) {
                let sources = nodes.iter().copied().filter(|from| !graph.is_a(*from, "EndNode"));
                let sources = sources.filter(|from| inference.outputs(*from).iter().any(|o| o.title == input.title));
                edges.extend(sources.map(|from| {
                    let title = input.title.to_string();
                    DataEdge { from, output: title.clone(), to, input: title }
                }));
            }
        }
        edges
    }

    fn is_map(&self, node: Key) -> bool {
        ["MapNode", "ParallelMapNode"].iter().any(|kind| self.mapper.graph.is_a(node, kind))
    }

    fn input_name<'n>(&self, node: Key, name: &'n str) -> &'n str {
        if self.is_map(node) { name.strip_prefix(ITERATED).unwrap_or(name) } else { name }
    }

    fn output_name<'n>(&self, node: Key, name: &'n str) -> &'n str {
        if self.is_map(node) { name.strip_prefix(COLLECTED).unwrap_or(name) } else { name }
    }

    /// The values of inputs that nothing leads to.
    pub(super) fn defaults(&self, node: Key) -> Map<String, Value> {
        let inputs = self.mapper.inference.inputs(node).iter();
        let default = |input: &super::super::property::Property<'_>| {
            let schema = input.schema();
            Some((self.input_name(node, &input.title).to_owned(), schema.get("default")?.clone()))
        };
        inputs.filter_map(default).collect()
    }

    /// The outputs of a component as those of a node.
    pub(super) fn outputs(&self, node: Key, of: Key) -> Map<String, Value> {
        let outputs = self.mapper.inference.outputs(of).iter();
        let described = |output: &super::super::property::Property<'_>| {
            let schema = output.schema();
            let described = schema.get("default").map_or(json!({}), |default| json!({"default": default}));
            (self.output_name(node, &output.title).to_owned(), described)
        };
        outputs.map(described).collect()
    }

    /// The inputs of a map that are lists of what its Flow takes: by the types of what leads to them.
    pub(super) fn iterated(&self, parts: &FlowParts, node: Key) -> Vec<String> {
        let (graph, inference) = (self.mapper.graph, self.mapper.inference);
        let edges = self.data_edges(parts);
        let inner = graph.part(node, "subflow").map(|flow| inference.inputs(flow)).unwrap_or_default();
        let is_iterated = |name: &str, depth: usize| {
            let is_source = |edge: &&DataEdge| edge.to == node && self.input_name(node, &edge.input) == name;
            let output = |edge: &DataEdge| inference.outputs(edge.from).iter().find(|o| o.title == edge.output);
            let own = inference.inputs(node).iter().find(|input| self.input_name(node, &input.title) == name);
            let default = own.and_then(|input| input.schema().get("default").map(|value| value.is_array()));
            let sources = edges.iter().filter(is_source).filter_map(output);
            let depths: Vec<usize> = sources.map(|output| list_depth(&output.schema())).collect();
            depths.iter().any(|found| *found > depth) || (depths.is_empty() && depth == 0 && default == Some(true))
        };
        let inner = inner.iter().map(|input| (input.title.to_string(), list_depth(&input.schema())));
        inner.filter(|(name, depth)| is_iterated(name, *depth)).map(|(name, _)| name).collect()
    }
}

/// Returns the depth of lists within lists that a schema describes; 0 if its values are not lists.
fn list_depth(schema: &Value) -> usize {
    let mut depth = 0;
    let mut schema = schema;
    while schema["type"] == "array" {
        depth += 1;
        schema = &schema["items"];
    }
    depth
}
