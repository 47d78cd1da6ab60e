//! Differences between the requests of an Agent Spec tool and those of the Thing, since a tool inserts inputs into a
//! template as text.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{losses::Losses, values::affordances};
use crate::{
    agent_spec::REQUEST,
    td::internal::{Path, source_schema},
};

/// The deepest schemas that are read.
const DEEPEST: usize = 24;

/// The kinds of values that a schema allows, as a set of bits: texts, other scalars, and objects and arrays.
type Kinds = u8;

const TEXTS: Kinds = 1;
const SCALARS: Kinds = 2;
const COLLECTIONS: Kinds = 4;
const ALL: Kinds = TEXTS | SCALARS | COLLECTIONS;

/// True if the request of a form is made from a template.
pub(super) fn has_template(form: &Value) -> bool {
    form.get(REQUEST).is_some()
}

/// The body that a tool of Agent Spec fills in.
fn body_template(action: &Value) -> Option<&Value> {
    action.get("forms")?.as_array()?.iter().find_map(|form| form.get(REQUEST)?.get("@value")?.get("data"))
}

/// Warns of values in the body that are sent as text, and of those that are sent though they are absent.
pub(super) fn compare_body(action: &Value, said: &Value, at: &Path<'_>, losses: &mut Losses) {
    let Some(input) = action.get("input").filter(|_| body_template(action).is_none()) else { return };
    match (body_template(said), input.get("properties").and_then(Value::as_object)) {
        (Some(Value::Object(_)), Some(properties)) => {
            let list = at.member("properties");
            let is_optional = |name: &str| input.get("required").is_some_and(|_| !requires(input, name));
            for (name, schema) in properties {
                let change = match kinds(schema, DEEPEST) {
                    TEXTS if !is_optional(name) || schema.get("default").is_some() => continue,
                    TEXTS => "sends the text `null` if this is absent",
                    _ => "sends this as text",
                };
                losses.add_change(&list.member(name), change);
            }
        }
        // As JSON it has quotes around it.
        (Some(Value::String(_)), None) if is_json(action) && kinds(input, DEEPEST) & TEXTS != 0 => {
            losses.add_change(at, "sends this as text");
        }
        _ => {}
    }
}

/// True if the first form for HTTP sends JSON.
fn is_json(action: &Value) -> bool {
    let mut forms = action.get("forms").and_then(Value::as_array).into_iter().flatten();
    let form = forms.find(|form| form.get("subprotocol").is_none());
    let media_type = form.and_then(|form| form.get("contentType")?.as_str()).unwrap_or("application/json");
    media_type.split(';').next().is_some_and(|name| name.trim_end().ends_with("json"))
}

/// Warns of variables whose values are written into the URL otherwise: there, an input is percent-encoded text, and required.
pub(super) fn compare_url(
    (thing, action, form): (&Value, &Value, &Value),
    (at_action, at_form): (&Path<'_>, &Path<'_>),
    losses: &mut Losses,
) {
    let expressions = form["href"].as_str().unwrap_or_default().split('{').skip(1);
    for expression in expressions.filter_map(|rest| Some(rest.split_once('}')?.0)) {
        let names = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        let operator = if names.len() < expression.len() { expression.chars().next() } else { None };
        for variable in names.split(',') {
            let name = variable.split([':', '*']).next().unwrap_or_default();
            let name = percent_decode_str(name).decode_utf8_lossy();
            let declared = |owner: &Value| affordances(owner, "uriVariables").get(&*name).cloned();
            let of_action = declared(action);
            let is_of_action = of_action.is_some();
            let schema = of_action.or_else(|| declared(thing));
            let is_needed = || {
                let input = action.get("input").is_some_and(|input| requires(input, &name));
                input || schema.as_ref().is_some_and(|schema| schema.get("default").is_some())
            };
            let is_list = schema.as_ref().is_some_and(|schema| kinds(schema, DEEPEST) & COLLECTIONS != 0);
            let change = match operator {
                _ if is_list => "sends this as JSON text",
                _ if variable.contains(':') => "sends this without shortening it",
                Some('+' | '#') => "percent-encodes this",
                Some(_) if !is_needed() => "requires this",
                _ => continue,
            };
            let root = Path::ROOT;
            let owner = if is_of_action { at_action } else { &root };
            match schema {
                Some(_) => losses.add_change(&owner.member("uriVariables").member(&name), change),
                None => losses.add_change(&at_form.member("href"), change),
            }
        }
    }
}

fn requires(input: &Value, name: &str) -> bool {
    input.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|one| one == name))
}

fn kinds(schema: &Value, depth: usize) -> Kinds {
    let Some(schema) = source_schema(schema).unwrap_or(schema).as_object().filter(|_| depth > 0) else { return ALL };
    let list = |name: &str| schema.get(name).and_then(Value::as_array).map(Vec::as_slice);
    let union = |values: &[Value], kinds: &dyn Fn(&Value) -> Kinds| values.iter().fold(0, |all, one| all | kinds(one));
    let of_schema = |schema: &Value| kinds(schema, depth - 1);
    let of_type = match schema.get("type") {
        Some(Value::Array(names)) => union(names, &kinds_of_type),
        Some(name) => kinds_of_type(name),
        None => ALL,
    };
    let of_const = schema.get("const").map_or(ALL, kind_of_value);
    let of_enum = list("enum").map_or(ALL, |values| union(values, &kind_of_value));
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|name| list(name));
    let of_alternatives = alternatives.fold(ALL, |all, schemas| all & union(schemas, &of_schema));
    let of_parts = list("allOf").into_iter().flatten().fold(ALL, |all, part| all & of_schema(part));
    of_type & of_const & of_enum & of_alternatives & of_parts
}

fn kinds_of_type(name: &Value) -> Kinds {
    match name.as_str() {
        Some("string") => TEXTS,
        Some("object" | "array") => COLLECTIONS,
        Some(_) => SCALARS,
        None => ALL,
    }
}

fn kind_of_value(value: &Value) -> Kinds {
    match value {
        Value::String(_) => TEXTS,
        Value::Object(_) | Value::Array(_) => COLLECTIONS,
        _ => SCALARS,
    }
}
