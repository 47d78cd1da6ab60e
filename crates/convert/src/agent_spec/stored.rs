//! The documents stored as sources of the Things created from a configuration.
//!
//! JSON without secrets is stored byte for byte, and JSON with secrets except for the hidden values. YAML is
//! regenerated from its data, since its comments may contain secrets.

use std::collections::HashSet;

use serde_json::{Map, Value};

#[cfg(feature = "yaml")]
use super::yaml_text;
use super::{
    findings::Spot,
    graph::{Graph, Key, Resolved, State},
    places::At,
    references::{DEFINITIONS, REFERENCE, text_member},
    secrets::Secrets,
    source::Source,
};
use crate as convert;
use crate::{Format, Result, Syntax};

/// The whole of a document.
pub(super) fn document(source: &Source, secrets: &Secrets) -> Result<convert::Source> {
    match secrets.stored_text(source) {
        Some(json) => in_syntax(json, source.syntax),
        None if source.has_byte_order_mark => in_syntax(format!("\u{feff}{}", source.json), source.syntax),
        None => in_syntax(source.json.clone(), source.syntax),
    }
}

/// A component as a document of its own: with what it refers to, and the version that it is written for.
/// `documents` are those of the configuration, as they may be stored.
pub(super) fn excerpt(graph: &Graph<'_>, documents: &[Value], key: Key, source: &Source) -> Result<convert::Source> {
    let found = |spot: &Spot| documents.get(spot.document)?.pointer(&spot.pointer);
    let mut members = found(&graph.at(key)).and_then(Value::as_object).cloned().unwrap_or_default();
    let mut known = HashSet::new();
    let mut missing = Vec::new();
    collect(&members, &mut known, &mut missing);
    let mut definitions = match members.remove(DEFINITIONS) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    while let Some(id) = missing.pop() {
        if !known.insert(id.clone()) {
            continue;
        }
        let Some(definition) = graph.definitions.get(id.as_str()).filter(|definition| !definition.is_beside) else {
            continue;
        };
        let is_read = matches!(definition.state, State::Read(Resolved::Component(_) | Resolved::Plain(_)));
        let spot = graph.spot(&At::Place(definition.place));
        let Some(value) = found(&spot).filter(|_| is_read).cloned() else { continue };
        collect_from(&value, &mut known, &mut missing);
        definitions.insert(id, value);
    }
    if !definitions.is_empty() {
        members.insert(DEFINITIONS.to_owned(), Value::Object(definitions));
    }
    if let Some(version) = source.version() {
        members.insert("agentspec_version".to_owned(), version.into());
    }
    in_syntax(Value::Object(members).to_string(), source.syntax)
}

/// JSON as it is stored of a document in a syntax.
pub(super) fn in_syntax(json: String, syntax: Syntax) -> Result<convert::Source> {
    let text = match syntax {
        Syntax::Json => json,
        #[cfg(feature = "yaml")]
        Syntax::Yaml => yaml_text::from_json(&json)?,
        // JSON is YAML too.
        #[cfg(not(feature = "yaml"))]
        Syntax::Yaml => json,
    };
    let media_type = syntax.media_type().to_owned();
    Ok(convert::Source { format: Format::AgentSpec, media_type, bytes: text.into_bytes() })
}

/// Finds the ids that are defined within an object, and those that are referred to.
fn collect(members: &Map<String, Value>, defined: &mut HashSet<String>, referred: &mut Vec<String>) {
    if let Some(Value::Object(definitions)) = members.get(DEFINITIONS) {
        defined.extend(definitions.keys().cloned());
    }
    referred.extend(text_member(members, REFERENCE).map(str::to_owned));
    for member in members.values() {
        collect_from(member, defined, referred);
    }
}

fn collect_from(value: &Value, defined: &mut HashSet<String>, referred: &mut Vec<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect_from(element, defined, referred)),
        Value::Object(members) => collect(members, defined, referred),
        _ => {}
    }
}
