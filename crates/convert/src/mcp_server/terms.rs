//! Conversion of members to terms with the prefix `mcp:`, at any depth, and back.

use serde_json::{Map, Value};

const PREFIX: &str = "mcp:";

/// A value whose members have the prefix.
pub(super) fn prefixed(value: &Value) -> Value {
    renamed(value, &|name| format!("{PREFIX}{name}"))
}

/// The value that was given the prefix.
pub(super) fn unprefixed(value: &Value) -> Value {
    renamed(value, &|name| own_name(name).unwrap_or(name).to_owned())
}

/// The name of a member without the prefix, if it has it.
pub(super) fn own_name(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

fn renamed(value: &Value, name_of: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Object(members) => {
            let renamed = members.iter().map(|(name, value)| (name_of(name), self::renamed(value, name_of)));
            renamed.collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.iter().map(|element| renamed(element, name_of)).collect(),
        plain => plain.clone(),
    }
}
