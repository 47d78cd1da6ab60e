//! Keywords of JSON Schema: the values allowed by the meta-schema of draft 2020-12, and the keywords also used in Thing
//! Descriptions (TD 1.1, section 5.3.2).

use std::collections::HashSet;

use serde_json::Value;

/// The types of data, in both languages.
pub(super) const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// A keyword.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keyword {
    pub(super) shape: Shape,
    pub(super) data: Data,
}

/// The counterpart of a keyword in the data schemas of a Thing Description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Nothing that says the same.
    Lost,
    /// Nothing, since it says nothing where references are resolved.
    Silent,
    /// Something that is made of it: other schemas are in it, or it names the types.
    Structure,
    /// The same, for values of this type; of any type where it is empty.
    Same(&'static str),
}

/// The form that the value of a keyword must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Any,
    Schema,
    Schemas,
    NamedSchemas,
    Types,
    Count,
    Number,
    Positive,
    Text,
    Pattern,
    PatternSchemas,
    Identifier,
    Anchor,
    Flag,
    Values,
    Choices,
    Names,
    NamedNames,
    Dependencies,
    Vocabulary,
    /// The unit of a number, which only Thing Descriptions know.
    Unit,
}

impl Keyword {
    /// The keyword of that name; other names say nothing, whatever they hold.
    pub(super) fn find(name: &str) -> Option<Keyword> {
        use Data::{Lost, Same, Silent, Structure};
        let (shape, data) = match name {
            "title" | "description" | "format" => (Shape::Text, Same("")),
            "const" | "default" => (Shape::Any, Same("")),
            "enum" => (Shape::Choices, Same("")),
            "readOnly" | "writeOnly" => (Shape::Flag, Same("")),
            "unit" => (Shape::Unit, Same("")),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => (Shape::Number, Same("number")),
            "multipleOf" => (Shape::Positive, Same("number")),
            "minLength" | "maxLength" => (Shape::Count, Same("string")),
            "pattern" => (Shape::Pattern, Same("string")),
            "contentEncoding" | "contentMediaType" => (Shape::Text, Same("string")),
            "minItems" | "maxItems" => (Shape::Count, Same("array")),
            "required" => (Shape::Names, Same("object")),
            "type" => (Shape::Types, Structure),
            "properties" => (Shape::NamedSchemas, Structure),
            "items" | "additionalProperties" => (Shape::Schema, Structure),
            "anyOf" | "oneOf" | "allOf" => (Shape::Schemas, Structure),
            "$ref" => (Shape::Text, Structure),
            "$comment" | "$schema" => (Shape::Text, Silent),
            "$defs" | "definitions" => (Shape::NamedSchemas, Silent),
            "$dynamicRef" | "$recursiveRef" => (Shape::Text, Lost),
            "$id" => (Shape::Identifier, Lost),
            "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => (Shape::Anchor, Lost),
            "$vocabulary" => (Shape::Vocabulary, Lost),
            "dependentSchemas" => (Shape::NamedSchemas, Lost),
            "patternProperties" => (Shape::PatternSchemas, Lost),
            "contains" | "propertyNames" | "not" | "if" | "then" | "else" => (Shape::Schema, Lost),
            "unevaluatedItems" | "unevaluatedProperties" | "contentSchema" => (Shape::Schema, Lost),
            "prefixItems" => (Shape::Schemas, Lost),
            "examples" => (Shape::Values, Lost),
            "minProperties" | "maxProperties" | "minContains" | "maxContains" => (Shape::Count, Lost),
            "uniqueItems" | "deprecated" => (Shape::Flag, Lost),
            "dependentRequired" => (Shape::NamedNames, Lost),
            "dependencies" => (Shape::Dependencies, Lost),
            _ => return None,
        };
        Some(Keyword { shape, data })
    }

    /// True if it means the same in JSON Schemas and in Thing Descriptions.
    pub(super) fn is_same(&self) -> bool {
        matches!(self.data, Data::Same(_)) && self.shape != Shape::Unit
    }
}

impl Shape {
    /// Describes the expected value if a value isn't of this shape, as far as that can be told without checking nested
    /// values.
    pub(super) fn flaw(self, value: &Value) -> Option<&'static str> {
        let (is_right, message) = match self {
            Shape::Count => (is_count(value), "expected an integer of at least 0"),
            Shape::Number => (value.is_number(), "expected a number"),
            Shape::Positive => (value.as_f64().is_some_and(|number| number > 0.0), "expected a number greater than 0"),
            Shape::Text | Shape::Pattern => (value.is_string(), "expected a string"),
            Shape::Identifier => {
                let without_fragment = |id: &str| id.find('#').is_none_or(|at| at + 1 == id.len());
                (value.as_str().is_some_and(without_fragment), "expected a URI without a fragment")
            }
            Shape::Anchor => (
                value.as_str().is_some_and(is_anchor),
                "expected a name of letters, digits, `-`, `.` and `_` that starts with a letter or `_`",
            ),
            Shape::Flag => (value.is_boolean(), "expected true or false"),
            Shape::Values | Shape::Choices => (value.is_array(), "expected a list"),
            Shape::Names => (are_names(value), "expected a list of distinct strings"),
            _ => (true, ""),
        };
        (!is_right).then_some(message)
    }

    /// True if a Thing Description takes a value of this shape.
    pub(super) fn is_data(self, value: &Value) -> bool {
        match self {
            Shape::Choices => value.as_array().is_some_and(|choices| are_different(choices)),
            Shape::Unit => value.is_string(),
            shape => shape.flaw(value).is_none(),
        }
    }
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

fn is_anchor(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || "-._".contains(character))
}

fn are_names(value: &Value) -> bool {
    let Some(names) = value.as_array() else { return false };
    let distinct: HashSet<_> = names.iter().filter_map(Value::as_str).collect();
    distinct.len() == names.len()
}

/// True if there are choices and no two are equal: `1` and `1.0` are.
fn are_different(choices: &[Value]) -> bool {
    let mut known = HashSet::new();
    !choices.is_empty()
        && choices.iter().all(|choice| match choice.as_f64() {
            Some(number) => known.insert(number.to_string()),
            None => known.insert(choice.to_string()),
        })
}
