//! Validation of data by JSON Schemas. The validator is generic code, so the crates share the instance compiled here.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// A compiled JSON Schema that refers to no other documents. `format` is not asserted.
#[derive(Debug)]
pub struct JsonSchema {
    validator: Validator,
}

/// Edition of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7, for data schemas of Thing Descriptions: `items` may be a list.
    Draft7,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12.
    Draft202012,
}

/// Regular expressions allowed in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patterns {
    /// Expressions without look-around and back references, matched in linear time.
    Linear,
    /// All expressions of ECMA 262.
    Backtracking,
}

/// A violation of a schema in some data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// JSON Pointer of the place in the data.
    pub pointer: String,
    /// Violated keyword of the schema, such as `required`.
    pub keyword: String,
    /// Description of the violation.
    pub message: String,
}

impl Edition {
    /// Returns the edition named by the `$schema` of a schema, if it is known.
    pub fn named_by(schema: &Value) -> Option<Edition> {
        let id = schema.get("$schema")?.as_str()?;
        let editions = [
            ("draft-04", Edition::Draft4),
            ("draft-06", Edition::Draft6),
            ("draft-07", Edition::Draft7),
            ("2019-09", Edition::Draft201909),
            ("2020-12", Edition::Draft202012),
        ];
        editions.into_iter().find(|(name, _)| id.contains(name)).map(|(_, edition)| edition)
    }
}

impl JsonSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The reason why `schema` is not a valid schema of the edition.
    pub fn compile(schema: &Value, edition: Edition, patterns: Patterns) -> Result<JsonSchema, String> {
        let options = jsonschema::options().should_validate_formats(false).with_draft(match edition {
            Edition::Draft4 => Draft::Draft4,
            Edition::Draft6 => Draft::Draft6,
            Edition::Draft7 => Draft::Draft7,
            Edition::Draft201909 => Draft::Draft201909,
            Edition::Draft202012 => Draft::Draft202012,
        });
        let options = match patterns {
            Patterns::Linear => options.with_pattern_options(PatternOptions::regex()),
            Patterns::Backtracking => options.with_pattern_options(PatternOptions::fancy_regex()),
        };
        let validator = options.build(schema).map_err(|error| error.to_string())?;
        Ok(JsonSchema { validator })
    }

    /// Returns up to `most` violations of the schema in `data`.
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
