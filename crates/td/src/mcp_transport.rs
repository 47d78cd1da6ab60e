//! Transports of MCP over HTTP, and the names by which documents refer to them.

use serde_json::{Map, Value};

/// A transport of MCP over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTransport {
    /// Streamable HTTP, since 2025-03-26.
    StreamableHttp,
    /// HTTP with Server-Sent Events, of 2024-11-05.
    Sse,
}

impl McpTransport {
    /// Returns the transport with the given name in any spelling, such as `streamableHttp`, `http`, or `SSETransport`.
    pub fn parse(name: &str) -> Option<McpTransport> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        let plain = plain.strip_suffix("transport").unwrap_or(&plain);
        match plain.strip_suffix("mtls").unwrap_or(plain) {
            "streamablehttp" | "http" => Some(McpTransport::StreamableHttp),
            "sse" | "httpsse" => Some(McpTransport::Sse),
            _ => None,
        }
    }

    /// Returns the transport of a form with the subprotocol `mcp` and an HTTP URL. This is streamable HTTP unless the
    /// form names a transport. Returns `None` if the named transport is unknown.
    pub fn of_form(form: &Map<String, Value>) -> Option<McpTransport> {
        // Descriptions that were made of Agent Spec had only the second one.
        let name = ["mcp:transport", "agentspec:transport"].iter().find_map(|term| form.get(*term)?.as_str());
        name.map_or(Some(McpTransport::StreamableHttp), McpTransport::parse)
    }

    /// Returns the name in `server.json` and in forms.
    pub const fn name(self) -> &'static str {
        match self {
            McpTransport::StreamableHttp => "streamable-http",
            McpTransport::Sse => "sse",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spellings_are_one_transport() {
        for (transport, names) in [
            (
                Some(McpTransport::StreamableHttp),
                &["streamable-http", "http", "streamable_http", "streamableHttp", "StreamableHTTPmTLSTransport"][..],
            ),
            (Some(McpTransport::Sse), &["sse", "SSE", "SSETransport", "SSEmTLSTransport", "http+sse"]),
            (None, &["stdio", "websocket", "", "transport"]),
        ] {
            for name in names {
                assert_eq!(McpTransport::parse(name), transport, "{name}");
            }
        }
    }

    #[test]
    fn forms_of_earlier_imports_say_it_by_their_component() {
        let of = |form: Value| McpTransport::of_form(form.as_object().unwrap_or(&Map::new()));
        assert_eq!(of(json!({})), Some(McpTransport::StreamableHttp));
        assert_eq!(of(json!({"agentspec:transport": "SSETransport"})), Some(McpTransport::Sse));
        assert_eq!(of(json!({"mcp:transport": "websocket"})), None);
    }
}
