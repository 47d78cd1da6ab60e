//! Types of the MCP registry API, version 0.1.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Timestamp;

/// A page of MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(as = McpServerList, example = json!({
        "servers": [{
            "server": {
                "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
                "name": "com.example/weather", "description": "Weather by place", "version": "1.2.0",
                "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp"}],
            },
            "_meta": {"agentdex/registry": {
                "id": "urn:agentdex:mcp:com.example/weather", "status": "active", "isLatest": true,
                "statusChangedAt": "2026-01-02T03:04:05.000Z", "publishedAt": "2026-01-02T03:04:05.000Z",
                "updatedAt": "2026-01-02T03:04:05.000Z",
            }},
        }],
        "metadata": {"count": 1},
    }))
)]
pub struct ServerList {
    /// The servers, each with a version.
    pub servers: Vec<ServerEntry>,
    /// The position of the page.
    pub metadata: ServerListMetadata,
}

/// Position of a page of MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = McpServerListMetadata))]
pub struct ServerListMetadata {
    /// The `cursor` of the next page; absent on the last page. A page with a cursor may be short, or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub next_cursor: Option<String>,
    /// Number of servers on this page.
    pub count: u64,
}

/// A version of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = McpServerEntry))]
pub struct ServerEntry {
    /// `server.json` in the schema of 2025-12-11.
    pub server: Map<String, Value>,
    /// Metadata of registries about the server.
    #[serde(rename = "_meta")]
    pub metadata: ServerMetadata,
}

/// Metadata of registries about an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = McpServerMetadata))]
pub struct ServerMetadata {
    /// Metadata of the registry from which the server was mirrored. Only `isLatest` is that of this registry.
    #[serde(rename = "io.modelcontextprotocol.registry/official", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<std::collections::HashMap<String, Value>>, nullable = false))]
    pub official: Option<Map<String, Value>>,
    /// Metadata of this registry.
    #[serde(rename = "agentdex/registry")]
    pub registry: RegistryBlock,
}

/// Metadata of an agentdex registry about an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = McpRegistryBlock))]
pub struct RegistryBlock {
    /// Id of the Thing.
    pub id: String,
    /// Status of the version.
    pub status: ServerStatus,
    /// Message about the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub status_message: Option<String>,
    /// Time of the last change of the status.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub status_changed_at: Timestamp,
    /// Time of publication in this registry.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub published_at: Timestamp,
    /// Time of the last change of the version or its status in this registry.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
    /// True for the latest version.
    pub is_latest: bool,
}

/// Status of an MCP server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = McpServerStatus))]
pub enum ServerStatus {
    /// The server can be used.
    #[default]
    Active,
    /// The server should no longer be used. It ranks lower in searches.
    Deprecated,
    /// The server is withdrawn. It is absent from responses, except with `include_deleted=true`.
    Deleted,
}

impl ServerStatus {
    /// The statuses, in the order of their severity.
    pub const ALL: [ServerStatus; 3] = [ServerStatus::Active, ServerStatus::Deprecated, ServerStatus::Deleted];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            ServerStatus::Active => "active",
            ServerStatus::Deprecated => "deprecated",
            ServerStatus::Deleted => "deleted",
        }
    }

    /// Returns the status with a name, or `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<ServerStatus> {
        ServerStatus::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// New status of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(as = McpStatusUpdate, example = json!({"status": "deprecated", "statusMessage": "Use com.example/weather-2"}))
)]
pub struct StatusUpdate {
    /// The status.
    pub status: ServerStatus,
    /// Message about the status; not allowed for `active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_length = 500))]
    pub status_message: Option<String>,
}

/// Result of a status update for all versions of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = McpUpdatedServers))]
pub struct UpdatedServers {
    /// Number of changed versions.
    pub updated_count: u64,
    /// Changed versions.
    pub servers: Vec<ServerEntry>,
}
