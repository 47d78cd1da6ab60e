//! `Expected`: what an answer should be, by the description of the action and by the caller.

use agentdex_api::Repair;
use serde_json::{Map, Value};

use super::{
    coercion::coerced,
    contract::{DataContract, SchemaError},
    response::{Response, Status},
};
use crate::td::{Violation, internal::DataSchema};

/// The most violations of a schema that are reported.
const MAX_VIOLATIONS: usize = 20;

/// Whether answers are read as SACP responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sacp {
    /// Answers are not read as responses.
    #[default]
    Off,
    /// An answer that is a response as a whole, with all required members, is read as one.
    Allowed,
    /// The agent declares SACP: responses are found anywhere in its answer, and an answer without one is the fallback of
    /// section 7.2.
    Required,
}

/// What an answer should be.
///
/// ```
/// use agentdex_sacp::{Expected, Sacp};
/// use serde_json::json;
///
/// let action = json!({"output": {"@type": "sacp:Response", "properties": {"data": {"required": ["city"]}}}});
/// let expected = Expected::of_action(&action, Sacp::Allowed)?;
/// assert_eq!(expected.sacp(), Sacp::Required);
/// # Ok::<(), agentdex_sacp::SchemaError>(())
/// ```
#[derive(Debug, Default)]
pub struct Expected {
    sacp: Sacp,
    /// The contract for the data of responses, where SACP is declared.
    contract: Option<DataContract>,
    /// The schema of responses without that of their data, or of other answers.
    schema: Option<Schema>,
    /// The name of the only output, whose value may be the whole answer.
    single: Option<String>,
}

/// A schema, as it is written and compiled.
#[derive(Debug)]
struct Schema {
    written: Value,
    compiled: DataSchema,
}

impl Schema {
    fn violations(&self, value: &Value) -> Vec<Violation> {
        self.compiled.violations(value, MAX_VIOLATIONS)
    }
}

impl Expected {
    /// Any answer. `sacp` says whether SACP responses are read.
    pub fn any(sacp: Sacp) -> Expected {
        Expected { sacp, ..Expected::default() }
    }

    /// The answer that an action's `output` declares. If that is a SACP response, [`Sacp::Required`] replaces `sacp`,
    /// unless `sacp` is [`Sacp::Off`].
    ///
    /// # Errors
    /// If a schema in it can't be used.
    pub fn of_action(action: &Value, sacp: Sacp) -> Result<Expected, SchemaError> {
        let expected = Expected::of_messages(action, sacp)?;
        match action.get("output") {
            Some(output) if expected.contract.is_none() => {
                Ok(Expected { schema: Some(compiled(output.clone())?), ..expected })
            }
            _ => Ok(expected),
        }
    }

    /// The same for protocols of messages: `output` doesn't describe the agent's messages there, unless it is a SACP
    /// response.
    ///
    /// # Errors
    /// As [`Expected::of_action`].
    pub fn of_messages(action: &Value, sacp: Sacp) -> Result<Expected, SchemaError> {
        let contract = if sacp == Sacp::Off { None } else { DataContract::of_action(action)? };
        if contract.is_none() {
            return Ok(Expected::any(sacp));
        }
        let mut rest = action["output"].clone();
        if let Some(properties) = rest.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove("data");
        }
        let schema = if is_of_all_responses(&rest) { None } else { Some(compiled(rest)?) };
        Ok(Expected { contract, schema, ..Expected::any(Sacp::Required) })
    }

    /// A SACP response whose data satisfies a contract.
    pub fn response(contract: Option<DataContract>) -> Expected {
        Expected { contract, ..Expected::any(Sacp::Required) }
    }

    /// A value that satisfies a JSON Schema (2020-12), such as that of a type.
    ///
    /// # Errors
    /// If the schema can't be used.
    pub fn value(schema: Value) -> Result<Expected, SchemaError> {
        let compiled = DataSchema::compile_json_schema(&schema).map_err(|reason| SchemaError { reason })?;
        Ok(Expected { schema: Some(Schema { written: schema, compiled }), ..Expected::default() })
    }

    /// Also accepts the value of the only output as the whole answer: `"sunny"` for `{"weather":
    /// "sunny"}`.
    pub fn or_single_output(mut self) -> Expected {
        let properties = self.schema.as_ref().and_then(|schema| schema.written.get("properties")?.as_object());
        let mut names = properties.into_iter().flat_map(Map::keys);
        self.single = names.next().filter(|_| names.next().is_none()).cloned();
        self
    }

    /// Returns whether answers are read as responses of SACP.
    pub fn sacp(&self) -> Sacp {
        self.sacp
    }

    pub(super) fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Holds a response to its schema, and coerces its data. Only what claims success is held to it: a failure or a question
    /// may have nothing to give.
    pub(super) fn check_response(&self, response: &mut Response) -> (Vec<Repair>, Vec<Violation>) {
        if !matches!(response.status, Status::Success | Status::Completed) {
            return Default::default();
        }
        match (&self.contract, &self.schema) {
            (Some(contract), schema) => {
                let mut repairs = Vec::new();
                let mut violations = with_data(response, |data| contract.check_data(data));
                if !violations.is_empty() {
                    repairs = coerce_data(response, contract.schema());
                    violations = with_data(response, |data| contract.check_data(data));
                }
                violations.extend(schema.iter().flat_map(|schema| schema.violations(&response.to_value())));
                (repairs, violations)
            }
            (None, Some(schema)) => {
                let of_data = |response: &mut Response| with_data(response, |data| schema.violations(data));
                if of_data(response).is_empty() || schema.violations(&response.to_value()).is_empty() {
                    return Default::default();
                }
                let repairs = coerce_data(response, &schema.written);
                let mut violations = of_data(response);
                violations.iter_mut().for_each(|violation| violation.pointer.insert_str(0, "/data"));
                (repairs, violations)
            }
            (None, None) => Default::default(),
        }
    }

    /// Checks a value that is not a response, and returns it as the schema has it.
    pub(super) fn check_value(&self, value: Value) -> Checked {
        let Some(schema) = &self.schema else { return Checked { value, repairs: Vec::new(), violations: Vec::new() } };
        let violations = schema.violations(&value);
        if violations.is_empty() {
            return Checked { value, repairs: Vec::new(), violations };
        }
        let single = self.single.as_ref().map(|name| Value::from(Map::from_iter([(name.clone(), value.clone())])));
        if let Some(single) = single.clone().filter(|single| schema.violations(single).is_empty()) {
            return Checked { value: single, repairs: Vec::new(), violations: Vec::new() };
        }
        for candidate in std::iter::once(value.clone()).chain(single) {
            let (coerced, repairs) = coerced(&candidate, &schema.written);
            if !repairs.is_empty() && schema.violations(&coerced).is_empty() {
                return Checked { value: coerced, repairs, violations: Vec::new() };
            }
        }
        Checked { value, repairs: Vec::new(), violations }
    }
}

/// A value after it was checked.
pub(super) struct Checked {
    pub(super) value: Value,
    pub(super) repairs: Vec<Repair>,
    pub(super) violations: Vec<Violation>,
}

fn compiled(schema: Value) -> Result<Schema, SchemaError> {
    let compiled = DataSchema::compile(&schema).map_err(|reason| SchemaError { reason })?;
    Ok(Schema { written: schema, compiled })
}

/// True if a schema says of a response without its data what holds of all of them.
fn is_of_all_responses(schema: &Value) -> bool {
    const TEXTS: [&str; 4] = ["thought", "status", "message", "next_step_hint"];
    let list = |name: &str| schema.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let is_text = |(name, schema): (&String, &Value)| {
        let members = schema.as_object().into_iter().flatten();
        let says_nothing = |(name, value): (&String, &Value)| {
            matches!(name.as_str(), "title" | "description") || (name == "type" && value == "string")
        };
        TEXTS.contains(&name.as_str()) && members.clone().all(says_nothing)
    };
    let members = schema.as_object().into_iter().flatten();
    let is_known = |(name, value): (&String, &Value)| match name.as_str() {
        "@type" | "title" | "description" | "properties" | "required" => true,
        name => name == "type" && value == "object",
    };
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    members.clone().all(is_known)
        && properties.clone().all(is_text)
        && list("required").all(|name| matches!(name, "thought" | "status" | "data" | "message"))
}

/// Does something with the data of a response.
fn with_data<T>(response: &mut Response, work: impl FnOnce(&Value) -> T) -> T {
    let data = Value::Object(std::mem::take(&mut response.data));
    let result = work(&data);
    if let Value::Object(data) = data {
        response.data = data;
    }
    result
}

/// Coerces the data of a response to a schema, as far as it can be.
fn coerce_data(response: &mut Response, schema: &Value) -> Vec<Repair> {
    let (data, mut repairs) = coerced(&Value::Object(std::mem::take(&mut response.data)), schema);
    if let Value::Object(data) = data {
        response.data = data;
    }
    repairs.iter_mut().for_each(|repair| repair.pointer.insert_str(0, "/data"));
    repairs
}
