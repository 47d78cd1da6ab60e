//! Conversion of JSON values to the types of the `json-ld` crate.

use json_ld::syntax::{NumberBuf, Object, Value as Syntax, object::Entry};
use serde_json::Value;

/// A value in the crate's own type; not deeper than what was parsed.
pub(super) fn to_syntax(value: Value) -> Syntax {
    match value {
        Value::Null => Syntax::Null,
        Value::Bool(value) => Syntax::Boolean(value),
        Value::Number(number) => {
            NumberBuf::new(number.to_string().into_bytes().into()).map_or(Syntax::Null, Syntax::Number)
        }
        Value::String(text) => Syntax::String(text.into()),
        Value::Array(items) => Syntax::Array(items.into_iter().map(to_syntax).collect()),
        Value::Object(members) => {
            let entries = members.into_iter().map(|(key, value)| Entry::new(key.into(), to_syntax(value)));
            Syntax::Object(Object::from_vec(entries.collect()))
        }
    }
}
