//! Data schemas of Thing Descriptions, which data is checked against.
//!
//! A data schema is JSON Schema as it was at draft 7, with a list of schemas as `items`. Where a conversion keeps the JSON
//! Schema that it was made of, data must satisfy that, too.

use serde_json::Value;

use super::{
    Violation,
    json_schema::{Edition, JsonSchema, Mismatch, Patterns},
    report::push_token,
    source_schema::source_schema,
};

/// A data schema, compiled.
#[derive(Debug)]
pub struct DataSchema {
    schema: JsonSchema,
    /// The JSON Schemas that it, or one of its members, was made of.
    sources: Vec<(Option<String>, JsonSchema)>,
}

impl DataSchema {
    /// Compiles a data schema. If the JSON Schema from which it was converted is unusable, it is
    /// ignored.
    ///
    /// # Errors
    /// The reason why it can't be used.
    pub fn compile(schema: &Value) -> Result<DataSchema, String> {
        let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let of_members = members.filter_map(|(name, schema)| Some((Some(name), source_schema(schema)?)));
        let whole = source_schema(schema).map(|source| (None, source));
        let sources = whole.into_iter().chain(of_members).filter(|(_, source)| !has_references(source));
        let compiled = sources.filter_map(|(name, source)| Some((name.cloned(), compile_source(source)?)));
        let sources = compiled.collect();
        Ok(DataSchema { schema: JsonSchema::compile(schema, Edition::Draft7, Patterns::Linear)?, sources })
    }

    /// Compiles a JSON Schema of edition 2020-12, such as that of a type.
    ///
    /// # Errors
    /// The reason why it can't be used.
    pub fn compile_json_schema(schema: &Value) -> Result<DataSchema, String> {
        let schema = JsonSchema::compile(schema, Edition::Draft202012, Patterns::Linear)?;
        Ok(DataSchema { schema, sources: Vec::new() })
    }

    /// Returns the first violations in some data, at most `most`.
    pub fn violations(&self, data: &Value, most: usize) -> Vec<Violation> {
        let violations = violations(&self.schema, data, most);
        if !violations.is_empty() {
            return violations;
        }
        let of_source = |(name, source): &(Option<String>, JsonSchema)| {
            let Some(name) = name else { return violations_in(source, data, None, most) };
            data.get(name).map(|member| violations_in(source, member, Some(name), most)).unwrap_or_default()
        };
        self.sources.iter().flat_map(of_source).take(most).collect()
    }
}

fn compile_source(source: &Value) -> Option<JsonSchema> {
    let is_draft_7 = source.get("$schema").and_then(Value::as_str).is_some_and(|id| id.contains("draft-07"));
    let edition = if is_draft_7 { Edition::Draft7 } else { Edition::Draft202012 };
    JsonSchema::compile(source, edition, Patterns::Linear).ok()
}

/// Violations in data, or in the member `name` of some.
fn violations_in(schema: &JsonSchema, data: &Value, name: Option<&str>, most: usize) -> Vec<Violation> {
    let mut found = violations(schema, data, most);
    if let Some(name) = name {
        let mut start = String::new();
        push_token(&mut start, name);
        found.iter_mut().for_each(|violation| violation.pointer.insert_str(0, &start));
    }
    found
}

fn violations(schema: &JsonSchema, data: &Value, most: usize) -> Vec<Violation> {
    let violation =
        |Mismatch { pointer, keyword, message }| Violation::new(pointer, format!("schema/{keyword}"), message);
    schema.mismatches(data, most).into_iter().map(violation).collect()
}

/// True if a schema refers to others. The data schema has those inlined within bounds, which nothing else sets.
fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, member)| {
            matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") || has_references(member)
        }),
        Value::Array(elements) => elements.iter().any(has_references),
        _ => false,
    }
}
