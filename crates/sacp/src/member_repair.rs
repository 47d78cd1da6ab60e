//! Repairs of the members of a response: what stands in a member in another form, and has one interpretation.

use agentdex_api::Repair;
use serde_json::{Map, Value};

use super::{fences::only_block, lenient};

/// Members of a response that are texts.
const TEXTS: [&str; 3] = ["thought", "message", "next_step_hint"];

/// Repairs the members of an object that may be a response, and reports each repair.
pub(super) fn repair_members(object: &mut Map<String, Value>, budget: &mut usize) -> Vec<Repair> {
    let mut repairs = Vec::new();
    for name in ["thought", "status", "data", "message", "next_step_hint"] {
        repairs.extend(rename(object, name));
    }
    for name in TEXTS {
        // A hint is optional, so that `null` is as good as none.
        let is_absent = name == "next_step_hint" && object.get(name) == Some(&Value::Null);
        if let Some(value) = object.get_mut(name).filter(|_| !is_absent)
            && let Some(text) = text_of(value, name == "thought")
        {
            *value = text.into();
            repairs.push(Repair::new(format!("/{name}"), "sacp/member-type", format!("`{name}` was read as a string")));
        }
    }
    if let Some(value) = object.get_mut("data")
        && let Some(data) = data_of(value, budget)
    {
        *value = data.into();
        repairs.push(Repair::new("/data", "sacp/member-type", "`data` was read as an object"));
    }
    repairs
}

/// Renames a member whose name is written in other letters, if there is one such member.
fn rename(object: &mut Map<String, Value>, name: &str) -> Option<Repair> {
    if object.contains_key(name) {
        return None;
    }
    let mut candidates = object.keys().filter(|key| key.trim().eq_ignore_ascii_case(name));
    let (found, other) = (candidates.next()?.clone(), candidates.next());
    if other.is_some() {
        return None;
    }
    let value = object.remove(&found)?;
    object.insert(name.to_owned(), value);
    Some(Repair::new(format!("/{name}"), "sacp/name", format!("{found:?} was read as `{name}`")))
}

/// The text that a member of another type stands for. `is_free`: any JSON may stand in it.
fn text_of(value: &Value, is_free: bool) -> Option<String> {
    match value {
        Value::String(_) => None,
        Value::Null => Some(String::new()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(lines) if lines.iter().all(Value::is_string) => {
            Some(lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
        }
        Value::Array(_) | Value::Object(_) => is_free.then(|| value.to_string()),
    }
}

/// The object that `data` of another type stands for.
fn data_of(value: &Value, budget: &mut usize) -> Option<Map<String, Value>> {
    match value {
        Value::Null => Some(Map::new()),
        Value::String(text) => {
            let text = only_block(text).unwrap_or(text).trim();
            if text.is_empty() {
                return Some(Map::new());
            }
            *budget = budget.checked_sub(text.len())?;
            if let Ok(data) = serde_json::from_str(text) {
                return Some(data);
            }
            let parsed = text.starts_with('{').then(|| lenient::object_at(text, 0, budget)).flatten();
            parsed.filter(|parsed| parsed.cut.is_none() && parsed.end == text.len()).map(|parsed| parsed.object)
        }
        _ => None,
    }
}
