//! Data against the schemas of descriptions and of types.

use serde_json::Value;

use super::{Error, Result};
use crate::td::{Violation, internal::DataSchema};

/// The most violations that are reported.
pub(super) const MAX_VIOLATIONS: usize = 20;

/// Checks data against a schema of a description and returns the violations.
pub(super) fn check_data(schema: &Value, data: &Value, id: &str) -> Result<Vec<Violation>> {
    let schema = DataSchema::compile(schema).map_err(|reason| unusable(id, &reason))?;
    Ok(schema.violations(data, MAX_VIOLATIONS))
}

/// The error of a schema that can't be used.
pub(super) fn unusable(id: &str, reason: &str) -> Error {
    Error::InvalidDescription { id: id.to_owned(), reason: format!("a schema in it can't be used: {reason}") }
}
