//! Conversion of a tool's arguments and outputs, which are lists in AOS, to data schemas, and back.

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Types that both have.
const TYPES: [&str; 6] = ["string", "number", "boolean", "object", "array", "null"];

/// The data schema of a list of arguments or outputs; none of a list that isn't there.
pub(super) fn schema(list: &Value, is_input: bool) -> Option<Value> {
    let list = list.as_array()?;
    let mut properties = Object::new();
    let mut required = Vec::new();
    for one in list.iter().filter_map(Value::as_object) {
        let text = |name: &str| one.get(name).and_then(Value::as_str);
        let Some(name) = text("name") else { continue };
        let mut property = Object::new();
        for (from, to) in [("type", "type"), ("description", "description"), ("mimeType", "contentMediaType")] {
            property.extend(text(from).map(|value| (to.to_owned(), value.into())));
        }
        if !is_input || one.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(name));
        }
        properties.insert(name.to_owned(), property.into());
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    Some(schema)
}

/// The list of arguments or outputs that a data schema describes.
pub(super) fn list(schema: &Value, is_input: bool) -> Value {
    let Some(schema) = schema.as_object() else { return Value::Null };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let is_data = schema.get("type").is_some_and(|kind| kind != "null");
        let name = if is_input { "input" } else { "output" };
        return if is_data { json!([one(name, schema, is_input.then_some(true))]) } else { Value::Null };
    };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let described = |(name, schema): (&String, &Value)| {
        let none = Object::new();
        let schema = schema.as_object().unwrap_or(&none);
        one(name, schema, is_input.then(|| required.contains(&name.as_str())))
    };
    properties.iter().map(described).collect()
}

fn one(name: &str, schema: &Object, required: Option<bool>) -> Value {
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    let mut written = json!({"name": name});
    if let Some(description) = text("description").or(text("title")) {
        written["description"] = description.into();
    }
    match text("type") {
        Some("integer") => written["type"] = "number".into(),
        Some(kind) if TYPES.contains(&kind) => written["type"] = kind.into(),
        _ => {}
    }
    if let Some(media_type) = text("contentMediaType") {
        written["mimeType"] = media_type.into();
    }
    if let Some(required) = required {
        written["required"] = required.into();
    }
    written
}
