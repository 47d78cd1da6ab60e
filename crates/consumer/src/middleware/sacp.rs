//! Answers in SACP, read as such.

use futures_util::StreamExt;

use super::{
    super::{Artifact, Call, Event, Exchange, Message, Part, Pending, Reply, State, answer_builder::AnswerBuilder},
    Middleware, Next,
};
use crate::sacp::{Found, Response, Status, read};

/// Reads answers that are responses of the Standard Agent Communication Protocol: the message becomes the text, its
/// data and the agent's thought become parts of their own, `clarification_needed` a question to the caller, `failure`
/// a failure. Other answers stay as they are, as do those in pieces that exceed the limit of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadSacp;

impl Middleware for ReadSacp {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let mut pieces = Pieces::new(&call);
            let exchange = next.run(call).await?;
            let events = exchange.events.map(move |event| match event {
                Ok(Event::Done(reply)) => Ok(of_reply(reply, pieces.take_message())),
                Ok(event) => {
                    pieces.push(&event);
                    Ok(event)
                }
                Err(error) => Err(error),
            });
            Ok(Exchange { events: events.boxed(), control: exchange.control })
        })
    }
}

/// The pieces of an answer, as far as a response can be in them: text, and the first data.
struct Pieces {
    /// None once they exceed the limit of an answer: the caller may forward more than fits into memory.
    builder: Option<AnswerBuilder>,
    has_data: bool,
}

impl Pieces {
    fn new(call: &Call) -> Pieces {
        Pieces { builder: Some(AnswerBuilder::new(call.description.id(), call.limits.max_bytes)), has_data: false }
    }

    fn push(&mut self, event: &Event) {
        let Some(builder) = &mut self.builder else { return };
        let pushed = match event {
            Event::Data(_) if self.has_data => Ok(()),
            Event::Artifact(artifact) => {
                // What replaces an artifact may replace the first data.
                let has_data = self.has_data && artifact.append;
                let parts = artifact.parts.iter().filter(|part| is_readable(part, has_data)).cloned().collect();
                builder.push(&Event::Artifact(Artifact { parts, ..artifact.clone() }))
            }
            Event::Media(_) | Event::ToolCall(_) | Event::ToolResult(_) => Ok(()),
            event => builder.push(event),
        };
        self.has_data |= has_data(event);
        if pushed.is_err() {
            self.builder = None;
        }
    }

    fn take_message(&mut self) -> Message {
        self.builder.take().map(AnswerBuilder::into_message).unwrap_or_default()
    }
}

fn is_readable(part: &Part, has_data: bool) -> bool {
    match part {
        Part::Text { .. } => true,
        Part::Data { .. } => !has_data,
        _ => false,
    }
}

fn has_data(event: &Event) -> bool {
    match event {
        Event::Data(_) => true,
        Event::Artifact(artifact) => artifact.parts.iter().any(|part| matches!(part, Part::Data { .. })),
        _ => false,
    }
}

fn of_reply(reply: Reply, pieces: Message) -> Event {
    let said = if reply.message.is_empty() { &pieces } else { &reply.message };
    let Some(response) = response(said) else { return Event::Done(reply) };
    let state = match response.status {
        Status::Failure => State::Failed,
        Status::ClarificationNeeded => State::InputRequired,
        _ => reply.state,
    };
    let mut parts = Vec::new();
    if !response.thought.is_empty() {
        parts.push(Part::Thinking { text: response.thought });
    }
    parts.push(Part::text(response.message));
    if !response.data.is_empty() {
        parts.push(Part::Data { data: response.data.into() });
    }
    let message = Message { parts, ..reply.message };
    let reply = Reply { message, state, ..reply };
    if state.needs_input() { Event::InputRequired(reply) } else { Event::Done(reply) }
}

fn response(message: &Message) -> Option<Response> {
    if let Some(serde_json::Value::Object(object)) = message.data()
        && let Ok((response, _)) = Response::from_object(object.clone())
    {
        return Some(response);
    }
    let reading = read(&message.text());
    (reading.found != Found::Nowhere).then_some(reading.response)
}
