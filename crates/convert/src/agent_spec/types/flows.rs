//! Component types of flows, nodes, and edges.

use super::{
    super::version::Version,
    definition::{Call, Definition, Io, Leaving, Outputs, Role, component, family},
    field::{Field, Kind, part, parts, text, text_map, texts},
    tools::REQUEST,
};

pub(super) static TYPES: &[Definition] = &[
    component(
        "Flow",
        "AgenticComponent",
        fields![
            part("start_node", "Node").required(),
            parts("nodes", "Node").required(),
            parts("control_flow_connections", "ControlFlowEdge").required(),
            parts("data_flow_connections", "DataFlowEdge").or_null(),
        ],
    )
    .io(Io::Flow),
    component(
        "ControlFlowEdge",
        "Component",
        fields![
            part("from_node", "Node").required(),
            text("from_branch").or_null(),
            part("to_node", "Node").required()
        ],
    ),
    component(
        "DataFlowEdge",
        "Component",
        fields![
            part("source_node", "Node").required(),
            text("source_output").required(),
            part("destination_node", "Node").required(),
            text("destination_input").required(),
        ],
    ),
    family("Node", "ComponentWithIO", fields![texts("branches").or_null_by_spec()]),
    component("StartNode", "Node", fields![]).io(Io::Mirror),
    component("EndNode", "Node", fields![text("branch_name").or_null_by_spec()]).io(Io::Mirror).leaving(Leaving::Never),
    component(
        "LlmNode",
        "Node",
        fields![
            part("llm_config", "LlmConfig").required().alias_of_text("llm_configuration"),
            text("prompt_template").required().prompt().placeholders(),
        ],
    )
    .io(Io::Template { of: "the prompt template", outputs: Outputs::Generated })
    .role(Role::Step),
    component("ApiNode", "Node", &REQUEST)
        .io(Io::Template { of: "the request", outputs: Outputs::Response })
        .call(Call::Request)
        .role(Role::Step),
    component("AgentNode", "Node", fields![part("agent", "AgenticComponent").required()])
        .io(Io::Part("agent", "the agent"))
        .leaving(Leaving::Agent)
        .role(Role::Frame),
    component("FlowNode", "Node", fields![part("subflow", "Flow").required()])
        .io(Io::Part("subflow", "the subflow"))
        .leaving(Leaving::Subflow)
        .role(Role::Frame),
    component("CatchExceptionNode", "Node", fields![part("subflow", "Flow").required()])
        .io(Io::Caught)
        .leaving(Leaving::SubflowOrException)
        .role(Role::Frame)
        .since(Version::V26_1_2),
    component("MapNode", "Node", fields![part("subflow", "Flow").required(), REDUCERS])
        .io(Io::Mapped)
        .role(Role::Frame),
    component("ParallelMapNode", "Node", fields![part("subflow", "Flow").required(), REDUCERS])
        .io(Io::Mapped)
        .role(Role::Frame)
        .since(Version::V25_4_2),
    component("ParallelFlowNode", "Node", fields![parts("subflows", "Flow").required_by_spec()])
        .io(Io::Parallel)
        .role(Role::Frame)
        .since(Version::V25_4_2),
    component("BranchingNode", "Node", fields![text_map("mapping").required()])
        .io(Io::Choice)
        .leaving(Leaving::Mapping),
    component("ToolNode", "Node", fields![part("tool", "Tool").required()])
        .io(Io::Part("tool", "the tool"))
        .role(Role::Frame),
    component("InputMessageNode", "Node", fields![text("message").or_null().placeholders()])
        .io(Io::Template { of: "the message", outputs: Outputs::Message }),
    component("OutputMessageNode", "Node", fields![text("message").required().placeholders()])
        .io(Io::Template { of: "the message", outputs: Outputs::Nothing }),
];

const REDUCERS: Field =
    Field::new("reducers", Kind::ChoiceMap(REDUCTIONS, &["append", "sum", "average", "max", "min", "avg"])).or_null();
const REDUCTIONS: &[&str] = &["append", "sum", "average", "max", "min"];
