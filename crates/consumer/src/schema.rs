//! Data against the schemas of descriptions.
//!
//! A data schema of a Thing Description is JSON Schema as it was at draft 7, with a list of schemas as `items`.

use serde_json::Value;

use super::{Error, Result};
use crate::td::{
    Violation,
    internal::{Edition, JsonSchema, Mismatch, Patterns},
};

/// The most violations that are reported.
const MAX_VIOLATIONS: usize = 20;

/// Checks data against a schema of a description and returns the violations.
pub(super) fn check_data(schema: &Value, data: &Value, id: &str) -> Result<Vec<Violation>> {
    check(schema, data, Edition::Draft7, id)
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
