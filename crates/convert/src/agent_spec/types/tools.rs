//! Component types of tools and toolboxes.

use super::{
    super::version::Version,
    definition::{Call, Definition, Io, Outputs, Role, component, family},
    field::{
        Field, Kind,
        Trigger::{NoObject, Present, Truthy},
        any, flag, object, part, record, text, texts,
    },
    records::RETRY_POLICY,
};

pub(super) static TYPES: &[Definition] = &[
    family("Tool", "ComponentWithIO", fields![flag("requires_confirmation").since(&[(Version::V25_4_2, Truthy)])])
        .role(Role::Tool),
    component("ClientTool", "Tool", fields![]),
    component("ServerTool", "Tool", fields![]),
    component(
        "BuiltinTool",
        "Tool",
        fields![
            text("tool_type").required(),
            object("configuration").or_null().may_hold_secrets(),
            Field::new("executor_name", Kind::TextOrTexts).or_null(),
            text("tool_version").or_null(),
        ],
    )
    .since(Version::V25_4_2),
    component("RemoteTool", "Tool", &REQUEST)
        .io(Io::Template { of: "the request", outputs: Outputs::Declared })
        .call(Call::Request),
    component(
        "MCPTool",
        "Tool",
        fields![
            part("client_transport", "ClientTransport").required(),
            record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_3_1, Present)]),
        ],
    )
    .call(Call::Mcp),
    family("ToolBox", "Component", fields![flag("requires_confirmation").since(&[(Version::V26_1_2, Truthy)])])
        .role(Role::ToolBox),
    component(
        "MCPToolBox",
        "ToolBox",
        fields![
            part("client_transport", "ClientTransport").required(),
            record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_3_1, Present)]),
            Field::new("tool_filter", Kind::PartsOrTexts("MCPToolSpec")).or_null(),
        ],
    )
    .call(Call::Mcp),
    component(
        "MCPToolSpec",
        "ComponentWithIO",
        fields![flag("requires_confirmation").since(&[(Version::V25_4_2, Truthy)])],
    ),
];

/// An HTTP request: what a RemoteTool and an ApiNode send.
pub(super) const REQUEST: [Field; 9] = [
    text("url").required().address().placeholders(),
    text("http_method").required().placeholders(),
    text("api_spec_uri").or_null().address().placeholders(),
    any("data").or_null().may_hold_secrets().placeholders().since(&[(Version::V25_4_2, NoObject)]),
    object("query_params").may_hold_secrets().placeholders(),
    object("headers").may_hold_secrets().placeholders(),
    object("sensitive_headers").secret().since(&[(Version::V25_4_2, Truthy)]),
    texts("url_allow_list").or_null().may_hold_secrets().since(&[(Version::V26_1_2, Present)]),
    record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_1_2, Present)]),
];
