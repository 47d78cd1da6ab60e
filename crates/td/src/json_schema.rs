//! JSON Schemas of the data of agents. A validator is generic code: the crates that need one share the instance of this file.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// A compiled JSON Schema that refers to no other documents. `format` is not asserted.
#[derive(Debug)]
pub struct JsonSchema {
    validator: Validator,
}

/// The edition of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    /// Draft 7, which data schemas of Thing Descriptions follow: `items` may be a list.
    Draft7,
    /// Draft 2020-12.
    Draft202012,
}

/// The regular expressions that a schema may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patterns {
    /// Without look-around and back references, in linear time.
    Linear,
    /// All of ECMA 262.
    Backtracking,
}

/// An error of data by a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The place in the data, as a JSON Pointer.
    pub pointer: String,
    /// The keyword of the schema that the data doesn't satisfy.
    pub keyword: String,
    /// The error in words.
    pub message: String,
}

impl JsonSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The reason why it is not a schema of that edition.
    pub fn compile(schema: &Value, edition: Edition, patterns: Patterns) -> Result<JsonSchema, String> {
        let options = jsonschema::options().should_validate_formats(false).with_draft(match edition {
            Edition::Draft7 => Draft::Draft7,
            Edition::Draft202012 => Draft::Draft202012,
        });
        let options = match patterns {
            Patterns::Linear => options.with_pattern_options(PatternOptions::regex()),
            Patterns::Backtracking => options.with_pattern_options(PatternOptions::fancy_regex()),
        };
        let validator = options.build(schema).map_err(|error| error.to_string())?;
        Ok(JsonSchema { validator })
    }

    /// The first `most` errors of some data.
    pub fn mismatches(&self, data: &Value, most: usize) -> Vec<Mismatch> {
        if self.validator.is_valid(data) {
            return Vec::new();
        }
        let errors = self.validator.iter_errors(data).take(most);
        let mismatch = |error: jsonschema::ValidationError<'_>| Mismatch {
            pointer: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_string(),
            message: error.to_string(),
        };
        errors.map(mismatch).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mismatches_name_place_and_keyword() {
        let schema = json!({"properties": {"a": {"items": [{"type": "integer"}]}}});
        let compile = |edition| JsonSchema::compile(&schema, edition, Patterns::Linear);
        let schema = compile(Edition::Draft7).expect("a schema");
        let found = schema.mismatches(&json!({"a": ["x"]}), 9);
        assert!(matches!(&*found, [one] if one.pointer == "/a/0" && one.keyword == "type"), "{found:?}");
        assert_eq!(schema.mismatches(&json!({"a": [7, "x"]}), 9), []);
        compile(Edition::Draft202012).expect_err("a list of schemas");
    }

    #[test]
    fn look_around_is_for_those_who_ask() {
        let schema = json!({"pattern": "^(?!x)"});
        let compile = |patterns| JsonSchema::compile(&schema, Edition::Draft202012, patterns);
        compile(Patterns::Linear).expect_err("look-around");
        let schema = compile(Patterns::Backtracking).expect("a schema");
        assert_eq!((schema.mismatches(&json!("y"), 9).len(), schema.mismatches(&json!("x"), 9).len()), (0, 1));
    }
}
