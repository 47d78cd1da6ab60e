//! Component types of agents, remote agents, and groups of agents, all of which accept messages.

use super::{
    super::{Profile, version::Version},
    definition::{Call, Definition, Io, Outputs, Role, component, family},
    field::{
        Bound, Field, Kind,
        Trigger::{False, Present, Truthy},
        flag, number, object, part, parts, record, text, text_map,
    },
    records::{A2A_SESSION, RETRY_POLICY},
};

pub(super) static TYPES: &[Definition] = &[
    family("AgenticComponent", "ComponentWithIO", fields![]).role(Role::Agent),
    component(
        "Agent",
        "AgenticComponent",
        fields![
            part("llm_config", "LlmConfig").required().alias_of_text("llm_configuration"),
            text("system_prompt").required().prompt().placeholders(),
            parts("tools", "Tool"),
            parts("toolboxes", "ToolBox").since(&[(Version::V25_4_2, Truthy)]),
            flag("human_in_the_loop").since(&[(Version::V25_4_2, False)]),
            parts("transforms", "MessageTransform").since(&[(Version::V26_1_2, Truthy)]),
        ],
    )
    .io(Io::Template { of: "the system prompt", outputs: Outputs::Declared }),
    component(
        "AgentSpecializationParameters",
        "ComponentWithIO",
        fields![
            text("additional_instructions").or_null().prompt().placeholders(),
            parts("additional_tools", "Tool").or_null(),
            flag("human_in_the_loop").or_null(),
        ],
    )
    .io(Io::Template { of: "the additional instructions", outputs: Outputs::Nothing })
    .role(Role::Part)
    .since(Version::V25_4_2),
    component(
        "SpecializedAgent",
        "AgenticComponent",
        fields![
            part("agent", "Agent").required(),
            part("agent_specialization_parameters", "AgentSpecializationParameters").required(),
        ],
    )
    .io(Io::Specialized)
    .since(Version::V25_4_2),
    family("RemoteAgent", "AgenticComponent", fields![]),
    component(
        "OciAgent",
        "RemoteAgent",
        fields![
            text("agent_endpoint_id").required(),
            part("client_config", "OciClientConfig").required(),
            record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_1_2, Present)]),
        ],
    ),
    component(
        "A2AAgent",
        "RemoteAgent",
        fields![
            text("agent_url").required().address(),
            part("connection_config", "A2AConnectionConfig").required(),
            object("session_parameters").in_sdk(Kind::Record(&A2A_SESSION)).or_null_by_spec().may_hold_secrets(),
        ],
    )
    .call(Call::A2a)
    .since(Version::V25_4_2),
    component(
        "A2AConnectionConfig",
        "Component",
        fields![
            number("timeout", Bound::None),
            text_map("headers").or_null().may_hold_secrets(),
            flag("verify"),
            text("key_file").or_null().secret(),
            text("cert_file").or_null().secret(),
            text("ssl_ca_cert").or_null().secret(),
            // In the text, but not in its SDK.
            text("ca_path").or_null().secret().only(Profile::Spec),
            record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_1_2, Present)]),
        ],
    )
    .since(Version::V25_4_2),
    component(
        "Swarm",
        "AgenticComponent",
        fields![
            part("first_agent", "AgenticComponent").required(),
            Field::new("relationships", Kind::Pairs("AgenticComponent")).required(),
            Field::new("handoff", Kind::ChoiceOrFlag(&["never", "optional", "always"])),
        ],
    )
    .since(Version::V25_4_2),
    component(
        "ManagerWorkers",
        "AgenticComponent",
        fields![part("group_manager", "AgenticComponent").required(), parts("workers", "AgenticComponent").required()],
    )
    .since(Version::V25_4_2),
];
