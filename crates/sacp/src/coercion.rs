//! Values in another form than a schema declares, where exactly one interpretation exists: `"0.9"` for a number.

use agentdex_api::Repair;
use serde_json::{Map, Number, Value};

use crate::td::internal::push_token;

/// Maximum number of values and alternatives that are visited.
const MAX_STEPS: usize = 20_000;
/// Maximum number of references that lead from one schema to another.
const MAX_REFERENCES: usize = 16;
/// Maximum length of a value in a report, in characters.
const SHOWN: usize = 60;

/// Coerces a value to a JSON Schema, and reports each change. Texts become numbers, booleans, objects or lists and the other
/// way round, one value becomes a list of one, members of an enumeration get its letters, and a member that may be missing but
/// not `null` is removed. A value with several interpretations stays as it is: `"90%"`, `"1,5"`, `"Ada, Bob"` for a list.
pub fn coerced(value: &Value, schema: &Value) -> (Value, Vec<Repair>) {
    let mut coercion = Coercion { root: schema, steps: MAX_STEPS, repairs: Vec::new() };
    let coerced = coercion.value(value, schema, "");
    match coercion.steps {
        0 => (value.clone(), Vec::new()),
        _ => (coerced, coercion.repairs),
    }
}

struct Coercion<'s> {
    root: &'s Value,
    steps: usize,
    repairs: Vec<Repair>,
}

impl<'s> Coercion<'s> {
    fn value(&mut self, value: &Value, schema: &'s Value, pointer: &str) -> Value {
        let Some(left) = self.steps.checked_sub(1).filter(|left| *left > 0) else {
            self.steps = 0;
            return value.clone();
        };
        self.steps = left;
        let schema = self.resolved(schema);
        if let Some(alternatives) = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array()) {
            return self.alternative(value, alternatives, pointer);
        }
        let types: Vec<&str> = types_of(schema);
        let fits = types.is_empty() || types.iter().any(|name| is_of_type(value, name));
        let changed = match fits {
            true => in_letters_of(value, schema),
            false => only(types.iter().filter_map(|name| of_type(value, name, schema))),
        };
        let value = match changed {
            Some(changed) => {
                self.report(pointer, value, &changed);
                changed
            }
            None => value.clone(),
        };
        match value {
            Value::Object(members) => self.object(members, schema, pointer),
            Value::Array(elements) => self.array(elements, schema, pointer),
            value => value,
        }
    }

    /// The value as one of several schemas has it: unchanged if it fits one, else as the only one that it can be coerced to.
    fn alternative(&mut self, value: &Value, alternatives: &'s [Value], pointer: &str) -> Value {
        let fits = |schema: &Value| {
            let types = types_of(schema);
            types.is_empty() || types.iter().any(|name| is_of_type(value, name))
        };
        let resolved: Vec<&'s Value> = alternatives.iter().map(|schema| self.resolved(schema)).collect();
        let mut fitting = resolved.iter().filter(|schema| fits(schema));
        match (fitting.next(), fitting.next()) {
            (Some(schema), None) => return self.value(value, schema, pointer),
            (Some(_), Some(_)) => return value.clone(),
            (None, _) => {}
        }
        let before = std::mem::take(&mut self.repairs);
        let mut outcomes = Vec::new();
        for schema in resolved {
            let outcome = self.value(value, schema, pointer);
            let repairs = std::mem::take(&mut self.repairs);
            if outcome != *value {
                outcomes.push((outcome, repairs));
            }
        }
        self.repairs = before;
        match outcomes.pop() {
            Some((outcome, repairs)) if outcomes.iter().all(|(other, _)| *other == outcome) => {
                self.repairs.extend(repairs);
                outcome
            }
            _ => value.clone(),
        }
    }

    fn object(&mut self, members: Map<String, Value>, schema: &'s Value, pointer: &str) -> Value {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return members.into() };
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut coerced = Map::new();
        for (name, member) in members {
            let Some(schema) = properties.get(&name) else {
                coerced.insert(name, member);
                continue;
            };
            let mut place = pointer.to_owned();
            push_token(&mut place, &name);
            if member.is_null() && !required.contains(&name.as_str()) && !allows_null(self.resolved(schema)) {
                self.repairs.push(Repair::new(place, "sacp/coerced", "null was treated as a missing member"));
                continue;
            }
            let value = self.value(&member, schema, &place);
            coerced.insert(name, value);
        }
        coerced.into()
    }

    fn array(&mut self, elements: Vec<Value>, schema: &'s Value, pointer: &str) -> Value {
        let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return elements.into() };
        let coerced = elements.iter().enumerate().map(|(index, element)| {
            let mut place = pointer.to_owned();
            push_token(&mut place, &index.to_string());
            self.value(element, items, &place)
        });
        Value::Array(coerced.collect())
    }

    /// The schema that a chain of references within the document leads to.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..MAX_REFERENCES {
            let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
            let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer)) else { break };
            schema = target;
        }
        schema
    }

    fn report(&mut self, pointer: &str, from: &Value, to: &Value) {
        let message = format!("{} was read as {}", shown(from), shown(to));
        self.repairs.push(Repair::new(pointer, "sacp/coerced", message));
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn allows_null(schema: &Value) -> bool {
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    if let Some(alternatives) = list("anyOf").or_else(|| list("oneOf")) {
        return alternatives.iter().any(allows_null);
    }
    let types = types_of(schema);
    let is_listed = list("enum").is_none_or(|values| values.contains(&Value::Null));
    is_listed && (types.is_empty() || types.contains(&"null"))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}

/// The value in a type, if it has exactly one interpretation there.
fn of_type(value: &Value, name: &str, schema: &Value) -> Option<Value> {
    match (name, value) {
        ("number" | "integer", Value::String(text)) => number_of(text).filter(|number| is_of_type(number, name)),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(true.into()),
            "false" | "no" => Some(false.into()),
            _ => None,
        },
        ("string", Value::Number(_) | Value::Bool(_)) => Some(value.to_string().into()),
        ("object", Value::String(text)) => parsed(text).filter(Value::is_object),
        ("array", Value::String(text)) if text.trim_start().starts_with('[') => parsed(text).filter(Value::is_array),
        // A text with separators may be a list, too.
        ("array", Value::String(text)) if text.is_empty() || text.contains([',', ';', '\n', '|']) => None,
        ("array", Value::Null) => None,
        ("array", value) if takes_element(schema, value) => Some(vec![value.clone()].into()),
        _ => None,
    }
}

/// True if a value may be the only element of a list.
fn takes_element(schema: &Value, value: &Value) -> bool {
    let items = schema.get("items");
    let types = items.map(types_of).unwrap_or_default();
    let is_one_list = schema.get("prefixItems").is_none() && !items.is_some_and(Value::is_array);
    is_one_list
        && (types.is_empty()
            || types
                .iter()
                .any(|name| is_of_type(value, name) || of_type(value, name, items.unwrap_or(&Value::Null)).is_some()))
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim()).ok()
}

/// The number that a text is in the notation of JSON.
fn number_of(text: &str) -> Option<Value> {
    text.trim().parse::<Number>().ok().map(Value::Number)
}

/// The member of an enumeration that a text is in other letters.
fn in_letters_of(value: &Value, schema: &Value) -> Option<Value> {
    let (text, values) = (value.as_str()?, schema.get("enum")?.as_array()?);
    if values.contains(value) {
        return None;
    }
    let is_meant =
        |known: &&Value| known.as_str().is_some_and(|known| known.to_lowercase() == text.trim().to_lowercase());
    only(values.iter().filter(is_meant).cloned())
}

/// The only one of several outcomes; equal ones are one.
fn only(outcomes: impl Iterator<Item = Value>) -> Option<Value> {
    let outcomes: Vec<Value> = outcomes.collect();
    let first = outcomes.first()?;
    outcomes.iter().all(|outcome| outcome == first).then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_with_one_interpretation_are_coerced_and_reported() {
        for (value, schema, expected) in [
            (json!("0.9"), json!({"type": "number"}), json!(0.9)),
            (json!(" 3 "), json!({"type": "integer"}), json!(3)),
            (json!("Yes"), json!({"type": "boolean"}), json!(true)),
            (json!(3), json!({"type": "string"}), json!("3")),
            (json!("Ada"), json!({"type": "array", "items": {"type": "string"}}), json!(["Ada"])),
            (json!("3"), json!({"type": "array", "items": {"type": "integer"}}), json!([3])),
            (json!("[1, 2]"), json!({"type": "array"}), json!([1, 2])),
            (json!("{\"a\": 1}"), json!({"type": "object"}), json!({"a": 1})),
            (json!("Happy"), json!({"type": "string", "enum": ["happy", "sad"]}), json!("happy")),
            (json!("HAPPY"), json!({"enum": ["happy", "sad"]}), json!("happy")),
            (json!("3"), json!({"type": ["integer", "null"]}), json!(3)),
            (json!("3"), json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!(3)),
            (
                json!({"a": "1", "b": null}),
                json!({"properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "string"}}, "$defs": {"n": {"type": "number"}}}),
                json!({"a": 1}),
            ),
            (json!([{"n": "1"}]), json!({"items": {"properties": {"n": {"type": "integer"}}}}), json!([{"n": 1}])),
        ] {
            let (coerced, repairs) = coerced(&value, &schema);
            assert_eq!(coerced, expected, "{value} by {schema}");
            assert!(!repairs.is_empty() && repairs.iter().all(|repair| repair.rule == "sacp/coerced"), "{repairs:?}");
        }
        let schema = json!({"properties": {"a": {"properties": {"b": {"type": "number"}}}}});
        let (_, repairs) = coerced(&json!({"a": {"b": "1"}}), &schema);
        assert_eq!((repairs[0].pointer.as_str(), repairs[0].message.as_str()), ("/a/b", "\"1\" was read as 1"));
    }

    #[test]
    fn other_values_stay_as_they_are() {
        for (value, schema) in [
            (json!("90%"), json!({"type": "number"})),
            (json!("1,5"), json!({"type": "number"})),
            (json!("1.5"), json!({"type": "integer"})),
            (json!("1"), json!({"type": "boolean"})),
            (json!("maybe"), json!({"type": "boolean"})),
            (json!("Ada, Bob"), json!({"type": "array", "items": {"type": "string"}})),
            (json!(null), json!({"type": "array"})),
            (json!("true"), json!({"type": ["string", "boolean"]})),
            (json!("3"), json!({"anyOf": [{"type": "integer"}, {"type": "array"}]})),
            (json!("a"), json!({"enum": ["A", "á"], "type": "integer"})),
            (json!("ab"), json!({"enum": ["Ab", "aB"]})),
            (json!({"a": null}), json!({"properties": {"a": {"type": "string"}}, "required": ["a"]})),
            (json!("x"), json!({"$ref": "#"})),
        ] {
            assert_eq!(coerced(&value, &schema), (value.clone(), Vec::new()), "{value} by {schema}");
        }
    }

    #[test]
    fn work_is_bounded() {
        let mut schema = json!({"type": "integer"});
        for _ in 0..64 {
            schema = json!({"anyOf": [schema.clone(), {"type": "array", "items": schema}]});
            if schema.to_string().len() > 100_000 {
                break;
            }
        }
        let elements: Vec<Value> = vec![json!("1"); 50_000];
        assert_eq!(coerced(&json!(elements), &json!({"items": {"type": "integer"}})).1, []);
        coerced(&json!("1"), &schema);
    }
}
