//! `DataContract`: what an agent promises about `data` (SACP, sections 10 and 11).

use serde_json::Value;

use super::response::{Response, Status};
use crate::td::{
    self, Violation,
    internal::{Edition, JsonSchema, Mismatch, Patterns},
};

/// The schema of the `data` of an agent's successful responses.
#[derive(Debug)]
pub struct DataContract {
    schema: Value,
    compiled: JsonSchema,
}

/// A schema that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema of the data can't be used: {reason}")]
pub struct SchemaError {
    /// The reason why it can't be used.
    pub reason: String,
}

/// A member of `data` that a contract names.
#[derive(Debug, PartialEq)]
pub(super) struct Key<'a> {
    pub name: &'a str,
    pub kind: &'a str,
    pub description: Option<&'a str>,
    pub is_required: bool,
}

impl DataContract {
    /// A contract by a JSON Schema (2020-12), or by the DataSchema of a Thing Description.
    ///
    /// # Errors
    /// If it can't be compiled, or refers to another document.
    pub fn new(schema: Value) -> Result<DataContract, SchemaError> {
        let compiled = JsonSchema::compile(&schema, Edition::Draft202012, Patterns::Backtracking)
            .map_err(|reason| SchemaError { reason })?;
        Ok(DataContract { schema, compiled })
    }

    /// The contract of an action whose output is a SACP response; none if its output is something else.
    ///
    /// Which outputs are, [`td::answers_in_sacp`] says. Its `properties.data` is the schema of the data.
    ///
    /// # Errors
    /// If that schema can't be compiled.
    pub fn of_action(action: &Value) -> Result<Option<DataContract>, SchemaError> {
        let output = &action["output"];
        let is_response = td::answers_in_sacp(texts(&output["@type"]), |member| {
            texts(&output["required"]).any(|name| name == member)
        });
        let schema = output["properties"].get("data").cloned().unwrap_or(Value::Bool(true));
        is_response.then(|| DataContract::new(schema)).transpose()
    }

    /// Returns the first 100 violations in the data of a response, by pointers into the response. Only successful
    /// responses must satisfy the contract: a failure or a question may have no data.
    pub fn check(&self, response: &Response) -> Vec<Violation> {
        if !matches!(response.status, Status::Success | Status::Completed) {
            return Vec::new();
        }
        self.check_data(&Value::Object(response.data.clone()))
    }

    /// Returns the first 100 violations in the data of a success, by pointers into its response.
    pub(super) fn check_data(&self, data: &Value) -> Vec<Violation> {
        let violation = |Mismatch { pointer, message, .. }: Mismatch| {
            let shown = message.char_indices().nth(300).map_or(message.as_str(), |(end, _)| &message[..end]);
            Violation::new(format!("/data{pointer}"), "sacp/data", shown)
        };
        self.compiled.mismatches(data, 100).into_iter().map(violation).collect()
    }

    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// The members that the schema names, required ones first.
    pub(super) fn keys(&self) -> Vec<Key<'_>> {
        let required: Vec<&str> =
            self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(properties) = self.schema["properties"].as_object() else { return Vec::new() };
        let mut keys = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            let description = schema["description"].as_str();
            let kind = schema["type"].as_str().unwrap_or("value");
            keys.push(Key { name, kind, description, is_required: required.contains(&name.as_str()) });
        }
        keys.sort_by_key(|key| !key.is_required);
        keys
    }
}

/// The text, or those of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    value.as_str().into_iter().chain(list)
}
