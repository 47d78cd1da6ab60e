//! The body of a request as a schema: what the template of a tool becomes once its inputs are filled in.
//!
//! A placeholder is always filled in as text (Agent Spec, section 5.3.4, and its SDK), so that a number that
//! goes into a body goes there as a string. What the template says itself is constant.

use serde_json::{Map, Value, json};

use super::{
    Mapper,
    data_schema::{DataSchemas, json_literal},
};
use crate::agent_spec::{
    graph::Key,
    inference::Side,
    placeholders::{Piece, pieces},
};

/// The deepest template that is shown: beyond, the description would be too deep.
const DEEPEST: usize = 24;

impl Mapper<'_, '_> {
    /// The schema of what a template becomes.
    pub(super) fn body_schema(&self, schemas: &mut DataSchemas, key: Key, template: &Value, depth: usize) -> Value {
        if depth > DEEPEST || !schemas.spend(16) {
            return json!({});
        }
        match template {
            Value::String(text) => self.text_schema(schemas, key, text),
            Value::Array(elements) => {
                let count = elements.len();
                let mut schema = json!({"type": "array", "minItems": count, "maxItems": count});
                if count > 0 {
                    let items = elements.iter().map(|element| self.body_schema(schemas, key, element, depth + 1));
                    schema["items"] = items.collect();
                }
                schema
            }
            Value::Object(members) => {
                let is_named = |name: &&String| pieces(name).iter().all(|piece| matches!(piece, Piece::Literal(_)));
                let named: Vec<_> = members.iter().filter(|(name, _)| is_named(name)).collect();
                let member = |(name, member): &(&String, &Value)| {
                    ((*name).clone(), self.body_schema(schemas, key, member, depth + 1))
                };
                let properties: Map<String, Value> = named.iter().map(member).collect();
                let required: Vec<_> = named.iter().map(|(name, _)| name).collect();
                let mut schema = json!({"type": "object", "required": required});
                schema["properties"] = properties.into();
                if named.len() < members.len() {
                    // Whose names are inputs too.
                    schema["agentspec:template"] = json_literal(template);
                }
                schema
            }
            constant => json!({"type": type_of(constant), "const": constant}),
        }
    }

    fn text_schema(&self, schemas: &mut DataSchemas, key: Key, text: &str) -> Value {
        match pieces(text).as_slice() {
            [Piece::Name(name)] => self.input_as_text(schemas, key, name),
            texts if texts.iter().all(|piece| matches!(piece, Piece::Literal(_))) => {
                json!({"type": "string", "const": text})
            }
            _ => json!({"type": "string", "agentspec:template": text}),
        }
    }

    fn input_as_text(&self, schemas: &mut DataSchemas, key: Key, name: &str) -> Value {
        let schema = self.inference.port(key, Side::Inputs).find(name).map(|property| property.schema());
        match schema.as_deref() {
            Some(schema) if schema.get("type").is_some_and(|name| name == "string") => schemas.of(schema),
            schema => {
                let mut text = json!({"title": name, "type": "string"});
                let said = |keyword| schema?.get(keyword);
                if let Some(description) = said("description") {
                    text["description"] = description.clone();
                }
                if let Some(default @ (Value::Number(_) | Value::Bool(_))) = said("default") {
                    text["default"] = default.to_string().into();
                }
                schemas.of(&text)
            }
        }
    }
}

fn type_of(constant: &Value) -> &'static str {
    match constant {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
