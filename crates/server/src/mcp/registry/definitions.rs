//! The tools: names, descriptions for models, and schemas. All of them together are at most 6 KB, which each client reads.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::super::{
    foreign_text::excerpt,
    size_limit::MIN_BYTES,
    tools::{Hints, Tool},
};
use crate::{
    access::{Need, Role},
    convert::Format,
    search::FacetField,
    td::internal::{Edition, JsonSchema, Mismatch, Patterns},
};

/// Maximum number of violations of the schema that a message lists.
const MOST_MISMATCHES: usize = 5;
/// Maximum number of characters of a violation in a message.
const LONGEST_MISMATCH: usize = 300;

/// A tool, with the role that it needs.
pub(super) struct Definition {
    pub(super) tool: Tool,
    pub(super) need: Need,
    /// True if the tool calls agents.
    pub(super) calls_agents: bool,
    arguments: Option<JsonSchema>,
}

const READ: Need = Need::Read(Role::Read);
const WRITE: Need = Need::Write(Role::Register);

pub(super) static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let changes = |destructive| Hints { read_only: false, destructive, idempotent: false, open_world: false };
    let asks = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    vec![
        define("search_agents", "Search agents", SEARCH_AGENTS, Hints::READ, READ, search_agents()),
        define("get_agent", "Get an agent", GET_AGENT, Hints::READ, READ, get_agent()),
        define("explore", "Explore the registry", EXPLORE, Hints::READ, READ, explore()),
        define(
            "find_compatible",
            "Find compatible capabilities",
            FIND_COMPATIBLE,
            Hints::READ,
            READ,
            find_compatible(),
        ),
        define("validate_agent", "Validate a description", VALIDATE_AGENT, Hints::READ, READ, validate_agent()),
        define("register_agent", "Register an agent", REGISTER_AGENT, changes(true), WRITE, register_agent()),
        define("remove_agent", "Remove an agent", REMOVE_AGENT, changes(true), WRITE, remove_agent()),
        Definition { calls_agents: true, ..define("ask_agent", "Ask an agent", ASK_AGENT, asks, WRITE, ask_agent()) },
    ]
});

const SEARCH_AGENTS: &str = "Finds agents by what they can do, best match first. Describe the task in plain words. Use get_agent for details of a hit.";
const GET_AGENT: &str = "Reads an agent's description: capabilities, inputs, outputs, addresses, security.";
const EXPLORE: &str = "Counts the values of fields, such as capabilities or protocols, to choose filters from.";
const FIND_COMPATIBLE: &str = "Finds capabilities that work with the data you have, and return the data you want. \
    Both are JSON Schemas of objects; give at least one. A fit below 0.5 is doubtful.";
const VALIDATE_AGENT: &str = "Validates a W3C Thing Description without registering it.";
const REGISTER_AGENT: &str = "Registers an agent by its W3C Thing Description. Validate it first.";
const REMOVE_AGENT: &str = "Permanently removes an agent that the caller owns.";
const ASK_AGENT: &str = "Sends a message to an agent, without credentials, and returns its answer.";

fn define(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    hints: Hints,
    need: Need,
    (input, output): (Value, Value),
) -> Definition {
    let arguments = JsonSchema::compile(&input, Edition::Draft202012, Patterns::Linear).ok();
    let tool = Tool { name, title, description, input: members(input), output: members(output), hints };
    Definition { tool, need, calls_agents: false, arguments }
}

impl Definition {
    pub(super) fn find(name: &str) -> Option<&'static Definition> {
        DEFINITIONS.iter().find(|definition| definition.tool.name == name)
    }

    /// Validates arguments. `null` stands for an optional argument that is not given, and 10.0 for 10, as some models write them.
    ///
    /// # Errors
    /// Description of the violations, with the names of all arguments.
    pub(super) fn read(&self, mut arguments: Map<String, Value>) -> Result<Value, String> {
        let required = self.tool.input.get("required").and_then(Value::as_array);
        let is_required = |name: &String| required.into_iter().flatten().any(|one| one == name);
        arguments.retain(|name, value| !value.is_null() || is_required(name));
        arguments.values_mut().filter_map(integer).for_each(|(value, integer)| *value = integer.into());
        let arguments = Value::Object(arguments);
        let found = self.arguments.as_ref().map(|schema| schema.mismatches(&arguments, MOST_MISMATCHES));
        let found = found.filter(|found| !found.is_empty());
        let Some(found) = found else { return Ok(arguments) };
        let wrong = found.into_iter().map(|Mismatch { pointer, message, .. }| {
            let pointer = excerpt(&pointer, LONGEST_MISMATCH);
            match self.remedy(&pointer) {
                Some(remedy) => format!("{pointer}: {remedy}"),
                None if pointer.is_empty() => excerpt(&message, LONGEST_MISMATCH),
                None => format!("{pointer}: {}", excerpt(&message, LONGEST_MISMATCH)),
            }
        });
        let known = self.tool.input.get("properties").and_then(Value::as_object);
        let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let (wrong, known) = (wrong.collect::<Vec<_>>().join("; "), known.join(", "));
        Err(format!("wrong arguments: {wrong}. {} takes {known}", self.tool.name))
    }

    /// Says what an argument must be, where that is more than its schema's violation says.
    fn remedy(&self, pointer: &str) -> Option<String> {
        let mut places = pointer.split('/').skip(1);
        let schema = self.tool.input.get("properties")?.get(places.next()?)?;
        let schema = if places.next().is_some() { schema.get("items")? } else { schema };
        if schema.get("anyOf").is_some() {
            return Some("must be a JSON object, either directly or as a string".to_owned());
        }
        let values: Vec<&str> = schema.get("enum")?.as_array()?.iter().filter_map(Value::as_str).collect();
        Some(format!("must be one of {}", values.join(", ")))
    }
}

/// Returns the integer value of a floating-point number without a fraction.
fn integer(value: &mut Value) -> Option<(&mut Value, u64)> {
    let number = value.as_f64().filter(|number| value.is_f64() && *number >= 0.0 && number.fract() == 0.0)?;
    // Larger ones are beyond every maximum.
    let integer = format!("{number:.0}").parse().unwrap_or(u64::MAX);
    Some((value, integer))
}

fn members(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn object(required: &[&str], properties: Value) -> Value {
    match required {
        [] => json!({"type": "object", "properties": properties}),
        required => json!({"type": "object", "required": required, "properties": properties}),
    }
}

/// The schema of arguments, of which there are no others.
fn arguments(required: &[&str], properties: Value) -> Value {
    let mut schema = object(required, properties);
    schema["additionalProperties"] = false.into();
    schema
}

fn text() -> Value {
    json!({"type": "string"})
}

fn list() -> Value {
    json!({"type": "array"})
}

fn filters() -> Value {
    json!({"type": "object", "description": FILTERS})
}

const FILTERS: &str = "Values by field, any may match: {\"protocol\": [\"a2a\", \"mcp\"]}. Fields: capability, type, tag, vendor, \
    protocol, security, format, tenant, channel, speaks, status, signature, version. all_FIELD: all must match; not_FIELD: none";

fn limit() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 100})
}

fn max_bytes() -> Value {
    json!({"type": "integer", "minimum": MIN_BYTES})
}

fn document() -> Value {
    json!({"anyOf": [{"type": "object"}, {"type": "string"}]})
}

fn search_agents() -> (Value, Value) {
    let input = json!({
        "query": text(), "filters": filters(), "limit": limit(), "page_token": text(), "max_bytes": max_bytes(),
    });
    let hit = json!({
        "id": text(), "title": text(), "description": text(), "protocols": list(), "score": {"type": "number"}, "flags": list(),
    });
    (arguments(&[], input), page(object(&["id"], hit)))
}

/// The schema of a page of hits.
fn page(hit: Value) -> Value {
    let hits = json!({"type": "array", "items": hit});
    object(&["total", "hits"], json!({"total": {"type": "integer"}, "hits": hits, "next_page_token": text()}))
}

fn get_agent() -> (Value, Value) {
    let formats: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    let input = json!({"id": text(), "format": {"enum": formats}, "page_token": text(), "max_bytes": max_bytes()});
    let output = json!({
        "id": text(), "document": {"type": "object"}, "text": text(), "flags": list(), "next_page_token": text(),
    });
    (arguments(&["id"], input), object(&["id"], output))
}

fn explore() -> (Value, Value) {
    let facets = json!({"type": "array", "minItems": 1, "items": {"enum": FacetField::ALL.map(FacetField::name)}});
    let input = json!({
        "facets": facets, "query": text(), "filters": {"type": "object"},
        "contains": text(), "limit": limit(), "max_bytes": max_bytes(),
    });
    let output = json!({"total": {"type": "integer"}, "facets": {"type": "object"}});
    (arguments(&["facets"], input), object(&["total", "facets"], output))
}

fn find_compatible() -> (Value, Value) {
    let schema = json!({"type": "object"});
    let input = json!({
        "have": schema, "want": schema, "query": text(), "near_misses": {"type": "boolean"}, "limit": limit(),
        "page_token": text(), "max_bytes": max_bytes(),
    });
    let hit =
        object(&["id", "capability", "fit"], json!({"id": text(), "capability": text(), "fit": {"type": "number"}}));
    (arguments(&[], input), page(hit))
}

fn validate_agent() -> (Value, Value) {
    let input = arguments(&["document"], json!({"document": document(), "max_bytes": max_bytes()}));
    let output = json!({"valid": {"type": "boolean"}, "violations": list(), "warnings": list()});
    (input, object(&["valid", "violations", "warnings"], output))
}

fn register_agent() -> (Value, Value) {
    (arguments(&["document"], json!({"document": document(), "replace": {"type": "boolean"}})), written())
}

fn written() -> Value {
    json!({"type": "object", "required": ["id", "effect"]})
}

fn remove_agent() -> (Value, Value) {
    (arguments(&["id"], json!({"id": text()})), written())
}

fn ask_agent() -> (Value, Value) {
    let conversation = json!({"type": "string", "description": "From the last answer"});
    let input = json!({"id": text(), "message": text(), "input": {}, "action": text(), "conversation": conversation});
    let state = json!({"type": "string", "description": "input-required: the agent needs input"});
    let output = json!({"state": state, "text": text(), "data": list(), "conversation": text()});
    (arguments(&["id"], input), object(&["state", "text"], output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_valid() {
        for Definition { tool, arguments, .. } in DEFINITIONS.iter() {
            assert!(arguments.is_some(), "{}", tool.name);
            let output = Value::Object(tool.output.clone());
            JsonSchema::compile(&output, Edition::Draft202012, Patterns::Linear).unwrap();
        }
    }

    #[test]
    fn all_tools_together_are_small() {
        let size: usize = DEFINITIONS
            .iter()
            .map(|Definition { tool, .. }| {
                let annotations =
                    r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}"#;
                let whole = json!({"name": tool.name, "title": tool.title, "description": tool.description,
                    "inputSchema": tool.input, "outputSchema": tool.output, "annotations": ""});
                whole.to_string().len() + annotations.len()
            })
            .sum();
        assert!(size < 5990, "{size} bytes");
    }
}
