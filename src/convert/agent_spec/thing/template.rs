//! The body of a request as a schema: what the template of a tool becomes once its inputs are filled in.
//!
//! A placeholder is always filled in as text (Agent Spec, section 5.3.4, and its SDK), so that a number that
//! goes into a body goes there as a string. What the template says itself is constant.

use serde_json::{Value, json};

use super::{Mapper, data_schema::DataSchemas, writer::Writer};
use crate::convert::agent_spec::{
    graph::Key,
    inference::Side,
    placeholders::{Piece, pieces},
};

/// The deepest template that is shown: beyond, the description would be too deep.
const DEEPEST: usize = 24;

impl<'d> Mapper<'_, 'd> {
    /// Writes the schema of what a template becomes.
    pub(super) fn write_body(&self, schemas: &mut DataSchemas<'_>, key: Key, template: &Value, depth: usize) {
        if schemas.writer.is_full() {
            return;
        }
        match template {
            _ if depth > DEEPEST => schemas.writer.object(|_| ()),
            Value::String(text) => self.write_text(schemas, key, text),
            Value::Array(elements) => {
                schemas.writer.open('{');
                schemas.writer.name("type").word("array");
                if !elements.is_empty() {
                    schemas.writer.name("items").open('[');
                    elements.iter().for_each(|element| self.write_body(schemas, key, element, depth + 1));
                    schemas.writer.close(']');
                }
                schemas.writer.name("minItems").number(&elements.len().into());
                schemas.writer.name("maxItems").number(&elements.len().into());
                schemas.writer.close('}');
            }
            Value::Object(members) => {
                let is_named = |name: &&String| pieces(name).iter().all(|piece| matches!(piece, Piece::Literal(_)));
                let named: Vec<_> = members.iter().filter(|(name, _)| is_named(name)).collect();
                schemas.writer.open('{');
                schemas.writer.name("type").word("object");
                schemas.writer.name("properties").open('{');
                for (name, member) in &named {
                    schemas.writer.name(name);
                    self.write_body(schemas, key, member, depth + 1);
                }
                schemas.writer.close('}');
                schemas.writer.name("required").array(|writer| named.iter().for_each(|(name, _)| writer.text(name)));
                if named.len() < members.len() {
                    // Whose names are inputs too.
                    schemas.writer.name("agentspec:template").json(template);
                }
                schemas.writer.close('}');
            }
            constant => schemas.writer.object(|writer| {
                writer.name("type").word(type_of(constant));
                writer.name("const").data(constant);
            }),
        }
    }

    fn write_text(&self, schemas: &mut DataSchemas<'_>, key: Key, text: &str) {
        match pieces(text).as_slice() {
            [Piece::Name(name)] => self.write_input_as_text(schemas, key, name),
            texts if texts.iter().all(|piece| matches!(piece, Piece::Literal(_))) => schemas.writer.object(|writer| {
                writer.name("type").word("string");
                writer.name("const").text(text);
            }),
            _ => schemas.writer.object(|writer| {
                writer.name("type").word("string");
                writer.name("agentspec:template").text(text);
            }),
        }
    }

    fn write_input_as_text(&self, schemas: &mut DataSchemas<'_>, key: Key, name: &str) {
        let schema = self.inference.port(key, Side::Inputs).find(name).map(|property| property.schema());
        match schema.as_deref() {
            Some(schema) if schema.get("type").is_some_and(|name| name == "string") => schemas.write(schema),
            schema => {
                let mut text = json!({"title": name, "type": "string"});
                let said = |keyword| schema?.get(keyword);
                if let Some(description) = said("description") {
                    text["description"] = description.clone();
                }
                if let Some(default @ (Value::Number(_) | Value::Bool(_))) = said("default") {
                    text["default"] = default.to_string().into();
                }
                schemas.write(&text);
            }
        }
    }
}

/// Writes headers that every request has.
pub(super) fn write_headers<'h>(writer: &mut Writer, headers: impl Iterator<Item = (&'h str, &'h str)>) {
    let mut headers = headers.peekable();
    if headers.peek().is_none() {
        return;
    }
    writer.name("htv:headers").array(|writer| {
        for (name, value) in headers {
            writer.object(|writer| {
                writer.name("htv:fieldName").text(name);
                writer.name("htv:fieldValue").text(value);
            });
        }
    });
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
