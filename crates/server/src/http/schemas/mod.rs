//! The schemas of bodies, for the OpenAPI document. These types describe; nothing is made of them.
#![expect(dead_code, reason = "read by utoipa's derives alone")]

mod a2a;
mod constraints;
mod conversions;
mod document;
mod formats;
mod guardian;
mod links;
mod parameters;
mod queries;
mod refusals;
mod security;

pub(super) use agentdex_api::Problem;
use agentdex_api::{DryRun, ThingCollection};
use serde_json::Value;
use utoipa::ToSchema;

pub use self::document::openapi;
pub(super) use self::{a2a::*, guardian::*};
use self::{constraints::Constraints, links::Links, security::Security};
pub(super) use self::{formats::*, parameters::*, queries::*, refusals::*};
use crate::td::Flag;

/// A W3C Thing Description. The description of an LMOS agent has the `@type` `lmos:Agent`. Other members are stored
/// unchanged.
#[derive(ToSchema)]
#[schema(example = json!({
    "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
    "@type": "lmos:Agent",
    "id": "urn:example:weather",
    "title": "Weather agent",
    "lmos:capabilities": [{"id": "forecast", "name": "Weather forecast"}],
}))]
pub(super) struct ThingDescription {
    /// An absolute URI.
    id: Option<String>,
    title: String,
    description: Option<String>,
    registration: Option<Registration>,
}

/// A Thing Description without an `id`, which the registry assigns.
#[derive(ToSchema)]
#[schema(example = json!({
    "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
    "@type": "lmos:Agent",
    "title": "Weather agent",
    "lmos:capabilities": [{"id": "forecast", "name": "Weather forecast"}],
}))]
pub(super) struct AnonymousThingDescription {
    title: String,
    description: Option<String>,
    registration: Option<Registration>,
}

/// The description, if requested with `Prefer: return=representation`, or the effect that a dry run
/// would have.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum RepresentationOrDryRun {
    Representation(ThingDescription),
    DryRun(DryRun),
}

/// The registration of a Thing: the times and the time to live that the registry maintains. Clients can set `ttl` or
/// `expires`.
#[derive(ToSchema)]
pub(super) struct Registration {
    /// Time of creation (RFC 3339).
    created: Option<String>,
    /// Time of the last change of the description (RFC 3339).
    modified: Option<String>,
    /// Time of this response (RFC 3339).
    retrieved: Option<String>,
    /// Time of expiry (RFC 3339); ignored if a client also sets `ttl`.
    expires: Option<String>,
    /// Time to live in seconds.
    ttl: Option<u64>,
    /// Possibly deceptive parts of the description, and credentials in it; absent if there are none. Ignored in
    /// requests.
    #[schema(rename = "agentdex:flags")]
    flags: Option<Vec<Flag>>,
}

/// A list of complete descriptions or, with `view=summary`, of summaries.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum ThingList {
    Array(Vec<ThingDescription>),
    Collection(ThingCollection),
}

/// A request or notification of JSON-RPC 2.0.
#[derive(ToSchema)]
#[schema(example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))]
pub(super) struct JsonRpcRequest {
    #[schema(pattern = "^2\\.0$")]
    jsonrpc: String,
    /// Absent from a notification.
    #[schema(nullable = false)]
    id: Option<u64>,
    method: String,
    params: Option<serde_json::Map<String, Value>>,
}

/// An answer of JSON-RPC 2.0, which has either a result or an error.
#[derive(ToSchema)]
pub(super) struct JsonRpcAnswer {
    #[schema(pattern = "^2\\.0$")]
    jsonrpc: String,
    result: Option<serde_json::Map<String, Value>>,
    error: Option<serde_json::Map<String, Value>>,
}

/// `server.json` of an MCP server, in the schema of 2025-12-11.
#[derive(ToSchema)]
#[schema(example = json!({
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "com.example/weather",
    "description": "Weather by place",
    "version": "1.0.0",
    "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp"}],
}))]
pub(super) struct McpServerDocument {
    #[schema(min_length = 3, max_length = 200, pattern = "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")]
    name: String,
    #[schema(min_length = 1, max_length = 100)]
    description: String,
    /// A single version, as opposed to a range.
    #[schema(min_length = 1, max_length = 255)]
    version: String,
    #[schema(min_length = 1, max_length = 100)]
    title: Option<String>,
}

/// A merge patch (RFC 7396). `{}` changes nothing and renews the expiry.
#[derive(ToSchema)]
pub(super) struct MergePatch {}
