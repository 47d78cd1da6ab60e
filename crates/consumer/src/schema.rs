//! Data against the schemas of descriptions.
//!
//! A data schema of a Thing Description is JSON Schema as it was at draft 7, with a list of schemas as `items`.

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

use super::{Error, Result};
use crate::td::Violation;

/// The most violations that are reported.
const MAX_VIOLATIONS: usize = 20;

/// What is wrong with data by the schema of a description.
pub(super) fn check_data(schema: &Value, data: &Value, id: &str) -> Result<Vec<Violation>> {
    check(schema, data, Draft::Draft7, id)
}

/// What is wrong with data by a JSON Schema.
pub(super) fn check_json(schema: &Value, data: &Value) -> Result<Vec<Violation>> {
    check(schema, data, Draft::Draft202012, "the expected type")
}

fn check(schema: &Value, data: &Value, draft: Draft, id: &str) -> Result<Vec<Violation>> {
    // Without a reader of its own: a schema names no other documents.
    let options = jsonschema::options()
        .with_draft(draft)
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(false);
    let validator = options.build(schema).map_err(|error| Error::InvalidDescription {
        id: id.to_owned(),
        reason: format!("a schema in it can't be used: {error}"),
    })?;
    if validator.is_valid(data) {
        return Ok(Vec::new());
    }
    let violations = validator.iter_errors(data).take(MAX_VIOLATIONS);
    let violation = |error: jsonschema::ValidationError<'_>| {
        let rule = format!("schema/{}", error.kind().keyword());
        Violation::new(error.instance_path().as_str(), rule, error.to_string())
    };
    Ok(violations.map(violation).collect())
}
