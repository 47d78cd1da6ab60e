//! `Layers`: a JSON Schema with the schemas that it refers to.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::keywords::{Data, Keyword};

/// The most schemas that apply together.
const MOST: usize = 4;
/// Keywords that only describe, so that those of a schema go before those of one that it refers to.
const ANNOTATIONS: [&str; 3] = ["title", "description", "default"];

/// A schema, and what applies to the same value by `$ref` or by an `allOf` with one entry.
pub(super) struct Layers<'s> {
    layers: [Option<&'s Map<String, Value>>; MOST],
    /// A schema that holds as well, but says more about something that the layers speak of.
    beside: Option<&'s Value>,
    /// True if no information is lost by reading only the first value of each known keyword, and [`Layers::further`].
    pub is_exact: bool,
    /// True if a valid reference was not followed.
    pub is_cut: bool,
    /// True if a reference was not followed, since its target is not in the schema.
    pub is_elsewhere: bool,
    /// Number of members of the schemas that are merged with the first schema.
    pub members: usize,
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
        let mut layers = Layers {
            layers: [Some(schema), None, None, None],
            beside: None,
            is_exact: is_known(schema),
            is_cut: false,
            is_elsewhere: false,
            members: 0,
        };
        for index in 1..=MOST {
            let Some(above) = layers.layers[index - 1] else { break };
            let Some(next) = next_of(above, root) else { break };
            let Some((next, value)) = next.and_then(|next| Some((next.as_object()?, next))) else {
                (layers.is_exact, layers.is_elsewhere) = (false, above.contains_key("$ref"));
                break;
            };
            let is_new = !followed.iter().any(|known| std::ptr::eq(*known, next));
            if !is_new || *inlined == 0 {
                (layers.is_exact, layers.is_cut) = (false, true);
                break;
            }
            *inlined -= 1;
            followed.push(next);
            if index == MOST || layers.contradict(next) {
                layers.beside = Some(value);
                break;
            }
            layers.is_exact &= is_known(next);
            layers.members += next.len();
            layers.layers[index] = Some(next);
        }
        layers
    }

    /// The schemas that hold beside the layers.
    pub(super) fn further(&self) -> impl Iterator<Item = &'s Value> {
        let listed = self.layers.iter().flatten().filter(|layer| !has_layer(layer));
        listed.filter_map(|layer| layer.get("allOf")?.as_array()).flatten().chain(self.beside)
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
        let is_repeated = |keyword: &String| {
            let is_reference = matches!(keyword.as_str(), "$ref" | "allOf" | "$defs" | "definitions");
            !is_reference && !ANNOTATIONS.contains(&keyword.as_str()) && self.get(keyword).is_some()
        };
        // The members of one schema are others to the other.
        let is_about_others = |one: &str, other: &str| self.get(one).is_some() && next.contains_key(other);
        next.keys().any(is_repeated)
            || is_about_others("properties", "additionalProperties")
            || is_about_others("additionalProperties", "properties")
    }
}

/// The schema that a schema is read together with, if there is any; none within if it isn't to be had.
fn next_of<'s>(schema: &'s Map<String, Value>, root: &'s Value) -> Option<Option<&'s Value>> {
    match (schema.get("$ref"), schema.get("allOf")) {
        (None, None) => None,
        (Some(Value::String(reference)), _) => {
            let pointer = percent_decode_str(reference.strip_prefix('#').unwrap_or("?")).decode_utf8_lossy();
            Some(Some(&pointer).filter(|at| at.is_empty() || at.starts_with('/')).and_then(|at| root.pointer(at)))
        }
        (None, Some(Value::Array(schemas))) => match schemas.as_slice() {
            [schema] => Some(Some(schema)),
            _ => None,
        },
        _ => Some(None),
    }
}

/// True if the `allOf` of a schema is the one that it is read together with.
fn has_layer(schema: &Map<String, Value>) -> bool {
    let has_one = schema.get("allOf").and_then(Value::as_array).is_some_and(|schemas| schemas.len() == 1);
    has_one && !schema.contains_key("$ref")
}

/// True if a data schema says all of it.
fn is_known(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|name| Keyword::find(name).is_some_and(|keyword| keyword.data != Data::Lost))
}
