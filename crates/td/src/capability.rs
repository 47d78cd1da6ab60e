//! Capabilities of an agent: the entries of `lmos:capabilities`, and the actions.

use std::collections::HashSet;

use semver::{BuildMetadata, Version};
use serde::Serialize;
use serde_json::Value;

/// A capability of an agent: an entry of `lmos:capabilities`, or an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability<'a> {
    /// `id` of the entry; `None` for an action, and for an entry without an `id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// Name of the entry or action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Description of the entry or action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}

impl<'a> Capability<'a> {
    /// Returns the key of the capability in events and topics: the `id`, or else the name.
    pub fn key(&self) -> &'a str {
        self.id.or(self.name).unwrap_or_default()
    }

    fn of_entry(entry: &'a Value) -> Capability<'a> {
        // Inner names are unprefixed where control planes write them, prefixed where JSON-LD tools do.
        let text = |name, prefixed| {
            let value = entry.get(name).or_else(|| entry.get(prefixed))?;
            value.as_str().filter(|text| !text.is_empty())
        };
        Capability {
            id: text("id", "lmos:id"),
            name: entry.as_str().or_else(|| text("name", "lmos:name")),
            description: text("description", "lmos:description"),
        }
    }
}

/// Parses the version of a capability. Returns `None` unless it is a semantic version, apart from surrounding white
/// space and a leading `v`. Build metadata is dropped, since it doesn't order versions.
pub fn semantic_version(text: &str) -> Option<Version> {
    let text = text.trim();
    let version = Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()?;
    Some(Version { build: BuildMetadata::EMPTY, ..version })
}

/// Parses the version of a Thing: a semantic version whose last numbers may be missing. `2` and `2.0` are `2.0.0`.
pub fn thing_version(text: &str) -> Option<Version> {
    let missing = match text.trim().split('.').count() {
        1 => ".0.0",
        2 => ".0",
        _ => "",
    };
    semantic_version(&format!("{}{missing}", text.trim()))
}

/// Returns the capabilities of a Thing with their entries: first all entries, which may contain a capability in several
/// versions, then all actions without an entry.
pub fn listed_capabilities(thing: &Value) -> Vec<(Capability<'_>, Option<&Value>)> {
    let mut names = HashSet::new();
    let mut seen = HashSet::new();
    let mut listed = Vec::new();
    for entry in entries(thing) {
        let capability = Capability::of_entry(entry);
        let version = entry.get("version").or_else(|| entry.get("lmos:version")).and_then(Value::as_str);
        if !capability.key().is_empty() && seen.insert((capability.id, capability.name, version)) {
            names.extend(capability.id.into_iter().chain(capability.name));
            listed.push((capability, Some(entry)));
        }
    }
    let actions = capabilities(thing).into_iter().filter(|capability| !names.contains(capability.key()));
    listed.extend(actions.map(|action| (action, None)));
    listed
}

fn entries(thing: &Value) -> &[Value] {
    match thing.get("lmos:capabilities") {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}

/// Returns the capabilities of a Thing: its `lmos:capabilities`, then its actions, without repeated keys.
///
/// ```
/// let thing = serde_json::json!({
///     "lmos:capabilities": [{"id": "urn:example:billing", "name": "billing"}],
///     "actions": {"payBill": {"description": "Pays a bill."}}
/// });
/// let keys: Vec<_> = agentdex_td::capabilities(&thing).iter().map(|capability| capability.key()).collect();
/// assert_eq!(keys, ["urn:example:billing", "payBill"]);
/// ```
pub fn capabilities(thing: &Value) -> Vec<Capability<'_>> {
    let actions = thing.get("actions").and_then(Value::as_object).into_iter().flatten().map(|(name, action)| {
        let description = action.get("description").and_then(Value::as_str);
        Capability { id: None, name: Some(name.as_str()), description }
    });
    let mut seen = HashSet::new();
    entries(thing)
        .iter()
        .map(Capability::of_entry)
        .chain(actions)
        .filter(|capability| !capability.key().is_empty() && seen.insert(capability.key()))
        .collect()
}
