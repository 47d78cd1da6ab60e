//! Requests to tools: templates that are filled from their inputs.

use serde_json::{Map, Value};

use super::{
    super::{
        placeholders::{Piece, names, pieces},
        thing::variable_name,
    },
    Key, Maker,
};

impl Maker<'_, '_> {
    /// The request of a component that says how it is called over HTTP, as a template of the chain.
    ///
    /// # Errors
    /// Why no chain can send it.
    pub(super) fn request(&self, component: Key) -> Result<Value, String> {
        let mapper = self.mapper;
        let variables = mapper.request_variables(component);
        let headers = mapper.graph.field(component, "headers").and_then(Value::as_object).into_iter().flatten();
        for (header, value) in headers {
            let named: Vec<&str> = value.as_str().into_iter().flat_map(names).collect();
            if let Some(name) = named.into_iter().find(|name| !variables.iter().any(|known| known == name)) {
                return Err(format!("its header {header:?} is made of the input {name:?}; put that into the URL"));
            }
        }
        let variable = |name: &String| (variable_name(name), Value::String(format!("{{{{given.{name}}}}}")));
        let variables: Map<String, Value> = variables.iter().map(variable).collect();
        match mapper.request_body(component).map(template).transpose()? {
            None if variables.is_empty() => Ok(Value::Null),
            None => Ok(Value::Object(variables)),
            Some(body) if variables.is_empty() => Ok(body),
            Some(Value::Object(mut members)) => {
                members.extend(variables);
                Ok(Value::Object(members))
            }
            Some(_) => Err("its data are not an object, and its URL has inputs in it".into()),
        }
    }
}

/// A value with placeholders as a template of the chain.
pub(super) fn template(value: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(text_template(text)?),
        Value::Array(items) => items.iter().map(template).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            if let Some(name) = members.keys().find(|name| names(name).next().is_some()) {
                return Err(format!("the name of its member {name:?} is made of an input"));
            }
            let members = members.iter().map(|(name, member)| Ok((name.clone(), template(member)?)));
            Value::Object(members.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// A text with placeholders as one with references.
pub(super) fn text_template(text: &str) -> Result<String, String> {
    let mut written = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Name(name) => written.push_str(&format!("{{{{given.{name}}}}}")),
            Piece::Literal(literal) if literal.contains("{{") => {
                return Err(format!("{literal:?} has `{{{{` in it, which is not a placeholder"));
            }
            Piece::Literal(literal) => written.push_str(literal),
        }
    }
    Ok(written)
}
