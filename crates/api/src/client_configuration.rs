//! Configurations of MCP clients.

use serde::{Deserialize, Serialize};

/// The answer of `GET /connect` and `GET /things/{id}/connect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClientConfigurations {
    /// The known clients, in a fixed order.
    pub clients: Vec<ClientConfiguration>,
}

/// The configuration by which a client connects to an MCP server, or the reason for its absence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClientConfiguration {
    /// Name of the client, such as `claude-code`.
    pub client: String,
    /// Name of the product.
    pub title: String,
    /// The user's configuration file, as on Linux.
    pub file: String,
    /// Name of the server in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text to add to the file: JSON or TOML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Command of a third party that the client will run, as words of a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Environment variables that the configuration refers to. VS Code asks for the values instead.
    #[serde(default)]
    pub variables: Vec<ConfigurationVariable>,
    /// Notes on the configuration, such as omitted optional headers.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The reason why the client can't connect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An environment variable that a configuration refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConfigurationVariable {
    /// The name.
    pub name: String,
    /// Description by the server's author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// True for a credential.
    pub secret: bool,
}
