//! Conversion of Things to entries of the API.

use agentdex_api::mcp_registry::{RegistryBlock, ServerEntry, ServerMetadata, ServerStatus};
use serde_json::{Map, Value};

use super::name;
use crate::{
    Error, Registry, Timestamp,
    convert::{
        self, Format,
        mcp_server::{self, DocumentKind, RegistryMetadata, Server},
    },
    registry::{Thing, ThingVersion},
    td,
};

/// Maximum length of a title in characters.
const LONGEST_TITLE: usize = 100;
/// Maximum length of the message of a status in characters.
pub(super) const LONGEST_MESSAGE: usize = 500;
/// Member with the message of a status.
const MESSAGE: &str = "statusMessage";

/// Version of an MCP server.
pub(super) struct ListedServer {
    pub(super) entry: ServerEntry,
    pub(super) version: ThingVersion,
    /// Stored metadata of this registry.
    pub(super) block: Map<String, Value>,
}

impl ListedServer {
    /// Returns the version in `server.json`.
    pub(super) fn version_name(&self) -> &str {
        self.entry.server.get("version").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the metadata of this registry.
    pub(super) fn stated(&self) -> &RegistryBlock {
        &self.entry.metadata.registry
    }
}

/// Versions of a Thing to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of them.
    All,
    /// Only the served version.
    Latest,
}

/// Returns the versions of a server by its name, the latest first. Empty if the caller sees no such server.
pub(super) fn find(registry: &Registry, name: &str, depth: Depth) -> Result<Vec<ListedServer>, Error> {
    let Some(id) = name::id_of(name) else { return Ok(Vec::new()) };
    // Ids of Things are normalized.
    if td::normalize_id(&id).map_or(true, |normal| normal != id) {
        return Ok(Vec::new());
    }
    let mut found = versions_of(registry, &id, depth)?;
    found.retain(|listed| listed.entry.server.get("name").is_some_and(|own| own == name));
    Ok(found)
}

/// Returns the versions of a Thing as MCP servers, the latest first.
pub(super) fn versions_of(registry: &Registry, id: &str, depth: Depth) -> Result<Vec<ListedServer>, Error> {
    let Some(thing) = registry.find(id)? else { return Ok(Vec::new()) };
    let mut versions = match registry.versions(id) {
        Err(Error::NotFound { .. }) => return Ok(Vec::new()),
        versions => versions?,
    };
    versions.retain(|version| version.is_readable);
    let is_only = versions.len() == 1;
    if depth == Depth::Latest {
        versions.retain(|version| version.is_served);
    }
    let mut listed: Vec<ListedServer> = Vec::new();
    for version in versions {
        if let Some(server) = listed_server(registry, &thing, version, is_only)?
            && !listed.iter().any(|other| other.version_name() == server.version_name())
        {
            listed.push(server);
        }
    }
    Ok(listed)
}

fn listed_server(
    registry: &Registry,
    thing: &Thing,
    version: ThingVersion,
    is_only: bool,
) -> Result<Option<ListedServer>, Error> {
    let text = if version.is_served { thing.text() } else { version.text() };
    let description: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(document) = document(registry, thing, &version, &description)? else { return Ok(None) };
    let Ok(parsed) = Server::parse(&document) else { return Ok(None) };
    let (mut server, _) = parsed.to_server_json();
    let in_document = server.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(name) = name::name_of(thing.id(), &in_document) else { return Ok(None) };
    if name != in_document {
        let title = description.get("title").and_then(Value::as_str).filter(|title| !title.is_empty());
        if let Some(title) = title.filter(|_| !server.contains_key("title")) {
            server.insert("title".to_owned(), title.chars().take(LONGEST_TITLE).collect::<String>().into());
        }
        server.insert("name".to_owned(), name.into());
    }
    let RegistryMetadata { official, registry: block, withdrawn } = RegistryMetadata::of_thing(&description);
    let stored_at = registry.entry(version.seq)?.map(|entry| entry.at());
    let first_stored = if is_only { Some(thing.created()) } else { stored_at };
    let published_at = moment(&block, "publishedAt").or(first_stored).unwrap_or(thing.created());
    let changed_at = if version.is_served { Some(thing.modified()) } else { stored_at };
    let updated_at = changed_at.map_or(published_at, |changed_at| changed_at.max(published_at));
    let status_changed_at = moment(&block, "statusChangedAt");
    let status_changed_at = status_changed_at.or_else(|| moment(official.as_ref()?, "statusChangedAt"));
    let stated = RegistryBlock {
        id: thing.id().to_owned(),
        status: withdrawn.and_then(|status| ServerStatus::from_name(&status)).unwrap_or_default(),
        status_message: message(&block).or_else(|| message(official.as_ref()?)),
        status_changed_at: status_changed_at.unwrap_or(published_at),
        published_at,
        updated_at,
        is_latest: version.is_served,
    };
    let official = official.and_then(|official| repeated(official, version.is_served));
    let entry = ServerEntry { server, metadata: ServerMetadata { official, registry: stated } };
    Ok(Some(ListedServer { entry, version, block }))
}

/// Returns the document of a version, or `None` if the version can't be described as an MCP server.
fn document(
    registry: &Registry,
    thing: &Thing,
    version: &ThingVersion,
    description: &Value,
) -> Result<Option<Vec<u8>>, Error> {
    let original = version.original().filter(|original| original.format == Format::McpServer.name());
    let kind = DocumentKind::ServerJson;
    match original {
        Some(_) if version.is_served && thing.is_edited() => {
            match registry.export(thing.id(), Format::McpServer, Some(kind.name())) {
                Ok(exported) => Ok(Some(exported.bytes)),
                Err(Error::NotExpressible { .. } | Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        }
        Some(original) => Ok(Some(original.bytes.clone())),
        None => match mcp_server::from_thing(description, kind) {
            Ok(made) => Ok(Some(made.bytes)),
            Err(convert::Error::NotExpressible { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        },
    }
}

/// Returns the metadata of another registry if it is valid, with `isLatest` as in this registry. Its optional members are left out
/// if they aren't valid, since their authors may have made them up.
fn repeated(mut official: Map<String, Value>, is_latest: bool) -> Option<Map<String, Value>> {
    let status = official.get("status")?.as_str()?;
    ServerStatus::from_name(status)?;
    moment(&official, "publishedAt")?;
    for name in ["statusChangedAt", "updatedAt"] {
        if moment(&official, name).is_none() {
            official.remove(name);
        }
    }
    match message(&official) {
        Some(message) => drop(official.insert(MESSAGE.to_owned(), message.into())),
        None => drop(official.remove(MESSAGE)),
    }
    official.insert("isLatest".to_owned(), is_latest.into());
    Some(official)
}

fn moment(block: &Map<String, Value>, name: &str) -> Option<Timestamp> {
    block.get(name).and_then(Value::as_str).and_then(Timestamp::parse_rfc3339)
}

fn message(block: &Map<String, Value>) -> Option<String> {
    block.get(MESSAGE).and_then(Value::as_str).map(|message| message.chars().take(LONGEST_MESSAGE).collect())
}
