//! Events of a run of a chain.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Event, Part};
use crate::sacp::{Notice, Outcome, Repair, Response};

/// An event of a run. Events arrive in order. Nodes are identified by [`Due::name`](crate::sacp::Due::name).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// An agent was chosen for a node and is being called.
    Started {
        /// Name of the node.
        node: String,
        /// Id of the agent.
        agent: String,
        /// Title of the agent.
        title: String,
        /// Affordance to be called, such as `actions.translate`.
        affordance: String,
        /// Name of the binding.
        binding: &'static str,
        /// Target of the form, without secrets.
        target: String,
        /// Reasons why the agent was chosen.
        why: Vec<String>,
    },
    /// An event of a call.
    Agent {
        /// Name of the node.
        node: String,
        /// Event received from the agent.
        event: Event,
    },
    /// The agent answered, or the call failed.
    Answered {
        /// Name of the node.
        node: String,
        /// Response with which the chain continues.
        response: Response,
        /// Repairs and coercions applied to the answer.
        repairs: Vec<Repair>,
        /// Duration of the call, including the search for an agent.
        elapsed: Duration,
    },
    /// A node without an agent shows a message to the user.
    Said {
        /// Name of the node.
        node: String,
        /// The message.
        message: String,
    },
    /// A node failed, and the chain continues with the target of the node's error edge.
    ErrorHandled {
        /// Name of the failed node.
        node: String,
        /// Name of the next node.
        to: String,
        /// Reason for the failure.
        reason: String,
    },
    /// A question to the user. Answer it with [`Run::answer`](super::Run::answer).
    NeedsInput {
        /// Name of the asking node.
        node: String,
        /// The question.
        message: String,
    },
    /// The run ended.
    Ended(Outcome),
}

impl From<Notice> for RunEvent {
    fn from(notice: Notice) -> RunEvent {
        match notice {
            Notice::Said { node, message } => RunEvent::Said { node, message },
            Notice::ErrorHandled { node, to, reason } => RunEvent::ErrorHandled { node, to, reason },
        }
    }
}

impl RunEvent {
    /// Serializes the event as JSON. The member `event` is its name.
    pub fn to_value(&self) -> Value {
        match self {
            RunEvent::Started { node, agent, title, affordance, binding, target, why } => json!({
                "event": "started", "node": node, "agent": agent, "title": title, "affordance": affordance,
                "binding": binding, "target": target, "why": why,
            }),
            RunEvent::Agent { node, event } => json!({"event": "agent", "node": node, "part": part(event)}),
            RunEvent::Answered { node, response, repairs, elapsed } => {
                let mut event = json!({
                    "event": "answered", "node": node, "response": response.to_value(),
                    "milliseconds": elapsed.as_millis() as u64,
                });
                if !repairs.is_empty() {
                    event["repairs"] = json!(repairs);
                }
                event
            }
            RunEvent::Said { node, message } => json!({"event": "said", "node": node, "message": message}),
            RunEvent::ErrorHandled { node, to, reason } => {
                json!({"event": "error-handled", "node": node, "to": to, "reason": reason})
            }
            RunEvent::NeedsInput { node, message } => {
                json!({"event": "needs-input", "node": node, "message": message})
            }
            RunEvent::Ended(Outcome::Done(response)) => {
                json!({"event": "ended", "outcome": "done", "response": response.to_value()})
            }
            RunEvent::Ended(Outcome::Failed { node, reason }) => {
                json!({"event": "ended", "outcome": "failed", "node": node, "reason": reason})
            }
        }
    }
}

/// Converts an event of a call to JSON.
fn part(event: &Event) -> Value {
    let part = match event.clone() {
        Event::Text(text) => Part::text(text),
        Event::Thinking(text) => Part::Thinking { text },
        Event::Data(data) => Part::data(data),
        Event::ToolCall(call) => Part::ToolCall(call),
        Event::ToolResult(result) => Part::ToolResult(result),
        Event::Artifact(artifact) => Part::Artifact(artifact),
        Event::Media(part) => part,
        Event::Status(status) => {
            let said = status.message.map(|message| message.to_string());
            return json!({"kind": "status", "state": status.state, "text": said, "progress": status.progress});
        }
        Event::Notification(notification) => {
            return json!({"kind": "notification", "name": notification.name, "data": notification.data});
        }
        Event::InputRequired(reply) | Event::Done(reply) => return json!({"kind": "end", "state": reply.state}),
    };
    serde_json::to_value(part).unwrap_or_default()
}

/// The end of a call.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) node: String,
    pub(super) response: Response,
    pub(super) repairs: Vec<Repair>,
    pub(super) elapsed: Duration,
    /// Conversation with an agent that asks a question.
    pub(super) conversation: Option<Value>,
}

impl Answered {
    pub(super) fn into_event(self) -> RunEvent {
        let Answered { node, response, repairs, elapsed, .. } = self;
        RunEvent::Answered { node, response, repairs, elapsed }
    }
}
