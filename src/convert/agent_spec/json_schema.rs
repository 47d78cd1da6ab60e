//! Whether a value is a JSON Schema by the meta-schema of draft 2020-12.
//!
//! The meta-schema only says which shape the value of each keyword has, so it is a table here: a walk
//! over it costs a fraction of a general validator's, is linear, and follows no reference.

use std::collections::HashSet;

use serde_json::Value;

use crate::td::push_token;

use super::pattern;

/// A place in a schema that the meta-schema doesn't allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    /// A JSON Pointer from the schema.
    pub(super) pointer: String,
    /// What would be right.
    pub(super) message: String,
}

/// More flaws than this of one schema help nobody.
const MAX_FLAWS: usize = 20;
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// What the meta-schema says of a keyword's value.
#[derive(Debug, Clone, Copy)]
enum Shape {
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
    Names,
    NamedNames,
    Dependencies,
    Vocabulary,
}

/// The shape of a keyword; names that aren't keywords say nothing, whatever they hold.
fn shape_of(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "type" => Shape::Types,
        "title" | "description" | "format" | "contentEncoding" | "contentMediaType" => Shape::Text,
        "$comment" | "$schema" | "$ref" | "$dynamicRef" | "$recursiveRef" => Shape::Text,
        "$id" => Shape::Identifier,
        "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" => Shape::Anchor,
        "$vocabulary" => Shape::Vocabulary,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => Shape::NamedSchemas,
        "patternProperties" => Shape::PatternSchemas,
        "items" | "contains" | "additionalProperties" | "propertyNames" | "not" => Shape::Schema,
        "if" | "then" | "else" | "unevaluatedItems" | "unevaluatedProperties" | "contentSchema" => Shape::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Shape::Schemas,
        "enum" | "examples" => Shape::Values,
        "minLength" | "maxLength" | "minItems" | "maxItems" => Shape::Count,
        "minProperties" | "maxProperties" | "minContains" | "maxContains" => Shape::Count,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Shape::Number,
        "multipleOf" => Shape::Positive,
        "pattern" => Shape::Pattern,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Shape::Flag,
        "required" => Shape::Names,
        "dependentRequired" => Shape::NamedNames,
        "dependencies" => Shape::Dependencies,
        _ => return None,
    })
}

/// What is wrong with `schema`; nothing if it is a JSON Schema.
pub(super) fn find_flaws(schema: &Value) -> Vec<Flaw> {
    let mut walk = Walk { path: Vec::new(), flaws: Vec::new() };
    walk.schema(schema);
    walk.flaws
}

#[derive(Clone, Copy)]
enum Token<'v> {
    Name(&'v str),
    Index(usize),
}

struct Walk<'v> {
    path: Vec<Token<'v>>,
    flaws: Vec<Flaw>,
}

impl<'v> Walk<'v> {
    fn schema(&mut self, schema: &'v Value) {
        match schema {
            Value::Object(members) => {
                for (name, value) in members {
                    let Some(shape) = shape_of(name) else { continue };
                    self.at(Token::Name(name), |walk| walk.keyword(shape, value));
                }
            }
            Value::Bool(_) => {}
            _ => self.flaw("a schema is an object or a boolean"),
        }
    }

    fn keyword(&mut self, shape: Shape, value: &'v Value) {
        match shape {
            Shape::Schema => self.schema(value),
            Shape::Schemas => self.schemas(value),
            Shape::NamedSchemas => self.each_member(value, Walk::schema),
            Shape::PatternSchemas => {
                value.as_object().into_iter().flatten().for_each(|(name, _)| self.pattern(name));
                self.each_member(value, Walk::schema);
            }
            Shape::Types => self.types(value),
            Shape::Count => self.expect(is_count(value), "expected an integer of at least 0"),
            Shape::Number => self.expect(value.is_number(), "expected a number"),
            Shape::Positive => {
                self.expect(value.as_f64().is_some_and(|number| number > 0.0), "expected a number greater than 0");
            }
            Shape::Text => self.expect(value.is_string(), "expected a string"),
            Shape::Pattern => match value.as_str() {
                Some(pattern) => self.pattern(pattern),
                None => self.flaw("expected a string"),
            },
            Shape::Identifier => {
                let without_fragment = |id: &str| id.find('#').is_none_or(|at| at + 1 == id.len());
                self.expect(value.as_str().is_some_and(without_fragment), "expected a URI without a fragment");
            }
            Shape::Anchor => {
                let message = "expected a name of letters, digits, `-`, `.` and `_` that starts with a letter or `_`";
                self.expect(value.as_str().is_some_and(is_anchor), message);
            }
            Shape::Flag => self.expect(value.is_boolean(), "expected true or false"),
            Shape::Values => self.expect(value.is_array(), "expected a list"),
            Shape::Names => self.expect(are_names(value), "expected a list of different strings"),
            Shape::NamedNames => self.each_member(value, |walk, names| {
                walk.expect(are_names(names), "expected a list of different strings");
            }),
            Shape::Dependencies => self.each_member(value, |walk, dependency| match dependency {
                Value::Array(_) => walk.expect(are_names(dependency), "expected a list of different strings"),
                schema => walk.schema(schema),
            }),
            Shape::Vocabulary => self.each_member(value, |walk, needed| {
                walk.expect(needed.is_boolean(), "expected true or false");
            }),
        }
    }

    fn types(&mut self, value: &'v Value) {
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        match value {
            Value::Array(types) => {
                let distinct: HashSet<_> = types.iter().take(TYPES.len() + 1).filter_map(Value::as_str).collect();
                let valid = !types.is_empty() && types.iter().all(is_type) && distinct.len() == types.len();
                self.expect(valid, "expected a list of one or more different types");
            }
            one => {
                let valid = is_type(one);
                self.expect_with(valid, || format!("expected one of {}, or a list of them", TYPES.join(", ")));
            }
        }
    }

    fn schemas(&mut self, value: &'v Value) {
        match value.as_array().map(Vec::as_slice) {
            None | Some([]) => self.flaw("expected a list of one or more schemas"),
            Some(schemas) => {
                for (index, schema) in schemas.iter().enumerate() {
                    self.at(Token::Index(index), |walk| walk.schema(schema));
                }
            }
        }
    }

    fn pattern(&mut self, pattern: &str) {
        if let Err(reason) = pattern::check(pattern) {
            self.expect_with(false, || format!("no regular expression: {reason}"));
        }
    }

    fn each_member(&mut self, value: &'v Value, mut visit: impl FnMut(&mut Self, &'v Value)) {
        let Some(members) = value.as_object() else { return self.flaw("expected an object") };
        for (name, member) in members {
            self.at(Token::Name(name), |walk| visit(walk, member));
        }
    }

    fn at(&mut self, token: Token<'v>, visit: impl FnOnce(&mut Self)) {
        if self.flaws.len() < MAX_FLAWS {
            self.path.push(token);
            visit(self);
            self.path.pop();
        }
    }

    fn flaw(&mut self, message: &str) {
        self.expect(false, message);
    }

    fn expect(&mut self, valid: bool, message: &str) {
        self.expect_with(valid, || message.to_owned());
    }

    fn expect_with(&mut self, valid: bool, message: impl FnOnce() -> String) {
        if valid || self.flaws.len() >= MAX_FLAWS {
            return;
        }
        let mut pointer = String::new();
        for token in &self.path {
            match token {
                Token::Name(name) => push_token(&mut pointer, name),
                Token::Index(index) => push_token(&mut pointer, &index.to_string()),
            }
        }
        self.flaws.push(Flaw { pointer, message: message() });
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
