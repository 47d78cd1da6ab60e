//! The status of an action, as messages of the LMOS protocol have it: a piece of the answer while the action goes on, and
//! the whole where it ends.

use serde_json::Value;

use super::{Error, Event, Reply, Result, State, Status};

/// The request that the status answers.
pub(super) struct Asked<'a> {
    pub(super) binding: &'static str,
    pub(super) target: &'a str,
    /// The task id that later requests name the action by.
    pub(super) task: Option<&'a str>,
    /// True if the status itself was asked for: it is the answer then, whatever it is.
    pub(super) is_status: bool,
}

/// The events of a message `actionStatus`.
pub(super) fn events(message: &Value, asked: &Asked<'_>) -> Result<Vec<Event>> {
    let status = message.get("status").and_then(Value::as_str).unwrap_or_default();
    let Some(state) = state(status) else {
        let reason = format!("an action has the status {status:?}");
        return Err(Error::Protocol { url: asked.target.to_owned(), binding: asked.binding, reason });
    };
    let output = message.get("output").cloned().unwrap_or_default();
    if state == State::Failed && !asked.is_status {
        let said = message.get("error").filter(|error| !error.is_null()).unwrap_or(&output);
        let said = said.get("detail").or_else(|| said.get("message")).unwrap_or(said);
        let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        return Err(Error::Failed { state: "failed", message: said });
    }
    if state == State::Cancelled && !asked.is_status {
        return Err(Error::Failed { state: "cancelled", message: String::new() });
    }
    let mut reply = Reply::data(output);
    reply.state = state;
    if asked.is_status || state.is_final() || state.needs_input() {
        reply.continuation.task = asked.task.filter(|_| !state.is_final()).map(str::to_owned);
        let mut events = reply.clone().events();
        if asked.is_status {
            events.pop();
            events.push(Event::Done(reply));
        }
        return Ok(events);
    }
    let progress = message.get("progress").and_then(Value::as_f64);
    let mut events = vec![Event::Status(Status { state, message: None, progress })];
    events.extend(reply.message.parts.into_iter().map(Event::of_part));
    Ok(events)
}

fn state(status: &str) -> Option<State> {
    Some(match status.to_ascii_lowercase().replace([' ', '_'], "-").as_str() {
        "pending" | "submitted" => State::Submitted,
        "running" | "in-progress" | "working" => State::Working,
        "paused" => State::Paused,
        "completed" | "succeeded" => State::Completed,
        "failed" => State::Failed,
        "cancelled" | "canceled" => State::Cancelled,
        "input-required" => State::InputRequired,
        _ => return None,
    })
}
