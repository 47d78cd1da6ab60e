//! Messages to the agent: a search in plain words, with filters as structured data if wanted.

use serde_json::{Map, Value, json};

use super::failure::{Failure, Kind};

/// Maximum length of the id of a message, a task, or a context in bytes.
const MAX_ID: usize = 256;
/// Members of a part with its content, which is only one of them.
const CONTENTS: [&str; 4] = ["text", "raw", "url", "data"];
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// The media types that a client accepts in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modes {
    pub(super) text: bool,
    pub(super) json: bool,
}

/// A message that was read.
#[derive(Debug, PartialEq)]
pub(super) struct Question {
    /// Arguments of the tool `search_agents`.
    pub(super) arguments: Map<String, Value>,
    pub(super) context: Option<String>,
    /// The task that the message continues.
    pub(super) task: Option<String>,
    pub(super) modes: Modes,
}

impl Question {
    /// Reads the params of `SendMessage` (A2A 1.0, section 3.2.1).
    pub(super) fn parse(params: &Value) -> Result<Question, Failure> {
        let Some(message) = params.get("message").filter(|message| message.is_object()) else {
            return Err(Failure::invalid("message", "`message` is missing, or not an object"));
        };
        if id(message, "messageId", "message.messageId")?.is_none() {
            return Err(Failure::invalid("message.messageId", "the message has no messageId; give it a new UUID"));
        }
        if message["role"] != "ROLE_USER" {
            return Err(Failure::invalid("message.role", "the role of a message to this agent must be ROLE_USER"));
        }
        let context = id(message, "contextId", "message.contextId")?;
        let task = id(message, "taskId", "message.taskId")?;
        let configuration = &params["configuration"];
        if !configuration["taskPushNotificationConfig"].is_null() {
            return Err(Failure::new(
                Kind::PushNotificationNotSupported,
                "this agent doesn't support push notifications",
            ));
        }
        let modes = modes(&configuration["acceptedOutputModes"])?;
        Ok(Question { arguments: arguments(&message["parts"])?, context, task, modes })
    }
}

/// Returns the id in a member of an object; `None` if it is absent or empty.
pub(super) fn id(object: &Value, member: &str, field: &'static str) -> Result<Option<String>, Failure> {
    match &object[member] {
        Value::Null => Ok(None),
        Value::String(id) if id.len() > MAX_ID => {
            Err(Failure::invalid(field, format!("`{field}` has more than {MAX_ID} bytes")))
        }
        Value::String(id) => Ok(Some(id.clone()).filter(|id| !id.is_empty())),
        _ => Err(Failure::invalid(field, format!("`{field}` is not a string"))),
    }
}

/// Returns the arguments of a search: the text of the message is the query, unless its data has another one.
fn arguments(parts: &Value) -> Result<Map<String, Value>, Failure> {
    let Some(parts) = parts.as_array().filter(|parts| !parts.is_empty()) else {
        return Err(Failure::invalid("message.parts", "the message has no parts; send a text that describes a task"));
    };
    let (mut texts, mut arguments) = (Vec::new(), Map::new());
    for part in parts {
        if CONTENTS.iter().filter(|member| part.get(**member).is_some_and(|content| !content.is_null())).count() > 1 {
            let message = format!("a part can have only one of the members {}", CONTENTS.join(", "));
            return Err(Failure::invalid("message.parts", message));
        }
        match (&part["text"], &part["data"]) {
            (Value::String(text), _) => texts.push(text.as_str()),
            (_, Value::String(text)) => texts.push(text),
            (_, Value::Object(members)) => arguments.extend(members.clone()),
            _ if part.get("url").is_some() || part.get("raw").is_some() => {
                let message = format!("this agent doesn't accept files; send {TEXT}, or filters as {JSON}");
                return Err(Failure::new(Kind::ContentTypeNotSupported, message));
            }
            _ => {
                let message = "a part is neither text nor a JSON object";
                return Err(Failure::invalid("message.parts", message));
            }
        }
    }
    let text = texts.join("\n");
    if !text.trim().is_empty() {
        arguments.entry("query").or_insert(text.into());
    }
    if arguments.is_empty() {
        return Err(Failure::invalid(
            "message.parts",
            "the message is empty; describe the task for which you need an agent",
        ));
    }
    Ok(arguments)
}

/// Reads the media types that a client accepts: without any, all.
fn modes(accepted: &Value) -> Result<Modes, Failure> {
    let accepted = match accepted {
        Value::Null => return Ok(Modes { text: true, json: true }),
        Value::Array(modes) => modes.iter().map(|mode| mode.as_str().unwrap_or_default()),
        _ => {
            let field = "configuration.acceptedOutputModes";
            return Err(Failure::invalid(field, "`acceptedOutputModes` must be a list of media types"));
        }
    };
    let accepted: Vec<&str> = accepted.map(|mode| mode.split(';').next().unwrap_or_default().trim()).collect();
    let accepts = |mode: &str| {
        let (kind, _) = mode.split_once('/').unwrap_or((mode, ""));
        // Some clients name the kind of a part instead.
        let ranges = [mode, "*/*", &format!("{kind}/*"), kind];
        accepted.is_empty() || accepted.iter().any(|one| ranges.iter().any(|range| range.eq_ignore_ascii_case(one)))
    };
    let modes = Modes { text: accepts(TEXT), json: accepts(JSON) };
    match modes.text || modes.json {
        true => Ok(modes),
        false => Err(Failure::new(
            Kind::ContentTypeNotSupported,
            format!("this agent answers only in {TEXT} and {JSON}; accept at least one of them"),
        )),
    }
}

impl Modes {
    /// Returns the parts of an answer: a sentence, and data. The data is a text of its own for clients that accept no JSON.
    pub(super) fn parts(self, sentence: String, data: Value) -> Value {
        let text = |text: String| json!({"text": text, "mediaType": TEXT});
        match self {
            Modes { text: true, json: true } => json!([text(sentence), {"data": data, "mediaType": JSON}]),
            Modes { json: true, .. } => json!([{"data": data, "mediaType": JSON}]),
            Modes { .. } => json!([text(sentence), text(data.to_string())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(message: Value, modes: Value) -> Result<Question, Failure> {
        let mut whole = json!({"messageId": "1", "role": "ROLE_USER"});
        whole.as_object_mut().unwrap().extend(message.as_object().unwrap().clone());
        Question::parse(&json!({"message": whole, "configuration": {"acceptedOutputModes": modes}}))
    }

    #[test]
    fn texts_are_the_query_and_data_the_other_arguments() {
        for (parts, arguments) in [
            (json!([{"text": "tides"}]), json!({"query": "tides"})),
            (json!([{"text": "tides"}, {"text": "in ports"}]), json!({"query": "tides\nin ports"})),
            (
                json!([{"data": {"query": "ports", "limit": 1}}, {"text": "tides"}]),
                json!({"query": "ports", "limit": 1}),
            ),
            (json!([{"data": "tides"}]), json!({"query": "tides"})),
            (json!([{"text": "tides", "data": null}]), json!({"query": "tides"})),
            (json!([{"text": " "}, {"data": {"limit": 2}}]), json!({"limit": 2})),
        ] {
            let question = parsed(json!({"parts": parts}), Value::Null).unwrap();
            assert_eq!(Value::Object(question.arguments), arguments, "{parts}");
        }
        for (parts, kind) in [
            (json!([]), Kind::InvalidParams),
            (json!([{"text": ""}]), Kind::InvalidParams),
            (json!([{"data": [1]}]), Kind::InvalidParams),
            (json!([{}]), Kind::InvalidParams),
            (json!([{"text": "tides", "data": {"limit": 1}}]), Kind::InvalidParams),
            (json!([{"text": "tides", "url": "https://a.example/file"}]), Kind::InvalidParams),
            (json!("tides"), Kind::InvalidParams),
            (json!([{"url": "https://a.example/file"}]), Kind::ContentTypeNotSupported),
            (json!([{"text": "tides"}, {"raw": "AA=="}]), Kind::ContentTypeNotSupported),
        ] {
            assert_eq!(parsed(json!({"parts": parts}), Value::Null).unwrap_err().kind, kind, "{parts}");
        }
    }

    #[test]
    fn answers_are_of_the_media_types_that_are_accepted() {
        let modes = |modes: Value| {
            parsed(json!({"parts": [{"text": "tides"}]}), modes).map(|one| (one.modes.text, one.modes.json)).ok()
        };
        for all in [json!(null), json!([]), json!(["*/*"]), json!(["text", "application/json"])] {
            assert_eq!(modes(all.clone()), Some((true, true)), "{all}");
        }
        assert_eq!(modes(json!(["text/plain; charset=utf-8"])), Some((true, false)));
        assert_eq!(modes(json!(["image/png", "application/*"])), Some((false, true)));
        assert_eq!(modes(json!(["image/png", 7])), None);
        assert_eq!(modes(json!("text/plain")), None);
    }

    #[test]
    fn ids_are_strings_of_at_most_256_bytes() {
        let with = |name: &str, id: Value| parsed(json!({"parts": [{"text": "tides"}], name: id}), Value::Null);
        assert_eq!(with("contextId", "x".repeat(256).into()).unwrap().context, Some("x".repeat(256)));
        assert_eq!(with("contextId", "".into()).unwrap().context, None);
        for (name, id) in [
            ("contextId", json!("x".repeat(257))),
            ("taskId", json!(7)),
            ("messageId", json!("")),
            ("role", json!("ROLE_AGENT")),
        ] {
            assert_eq!(with(name, id).unwrap_err().kind, Kind::InvalidParams, "{name}");
        }
    }
}
