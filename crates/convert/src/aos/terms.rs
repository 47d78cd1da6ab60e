//! Conversion of members to terms with the prefix `aos:`, and back. Values with a meaning known only to their author
//! become JSON literals, which JSON-LD leaves unchanged.

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

const PREFIX: &str = "aos:";

/// Members whose objects have members of the specification.
const STRUCTURED: [&str; 7] = ["model", "provider", "organization", "mcpServers", "resources", "arguments", "outputs"];

/// The name of a member in a Thing Description.
pub(super) fn prefixed_name(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The name of a member without the prefix, if it has it.
pub(super) fn own_name(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// The value of a member as a Thing Description has it.
pub(super) fn prefixed(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(members) if STRUCTURED.contains(&name) => {
            members.iter().map(|(name, value)| (prefixed_name(name), prefixed(name, value))).collect::<Object>().into()
        }
        Value::Array(elements) if STRUCTURED.contains(&name) => {
            elements.iter().map(|element| prefixed(name, element)).collect()
        }
        Value::Object(_) | Value::Array(_) => json!({"@type": "@json", "@value": value}),
        plain => plain.clone(),
    }
}

/// The value that a Thing Description has in that form.
pub(super) fn unprefixed(value: &Value) -> Value {
    match value {
        Value::Object(members) if members.get("@type").is_some_and(|kind| kind == "@json") => {
            members.get("@value").cloned().unwrap_or_default()
        }
        Value::Object(members) => {
            let renamed =
                |(name, value): (&String, &Value)| (own_name(name).unwrap_or(name).to_owned(), unprefixed(value));
            members.iter().map(renamed).collect::<Object>().into()
        }
        Value::Array(elements) => elements.iter().map(unprefixed).collect(),
        plain => plain.clone(),
    }
}
