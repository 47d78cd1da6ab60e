//! Events of a call, including the final reply.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Artifact, Error, Media, Message, Part, Result, Role, State, ToolCall, ToolResult};
use crate::sacp::Repair;

/// An event of a call. Events arrive in order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A piece of the answer's text.
    Text(String),
    /// The agent's reasoning before its answer, or a piece of that reasoning.
    Thinking(String),
    /// Structured data.
    Data(Value),
    /// Notice of a tool call by the agent.
    ToolCall(ToolCall),
    /// Result returned to the agent by a tool.
    ToolResult(ToolResult),
    /// A separate result, or the next piece of a result.
    Artifact(Artifact),
    /// Binary content, such as an image, audio, or a file. If it is streamed, the next piece.
    Media(Part),
    /// Progress of the work.
    Status(Status),
    /// A notification of an event or an observed property of the agent.
    Notification(Notification),
    /// Question of the agent, which needs an answer before it continues. The message of the reply is the question.
    InputRequired(Reply),
    /// End of the call. If the answer was streamed outside a conversation, the message of the reply may be empty.
    /// After a failure, the preceding [`Event::Status`] has the reason.
    Done(Reply),
}

impl Event {
    /// Converts a part of a message to an event.
    pub fn of_part(part: Part) -> Event {
        match part {
            Part::Text { text } | Part::SystemPrompt { text } => Event::Text(text),
            Part::Thinking { text } => Event::Thinking(text),
            Part::Data { data } => Event::Data(data),
            Part::ToolCall(call) => Event::ToolCall(call),
            Part::ToolResult(result) => Event::ToolResult(result),
            Part::Artifact(artifact) => Event::Artifact(artifact),
            media => Event::Media(media),
        }
    }

    /// Converts the parts of a complete answer to events. Consecutive texts become lines.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = Part>) -> Vec<Event> {
        let mut events = Vec::new();
        for part in parts {
            if let (Some(Event::Text(before)), Part::Text { .. }) = (events.last(), &part)
                && !before.ends_with('\n')
            {
                events.push(Event::Text("\n".to_owned()));
            }
            events.push(Event::of_part(part));
        }
        events
    }

    /// True if this is the last event of the call.
    pub fn is_last(&self) -> bool {
        matches!(self, Event::Done(_) | Event::InputRequired(_))
    }
}

/// Progress of a call or a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Current state.
    pub state: State,
    /// Message of the agent about the state.
    pub message: Option<Message>,
    /// Progress from 0 to 1, if reported by the agent.
    pub progress: Option<f64>,
}

/// A notification about an event or an observed property.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// Name of the affordance.
    pub name: String,
    /// Data of the notification; null for binary content.
    pub data: Value,
    /// Binary content, if any.
    pub media: Option<Media>,
}

/// A complete answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Message of the agent.
    pub message: Message,
    /// State of the work, which need not be final.
    pub state: State,
    /// Ids to send with the next message of the conversation.
    pub continuation: Continuation,
    /// Cost reported by the agent.
    pub cost: Option<Value>,
    /// Repairs and coercions applied to the answer.
    pub repairs: Vec<Repair>,
}

impl Reply {
    /// Creates a reply with a message.
    pub fn message(message: Message) -> Reply {
        Reply { message, ..Reply::default() }
    }

    /// Creates a reply from data. A string becomes text, and null an empty message.
    pub fn data(data: Value) -> Reply {
        let parts = match data {
            Value::Null => Vec::new(),
            Value::String(text) => vec![Part::Text { text }],
            data => vec![Part::Data { data }],
        };
        Reply::message(Message { role: Role::Agent, parts, ..Message::default() })
    }

    /// Converts a complete answer to events: its parts, then the end. If the work continues, the message becomes a
    /// status. The message of a question or failure is contained only in the last event.
    pub fn events(self) -> Vec<Event> {
        let mut events = match self.state {
            State::Completed => Event::of_parts(self.message.parts.iter().cloned()),
            state if state.is_final() || state.needs_input() => Vec::new(),
            state => {
                let parts = self.message.parts.iter().cloned();
                let (results, said): (Vec<Part>, Vec<Part>) = parts.partition(|part| matches!(part, Part::Artifact(_)));
                let message = (!said.is_empty()).then(|| Message::agent(said));
                let status = Event::Status(Status { state, message, progress: None });
                std::iter::once(status).chain(Event::of_parts(results)).collect()
            }
        };
        events.push(if self.state.needs_input() { Event::InputRequired(self) } else { Event::Done(self) });
        events
    }

    /// Returns the reply, or an error if it reports a failure.
    ///
    /// # Errors
    /// [`Error::Failed`]
    pub fn into_result(self) -> Result<Reply> {
        if !self.state.is_failure() {
            return Ok(self);
        }
        let message = self.message.text();
        let data = self.message.data().cloned().map(Box::new);
        Err(Error::Failed { state: self.state, message, data })
    }
}

/// Ids passed from message to message within a conversation, as defined by the agent's protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Continuation {
    /// Id of the conversation: `contextId` in A2A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Id of a task in progress, or waiting for input: `taskId` in A2A, `correlationID` in the LMOS protocol, `href` of
    /// an action in WoT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Accumulated cost of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Number of requests sent, including status queries.
    pub calls: u32,
    /// Total time from sending the messages to receiving the answers.
    pub elapsed: Duration,
    /// Costs of the calls as reported by the agent, such as tokens or money.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<Value>,
}
