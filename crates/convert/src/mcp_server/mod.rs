//! MCP servers: `server.json` of the MCP registry and Server Cards, as Things and back. Cards in the shapes of before the
//! schema, the answers of registries and servers, and configurations of clients are read too.
//!
//! Both have the same members, but that a card has no `packages`. Each tool is an action, called at every
//! remote; of a server that lists no tools the one action is named after the server and takes the name of
//! the tool. What a Thing Description has no place for keeps its name with the prefix `mcp:`, at any depth,
//! since JSON-LD would take bare members (`type`) for others.
//!
//! | term | where | what |
//! |---|---|---|
//! | `mcp:transport` | form | the type of the remote: `streamable-http` or `sse` |
//! | `mcp:method`, `mcp:tool` | form | the method of the protocol that is called, and the tool |
//! | `mcp:isRequired` | header of a form | `false` where the header is left out if a variable in it has no value |
//! | `mcp:value` | security definition | the value of a header, in which `{name}` stands for the secret |
//! | `mcp:jsonSchema` | data schema | the JSON Schema of a tool, where the data schema says less |
//! | `mcp:name` | Thing | the name of the server, in reverse-DNS form |
//! | `mcp:packages` | Thing | how to get and run it, each with `mcp:command` |
//! | `mcp:withdrawn` | Thing | `deprecated` or `deleted`, as its registry says |

mod authentication;
mod card_shapes;
mod envelope;
mod export;
mod format;
mod headers;
mod input;
mod publisher_metadata;
mod read;
mod redaction;
mod reference;
mod remote;
mod run;
mod schema;
mod terms;
mod thing;
mod tool;

pub(super) use self::format::FORMAT;
pub use self::{export::from_thing, read::Server};

/// The namespace of the prefix `mcp` in descriptions.
pub const MCP_NAMESPACE: &str = "urn:agentdex:mcp:";

/// The member of publisher-provided metadata with the id of the Thing from which a document was created. Without it,
/// importing the document would create another Thing. It is ignored in fetched documents.
pub const THING_ID: &str = "urn:agentdex:mcp:thing";

/// Options for converting a document to a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The id of the Thing; by default, that of the Thing from which the document was created, or else derived from
    /// the name of the server.
    pub id: Option<String>,
}

/// The kinds of documents that describe a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `server.json` of the MCP registry.
    ServerJson,
    /// A Server Card, which a server has next to its own URL.
    ServerCard,
}

impl DocumentKind {
    /// The name as a version of exports.
    pub const fn name(self) -> &'static str {
        match self {
            DocumentKind::ServerJson => "server.json",
            DocumentKind::ServerCard => "server-card",
        }
    }

    /// The schema that a document of it names.
    fn schema(self) -> &'static str {
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
