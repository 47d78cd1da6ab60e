//! Conversion of keywords of older JSON Schemas and of OpenAPI 3.0 to draft 2020-12.
//!
//! | keyword | becomes |
//! |---|---|
//! | `nullable: true` | the type `null` as well |
//! | `exclusiveMinimum: true`, `exclusiveMaximum: true` (draft 4) | the limit, exclusive |
//! | `dependencies` (up to draft 7) | `dependentRequired`, `dependentSchemas` |

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Keywords whose value is data.
const LITERALS: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords with schemas by name.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Exclusive limits, and the limits that they were flags of.
const LIMITS: [(&str, &str); 2] = [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")];
/// Keywords that decide which values a schema without a type accepts.
const COMBINATIONS: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];
/// Keywords that describe a schema as a whole.
const ANNOTATIONS: [&str; 4] = ["title", "description", "default", "$defs"];

/// Converts legacy keywords of a schema. Returns `None` if the schema contains no legacy keywords.
pub fn modernize(schema: &Value) -> Option<Value> {
    is_legacy(schema).then(|| {
        let mut modern = schema.clone();
        rewrite(&mut modern);
        modern
    })
}

fn is_legacy(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            has_legacy_keyword(members)
                || members.iter().any(|(name, value)| match value {
                    Value::Object(named) if NAMED.contains(&name.as_str()) => named.values().any(is_legacy),
                    Value::Object(_) | Value::Array(_) => !LITERALS.contains(&name.as_str()) && is_legacy(value),
                    _ => false,
                })
        }
        Value::Array(schemas) => schemas.iter().any(is_legacy),
        _ => false,
    }
}

fn has_legacy_keyword(members: &Object) -> bool {
    members.iter().any(|(name, value)| match name.as_str() {
        "nullable" => *value == Value::Bool(true),
        "dependencies" => value.is_object(),
        name => value.is_boolean() && LIMITS.iter().any(|(flag, _)| *flag == name),
    })
}

fn rewrite(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members.iter_mut().filter(|(name, _)| !LITERALS.contains(&name.as_str())) {
                match value {
                    Value::Object(named) if NAMED.contains(&name.as_str()) => named.values_mut().for_each(rewrite),
                    value => rewrite(value),
                }
            }
            LIMITS.into_iter().for_each(|(flag, limit)| move_limit(members, flag, limit));
            split_dependencies(members);
            if members.get("nullable") == Some(&Value::Bool(true)) {
                members.remove("nullable");
                accept_null(members);
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(rewrite),
        _ => {}
    }
}

fn move_limit(members: &mut Object, flag: &str, limit: &str) {
    match members.get(flag) {
        Some(Value::Bool(true)) => {
            members.remove(flag);
            if let Some(value) = members.remove(limit) {
                members.insert(flag.to_owned(), value);
            }
        }
        Some(Value::Bool(false)) => drop(members.remove(flag)),
        _ => {}
    }
}

fn split_dependencies(members: &mut Object) {
    if !members.get("dependencies").is_some_and(Value::is_object) {
        return;
    }
    let Some(Value::Object(dependencies)) = members.remove("dependencies") else { return };
    let (names, schemas): (Vec<_>, Vec<_>) = dependencies.into_iter().partition(|(_, value)| value.is_array());
    for (keyword, entries) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
        if !entries.is_empty()
            && let Value::Object(all) = members.entry(keyword).or_insert_with(|| json!({}))
        {
            for (name, value) in entries {
                all.entry(name).or_insert(value);
            }
        }
    }
}

fn accept_null(members: &mut Object) {
    let is_combined = COMBINATIONS.iter().any(|name| members.contains_key(*name));
    match members.get_mut("type") {
        Some(Value::Array(types)) if types.iter().all(|type_| type_ != "null") => types.push("null".into()),
        Some(Value::Array(_)) => {}
        Some(type_) => *type_ = json!([type_.take(), "null"]),
        None if is_combined => {
            let (outer, inner): (Object, Object) =
                std::mem::take(members).into_iter().partition(|(name, _)| ANNOTATIONS.contains(&name.as_str()));
            *members = outer;
            members.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
        }
        None => {}
    }
    if let Some(Value::Array(choices)) = members.get_mut("enum").filter(|choices| **choices != json!([]))
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_keywords_stay() {
        for schema in [
            json!({"type": "string", "nullable": false}),
            json!({"properties": {"nullable": {"type": "boolean"}, "dependencies": {"type": "object"}}}),
            json!({"default": {"type": "string", "nullable": true}, "exclusiveMinimum": 3}),
            json!({"properties": {"nullable": true, "exclusiveMinimum": true}}),
            json!(true),
        ] {
            assert_eq!(modernize(&schema), None, "{schema}");
        }
    }

    #[test]
    fn older_keywords_are_rewritten_at_any_depth() {
        for (legacy, modern) in [
            (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
            (json!({"type": ["string"], "nullable": true}), json!({"type": ["string", "null"]})),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"title": "t", "$ref": "#/$defs/a", "nullable": true}),
                json!({"title": "t", "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}),
            ),
            (json!({"minimum": 3, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 3})),
            (json!({"maximum": 3, "exclusiveMaximum": false}), json!({"maximum": 3})),
            (
                json!({"dependencies": {"a": ["b"], "c": {"minimum": 1, "exclusiveMinimum": true}}}),
                json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"exclusiveMinimum": 1}}}),
            ),
        ] {
            assert_eq!(modernize(&legacy).as_ref(), Some(&modern), "{legacy}");
            let nested = |schema: &Value| json!({"properties": {"p": {"anyOf": [{"items": schema}, {}]}}});
            assert_eq!(modernize(&nested(&legacy)), Some(nested(&modern)), "{legacy}");
        }
    }
}
