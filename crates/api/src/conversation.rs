//! Conversations with agents through the registry.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::{Problem, Repair};

/// A message to an agent: the body of `POST /things/{id}/conversation`. It consists of `message`, `input`, and `parts`,
/// in this order, of which at least one is required.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Turn {
    /// Text of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(example = "Will it rain in Bonn?"))]
    pub message: Option<String>,
    /// The input of the action, checked against its schema; for an agent that accepts messages, structured data. If
    /// there is also a `message`, the input must have a member for it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub input: Option<Value>,
    /// Parts of the message, like those in the `message` of an answer: each has a `kind`. The kind `text` has `text`,
    /// and `data` has `data`. The kinds `image`, `audio`, `document`, `video`, and `binary` have either `bytes` in
    /// Base64, or a `url` that the agent (not the registry) fetches; they can have a `mediaType` and a `name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<serde_json::Map<String, Value>>))]
    pub parts: Vec<Value>,
    /// The action to which the message is sent, if the agent has several actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The conversation so far, copied unchanged from the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Map<String, Value>>))]
    pub conversation: Option<Box<RawValue>>,
}

/// The answer of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answered {
    /// The conversation so far, to be sent unchanged with the next message.
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Map<String, Value>))]
    pub conversation: Value,
    /// The agent's message. Each of its parts has a `kind` (`text`, `data`, `image`, …).
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Map<String, Value>))]
    pub message: Value,
    /// State of the agent's work: `completed`; `input-required` if the agent asks a question; `failed`, `rejected`, or
    /// `cancelled` if the work ended without success; `working` and other states of unfinished work.
    pub state: String,
    /// The text of the message.
    pub text: String,
    /// Repairs of the answer, and values coerced to the schema declared by the action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
}

/// An event of a streamed answer: `POST /things/{id}/conversation` with `Accept: text/event-stream`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A part of the answer, or the next piece of its text or of an artifact. The name of the event is the part's
    /// `kind`, or `media` for an `image`, `audio`, `document`, `video`, or `binary` part.
    Part(Value),
    /// Event `status`: progress of the work.
    Status(TurnStatus),
    /// Event `question`: the complete answer, in which the agent asks a question. It is the last event.
    Question(Answered),
    /// Event `done`: the complete answer. It is the last event.
    Done(Answered),
    /// Event `error`: the reason why the call failed. It is the last event.
    Error(Problem),
}

/// Progress of an agent's work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnStatus {
    /// State of the work, such as `submitted` or `working`.
    pub state: String,
    /// The agent's message about the progress, in the form of an answer's `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    /// Progress from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
}

impl TurnEvent {
    /// Returns the name of the server-sent event.
    pub fn name(&self) -> &str {
        match self {
            TurnEvent::Part(part) => match part["kind"].as_str() {
                None | Some("image" | "audio" | "document" | "video" | "binary") => "media",
                Some(kind) => kind,
            },
            TurnEvent::Status(_) => "status",
            TurnEvent::Question(_) => "question",
            TurnEvent::Done(_) => "done",
            TurnEvent::Error(_) => "error",
        }
    }

    /// Returns the data of the server-sent event.
    pub fn data(&self) -> Value {
        match self {
            TurnEvent::Part(part) => part.clone(),
            TurnEvent::Status(status) => json!(status),
            TurnEvent::Question(answered) | TurnEvent::Done(answered) => json!(answered),
            TurnEvent::Error(problem) => json!(problem),
        }
    }

    /// Parses a server-sent event from its name and data.
    ///
    /// # Errors
    /// The data doesn't have the format of an event with this name.
    pub fn parse(name: &str, data: &str) -> serde_json::Result<TurnEvent> {
        Ok(match name {
            "status" => TurnEvent::Status(serde_json::from_str(data)?),
            "question" => TurnEvent::Question(serde_json::from_str(data)?),
            "done" => TurnEvent::Done(serde_json::from_str(data)?),
            "error" => TurnEvent::Error(serde_json::from_str(data)?),
            _ => TurnEvent::Part(serde_json::from_str(data)?),
        })
    }
}

/// Tells a member that is `null` from one that is missing.
fn given<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(member).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_and_read() {
        let answered = Answered {
            conversation: json!({}),
            message: json!({"parts": []}),
            state: "x".into(),
            text: "y".into(),
            repairs: Vec::new(),
        };
        let status = TurnStatus { state: "working".into(), progress: Some(0.5), ..TurnStatus::default() };
        for (event, name) in [
            (TurnEvent::Part(json!({"kind": "text", "text": "It rains."})), "text"),
            (TurnEvent::Part(json!({"kind": "image", "url": "https://a.example/x.png"})), "media"),
            (TurnEvent::Part(json!({"kind": "tool-call", "id": "1", "name": "f"})), "tool-call"),
            (TurnEvent::Status(status), "status"),
            (TurnEvent::Question(answered.clone()), "question"),
            (TurnEvent::Done(answered), "done"),
            (TurnEvent::Error(Problem { status: 502, code: "agent-failed".into(), ..Problem::default() }), "error"),
        ] {
            assert_eq!(event.name(), name);
            assert_eq!(TurnEvent::parse(name, &event.data().to_string()).unwrap(), event);
        }
        assert!(TurnEvent::parse("done", "{}").is_err());
    }

    #[test]
    fn input_may_be_null() {
        let turn = |text: &str| serde_json::from_str::<Turn>(text).unwrap();
        assert_eq!((turn("{}").input, turn(r#"{"input": null}"#).input), (None, Some(Value::Null)));
    }
}
