//! Export of a sequence of actions of several Things as a Flow.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Call, a2a_agent, call_of, id_of,
    properties::{Property, Titles, schemas},
    requires_confirmation, template_of, text_of, tool, version,
};
use crate::{
    Error, Format, Result, Syntax,
    agent_spec::{Configuration, Profile},
    casting::effort::Effort,
};

/// The member of a tool's metadata that tells whether the registered action, too, takes the inputs of the tool rather than
/// the body of its request.
pub(in super::super) const TAKES_INPUTS: &str = "agentdex:takesInputs";

/// A step of a flow: a capability of a Thing.
#[derive(Debug)]
pub struct FlowStep<'t> {
    /// The Thing Description.
    pub thing: &'t Value,
    /// The name of an action, or the key of an entry of `lmos:capabilities` that has an `input` or `output`.
    pub capability: &'t str,
    /// Links that supply the inputs of the capability.
    pub inputs: Vec<FlowLink<'t>>,
}

/// A data link of a flow, from an output to an input. Outputs and inputs are named after members of objects; an empty
/// name refers to the data as a whole.
#[derive(Debug, Clone, Copy)]
pub struct FlowLink<'t> {
    /// Number of the step that provides the data, counted from 0; `None` for an input of the flow.
    pub step: Option<usize>,
    /// The name of the output.
    pub from: &'t str,
    /// The name of the input.
    pub to: &'t str,
}

/// A node, and the titles of its ports by the names of the data.
struct Node {
    id: String,
    inputs: HashMap<String, String>,
    outputs: HashMap<String, String>,
    component: Value,
}

/// Creates a Flow that calls capabilities one after the other: a start node with the used parts of `have`, a node for
/// each step, and an end node with the provided parts of `want`. An action with a form for A2A becomes an AgentNode,
/// and an action with a form for MCP or HTTP becomes a ToolNode. All others become ToolNodes with a ServerTool, which
/// the runtime has to provide.
///
/// # Errors
/// [`Error::NotExpressible`] if the rules of the language or of its SDK don't allow a link.
pub fn flow_of(have: &Value, want: &Value, steps: &[FlowStep<'_>], outputs: &[FlowLink<'_>]) -> Result<Value> {
    let effort = Effort::for_document();
    let names: Vec<String> = steps.iter().map(|step| format!("{}#{}", id_of(step.thing), step.capability)).collect();
    let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{names:?}{have}{want}").as_bytes());
    let id = format!("urn:uuid:{id}");
    let mut nodes: Vec<Node> = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        nodes.push(
            node(&id, number, step, &effort)
                .ok_or_else(|| refusal(format!("{} has no capability {:?}", id_of(step.thing), step.capability)))?,
        );
    }
    let inputs = steps.iter().flat_map(|step| &step.inputs);
    let used = |name: &str| inputs.clone().chain(outputs).any(|link| link.step.is_none() && link.from == name);
    let start = end_node("StartNode", &format!("{id}#start"), properties(have, "input", &effort, used));
    let given = |name: &str| outputs.iter().any(|link| link.to == name);
    let end = end_node("EndNode", &format!("{id}#end"), properties(want, "output", &effort, given));

    let mut edges = Vec::new();
    let targets = steps.iter().zip(&nodes).map(|(step, node)| (step.inputs.as_slice(), node));
    for (links, target) in targets.chain([(outputs, &end)]) {
        for link in links {
            let source = match link.step {
                None => Some(&start),
                Some(step) => nodes.get(step),
            };
            let title = |titles: &HashMap<String, String>, name: &str| titles.get(name).cloned();
            let ends = source
                .and_then(|source| Some((source, title(&source.outputs, link.from)?, title(&target.inputs, link.to)?)));
            let Some((source, from, to)) = ends else {
                return Err(refusal(format!(
                    "a link connects the output {:?} to the input {:?}, but one of them doesn't exist",
                    link.from, link.to
                )));
            };
            edges.push(json!({
                "component_type": "DataFlowEdge", "id": format!("{id}#data-{}", edges.len() + 1),
                "name": format!("data_{}", edges.len() + 1),
                "source_node": reference(&source.id), "source_output": from,
                "destination_node": reference(&target.id), "destination_input": to,
            }));
        }
    }
    let all: Vec<&Node> = [&start].into_iter().chain(&nodes).chain([&end]).collect();
    let control = all.windows(2).enumerate().filter_map(|(number, pair)| {
        let [from, to] = pair else { return None };
        Some(json!({
            "component_type": "ControlFlowEdge", "id": format!("{id}#control-{}", number + 1),
            "name": format!("control_{}", number + 1), "from_node": reference(&from.id), "from_branch": null,
            "to_node": reference(&to.id),
        }))
    });
    let capabilities: Vec<&str> = steps.iter().map(|step| step.capability).collect();
    let titles: Vec<&str> = steps.iter().map(|step| text_of(step.thing, "title").unwrap_or_default()).collect();
    let flow = json!({
        "component_type": "Flow", "id": id, "name": capabilities.join("_then_"),
        "description": format!("Calls these agents in sequence: {}.", titles.join(", ")), "metadata": {},
        "inputs": start.component["inputs"], "outputs": end.component["outputs"], "start_node": reference(&start.id),
        "nodes": all.iter().map(|node| reference(&node.id)).collect::<Vec<_>>(),
        "control_flow_connections": control.collect::<Vec<_>>(), "data_flow_connections": edges,
        "$referenced_components": all.iter().map(|node| (node.id.clone(), node.component.clone())).collect::<Map<_, _>>(),
        "agentspec_version": version(all.iter().filter_map(|node| node.component.get("tool"))),
    });
    check(&flow)?;
    Ok(flow)
}

/// Checks that both the text of the language and its SDK accept a flow.
fn check(flow: &Value) -> Result<()> {
    let configuration = Configuration::parse(flow.to_string().as_bytes(), Syntax::Json, &[])?;
    for profile in [Profile::Spec, Profile::Sdk] {
        if let Some(violation) = configuration.validate(profile).violations.into_iter().next() {
            return Err(refusal(format!("{}: {}", violation.pointer, violation.message)));
        }
    }
    Ok(())
}

fn refusal(reason: String) -> Error {
    Error::NotExpressible { format: Format::AgentSpec.name(), reason }
}

fn reference(id: &str) -> Value {
    json!({"$component_ref": id})
}

/// Makes the node that calls a capability; none if the Thing has no capability of that name.
fn node(flow: &str, number: usize, step: &FlowStep<'_>, effort: &Effort) -> Option<Node> {
    let action = action_of(step.thing, step.capability)?;
    // What may be missing couldn't go where something is needed.
    let action = with_all_outputs(action);
    let own = format!("{}#{}", id_of(step.thing), step.capability);
    let (kind, member, component, [inputs, outputs]) = match a2a_agent(step.thing, &action, &own, effort) {
        Some((agent, ports)) => ("AgentNode", "agent", agent, ports),
        None => {
            let (tool, ports) = match call_of(step.thing, &action) {
                Some(call) => {
                    let (mut tool, ports) = tool(step.thing, &own, step.capability, &action, &call, effort);
                    if let Call::Http(_, form) = &call
                        && template_of(form).is_some()
                    {
                        tool.insert("metadata".to_owned(), json!({TAKES_INPUTS: true}));
                    }
                    (tool, ports)
                }
                None => server_tool(&own, step.capability, &action, effort),
            };
            ("ToolNode", "tool", Value::Object(tool), ports)
        }
    };
    let id = format!("{flow}#step-{}", number + 1);
    let [input_titles, output_titles] = [titles(&inputs, "input"), titles(&outputs, "output")];
    let component = json!({
        "component_type": kind, "id": id, "name": format!("step_{}", number + 1), "description": null, "metadata": {},
        "inputs": schemas(inputs), "outputs": schemas(outputs), "branches": ["next"], member: component,
    });
    Some(Node { id, inputs: input_titles, outputs: output_titles, component })
}

/// An action, or what corresponds to one.
fn action_of(thing: &Value, capability: &str) -> Option<Value> {
    if let Some(action) = thing.get("actions").and_then(|actions| actions.get(capability)) {
        return Some(action.clone());
    }
    let entries = match thing.get("lmos:capabilities")? {
        Value::Array(entries) => entries.as_slice(),
        entry => std::slice::from_ref(entry),
    };
    let is_it = |entry: &&Value| {
        ["id", "lmos:id", "name", "lmos:name"].iter().any(|name| text_of(entry, name) == Some(capability))
    };
    let entry = entries.iter().find(is_it)?;
    let member = |name: &str, prefixed: &str| entry.get(name).or_else(|| entry.get(prefixed)).cloned();
    let members = [
        ("input", member("input", "lmos:input")),
        ("output", member("output", "lmos:output")),
        ("description", member("description", "lmos:description")),
    ];
    Some(Value::Object(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()))
}

fn with_all_outputs(mut action: Value) -> Value {
    if let Some(output) = action.get_mut("output").and_then(Value::as_object_mut) {
        output.remove("required");
    }
    action
}

/// A tool that the runtime supplies.
fn server_tool(id: &str, name: &str, action: &Value, effort: &Effort) -> (Map<String, Value>, [Vec<Property>; 2]) {
    let inputs = Titles::new(effort).properties(action.get("input"), "input");
    let outputs = Titles::new(effort).properties(action.get("output"), "output");
    let members = json!({
        "component_type": "ServerTool", "id": id, "name": name,
        "description": text_of(action, "description").or_else(|| text_of(action, "title")),
        "inputs": inputs.iter().map(|property| &property.schema).collect::<Vec<_>>(),
        "outputs": outputs.iter().map(|property| &property.schema).collect::<Vec<_>>(),
        "requires_confirmation": requires_confirmation(action),
    });
    let members = match members {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    (members, [inputs, outputs])
}

/// Those properties of data that are used, none of which may be missing.
fn properties(data: &Value, whole: &str, effort: &Effort, is_used: impl Fn(&str) -> bool) -> Vec<Property> {
    let mut data = data.clone();
    if let Some(members) = data.as_object_mut() {
        members.remove("required");
    }
    let mut properties = Titles::new(effort).properties(Some(&data), whole);
    let is_whole = data.get("properties").is_none();
    properties.retain(|property| is_used(if is_whole { "" } else { &property.name }));
    properties
}

fn end_node(kind: &str, id: &str, properties: Vec<Property>) -> Node {
    let (is_start, whole) = (kind == "StartNode", if kind == "StartNode" { "input" } else { "output" });
    let titles = titles(&properties, whole);
    let properties = schemas(properties);
    let mut component = json!({
        "component_type": kind, "id": id, "name": if is_start { "start" } else { "end" }, "description": null,
        "metadata": {}, "inputs": properties, "outputs": properties,
        "branches": if is_start { json!(["next"]) } else { json!([]) },
    });
    if let Some(members) = component.as_object_mut().filter(|_| !is_start) {
        members.insert("branch_name".to_owned(), "next".into());
    }
    Node { id: id.to_owned(), inputs: titles.clone(), outputs: titles, component }
}

/// The titles of properties by the names of their data; that of data as a whole also by the empty name.
fn titles(properties: &[Property], whole: &str) -> HashMap<String, String> {
    let mut titles: HashMap<String, String> =
        properties.iter().map(|property| (property.name.clone(), property.title.clone())).collect();
    if let Some(title) = titles.get(whole).cloned() {
        titles.insert(String::new(), title);
    }
    titles
}
