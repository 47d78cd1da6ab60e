//! Masking of secrets and personal data in the content of a step.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::personal::without_personal_data;
use crate::{
    redaction::{Mark, Marks, Node, Place, Redacted},
    td::internal::push_token,
};

/// Members that say what a value is or whose it is; personal data in them are not what is exchanged.
const NAMES: [&str; 11] = [
    "kind",
    "role",
    "type",
    "method",
    "jsonrpc",
    "mimeType",
    "executionId",
    "toolId",
    "messageId",
    "taskId",
    "contextId",
];
/// The deepest nesting that is read, which is that of serde_json.
const DEEPEST: usize = 128;
/// The most places that are listed of a kind.
const MOST_PLACES: usize = 100;
/// The longest place in bytes; a longer one is shortened. Names on the way to it may be as long as a document.
const LONGEST_PLACE: usize = 1024;

/// Kinds of data to mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masking {
    /// Credentials.
    pub secrets: bool,
    /// Email addresses, telephone numbers, and numbers of payment cards, bank accounts, and social
    /// security.
    pub personal_data: bool,
}

/// A request with masked data.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskedRequest {
    /// The masked request.
    pub request: Value,
    /// Locations of secrets as JSON Pointers: at most 100, each truncated to 1 KiB.
    pub secrets: Vec<String>,
    /// Locations of personal data as JSON Pointers, with the same limits.
    pub personal_data: Vec<String>,
}

/// Masks the content of a request: all of its parameters except `context`. Returns `None` if there is nothing to mask.
pub fn mask(request: &Map<String, Value>, masking: Masking) -> Option<MaskedRequest> {
    let mut masked = MaskedRequest { request: Value::Null, secrets: Vec::new(), personal_data: Vec::new() };
    let mut changed = Vec::new();
    let params = request.get("params").and_then(Value::as_object).into_iter().flatten();
    let params = params.map(|(name, value)| (Some(name), name, value));
    let beside = ["payload", "reasoning"].into_iter().filter_map(|name| request.get_key_value(name));
    let beside = beside.map(|(name, value)| (None, name, value));
    for (param, name, value) in params.chain(beside).filter(|(_, name, _)| *name != "context") {
        let mut pointer = if param.is_some() { "/params".to_owned() } else { String::new() };
        push_token(&mut pointer, name);
        let mut value = Cow::Borrowed(value);
        if masking.secrets
            && let Some(clean) = without_secrets(&value, &pointer, &mut masked.secrets)
        {
            value = Cow::Owned(clean);
        }
        if masking.personal_data {
            let mut clean = value.clone().into_owned();
            if mask_personal_data(&mut clean, &mut pointer, &mut masked.personal_data, DEEPEST) {
                value = Cow::Owned(clean);
            }
        }
        if let Cow::Owned(value) = value {
            changed.push((param.is_some(), name.clone(), value));
        }
    }
    if changed.is_empty() {
        return None;
    }
    let mut request = request.clone();
    for (is_param, name, value) in changed {
        let owner = match request.get_mut("params").and_then(Value::as_object_mut).filter(|_| is_param) {
            Some(params) => params,
            None => &mut request,
        };
        owner.insert(name, value);
    }
    masked.request = request.into();
    Some(masked)
}

/// No member is a secret by its place.
struct NoMarks;

impl Marks for NoMarks {
    fn mark(&self, _: &Place<'_, '_>) -> Mark {
        Mark::None
    }
}

fn without_secrets(value: &Value, pointer: &str, places: &mut Vec<String>) -> Option<Value> {
    let text = value.to_string();
    let redacted = Redacted::of(&Node::parse(&text), &NoMarks);
    let clean = serde_json::from_str(&redacted.text(&text)?).ok()?;
    redacted.hidden.iter().for_each(|hidden| add_place(places, &[pointer, &hidden.pointer]));
    Some(clean)
}

/// Adds the place of something that was masked, as far as there is room.
fn add_place(places: &mut Vec<String>, parts: &[&str]) {
    if places.len() == MOST_PLACES {
        return;
    }
    let mut place = String::new();
    for part in parts {
        let room = LONGEST_PLACE - place.len();
        if part.len() > room {
            place.push_str(&part[..part.floor_char_boundary(room)]);
            place.push('…');
            break;
        }
        place.push_str(part);
    }
    places.push(place);
}

/// Masks the personal data in a value; true if there were some.
fn mask_personal_data(value: &mut Value, pointer: &mut String, places: &mut Vec<String>, depth: usize) -> bool {
    let end = pointer.len();
    let mut is_masked = false;
    match value {
        _ if depth == 0 => {}
        Value::String(text) => {
            if let Some(clean) = without_personal_data(text) {
                *text = clean;
                add_place(places, &[pointer]);
                is_masked = true;
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                push_token(pointer, &index.to_string());
                is_masked |= mask_personal_data(element, pointer, places, depth - 1);
                pointer.truncate(end);
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter_mut().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
                push_token(pointer, name);
                is_masked |= mask_personal_data(member, pointer, places, depth - 1);
                pointer.truncate(end);
            }
        }
        _ => {}
    }
    is_masked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BOTH: Masking = Masking { secrets: true, personal_data: true };

    fn request() -> Value {
        let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
        json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallRequest", "params": {
            "context": {"user": {"email": "ada@example.org"}},
            "reasoning": "ada@example.org asked",
            "toolCallRequest": {"executionId": "x", "toolId": "mail", "inputs": [
                {"name": "to", "value": "Ada <ada@example.org>"}, {"name": "api_key", "value": key}, {"name": "n", "value": 7},
            ]},
        }})
    }

    #[test]
    fn secrets_and_personal_data_are_masked_outside_of_the_context() {
        let request = request();
        let masked = mask(request.as_object().unwrap(), BOTH).unwrap();
        assert_eq!(masked.secrets, ["/params/toolCallRequest/inputs/1/value"]);
        assert_eq!(masked.personal_data, ["/params/reasoning", "/params/toolCallRequest/inputs/0/value"]);
        let mut expected = request.clone();
        expected["params"]["reasoning"] = "[redacted] asked".into();
        let inputs = &mut expected["params"]["toolCallRequest"]["inputs"];
        inputs[0]["value"] = "Ada <[redacted]>".into();
        inputs[1]["value"] = "[redacted]".into();
        assert_eq!(masked.request, expected);
    }

    #[test]
    fn what_is_not_asked_for_stays() {
        let request = request();
        let only = mask(request.as_object().unwrap(), Masking { secrets: false, personal_data: true }).unwrap();
        assert_eq!((only.secrets.len(), only.personal_data.len()), (0, 2));
        let none = json!({"params": {"message": {"content": [{"kind": "text", "text": "Bonn at 10:30"}]}}});
        assert_eq!(mask(none.as_object().unwrap(), BOTH), None);
    }

    #[test]
    fn places_take_little_memory_however_long_names_are() {
        let key = format!("sk-ant-api03-{}", "aB3dE5fG7h".repeat(4));
        let values: Vec<String> = (0..500).map(|number| format!("{key}{number} ada{number}@example.org")).collect();
        let request = json!({"method": "steps/message", "params": {"x".repeat(100_000): values}});
        let masked = mask(request.as_object().unwrap(), BOTH).unwrap();
        for places in [&masked.secrets, &masked.personal_data] {
            assert!(!places.is_empty() && places.iter().map(String::len).sum::<usize>() < 256 * 1024);
        }
        let text = masked.request.to_string();
        assert!(!text.contains("sk-ant") && !text.contains("example.org"), "all are masked");
    }

    #[test]
    fn what_is_nested_as_deeply_as_json_is_read_is_masked() {
        let secret = format!("sk-ant-api03-{} ada@example.org", "aB3dE5fG7h".repeat(4));
        let text = format!("{}\"{secret}\"{}", "[".repeat(120), "]".repeat(120));
        let nested: Value = serde_json::from_str(&text).unwrap();
        let request = json!({"method": "protocols/MCP", "params": {"message": nested}});
        let masked = mask(request.as_object().unwrap(), BOTH).unwrap();
        let text = masked.request.to_string();
        assert!(!text.contains("sk-ant") && !text.contains("example.org"), "{text}");
    }

    #[test]
    fn payloads_beside_the_method_are_masked() {
        let request = json!({"method": "message/send", "payload": {"params": {"text": "+49 228 9999 1234"}}});
        let masked = mask(request.as_object().unwrap(), BOTH).unwrap();
        assert_eq!(masked.request["payload"]["params"]["text"], "[redacted]");
    }
}
