//! The JSON Schemas: compiled in, compiled once, `format` not asserted.

use std::sync::LazyLock;

use jsonschema::{Draft, Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::{Version, Violation};

static TD_1_0: LazyLock<Validator> = LazyLock::new(|| compile(include_str!("../../schemas/td-1.0.json")));
static TD_1_1: LazyLock<Validator> = LazyLock::new(|| compile(include_str!("../../schemas/td-1.1.json")));

#[expect(clippy::expect_used, reason = "the schemas are part of the program, and a test compiles them")]
fn compile(text: &str) -> Validator {
    let schema: Value = serde_json::from_str(text).expect("the schema is JSON");
    let options = jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(false);
    options.build(&schema).expect("the schema is a JSON Schema")
}

/// Validates `thing` by the schema of `version`.
pub(super) fn check(thing: &Value, version: Version, violations: &mut Vec<Violation>) {
    let validator = match version {
        Version::V1_0 => &TD_1_0,
        Version::V1_1 => &TD_1_1,
    };
    if validator.is_valid(thing) {
        return;
    }
    violations.extend(validator.iter_errors(thing).map(|error| {
        let rule = format!("schema/{}", error.kind().keyword());
        let message = match error.kind() {
            ValidationErrorKind::Required { property } => {
                format!("`{}` is missing", property.as_str().unwrap_or_default())
            }
            _ => error.to_string(),
        };
        Violation::new(error.instance_path().as_str(), rule, message)
    }));
}
