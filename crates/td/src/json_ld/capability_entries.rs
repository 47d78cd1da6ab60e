//! Conversion of entries of `lmos:capabilities` to statements.
//!
//! The `id` of an entry is usually a name within the Thing rather than an IRI, and a relative IRI can't be the subject
//! of a statement. Such an entry becomes a separate node with that name. Its input and output are JSON Schemas, whose
//! `properties` are not affordances, so they become JSON literals.

use serde_json::{Map, Value, json};

/// The names of the list.
const LISTS: [&str; 2] = ["lmos:capabilities", "capabilities"];
/// The members of an entry that are JSON Schemas.
const SCHEMAS: [&str; 6] = ["lmos:input", "lmos:output", "agentspec:input", "agentspec:output", "input", "output"];

/// Rewrites the entries of a Thing, so that each of them is a node.
pub(super) fn rewrite(thing: &mut Map<String, Value>) {
    for list in LISTS {
        let entries = match thing.get_mut(list) {
            Some(Value::Array(entries)) => entries.as_mut_slice(),
            Some(entry) => std::slice::from_mut(entry),
            None => continue,
        };
        entries.iter_mut().filter_map(Value::as_object_mut).for_each(rewrite_entry);
    }
}

fn rewrite_entry(entry: &mut Map<String, Value>) {
    for name in ["id", "@id"] {
        if entry.get(name).and_then(Value::as_str).is_some_and(is_relative)
            && let Some(id) = entry.remove(name)
        {
            entry.entry("lmos:id").or_insert(id);
        }
    }
    for name in SCHEMAS {
        if entry.get(name).is_some_and(|schema| schema.is_object() && schema.get("@value").is_none())
            && let Some(schema) = entry.remove(name)
        {
            let name = if name.contains(':') { name.to_owned() } else { format!("lmos:{name}") };
            entry.insert(name, json!({"@type": "@json", "@value": schema}));
        }
    }
}

/// True if a reference is no IRI by itself: it has neither a scheme, nor is it a blank node.
fn is_relative(reference: &str) -> bool {
    !reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme == "_"
            || scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}
