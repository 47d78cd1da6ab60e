//! What is kept of a configuration beside the Things that are made of it.
//!
//! JSON without anything to hide stays byte for byte; with something to hide, all around it does. YAML is
//! written anew, since its comments may hold anything.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Map, Value};

use super::{
    graph::{Graph, Key, text_member},
    redaction::{Redaction, to_yaml},
    references::{DEFINITIONS, REFERENCE, Resolved, State},
    source::Source,
};
use crate::convert::{self, Format, Syntax};

/// The whole of a document.
pub(super) fn document(source: &Source, redaction: &Redaction<'_>) -> convert::Source {
    let json = match (source.duplicates.as_slice(), &source.value) {
        // Those of repeated members that don't count may hold secrets too.
        ([_, ..], Value::Object(members)) => Value::Object(redaction.component(members)).to_string().into(),
        _ => redaction.text(&source.json),
    };
    let has_mark = source.has_byte_order_mark && matches!(json, Cow::Borrowed(_));
    let json = if has_mark { format!("\u{feff}{json}").into() } else { json };
    in_syntax(&json, source.syntax)
}

/// A component as a document of its own: with what it refers to, and the version that it is written for.
pub(super) fn excerpt(graph: &Graph<'_>, redaction: &Redaction<'_>, key: Key, source: &Source) -> convert::Source {
    let mut members = redaction.component(graph.component(key).members);
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
        let value = match definition.state {
            State::Read(Resolved::Component(_) | Resolved::Plain(_)) => redaction.definition(&id, definition.value),
            _ => None,
        };
        let Some(value) = value.map(Cow::into_owned) else { continue };
        collect_from(&value, &mut known, &mut missing);
        definitions.insert(id, value);
    }
    if !definitions.is_empty() {
        members.insert(DEFINITIONS.to_owned(), Value::Object(definitions));
    }
    if let Some(version) = source.version() {
        members.insert("agentspec_version".to_owned(), version.into());
    }
    in_syntax(&Value::Object(members).to_string(), source.syntax)
}

fn in_syntax(json: &str, syntax: Syntax) -> convert::Source {
    let (media_type, text) = match syntax {
        Syntax::Json => ("application/json", json.to_owned()),
        Syntax::Yaml => ("application/yaml", to_yaml(json)),
    };
    convert::Source { format: Format::AgentSpec, media_type: media_type.to_owned(), bytes: text.into_bytes() }
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
