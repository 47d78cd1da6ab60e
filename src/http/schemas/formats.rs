//! The schemas of other formats, and of the results of importing them.

use serde::Deserialize;
use utoipa::ToSchema;

use super::Violation;

/// An Open Agent Spec configuration. Other members are preserved.
#[derive(ToSchema)]
#[schema(example = json!({
    "agentspec_version": "25.4.1",
    "component_type": "Agent",
    "id": "weather",
    "name": "Weather agent",
    "description": "Answers questions about the weather",
    "llm_config": {"component_type": "OpenAiConfig", "id": "llm", "name": "llm", "model_id": "gpt-5"},
    "system_prompt": "Answer in one sentence.",
}))]
pub(in crate::http) struct AgentSpec {
    component_type: Option<String>,
    agentspec_version: Option<String>,
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
}

/// An A2A agent card of any version, here in the shape of 1.0. Other members are preserved.
#[derive(Deserialize, ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "name": "Weather agent",
    "description": "Answers questions about the weather",
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://weather.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ],
    "capabilities": {"streaming": true},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "forecast", "name": "Forecast", "description": "Tells the weather", "tags": ["weather"]}],
}))]
pub(in crate::http) struct AgentCard {
    name: String,
    description: String,
    version: String,
    /// Of 1.0.
    #[schema(value_type = Option<Vec<Object>>)]
    supported_interfaces: Option<()>,
    /// Of 0.2 and 0.3.
    url: Option<String>,
    #[schema(value_type = Vec<Object>)]
    skills: (),
}

/// Where a document is. It is fetched, registered, and polled for changes.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://weather.example"}))]
pub(in crate::http) struct DocumentUrl {
    /// Absolute, with `http` or `https`: of the document, or of the agent that serves it at a well-known place.
    url: String,
}

/// A card, or where one is.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum AgentCardOrUrl {
    Card(AgentCard),
    Url(DocumentUrl),
}

/// An LMOS capability file.
#[derive(Deserialize, ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "id": "billing-agent",
    "supportedTenants": ["de"],
    "supportedChannels": ["web"],
    "capabilities": [{"name": "view-bill", "version": "1.2.0", "description": "Shows the last bill"}],
}))]
pub(in crate::http) struct CapabilityFile {
    id: Option<String>,
    description: Option<String>,
    supported_tenants: Option<Vec<String>>,
    supported_channels: Option<Vec<String>>,
    capabilities: Vec<FileCapability>,
}

/// A capability in a capability file.
#[derive(Deserialize, ToSchema)]
pub(in crate::http) struct FileCapability {
    id: Option<String>,
    name: String,
    /// A semantic version.
    version: String,
    description: Option<String>,
    examples: Option<Vec<String>>,
}

/// A capability file, or where one is.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum CapabilityFileOrUrl {
    File(CapabilityFile),
    Url(DocumentUrl),
}

/// A URL that an agent was imported from and that is polled. Moments are in RFC 3339.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "id": "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
    "source": "https://weather.example/.well-known/agent-card.json",
    "format": "a2a",
    "status": "current",
    "trackedSince": "2026-11-22T10:00:00Z",
    "lastFetch": "2026-11-22T12:01:40Z",
    "lastSuccess": "2026-11-22T12:01:40Z",
    "nextTry": "2026-11-22T13:04:10Z",
    "failures": 0,
    "etag": "\"1\"",
    "revisions": [
        {"hash": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "seen": "2026-11-22T10:00:00Z"},
    ],
}))]
pub(in crate::http) struct TrackedSource {
    /// The Thing that the document is about.
    id: String,
    /// The URL of the document.
    source: String,
    /// The URL at the end of its redirects, if there are any; without its query.
    location: Option<String>,
    /// `a2a` or `lmos-capabilities`.
    format: String,
    /// `current`, or `stale` once polls failed repeatedly.
    status: String,
    tracked_since: String,
    /// When it was last polled.
    last_fetch: String,
    /// When it last served the document, or confirmed that it is unchanged.
    last_success: String,
    /// When it will be polled again.
    next_try: String,
    /// How many polls failed in a row.
    failures: u32,
    /// Why the last poll failed.
    last_error: Option<String>,
    /// How many times in a row the signatures of a card couldn't be checked, because keys couldn't be fetched.
    unchecked: Option<u32>,
    /// The entity tag of the document.
    etag: Option<String>,
    /// When the document changed, as its server wrote it.
    last_modified: Option<String>,
    /// The versions of the document, the newest last; at most 100.
    revisions: Vec<Revision>,
}

/// A version of a tracked document.
#[derive(ToSchema)]
pub(in crate::http) struct Revision {
    /// SHA-256 of its bytes, as `sha256:` and hexadecimal digits.
    hash: String,
    /// When it was first seen.
    seen: String,
}

/// The result of a poll.
#[derive(ToSchema)]
pub(in crate::http) struct RefreshedImport {
    /// `unchanged`, `updated`, or `stopped` where the Thing was removed or changed by hand in the meantime.
    result: String,
    /// The state of the source; `null` where it is no longer tracked.
    import: Option<TrackedSource>,
}

/// The parts of a multi-part import, each JSON or YAML by its type or the name of its file.
#[derive(ToSchema)]
pub(in crate::http) struct ImportParts {
    /// The configuration itself.
    #[schema(value_type = String, format = Binary)]
    document: (),
    /// Configurations that it refers to.
    #[schema(value_type = Vec<String>)]
    component: (),
}

/// What became of an import.
#[derive(ToSchema)]
pub(in crate::http) struct Imported {
    /// All Things of the document; its own first.
    ids: Vec<String>,
    /// Those that are new.
    created: Vec<String>,
    /// Those that existed and changed.
    updated: Vec<String>,
    /// Those whose description is what it was, while the document that they were imported from, which exports return,
    /// was replaced. There is no event of that.
    #[schema(rename = "originalUpdated")]
    original_updated: Vec<String>,
    /// What is odd about the document, or didn't survive.
    warnings: Vec<Violation>,
    /// `true` in a dry run.
    #[schema(rename = "dryRun")]
    dry_run: Option<bool>,
}
