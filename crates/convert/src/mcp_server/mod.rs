//! MCP servers: conversion of `server.json` of the MCP registry and of Server Cards to Things, and back. Also accepted
//! are cards published before a schema existed, responses of registries and servers, and configurations of clients.
//!
//! Both formats have the same members, except that a card has no `packages`. Each tool becomes an action, with a form
//! for every remote. A server that lists no tools gets a single action, which is named after the server and takes the
//! name of the tool as an input. Members without a counterpart in a Thing Description keep their names with the prefix
//! `mcp:`, at any depth, since JSON-LD would interpret unprefixed members such as `type` differently.
//!
//! | term | location | content |
//! |---|---|---|
//! | `mcp:transport` | form | the type of the remote: `streamable-http` or `sse` |
//! | `mcp:method`, `mcp:tool` | form | the called method of the protocol, and the tool |
//! | `mcp:isRequired` | header of a form | `false` if the header is omitted when a variable in it has no value |
//! | `mcp:value` | security definition | the value of a header, in which `{name}` stands for the secret |
//! | `mcp:jsonSchema` | data schema | the JSON Schema of a tool, if the data schema is less precise |
//! | `mcp:name` | Thing | the name of the server, in reverse-DNS form |
//! | `mcp:packages` | Thing | instructions for installing and running the server, each with `mcp:command` |
//! | `mcp:withdrawn` | Thing | `deprecated` or `deleted`, as marked by its registry |

mod authentication;
mod card_shapes;
mod client_configuration;
mod connection_options;
mod envelope;
mod export;
mod format;
mod headers;
mod input;
mod publisher_metadata;
mod read;
mod redaction;
mod reference;
mod registry_metadata;
mod remote;
mod run;
mod schema;
mod strict;
mod terms;
mod thing;
mod tool;
mod unlisted_tools;

pub(super) use self::{authentication::requirement as authentication_requirement, format::FORMAT};
pub use self::{
    client_configuration::{
        Configuration, ConfigurationOptions, McpClient, RegistryAddress, Variable, is_configured_name,
    },
    export::{from_thing, is_name, server_name},
    read::Server,
    registry_metadata::{RegistryMetadata, registry_metadata_patch, with_registry_metadata},
    thing::id_of,
    unlisted_tools::{endpoint_without_tools, with_tools},
};

/// Namespace of the prefix `mcp` in descriptions.
pub const MCP_NAMESPACE: &str = "urn:agentdex:mcp:";

/// Member of publisher-provided metadata that contains the id of the Thing from which the document was created. Without
/// it, importing the document would create another Thing. It is ignored in fetched documents.
pub const THING_ID: &str = "urn:agentdex:mcp:thing";

/// Member of `_meta` with the metadata of an agentdex registry: status, message, and times.
pub const REGISTRY_METADATA: &str = "agentdex/registry";

/// Options for converting a document to a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Id of the Thing. By default, it is the id of the Thing from which the document was created or, if there is none,
    /// derived from the name of the server.
    pub id: Option<String>,
}

/// Kind of a document that describes a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `server.json` of the MCP registry.
    ServerJson,
    /// A Server Card, which a server publishes next to its own URL.
    ServerCard,
}

impl DocumentKind {
    /// Returns the name by which exports select the kind as a version.
    pub const fn name(self) -> &'static str {
        match self {
            DocumentKind::ServerJson => "server.json",
            DocumentKind::ServerCard => "server-card",
        }
    }

    /// The URL of the schema that its documents name.
    #[must_use]
    pub const fn schema(self) -> &'static str {
        match self {
            DocumentKind::ServerJson => "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            DocumentKind::ServerCard => "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        }
    }

    /// The kind of that name.
    fn named(name: &str) -> Option<DocumentKind> {
        [DocumentKind::ServerJson, DocumentKind::ServerCard].into_iter().find(|kind| kind.name() == name)
    }
}
