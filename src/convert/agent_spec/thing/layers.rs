//! `Layers`: a JSON Schema with those that it refers to.

use serde_json::{Map, Value};

/// The most schemas that apply together.
const MOST: usize = 4;
/// Keywords that only describe, so that those of a schema go before those of one that it refers to.
const ANNOTATIONS: [&str; 3] = ["title", "description", "default"];
/// Keywords that data schemas have, or that say nothing once references are followed.
const KNOWN: [&str; 34] = [
    "$comment",
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "properties",
    "readOnly",
    "required",
    "title",
    "type",
    "unit",
    "writeOnly",
];

/// A schema, and what applies to the same value by `$ref` or by an `allOf` with one entry.
pub(super) struct Layers<'s> {
    layers: [Option<&'s Map<String, Value>>; MOST],
    /// Whether nothing is lost by reading the first value of each keyword, of those that are known.
    pub is_exact: bool,
}

impl<'s> Layers<'s> {
    /// Follows the references of a schema. What is followed is added to `followed`, so that what contains
    /// itself ends.
    pub(super) fn of(
        schema: &'s Map<String, Value>,
        root: &'s Value,
        followed: &mut Vec<&'s Map<String, Value>>,
        inlined: &mut usize,
    ) -> Layers<'s> {
        let mut layers = Layers { layers: [Some(schema), None, None, None], is_exact: true };
        layers.is_exact = is_known(schema);
        for index in 1..=MOST {
            let Some(above) = layers.layers[index - 1] else { break };
            let Some(next) = next_of(above, root) else { break };
            let is_new = |next: &&Map<String, Value>| !followed.iter().any(|known| std::ptr::eq(*known, *next));
            let Some(next) = next.filter(is_new).filter(|_| index < MOST && *inlined > 0) else {
                layers.is_exact = false;
                break;
            };
            *inlined -= 1;
            followed.push(next);
            layers.is_exact &= is_known(next) && !layers.contradict(next);
            layers.layers[index] = Some(next);
        }
        layers
    }

    /// The value of a keyword in the nearest schema that has it.
    pub(super) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.layers.iter().flatten().find_map(|layer| layer.get(keyword))
    }

    /// Whether another schema says more about something that these speak of.
    fn contradict(&self, next: &Map<String, Value>) -> bool {
        let is_said = |keyword: &String| {
            let is_reference = matches!(keyword.as_str(), "$ref" | "allOf" | "$defs" | "definitions");
            !is_reference && !ANNOTATIONS.contains(&keyword.as_str()) && self.get(keyword).is_some()
        };
        next.keys().any(is_said)
    }
}

/// The schema that a schema refers to; none if it refers to none, and none within if it isn't to be had.
fn next_of<'s>(schema: &'s Map<String, Value>, root: &'s Value) -> Option<Option<&'s Map<String, Value>>> {
    match (schema.get("$ref"), schema.get("allOf")) {
        (None, None) => None,
        (Some(Value::String(reference)), None) => {
            let pointer = reference.strip_prefix('#');
            let is_plain = |pointer: &&str| pointer.is_empty() || pointer.starts_with('/');
            let target = pointer.filter(is_plain).and_then(|pointer| root.pointer(pointer));
            Some(target.and_then(Value::as_object))
        }
        (None, Some(Value::Array(schemas))) => match schemas.as_slice() {
            [schema] => Some(schema.as_object()),
            _ => Some(None),
        },
        _ => Some(None),
    }
}

fn is_known(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|keyword| KNOWN.binary_search(&keyword.as_str()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keywords_are_sorted() {
        assert!(KNOWN.is_sorted());
    }
}
