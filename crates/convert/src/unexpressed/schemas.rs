//! Comparison of a Thing's data schemas with those in a document.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{
    data_schema::DataSchemas,
    keywords::{Data, Keyword},
    td::internal::source_schema,
};

/// The deepest schemas that are compared.
const DEEPEST: usize = 24;
/// Keywords that constrain values, and have no schemas in them.
const CONSTRAINTS: [&str; 12] = [
    "const",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
];
/// Keywords that a data schema lacks, and that constrain nothing.
const ANNOTATIONS: [&str; 7] =
    ["examples", "deprecated", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"];

/// How much of a schema is compared.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// An input or output: a document may list further members, such as variables of a URL, and takes none that it doesn't
    /// list.
    Whole,
    /// A schema within one.
    Inner,
    /// One of several that hold together.
    Part,
}

/// True if a document says what a schema of an input or output says. Data without members may be the one member that a
/// document has for them.
pub(super) fn is_expressed_by(schema: &Value, said: &Value) -> bool {
    let mut members = properties(said);
    let only = members.next().map(|(_, only)| only).filter(|_| members.next().is_none());
    is_same(schema, said, Extent::Whole, DEEPEST)
        || schema.get("properties").is_none() && only.is_some_and(|only| is_same(schema, only, Extent::Inner, DEEPEST))
}

/// True if a schema allows nothing but an object without members.
pub(super) fn takes_nothing(schema: &Value) -> bool {
    let is_object = schema.get("type").is_none_or(|name| name == "object");
    is_object
        && match schema.get("properties") {
            Some(Value::Object(members)) => members.is_empty(),
            _ => schema.get("additionalProperties") == Some(&Value::Bool(false)),
        }
}

fn is_same(own: &Value, said: &Value, extent: Extent, depth: usize) -> bool {
    if depth == 0 {
        return true;
    }
    match (source_schema(own), source_schema(said)) {
        (Some(own), Some(said)) => return bare(unwrapped(own)) == bare(unwrapped(said)),
        (Some(own), None) if constrains_more(own) || is_cut(own) => return false,
        (None, Some(said)) => return is_same(own, said, extent, depth - 1),
        _ => {}
    }
    let (own, said) = (unwrapped(own), unwrapped(said));
    let parts = own.get("allOf").and_then(Value::as_array).filter(|_| own.get("allOf") != said.get("allOf"));
    let extent = if parts.is_some() { Extent::Part } else { extent };
    let is_constrained =
        CONSTRAINTS.iter().all(|name| own.get(*name).is_none_or(|value| said.get(*name) == Some(value)));
    let has_own_type = extent == Extent::Part && own.get("type").is_none_or(|own| said.get("type") == Some(own));
    let is_of_type = has_own_type || kind(own) == kind(said);
    is_constrained
        && is_of_type
        && has_same_members(own, said, extent, depth)
        && has_same_items(own, said, depth)
        && ["anyOf", "oneOf"].iter().all(|name| has_same_alternatives(name, own, said, depth))
        && parts.into_iter().flatten().all(|part| is_same(part, said, Extent::Part, depth - 1))
}

fn has_same_members(own: &Value, said: &Value, extent: Extent, depth: usize) -> bool {
    let (own_required, said_required) = (required(own), required(said));
    let is_member_same = |(name, schema): (&String, &Value)| {
        let (is_own, is_other) = (own_required.contains(name.as_str()), said_required.contains(name.as_str()));
        let other = said.get("properties").and_then(|members| members.get(name));
        (is_own == is_other || extent == Extent::Part && is_other)
            && other.is_some_and(|other| is_same(schema, other, Extent::Inner, depth - 1))
    };
    let is_listed = |name: &&str| own.get("properties").is_some_and(|members| members.get(*name).is_some());
    let is_more_required = own_required.iter().filter(|name| !is_listed(name)).all(|name| said_required.contains(name));
    let others = match (own.get("additionalProperties"), said.get("additionalProperties")) {
        (None | Some(Value::Bool(true)), _) => true,
        (Some(Value::Bool(false)), None) => extent == Extent::Whole,
        (Some(own @ Value::Object(_)), Some(said @ Value::Object(_))) => is_same(own, said, Extent::Inner, depth - 1),
        (own, said) => own == said,
    };
    let is_complete = extent != Extent::Inner || properties(own).count() == properties(said).count();
    is_complete && is_more_required && others && properties(own).all(is_member_same)
}

fn has_same_items(own: &Value, said: &Value, depth: usize) -> bool {
    let said_items = said.get("items");
    match own.get("items") {
        None => true,
        Some(Value::Array(own)) => {
            let said = said_items.and_then(Value::as_array).or_else(|| said.get("prefixItems")?.as_array());
            said.is_some_and(|said| are_same(own, said, depth))
        }
        Some(own) => said_items.is_some_and(|said| is_same(own, said, Extent::Inner, depth - 1)),
    }
}

/// True if a document has the alternatives of `anyOf` or `oneOf`. Where no value fits two of them, both say the same.
fn has_same_alternatives(name: &str, own: &Value, said: &Value, depth: usize) -> bool {
    let Some(own) = own.get(name).and_then(Value::as_array) else { return true };
    let listed = |name: &str| said.get(name).and_then(Value::as_array);
    match (listed(name), listed("anyOf").or_else(|| listed("oneOf"))) {
        (Some(said), _) => are_same(own, said, depth),
        (None, Some(said)) => are_disjoint(own) && are_same(own, said, depth),
        (None, None) => false,
    }
}

fn are_same(own: &[Value], said: &[Value], depth: usize) -> bool {
    own.len() == said.len() && own.iter().zip(said).all(|(own, said)| is_same(own, said, Extent::Inner, depth - 1))
}

/// True if no value fits two schemas, by their types or constants.
fn are_disjoint(schemas: &[Value]) -> bool {
    let are_different = |of: fn(&Value) -> Option<String>| {
        let mut known = HashSet::new();
        schemas.iter().all(|schema| of(schema).is_some_and(|value| known.insert(value)))
    };
    let type_of = |schema: &Value| {
        let name = schema.get("type")?.as_str()?;
        Some(if name == "integer" { "number" } else { name }.to_owned())
    };
    are_different(type_of) || are_different(|schema| schema.get("const").map(Value::to_string))
}

/// A schema without null, which one of a member that need not be given allows to Agent Spec.
fn unwrapped(schema: &Value) -> &Value {
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array());
    let is_null = |one: &&Value| one.get("type").is_some_and(|kind| kind == "null");
    let mut others = alternatives.into_iter().flatten().filter(|one| !is_null(one));
    match (schema.get("default"), others.next(), others.next()) {
        (Some(Value::Null), Some(only), None) => only,
        _ => schema,
    }
}

/// The type. Members tell that it is an object.
fn kind(schema: &Value) -> Option<&Value> {
    let has_members = properties(schema).next().is_some();
    schema.get("type").filter(|kind| !has_members || **kind != "object")
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn required(schema: &Value) -> HashSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The members of a schema that constrain values.
fn bare(schema: &Value) -> Map<String, Value> {
    let mut members = schema.as_object().cloned().unwrap_or_default();
    members.retain(|name, _| !["title", "description", "default"].contains(&name.as_str()));
    members
}

/// True if a data schema ends before a JSON Schema does, which contains itself, for example.
fn is_cut(schema: &Value) -> bool {
    let mut schemas = DataSchemas::new("jsonSchema");
    schemas.of(schema);
    schemas.take_cut()
}

/// True if a JSON Schema constrains values by what a data schema lacks.
fn constrains_more(schema: &Value) -> bool {
    let is_schema_list = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(constrains_more));
    schema.as_object().into_iter().flatten().any(|(name, value)| {
        match (name.as_str(), Keyword::find(name).map(|keyword| keyword.data)) {
            (name, Some(Data::Lost)) => !ANNOTATIONS.contains(&name),
            ("properties" | "$defs" | "definitions", _) => {
                value.as_object().is_some_and(|named| named.values().any(constrains_more))
            }
            ("items" | "additionalProperties", _) => constrains_more(value) || is_schema_list(value),
            ("anyOf" | "oneOf" | "allOf", _) => is_schema_list(value),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_that_say_the_same_are_told_from_others() {
        let object = |member: Value| json!({"type": "object", "properties": {"a": member}, "required": ["a"]});
        let [text, number] = ["string", "number"].map(|name| json!({"type": name}));
        let union = |name: &str, schemas: [&Value; 2]| object(json!({name: schemas}));
        let closed = |is_closed: Option<bool>| {
            let mut schema = object(text.clone());
            is_closed.into_iter().for_each(|_| schema["additionalProperties"] = false.into());
            schema
        };
        let tuple = |name: &str| json!({"type": "array", name: [text, number]});
        let source =
            |schema: Value| json!({"type": "array", "agentspec:jsonSchema": {"@type": "@json", "@value": schema}});
        let optional = json!({"anyOf": [text, {"type": "null"}], "default": null, "title": "a"});
        for (own, said, expected) in [
            (object(text.clone()), object(json!({"type": "string", "title": "a"})), true),
            (object(text.clone()), object(number.clone()), false),
            (object(json!({"type": "string", "pattern": "a"})), object(text.clone()), false),
            (json!({"properties": {"a": text}}), json!({"type": "object", "properties": {"a": optional}}), true),
            (json!({"properties": {"a": text}}), object(text.clone()), false),
            (closed(Some(false)), closed(None), true),
            (object(closed(Some(false))), object(closed(None)), false),
            (object(closed(Some(false))), object(closed(Some(false))), true),
            (union("oneOf", [&text, &number]), union("anyOf", [&text, &number]), true),
            (
                union("oneOf", [&number, &json!({"type": "integer"})]),
                union("anyOf", [&number, &json!({"type": "integer"})]),
                false,
            ),
            (
                union("oneOf", [&json!({"const": 1}), &json!({"const": 2})]),
                union("anyOf", [&json!({"const": 1}), &json!({"const": 2})]),
                true,
            ),
            (object(tuple("items")), object(source(tuple("prefixItems"))), true),
            (object(tuple("items")), object(json!({"type": "array"})), false),
            (object(source(json!({"uniqueItems": true}))), object(json!({"type": "array"})), false),
            (object(source(json!({"examples": [[]]}))), object(json!({"type": "array"})), true),
            (
                object(source(json!({"uniqueItems": true}))),
                object(source(json!({"uniqueItems": true, "title": "a"}))),
                true,
            ),
            (json!({"type": "object", "allOf": [object(text.clone())]}), object(text.clone()), true),
            (json!({"type": "object", "allOf": [object(text.clone())]}), object(number.clone()), false),
            (text.clone(), object(text.clone()), true),
        ] {
            assert_eq!(is_expressed_by(&own, &said), expected, "{own}\n{said}");
        }
        let nothing = [json!({"type": "object", "properties": {}}), json!({"additionalProperties": false})];
        assert!(nothing.iter().all(takes_nothing) && !takes_nothing(&json!({"type": "object"})));
    }
}
