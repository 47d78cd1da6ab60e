//! Data against the schemas of descriptions.
//!
//! A data schema of a Thing Description is JSON Schema as it was at draft 7, with a list of schemas as `items`. Where a
//! conversion keeps the JSON Schema that it was made of, data must satisfy that, too.

use serde_json::Value;

use super::{Error, Result};
use crate::td::{
    Violation,
    internal::{Edition, JsonSchema, Mismatch, Patterns, push_token, source_schema},
};

/// The most violations that are reported.
const MAX_VIOLATIONS: usize = 20;

/// Checks data against a schema of a description and returns the violations.
pub(super) fn check_data(schema: &Value, data: &Value, id: &str) -> Result<Vec<Violation>> {
    let violations = check(schema, data, Edition::Draft7, id)?;
    if !violations.is_empty() {
        return Ok(violations);
    }
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let given = members.filter_map(|(name, schema)| Some((Some(name), source_schema(schema)?, data.get(name)?)));
    let whole = source_schema(schema).map(|source| (None, source, data));
    let sources = whole.into_iter().chain(given).filter(|(_, source, _)| !has_references(source));
    Ok(sources.flat_map(|(name, source, data)| check_source(source, data, name)).take(MAX_VIOLATIONS).collect())
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

/// Checks data, or the member `name` of some, against a JSON Schema of somebody else; one that can't be used says nothing.
fn check_source(source: &Value, data: &Value, name: Option<&String>) -> Vec<Violation> {
    let is_draft_7 = source.get("$schema").and_then(Value::as_str).is_some_and(|id| id.contains("draft-07"));
    let edition = if is_draft_7 { Edition::Draft7 } else { Edition::Draft202012 };
    let mut violations = check(source, data, edition, "").unwrap_or_default();
    if let Some(name) = name {
        let mut start = String::new();
        push_token(&mut start, name);
        violations.iter_mut().for_each(|violation| violation.pointer.insert_str(0, &start));
    }
    violations
}

/// Checks data against a JSON Schema (2020-12) and returns the violations.
pub(super) fn check_json(schema: &Value, data: &Value) -> Result<Vec<Violation>> {
    check(schema, data, Edition::Draft202012, "the expected type")
}

fn check(schema: &Value, data: &Value, edition: Edition, id: &str) -> Result<Vec<Violation>> {
    let schema = JsonSchema::compile(schema, edition, Patterns::Linear).map_err(|reason| {
        Error::InvalidDescription { id: id.to_owned(), reason: format!("a schema in it can't be used: {reason}") }
    })?;
    let violation =
        |Mismatch { pointer, keyword, message }| Violation::new(pointer, format!("schema/{keyword}"), message);
    Ok(schema.mismatches(data, MAX_VIOLATIONS).into_iter().map(violation).collect())
}
