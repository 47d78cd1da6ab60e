//! Tools that a description lists, as actions.

use serde_json::{Map, Value, json};

use super::{input::objects, remote::Remote};
use crate::keywords::{Keyword, TYPES};

type Object = Map<String, Value>;

/// Maximum depth of the schemas that are read. Deeper ones become empty.
const DEEPEST: usize = 24;

/// The tools of a server: its own, or those that somebody noted in `_meta`.
pub(super) fn tools(server: &Object) -> Vec<&Object> {
    let own: Vec<&Object> = objects(server, "tools").filter(|tool| name_of(tool).is_some()).collect();
    if !own.is_empty() {
        return own;
    }
    let noted = server.get("_meta").and_then(Value::as_object).into_iter().flat_map(Map::values);
    noted
        .filter_map(Value::as_object)
        .flat_map(|noted| objects(noted, "tools"))
        .filter(|tool| name_of(tool).is_some())
        .collect()
}

pub(super) fn name_of(tool: &Object) -> Option<&str> {
    tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// The action of a tool; `name` is that of the tool, or of the server that takes the tool's.
pub(super) fn action(tool: &Object, remotes: &[Remote]) -> Object {
    let text = |name: &str| tool.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut action = Object::new();
    action.insert("title".to_owned(), text("title").or(text("name")).unwrap_or_default().into());
    action.extend(text("description").map(|text| ("description".to_owned(), text.into())));
    let hints = tool.get("annotations").and_then(Value::as_object);
    for (hint, member) in [("readOnlyHint", "safe"), ("idempotentHint", "idempotent")] {
        let is_set = hints.and_then(|hints| hints.get(hint)).and_then(Value::as_bool);
        action.extend(is_set.map(|is_set| (member.to_owned(), is_set.into())));
    }
    for (schema, member) in [("inputSchema", "input"), ("outputSchema", "output")] {
        action.extend(tool.get(schema).map(|schema| (member.to_owned(), data_schema(schema, 0))));
    }
    add_forms(&mut action, remotes, text("name"));
    action
}

/// The action of a server that doesn't say which tools it has.
pub(super) fn any_tool(remotes: &[Remote]) -> Object {
    let mut action = Object::new();
    action.insert("title".to_owned(), "Call one of its tools".into());
    let name = json!({"type": "string", "description": "Which tool; `tools/list` tells which there are"});
    let input = json!({
        "type": "object", "required": ["name"], "properties": {"name": name, "arguments": {"type": "object"}},
    });
    action.insert("input".to_owned(), input);
    add_forms(&mut action, remotes, None);
    action
}

fn add_forms(action: &mut Object, remotes: &[Remote], tool: Option<&str>) {
    let forms: Vec<Value> = remotes.iter().map(|remote| remote.form("tools/call", tool)).collect();
    action.insert("forms".to_owned(), forms.into());
    let variables: Object = remotes.iter().flat_map(|remote| remote.variables.clone()).collect();
    if !variables.is_empty() {
        action.insert("uriVariables".to_owned(), variables.into());
    }
}

/// A JSON Schema as a data schema: what that has no words for is left out, which only allows more.
fn data_schema(schema: &Value, depth: usize) -> Value {
    let Some(schema) = schema.as_object().filter(|_| depth < DEEPEST) else { return json!({}) };
    let mut data = Object::new();
    for (name, value) in schema {
        let keyword = Keyword::find(name).filter(Keyword::is_same);
        if keyword.is_some_and(|keyword| keyword.shape.is_data(value)) {
            data.insert(name.clone(), value.clone());
        }
    }
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match schema.get("type") {
        Some(name) if is_type(name) => drop(data.insert("type".to_owned(), name.clone())),
        Some(Value::Array(names)) => {
            let one = |name: &Value| json!({"type": name});
            data.insert("oneOf".to_owned(), names.iter().filter(|name| is_type(name)).map(one).collect());
        }
        _ => {}
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let inner = properties.iter().map(|(name, schema)| (name.clone(), data_schema(schema, depth + 1)));
        data.insert("properties".to_owned(), inner.collect::<Object>().into());
    }
    if let Some(items @ Value::Object(_)) = schema.get("items") {
        data.insert("items".to_owned(), data_schema(items, depth + 1));
    }
    for name in ["oneOf", "anyOf"] {
        if let Some(Value::Array(alternatives)) = schema.get(name) {
            let inner = alternatives.iter().map(|one| data_schema(one, depth + 1)).collect();
            data.insert("oneOf".to_owned(), inner);
        }
    }
    data.into()
}
