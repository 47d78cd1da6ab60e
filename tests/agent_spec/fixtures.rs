//! Small configurations that are valid in both profiles, and what validation says of changed ones.

use agentdex::{
    convert::{
        Syntax,
        agent_spec::{Configuration, Profile},
    },
    td::{Report, Violation},
};
use serde_json::{Map, Value, json};

/// A component with the id and name `id`.
pub fn component(kind: &str, id: &str, fields: Value) -> Value {
    let mut members = Map::new();
    members.insert("component_type".into(), kind.into());
    members.insert("id".into(), id.into());
    members.insert("name".into(), id.into());
    if let Value::Object(fields) = fields {
        members.extend(fields);
    }
    Value::Object(members)
}

/// The same as a document of the newest version.
pub fn document(mut component: Value) -> Value {
    component["agentspec_version"] = "26.3.1".into();
    component
}

pub fn reference(id: &str) -> Value {
    json!({"$component_ref": id})
}

/// A string property.
pub fn text(title: &str) -> Value {
    json!({"title": title, "type": "string"})
}

pub fn llm() -> Value {
    component("VllmConfig", "llm", json!({"model_id": "m", "url": "https://llm.example"}))
}

pub fn tool(inputs: Value, outputs: Value) -> Value {
    component("ServerTool", "lookup", json!({"inputs": inputs, "outputs": outputs}))
}

/// An agent that takes a `city`.
pub fn agent() -> Value {
    let fields = json!({"llm_config": llm(), "system_prompt": "Tell of {{city}}.", "inputs": [text("city")]});
    component("Agent", "agent", fields)
}

/// An agent that is defined elsewhere.
pub fn remote_agent(id: &str) -> Value {
    let client = json!({"service_endpoint": "https://oci.example"});
    let client = component("OciClientConfigWithInstancePrincipal", &format!("{id}-client"), client);
    component("OciAgent", id, json!({"agent_endpoint_id": "endpoint", "client_config": client}))
}

/// `topic` → `ask` → `answer`, which one of two end nodes gives back.
pub fn flow() -> Value {
    let nodes = ["start", "ask", "choose", "done", "rest"].map(reference);
    let topic = json!([text("topic")]);
    let answer = json!([text("answer")]);
    component(
        "Flow",
        "flow",
        json!({
            "start_node": reference("start"),
            "nodes": nodes,
            "control_flow_connections": [
                control("start", None, "ask"),
                control("ask", None, "choose"),
                control("choose", Some("yes"), "done"),
                control("choose", Some("default"), "rest"),
            ],
            "data_flow_connections": [
                data("start", "topic", "ask", "topic"),
                data("ask", "answer", "choose", "answer"),
                data("ask", "answer", "done", "answer"),
                data("ask", "answer", "rest", "answer"),
            ],
            "inputs": topic,
            "outputs": answer,
            "$referenced_components": {
                "start": component("StartNode", "start", json!({"inputs": topic})),
                "ask": component("ToolNode", "ask", json!({"tool": tool(topic.clone(), answer.clone())})),
                "choose": component("BranchingNode", "choose", json!({"inputs": answer, "mapping": {"y": "yes"}})),
                "done": component("EndNode", "done", json!({"outputs": answer, "branch_name": "done"})),
                "rest": component("EndNode", "rest", json!({"outputs": answer})),
            },
        }),
    )
}

/// A flow that gives back what it takes.
pub fn echo(id: &str, input: Value, output: Value) -> Value {
    let (start, end) = (format!("{id}-start"), format!("{id}-end"));
    let edge = |input: &Value, output: &Value| {
        data(&start, input["title"].as_str().unwrap(), &end, output["title"].as_str().unwrap())
    };
    let mut flow = component(
        "Flow",
        id,
        json!({
            "start_node": reference(&start),
            "nodes": [reference(&start), reference(&end)],
            "control_flow_connections": [control(&start, None, &end)],
            "data_flow_connections": [edge(&input, &output)],
        }),
    );
    flow["$referenced_components"] = Map::from_iter([
        (start.clone(), component("StartNode", &start, json!({"inputs": [input]}))),
        (end.clone(), component("EndNode", &end, json!({"outputs": [output]}))),
    ])
    .into();
    flow
}

pub fn control(from: &str, branch: Option<&str>, to: &str) -> Value {
    let id = format!("{from}-{}-{to}", branch.unwrap_or_default());
    let fields = json!({"from_node": reference(from), "from_branch": branch, "to_node": reference(to)});
    component("ControlFlowEdge", &id, fields)
}

pub fn data(source: &str, output: &str, destination: &str, input: &str) -> Value {
    let fields = json!({
        "source_node": reference(source), "source_output": output,
        "destination_node": reference(destination), "destination_input": input,
    });
    component("DataFlowEdge", &format!("{source}.{output}-{destination}.{input}"), fields)
}

pub fn validate(document: &Value, profile: Profile) -> Report {
    let text = serde_json::to_vec(document).unwrap();
    Configuration::parse(&text, Syntax::Json, &[]).unwrap().validate(profile)
}

/// What a profile says of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Error,
    Warning,
    Nothing,
}

/// Asserts that `document` is valid in both profiles, and that nothing is odd about it.
#[track_caller]
pub fn passes(document: Value) {
    for profile in [Profile::Spec, Profile::Sdk] {
        let report = validate(&self::document(document.clone()), profile);
        assert!(report.is_valid() && report.warnings.is_empty(), "{profile:?}: {report:#?}");
    }
}

/// Asserts what the profiles `[spec, sdk]` say of `document`: `rule` at `pointer`, and no other errors but
/// those that are `expected` to follow from it.
#[track_caller]
pub fn breaks(document: Value, rule: &str, pointer: &str, says: [Says; 2], expected: &[&str]) {
    let document = self::document(document);
    for (profile, says) in [Profile::Spec, Profile::Sdk].into_iter().zip(says) {
        let report = validate(&document, profile);
        let found = |list: &[Violation]| list.iter().any(|found| found.rule == rule && found.pointer == pointer);
        let said = match (found(&report.violations), found(&report.warnings)) {
            (true, _) => Says::Error,
            (false, true) => Says::Warning,
            (false, false) => Says::Nothing,
        };
        assert_eq!(said, says, "{profile:?} of {rule} at {pointer}: {report:#?}");
        let is_expected = |found: &&Violation| found.rule != rule && !expected.contains(&&*found.rule);
        let others: Vec<_> = report.violations.iter().filter(is_expected).collect();
        assert!(others.is_empty(), "{profile:?}: {others:#?}");
    }
}
