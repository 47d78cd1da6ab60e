//! Answers over HTTP: a value, an action status, or a stream.

use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;

use super::super::{
    Affordance, Call, Continuation, Control, Error, Event, Exchange, Media, Message, Part, Pending, Reply, Request,
    Result, State,
    action_state::{self, reason},
    charset::{charset, decoded},
    transport::{Incoming, Outgoing, Transport, detail},
};
use crate::client::sse::Block;

/// Creates an exchange from an answer, which is either complete or the start of a stream.
pub(super) async fn exchange(call: &Call, transport: &Transport, answer: Incoming, streams: bool) -> Result<Exchange> {
    let media_type = answer.media_type();
    match media_type.as_str() {
        "text/event-stream" => {
            let events = answer.blocks().map(|block| block.and_then(|block| event_of_block(&block)));
            Ok(Exchange::new(ended(events)))
        }
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/json-seq" => {
            let events = answer.lines().map(|line| line.map(|line| event_of_text(line.trim_start_matches('\u{1e}'))));
            Ok(Exchange::new(ended(events)))
        }
        kind if streams && is_binary(kind) => {
            let kind = kind.to_owned();
            let frames = answer
                .pieces()
                .map(move |piece| piece.map(|piece| Event::Media(Part::of_media(Media::bytes(kind.clone(), piece)))));
            Ok(Exchange::new(ended(frames)))
        }
        _ => {
            let (reply, task) = whole(call, answer).await?;
            let exchange = Exchange::reply(reply);
            Ok(match task {
                Some(task) => exchange.with_control(ActionControl { transport: transport.clone(), url: task }),
                None => exchange,
            })
        }
    }
}

/// Reads a piece of a stream of server-sent events. Its type `error` is that of a failure, as APIs of models send it.
fn event_of_block(block: &Block) -> Result<Event> {
    if block.kind == "error" {
        let message = detail(&block.data).unwrap_or_default();
        return Err(Error::Failed { state: State::Failed, message, data: None });
    }
    Ok(event_of_text(&block.data))
}

/// Reads a notification or a piece of a stream as JSON, else as text.
pub(super) fn event_of_text(text: &str) -> Event {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(text)) => Event::Text(text),
        Ok(data) => Event::Data(data),
        Err(_) => Event::Text(text.to_owned()),
    }
}

/// Reads a whole answer as a value or binary content.
pub(super) async fn value(answer: Incoming) -> Result<(Value, Option<Media>)> {
    let (media_type, url) = (answer.media_type(), answer.url.clone());
    let content_type = answer.content_type().to_owned();
    let bytes = answer.bytes().await?;
    if bytes.is_empty() {
        return Ok((Value::Null, None));
    }
    if media_type.starts_with("text/") {
        return Ok((Value::String(decoded(&bytes, &content_type).into_owned()), None));
    }
    if is_binary(&media_type) {
        return Ok((Value::Null, Some(Media::bytes(media_type, bytes))));
    }
    let value = match charset(&content_type) {
        Some(charset) => serde_json::from_str(&charset.decode(&bytes).0),
        None => serde_json::from_slice(&bytes),
    };
    let value = value.map_err(|error| Error::Protocol {
        url,
        binding: "http",
        reason: format!("its media type is {media_type:?}, but it is not JSON: {error}"),
    })?;
    Ok((value, None))
}

async fn whole(call: &Call, answer: Incoming) -> Result<(Reply, Option<String>)> {
    let (status, location) = (answer.status, answer.header("location").map(str::to_owned));
    let url = answer.response.url().clone();
    let (value, media) = value(answer).await?;
    if let Some(media) = media {
        return Ok((Reply::message(Message::agent([Part::of_media(media)])), None));
    }
    let is_action = matches!(call.request, Request::Invoke { .. } | Request::Query { .. } | Request::Cancel { .. });
    let state = value.get("status").and_then(Value::as_str).and_then(action_state::state);
    let is_about_action = matches!(call.request, Request::Query { .. } | Request::Cancel { .. });
    let is_status = state.is_some() && (is_about_action || is_status_object(&value) || is_asynchronous(call));
    if !is_action || !(is_status || status == 201 || status == 202) {
        return Ok((Reply::data(value), None));
    }
    let task = value.get("href").and_then(Value::as_str).map(str::to_owned).or(location);
    let task = task.and_then(|task| url.join(&task).ok()).map(String::from);
    let task = task.or_else(|| matches!(call.request, Request::Query { .. }).then(|| url.to_string()));
    let state = match state {
        Some(state) => state,
        None if task.is_some() => State::Working,
        None => State::Completed,
    };
    let said = match state {
        State::Failed => value.get("error").cloned().unwrap_or(Value::Null),
        _ if is_status => value.get("output").cloned().unwrap_or(Value::Null),
        _ => value,
    };
    let said = match reason(&said).filter(|_| state == State::Failed) {
        Some(text) => text.into(),
        None => said,
    };
    let task = task.filter(|_| !state.is_final());
    let continuation = Continuation { context: None, task: task.clone() };
    Ok((Reply { state, continuation, ..Reply::data(said) }, task))
}

/// True if an object is an action status rather than a result that has a status.
fn is_status_object(value: &Value) -> bool {
    ["href", "actionID", "timeRequested", "output", "error"].iter().any(|member| value.get(member).is_some())
}

fn is_asynchronous(call: &Call) -> bool {
    let Affordance::Action(_) = call.form.affordance else { return false };
    let action = call.description.find(&call.form.affordance);
    action.and_then(|action| action.get("synchronous")) == Some(&Value::Bool(false))
}

fn is_binary(media_type: &str) -> bool {
    let is_json = media_type.is_empty() || media_type == "application/json" || media_type.ends_with("+json");
    !is_json && !media_type.starts_with("text/")
}

/// Appends a final event. The events are not assembled here; callers that want the whole answer do that.
fn ended(events: impl Stream<Item = Result<Event>> + Send + 'static) -> impl Stream<Item = Result<Event>> + Send {
    events.chain(stream::once(async { Ok(Event::Done(Reply::default())) }))
}

/// An action under way, which has a resource of its own.
#[derive(Debug)]
struct ActionControl {
    transport: Transport,
    url: String,
}

impl Control for ActionControl {
    fn cancel(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            let request = Outgoing::new(reqwest::Method::DELETE, &self.url);
            self.transport.send(&request).await.map(drop)
        })
    }
}
