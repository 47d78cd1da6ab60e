//! `Layers`: a JSON Schema with those that it refers to.

use serde_json::{Map, Value};

use crate::keywords::{Data, Keyword};

/// The most schemas that apply together.
const MOST: usize = 4;
/// Keywords that only describe, so that those of a schema go before those of one that it refers to.
const ANNOTATIONS: [&str; 3] = ["title", "description", "default"];

/// A schema, and what applies to the same value by `$ref` or by an `allOf` with one entry.
pub(super) struct Layers<'s> {
    layers: [Option<&'s Map<String, Value>>; MOST],
    /// True if nothing is lost by reading the first value of each keyword, of those that are known.
    pub is_exact: bool,
}

impl<'s> Layers<'s> {
    /// Follows the references of a schema. Each is added to `followed`, so that what contains
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

    /// The keywords of all schemas, each from the nearest that has it.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'s str, &'s Value)> {
        self.layers.iter().enumerate().filter_map(|(index, layer)| Some((index, (*layer)?))).flat_map(
            move |(index, layer)| {
                let nearer = &self.layers[..index];
                let is_new = move |name: &str| !nearer.iter().flatten().any(|layer| layer.contains_key(name));
                layer.iter().map(|(name, value)| (name.as_str(), value)).filter(move |(name, _)| is_new(name))
            },
        )
    }

    /// True if another schema says more about something that these speak of.
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

/// True if a data schema says all of it.
fn is_known(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|name| Keyword::find(name).is_some_and(|keyword| keyword.data != Data::Lost))
}
