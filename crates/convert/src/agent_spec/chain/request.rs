//! Requests to the actions of registered Things: templates filled with the inputs of a node.

use serde_json::{Map, Value};

use super::{
    super::{
        placeholders::{Piece, names, pieces},
        terms::REQUEST,
        thing::variable_name,
    },
    Key, Maker,
};

impl Maker<'_, '_> {
    /// The request to an action of a registered Thing, of which a composed search made the component: what its own
    /// description takes, as a template of the chain.
    ///
    /// # Errors
    /// Why no chain can send it.
    pub(super) fn request(&self, component: Key) -> Result<Value, String> {
        let mapper = self.mapper;
        let variable = |name: &String| (variable_name(name), Value::String(format!("{{{{given.{name}}}}}")));
        let variables: Map<String, Value> = mapper.request_variables(component).iter().map(variable).collect();
        match mapper.request_body(component).map(template).transpose()? {
            None => Ok(Value::Object(variables)),
            Some(body) if variables.is_empty() => Ok(body),
            Some(Value::Object(mut members)) => {
                members.extend(variables);
                Ok(Value::Object(members))
            }
            Some(_) => Err("the URL of the request contains placeholders, so its `data` must be an object".into()),
        }
    }
}

/// The description of such a component without the request that it would make: it is called as the Thing is.
pub(super) fn as_registered(thing: &mut Value) {
    let actions = thing.get_mut("actions").and_then(Value::as_object_mut).into_iter().flatten();
    for action in actions.filter_map(|(_, action)| action.as_object_mut()) {
        action.remove("input");
        let forms = action.get_mut("forms").and_then(Value::as_array_mut).into_iter().flatten();
        forms.filter_map(Value::as_object_mut).for_each(|form| drop(form.remove(REQUEST)));
    }
}

/// A value with placeholders as a template of the chain.
pub(super) fn template(value: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(text_template(text)?),
        Value::Array(items) => items.iter().map(template).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            if let Some(name) = members.keys().find(|name| names(name).next().is_some()) {
                return Err(format!("the member name {name:?} contains a placeholder"));
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
                return Err(format!("{literal:?} contains a `{{{{` that doesn't start a placeholder"));
            }
            Piece::Literal(literal) => written.push_str(literal),
        }
    }
    Ok(written)
}
