//! Original JSON Schemas of data schemas that express less.

use serde_json::Value;

/// Terms that conversions write them under.
const TERMS: [&str; 2] = ["agentspec:jsonSchema", "mcp:jsonSchema"];

/// Returns the JSON Schema from which a data schema was converted, if the data schema contains it.
pub fn source_schema(data_schema: &Value) -> Option<&Value> {
    TERMS.iter().find_map(|term| data_schema.get(*term)?.get("@value"))
}
