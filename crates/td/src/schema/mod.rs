//! The JSON Schemas in `schemas/`, which are compiled once; `format` is not asserted.
//!
//! A document is first only checked for validity. If it is invalid, [`explain`] describes the
//! errors.

mod explain;

use std::sync::LazyLock;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use super::{
    Version, Violation,
    report::{MAX_FINDINGS, has_room},
};

static TD_1_0: LazyLock<Schema> = LazyLock::new(|| Schema::compile(include_str!("../../schemas/td-1.0.json")));
static TD_1_1: LazyLock<Schema> = LazyLock::new(|| Schema::compile(include_str!("../../schemas/td-1.1.json")));
static LMOS: LazyLock<Schema> = LazyLock::new(|| Schema::compile(include_str!("../../schemas/lmos.json")));

struct Schema {
    source: Value,
    validator: Validator,
}

impl Schema {
    #[expect(clippy::expect_used, reason = "the schemas are part of the program, and tests compile them")]
    fn compile(text: &str) -> Schema {
        let source: Value = serde_json::from_str(text).expect("the schema is JSON");
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(false);
        let validator = options.build(&source).expect("the schema is a JSON Schema");
        Schema { source, validator }
    }

    fn check(&self, thing: &Value, prefix: &str, findings: &mut Vec<Violation>) {
        if self.validator.is_valid(thing) {
            return;
        }
        let first = findings.len();
        for error in self.validator.iter_errors(thing).take(MAX_FINDINGS) {
            if !has_room(findings) {
                return;
            }
            let pointer = error.instance_path().as_str();
            let rule = format!("{prefix}/{}", error.kind().keyword());
            let message = explain::message(&error, &self.source);
            // Where two parts of a schema say the same of a member, once is enough.
            let known = findings[first..].iter().any(|known| {
                known.pointer == pointer && known.rule == rule && (known.message == message || rule.ends_with("/type"))
            });
            if !known {
                findings.push(Violation::new(pointer, rule, message));
            }
        }
    }
}

/// Validates `thing` by the schema of `version`.
pub(super) fn check(thing: &Value, version: Version, violations: &mut Vec<Violation>) {
    let schema = match version {
        Version::V1_0 => &TD_1_0,
        Version::V1_1 => &TD_1_1,
    };
    schema.check(thing, "schema", violations);
}

/// Compares an LMOS agent or tool with the LMOS profile.
pub(super) fn check_lmos(thing: &Value, warnings: &mut Vec<Violation>) {
    LMOS.check(thing, "lmos", warnings);
}
