//! JSON Schemas that data schemas were made of, where those say less.

use serde_json::Value;

/// Terms that conversions write them under.
const TERMS: [&str; 2] = ["agentspec:jsonSchema", "mcp:jsonSchema"];

/// Returns the JSON Schema that a data schema was made of, if it is kept beside it.
pub fn source_schema(data_schema: &Value) -> Option<&Value> {
    TERMS.iter().find_map(|term| data_schema.get(*term)?.get("@value"))
}
