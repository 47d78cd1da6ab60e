//! Metadata of registries about a server: the blocks of `_meta` in their responses.

use serde_json::{Map, Value};

use super::{
    REGISTRY_METADATA,
    envelope::{self, OFFICIAL},
    publisher_metadata::PUBLISHER,
    terms::{prefixed, unprefixed},
};

type Object = Map<String, Value>;

/// The member of descriptions with the `_meta` of a document.
const META: &str = "mcp:_meta";
/// The member of descriptions with the status `deprecated` or `deleted`.
const WITHDRAWN: &str = "mcp:withdrawn";

/// Metadata of registries about a server, as stored in its description.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegistryMetadata {
    /// Block of the official registry, or of another registry from which the server was mirrored.
    pub official: Option<Map<String, Value>>,
    /// Block of an agentdex registry.
    pub registry: Map<String, Value>,
    /// `deprecated` or `deleted`, or `None` for an active server.
    pub withdrawn: Option<String>,
}

impl RegistryMetadata {
    /// Reads the metadata in a Thing Description.
    pub fn of_thing(thing: &Value) -> RegistryMetadata {
        let mut meta = meta_of(thing);
        let mut block = |name: &str| match meta.remove(name) {
            Some(Value::Object(block)) => Some(block),
            _ => None,
        };
        let withdrawn = thing.get(WITHDRAWN).and_then(Value::as_str);
        let withdrawn = withdrawn.filter(|status| envelope::WITHDRAWALS.contains(status)).map(str::to_owned);
        RegistryMetadata {
            official: block(OFFICIAL),
            registry: block(REGISTRY_METADATA).unwrap_or_default(),
            withdrawn,
        }
    }
}

/// Returns a registry response with a document and a new block of this registry. Other blocks are taken from the document's Thing.
/// Returns `None` for configurations and responses, as opposed to the description of a server itself.
pub fn with_registry_metadata(document: &str, thing: &Value, block: &Map<String, Value>) -> Option<String> {
    let members: Object = serde_json::from_str(document).ok()?;
    if !members.contains_key("name") || envelope::is_envelope(&members) {
        return None;
    }
    let mut meta = meta_of(thing);
    meta.remove(PUBLISHER);
    meta.insert(REGISTRY_METADATA.to_owned(), block.clone().into());
    Some(format!("{{\"server\":{document},\"_meta\":{}}}", Value::Object(meta)))
}

/// Returns a merge patch for a Thing without a document: it sets the status and the block of this registry.
pub fn registry_metadata_patch(block: &Map<String, Value>) -> Value {
    let status = block.get("status").and_then(Value::as_str);
    let withdrawn = status.filter(|status| envelope::WITHDRAWALS.contains(status));
    let mut block = block.clone();
    // A merge patch keeps absent members.
    block.entry("statusMessage").or_insert(Value::Null);
    let meta = Object::from_iter([(REGISTRY_METADATA.to_owned(), block.into())]);
    let meta = (META.to_owned(), prefixed(&meta.into()));
    Object::from_iter([(WITHDRAWN.to_owned(), withdrawn.map_or(Value::Null, Value::from)), meta]).into()
}

fn meta_of(thing: &Value) -> Object {
    match thing.get(META).map(unprefixed) {
        Some(Value::Object(meta)) => meta,
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp_server::{Options, Server};

    fn thing(document: &str) -> Value {
        let server = Server::parse(document.as_bytes()).expect("a server");
        server.to_thing(&Options::default()).expect("a Thing").things.remove(0).description.into_parts().0
    }

    #[test]
    fn own_status_comes_before_that_of_others_and_keeps_their_blocks() {
        let official = json!({"status": "deprecated", "publishedAt": "2026-01-02T03:04:05Z"});
        let server = json!({"name": "com.example/a", "description": "A", "version": "1.0.0",
            "remotes": [{"type": "sse", "url": "https://a.example/sse"}]});
        let mirrored = json!({"server": server, "_meta": {OFFICIAL: official}}).to_string();
        let before = thing(&mirrored);
        assert_eq!(RegistryMetadata::of_thing(&before).withdrawn.as_deref(), Some("deprecated"));
        for (status, withdrawn) in [("active", None), ("deleted", Some("deleted"))] {
            let block = json!({"status": status}).as_object().cloned().unwrap();
            let document = with_registry_metadata(&server.to_string(), &before, &block).expect("a server");
            let after = RegistryMetadata::of_thing(&thing(&document));
            assert_eq!(after.withdrawn.as_deref(), withdrawn);
            assert_eq!((after.official, after.registry), (official.as_object().cloned(), block));
        }
        let configured = r#"{"mcpServers": {"k": {"command": "npx"}}}"#;
        assert_eq!(with_registry_metadata(configured, &before, &Object::new()), None);
    }
}
