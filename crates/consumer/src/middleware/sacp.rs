//! Answers in SACP, read as such.

use futures_util::StreamExt;

use super::{
    super::{Call, Event, Exchange, Message, Part, Pending, Reply, State},
    Middleware, Next,
};
use crate::sacp::{Found, Response, Status, read};

/// Reads answers that are responses of the Standard Agent Communication Protocol: the message becomes the text, its
/// data and the agent's thought become parts of their own, `clarification_needed` a question to the caller, `failure`
/// a failure. Other answers stay as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadSacp;

impl Middleware for ReadSacp {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let exchange = next.run(call).await?;
            let events = exchange.events.map(|event| match event {
                Ok(Event::Done(reply)) => Ok(of_reply(reply)),
                other => other,
            });
            Ok(Exchange { events: events.boxed(), control: exchange.control })
        })
    }
}

fn of_reply(reply: Reply) -> Event {
    let Some(response) = response(&reply.message) else { return Event::Done(reply) };
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
