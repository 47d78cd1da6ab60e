//! Component types of transports: connections to MCP servers.

use super::{
    super::version::Version,
    definition::{Definition, component, family},
    field::{
        Field, Kind,
        Trigger::{Present, Truthy},
        object, part, record, text, text_map, texts,
    },
    records::{MCP_SESSION, RETRY_POLICY},
};

pub(super) static TYPES: &[Definition] = &[
    family(
        "ClientTransport",
        "Component",
        fields![object("session_parameters").in_sdk(Kind::Record(&MCP_SESSION)).or_null_by_spec().may_hold_secrets()],
    ),
    component(
        "StdioTransport",
        "ClientTransport",
        fields![
            text("command").required(),
            texts("args").may_hold_secrets(),
            text_map("env").or_null().may_hold_secrets(),
            text("cwd").or_null(),
        ],
    ),
    family(
        "RemoteTransport",
        "ClientTransport",
        fields![
            text("url").required().address(),
            part("auth", "AuthConfig").or_null().since(&[(Version::V26_1_2, Present)]),
            text_map("headers").or_null().may_hold_secrets(),
            text_map("sensitive_headers").or_null().secret().since(&[(Version::V25_4_2, Truthy)]),
            record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_1_2, Present)]),
        ],
    ),
    component("SSETransport", "RemoteTransport", fields![]),
    component("SSEmTLSTransport", "SSETransport", &MTLS),
    component("StreamableHTTPTransport", "RemoteTransport", fields![]),
    component("StreamableHTTPmTLSTransport", "StreamableHTTPTransport", &MTLS),
];

const MTLS: [Field; 3] =
    [text("key_file").required().secret(), text("cert_file").required().secret(), text("ca_file").required().secret()];
