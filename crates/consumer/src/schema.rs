//! Validation of data against the schemas of descriptions and types.

use serde_json::Value;

use super::{Error, Result};
use crate::td::{Violation, internal::DataSchema};

/// Maximum number of reported violations.
pub(super) const MAX_VIOLATIONS: usize = 20;

/// Checks data against a schema of a description and returns the violations.
pub(super) fn check_data(schema: &Value, data: &Value, id: &str) -> Result<Vec<Violation>> {
    let schema = DataSchema::compile(schema).map_err(|reason| unusable(id, &reason))?;
    Ok(schema.violations(data, MAX_VIOLATIONS))
}

/// Creates the error for an unusable schema.
pub(super) fn unusable(id: &str, reason: &str) -> Error {
    Error::InvalidDescription { id: id.to_owned(), reason: format!("it contains an unusable schema: {reason}") }
}
