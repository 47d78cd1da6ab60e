//! Shapes: the inputs and outputs of a Thing's capabilities.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::containment::Limits,
    port::{Port, Reader},
};
use crate::{Error, Result};

/// The inputs and outputs of a capability.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Shape {
    pub inputs: Box<[Port]>,
    pub outputs: Box<[Port]>,
}

impl Shape {
    /// Returns the required inputs.
    pub fn required(&self) -> impl Iterator<Item = &Port> {
        self.inputs.iter().filter(|port| port.is_required)
    }
}

/// Capabilities of a Thing with a declared input or output.
#[derive(Debug, Default)]
pub struct Shapes {
    pub(super) title: Option<String>,
    /// By the keys of capabilities.
    pub(super) capabilities: Vec<(String, Shape)>,
}

impl Shapes {
    /// Iterates over the capabilities: key, inputs, and outputs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, super::Data, super::Data)> {
        self.capabilities.iter().map(|(key, shape)| {
            let [needed, given] = [&shape.inputs, &shape.outputs].map(|ports| super::Data::of_ports(ports.to_vec()));
            (key.as_str(), needed, given)
        })
    }
}

/// Members of a description from which shapes are read.
#[derive(Deserialize)]
struct Described<'t> {
    #[serde(borrow, default)]
    title: Option<Cow<'t, str>>,
    #[serde(default)]
    actions: BTreeMap<String, Action>,
    #[serde(default, rename = "lmos:capabilities")]
    capabilities: Value,
    /// Definitions that data schemas may refer to.
    #[serde(default, rename = "schemaDefinitions")]
    definitions: Option<Value>,
}

#[derive(Deserialize)]
struct Action {
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default, rename = "uriVariables")]
    variables: Option<Map<String, Value>>,
}

/// Returns the shapes of a Thing's actions, and of entries in `lmos:capabilities` with an `input` or `output`.
///
/// # Errors
/// [`Error::Index`] if the text is not a stored description.
pub fn shapes(text: &str) -> Result<Shapes> {
    let described: Described<'_> = serde_json::from_str(text)
        .map_err(|source| Error::Index { doing: "reading a stored description", source: source.into() })?;
    let mut shapes = Shapes { title: described.title.map(Cow::into_owned), capabilities: Vec::new() };
    let document = described.definitions.map(|definitions| json!({"schemaDefinitions": definitions}));
    for (name, action) in &described.actions {
        shapes.add(name, action, document.as_ref());
    }
    let entries = match &described.capabilities {
        Value::Array(entries) => entries.as_slice(),
        entry => std::slice::from_ref(entry),
    };
    for entry in entries {
        let member = |name: &str, prefixed: &str| entry.get(name).or_else(|| entry.get(prefixed)).cloned();
        let action =
            Action { input: member("input", "lmos:input"), output: member("output", "lmos:output"), variables: None };
        let key = ["id", "lmos:id", "name", "lmos:name"].iter().find_map(|name| entry.get(*name)?.as_str());
        if let Some(key) = key.filter(|key| !described.actions.contains_key(*key)) {
            shapes.add(key, &action, document.as_ref());
        }
    }
    Ok(shapes)
}

impl Shapes {
    fn add(&mut self, key: &str, action: &Action, document: Option<&Value>) {
        // A limit for each capability: of what is beyond it nothing is known.
        let mut limits = Limits::default();
        let mut reader = Reader { limits: &mut limits, document };
        let variables = action.variables.iter();
        let mut inputs: Vec<Port> =
            variables.flat_map(|variables| reader.variables(variables, "/uriVariables")).collect();
        let mut members: Vec<Port> = action.input.iter().flat_map(|input| reader.ports(input, "/input")).collect();
        // A value that goes both into the URL and into the body is given once.
        inputs.retain(|variable| {
            let member = members.iter_mut().find(|member| member.name == variable.name);
            member.is_none_or(|member| {
                member.is_required |= variable.is_required;
                false
            })
        });
        inputs.append(&mut members);
        let outputs: Vec<Port> = action.output.iter().flat_map(|output| reader.ports(output, "/output")).collect();
        if !inputs.is_empty() || !outputs.is_empty() {
            let shape = Shape { inputs: inputs.into(), outputs: outputs.into() };
            self.capabilities.push((key.to_owned(), shape));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_in_url_and_body_is_listed_once() {
        let text = r#"{"actions": {"a": {
            "uriVariables": {"city": {"type": "string"}, "page": {"type": "integer", "default": 1}},
            "input": {"properties": {"city": {"type": "string"}, "n": {"type": "integer"}}, "required": ["n"]}}}}"#;
        let shapes = shapes(text).expect("a description");
        let (_, shape) = &shapes.capabilities[0];
        let mut inputs: Vec<(&str, bool)> = shape.inputs.iter().map(|port| (&*port.name, port.is_required)).collect();
        inputs.sort_unstable();
        assert_eq!(inputs, [("city", true), ("n", true), ("page", false)]);
    }
}
