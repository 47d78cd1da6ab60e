//! Events of a call, and the reply that ends it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Artifact, Error, Media, Message, Part, Result, Role, State, ToolCall, ToolResult};
use crate::sacp::Repair;

/// One event of a call. Events come in order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A piece of the answer's text.
    Text(String),
    /// The agent's reasoning before its answer, or a piece of it.
    Thinking(String),
    /// Structured data.
    Data(Value),
    /// The agent calls a tool.
    ToolCall(ToolCall),
    /// The result that a tool returned to the agent.
    ToolResult(ToolResult),
    /// A result of its own, or the next piece of one.
    Artifact(Artifact),
    /// Binary content: an image, audio, a file; of a stream, the next frame.
    Media(Part),
    /// The progress of the work.
    Status(Status),
    /// A notification of an event or an observed property of the agent.
    Notification(Notification),
    /// The agent needs an answer before it goes on: the message is its question.
    InputRequired(Reply),
    /// The end of the call. Of a call that is not a conversation's, its message may be empty if the answer came in pieces. One
    /// without success follows a [`Event::Status`] with the reason.
    Done(Reply),
}

impl Event {
    /// The event of a part of a message.
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

    /// The events of parts that came at once: texts that follow each other are lines.
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

    /// True if nothing follows.
    pub fn is_last(&self) -> bool {
        matches!(self, Event::Done(_) | Event::InputRequired(_))
    }
}

/// The progress of a call or a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The current state.
    pub state: State,
    /// The agent's message about the state.
    pub message: Option<Message>,
    /// The share that is done, from 0 to 1, where the agent says it.
    pub progress: Option<f64>,
}

/// A notification of an event or an observed property.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// The name of the affordance.
    pub name: String,
    /// Its data; null for binary content.
    pub data: Value,
    /// Binary content.
    pub media: Option<Media>,
}

/// An answer, complete.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The agent's message.
    pub message: Message,
    /// The state of the work, which need not be final.
    pub state: State,
    /// The ids that the next message of the conversation has to carry.
    pub continuation: Continuation,
    /// The cost, as the agent reports it.
    pub cost: Option<Value>,
    /// What had to be repaired in the answer, or coerced to what the action declares.
    pub repairs: Vec<Repair>,
}

impl Reply {
    /// An answer that is a message.
    pub fn message(message: Message) -> Reply {
        Reply { message, ..Reply::default() }
    }

    /// An answer that is data: a string is text.
    pub fn data(data: Value) -> Reply {
        let parts = match data {
            Value::Null => Vec::new(),
            Value::String(text) => vec![Part::Text { text }],
            data => vec![Part::Data { data }],
        };
        Reply::message(Message { role: Role::Agent, parts, ..Message::default() })
    }

    /// The events of an answer that came at once: its parts, then the end. What an agent says about work that goes on is a
    /// status. A question, and the reason of a failure, are in the end alone.
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

    /// The reply, or the error of one without success.
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

/// The ids that a conversation carries from one message to the next, as the protocol of the agent has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Continuation {
    /// The conversation: `contextId` of A2A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The task that waits for input: `taskId` of A2A, `correlationID` of the LMOS protocol, `href` of an action in
    /// WoT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// The accumulated cost of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Calls that were made.
    pub calls: u32,
    /// Total duration of these calls.
    pub elapsed: Duration,
    /// The agent's reports of the cost of each, unchanged: tokens, money.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<Value>,
}
