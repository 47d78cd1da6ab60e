//! Documents to be edited.

use crate::Format;

pub(super) const CARD_1: &str = r#"{
  "name": "Weather",
  "description": "Forecasts",
  "version": "1.50",
  "supportedInterfaces": [
    {"url": "https://w.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    {"url": "https://w.example/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
  ],
  "provider": {"organization": "Example", "url": "https://example.org", "x-since": 1e3},
  "documentationUrl": "https://w.example/docs",
  "iconUrl": "https://w.example/icon.png",
  "capabilities": {"streaming": true},
  "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
  "skills": [
    {"id": "forecast", "name": "Forecast", "description": "Says the weather", "tags": ["weather"], "x-cost": 1.50},
    {"id": "alert", "name": "Alert", "description": "Warns", "tags": ["weather", "danger"], "examples": ["Storm?"]}
  ],
  "x-own": {"rate": 2.50}
}
"#;
pub(super) const CARD_0: &str = r#"{"name": "Weather", "description": "Forecasts", "url": "https://w.example/a2a",
  "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC", "version": "1.0.0", "capabilities": {"stateTransitionHistory": true},
  "provider": {"organization": "Example", "url": "https://example.org"}, "documentationUrl": "https://w.example/docs",
  "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}, "security": [{"key": []}],
  "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "forecast", "name": "Forecast", "description": "Says the weather", "tags": ["weather"]}],
  "x-rate": 2.50}"#;
pub(super) const SERVER: &str = r#"{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "com.example/weather", "title": "Weather", "description": "Tells the weather", "version": "1.0.0",
  "websiteUrl": "https://weather.example", "icons": [{"src": "https://weather.example/i.png", "sizes": ["48x48"], "theme": "dark"}],
  "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp"}],
  "packages": [{"registryType": "npm", "identifier": "weather", "version": "1.0.0", "transport": {"type": "stdio"}}],
  "_meta": {"com.example": {"rate": 2.50}}
}"#;
pub(super) const AOS: &str = r#"{
  "id": "urn:example:travel", "name": "Travel", "version": "1.0.0", "instructions": "", "description": "Books trips",
  "provider": {"name": "Example", "url": "https://example.org", "metadata": {"rate": 2.50}},
  "tools": [{"id": "book", "name": "Book", "description": "Books", "type": "function_call",
    "arguments": [{"name": "city", "type": "string", "required": true}], "outputs": null}],
  "mcpServers": [{"name": "maps", "version": "1.0"}], "metadata": {"rate": 2.50}
}"#;
pub(super) const FILE: &str = r#"{
  "id": "urn:example:billing", "description": "Bills", "supportedTenants": ["de"], "supportedChannels": ["web", "app"],
  "capabilities": [
    {"id": "1", "name": "view-bill", "version": "1.0.0", "description": "Shows", "examples": ["Show my bill"], "rate": 2.50},
    {"id": "2", "name": "pay-bill", "version": "1.1.0", "description": "Pays"}
  ], "owner": {"rate": 2.50}
}"#;
pub(super) const AGENT: &str = r#"{
  "component_type": "Agent", "id": "helper", "name": "Travel helper", "description": "Helps travellers",
  "metadata": {"tags": ["travel"], "rate": 2.50}, "inputs": [], "outputs": [], "system_prompt": "Help.",
  "llm_config": {"component_type": "OpenAiConfig", "id": "gpt", "name": "gpt", "model_id": "gpt-4o"},
  "tools": [
    {"component_type": "RemoteTool", "id": "find", "name": "find_trains", "description": "Finds trains", "url": "https://t.example/find",
     "http_method": "POST", "data": {"to": "{{to}}"}, "inputs": [{"title": "to", "type": "string"}], "outputs": [{"title": "trains", "type": "string"}]}
  ],
  "agentspec_version": "25.4.1"
}"#;
pub(super) const REMOTE_AGENT: &str = r#"{"component_type": "A2AAgent", "id": "weather", "name": "Weather agent", "description": "Forecasts",
  "agent_url": "https://weather.example/a2a", "inputs": [], "outputs": [],
  "connection_config": {"component_type": "A2AConnectionConfig", "id": "c", "name": "connection", "timeout": 600.0},
  "agentspec_version": "25.4.2"}"#;
pub(super) const TOOL: &str = r#"{"component_type": "RemoteTool", "id": "find", "name": "find_trains", "description": "Finds trains",
  "url": "https://t.example/find", "http_method": "GET", "inputs": [], "outputs": [], "agentspec_version": "25.4.1"}"#;
pub(super) const REFERRED: &str = r#"{"$component_ref": "helper", "agentspec_version": "25.4.1", "$referenced_components": {"helper": {
  "component_type": "Agent", "id": "helper", "name": "Helper", "description": "Helps", "system_prompt": "Help.", "rate": 2.50,
  "llm_config": {"component_type": "OpenAiConfig", "id": "gpt", "name": "gpt", "model_id": "gpt-4o"}}}}"#;

/// The documents, and which members of their Things have a place in each.
pub(super) const DOCUMENTS: &[(Format, &str, &[&str])] = &[
    (
        Format::A2a,
        CARD_1,
        &[
            "/title",
            "/description",
            "/version/instance",
            "/lmos:metadata/lmos:vendor/lmos:name",
            "/lmos:metadata/lmos:vendor/lmos:url",
            "/links/0/href",
            "/links/1/href",
            "/lmos:capabilities/0/lmos:tags/0",
            "/lmos:capabilities/1/lmos:examples/0",
            "/lmos:capabilities/1/lmos:tags/1",
            "/a2a:x-own/rate",
        ],
    ),
    (
        Format::A2a,
        CARD_0,
        &[
            "/title",
            "/description",
            "/version/instance",
            "/lmos:metadata/lmos:vendor/lmos:name",
            "/links/0/href",
            "/lmos:capabilities/0/lmos:tags/0",
            "/a2a:x-rate",
        ],
    ),
    (Format::McpServer, SERVER, &["/title", "/description", "/version/instance", "/links/0/href", "/links/1/href"]),
    (
        Format::Aos,
        AOS,
        &[
            "/title",
            "/description",
            "/version/instance",
            "/lmos:metadata/lmos:vendor/lmos:name",
            "/lmos:metadata/lmos:vendor/lmos:url",
            "/lmos:capabilities/0/lmos:name",
            "/lmos:capabilities/0/lmos:description",
        ],
    ),
    (
        Format::LmosCapabilities,
        FILE,
        &[
            "/description",
            "/lmos:capabilities/0/lmos:version",
            "/lmos:capabilities/0/lmos:description",
            "/lmos:capabilities/0/lmos:examples/0",
            "/lmos:capabilities/1/lmos:name",
            "/lmos:supportedTenants/0",
            "/lmos:supportedChannels/1",
            "/lmos-file:owner/rate",
        ],
    ),
    (
        Format::AgentSpec,
        AGENT,
        &["/title", "/description", "/lmos:capabilities/1/lmos:description", "/lmos:capabilities/1/lmos:name"],
    ),
    (Format::AgentSpec, REMOTE_AGENT, &["/title", "/description", "/actions/weather-agent/forms/0/href"]),
    (
        Format::AgentSpec,
        TOOL,
        &["/title", "/description", "/actions/find_trains/forms/0/href", "/actions/find_trains/description"],
    ),
    (Format::AgentSpec, REFERRED, &["/title", "/description"]),
];
