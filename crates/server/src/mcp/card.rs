//! The Server Card (SEP-2127).

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

use crate::convert::mcp_server::{DocumentKind, server_name};

/// Returns the Server Card of the MCP server of a registry at a base URL. `is_key_required` is `None` if the server takes no
/// credentials.
pub(crate) fn server_card(base: &str, is_key_required: Option<bool>) -> Value {
    let url = format!("{base}/mcp");
    let versions: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().rev().map(ProtocolVersion::as_str).collect();
    let mut remote = json!({"type": "streamable-http", "url": url, "supportedProtocolVersions": versions});
    if let Some(is_required) = is_key_required {
        remote["headers"] = json!([{
            "name": "Authorization", "description": "An API key of the registry, or a token that it accepts",
            "value": "Bearer {key}", "isRequired": is_required, "isSecret": true,
            "variables": {"key": {"description": "The key or token", "isRequired": true, "isSecret": true}},
        }]);
    }
    json!({
        "$schema": DocumentKind::ServerCard.schema(),
        "name": server_name(&url, "agentdex"),
        "version": env!("CARGO_PKG_VERSION"),
        "title": "agentdex",
        "description": "Search for software agents by what they can do",
        "websiteUrl": format!("{base}/docs/guide/"),
        "remotes": [remote],
    })
}
