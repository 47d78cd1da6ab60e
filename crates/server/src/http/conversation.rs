//! `/things/{id}/conversation`: a conversation with an agent through the registry, where its operator offers that.
//!
//! Nothing of it is stored here: an answer has the whole conversation, which the client sends along with its next message.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use agentdex_api::Turn;
use serde_json::Value;

use super::{
    address::thing_id_before,
    agent_call::{called_agent, problem},
    answer::{AnswerStream, answered},
    compatible::json_body,
    context::Context,
    event_stream::Open,
    negotiation::negotiate,
    problem::{Problem, excerpt},
};
use crate::{
    Error,
    consumer::{Message, Part, Settings},
};

/// Path suffix after the id of a Thing.
pub(super) const END: &str = "/conversation";
/// Media types of an answer: whole, or as it comes.
const ANSWERS: [&str; 2] = ["application/json", EVENT_STREAM];
const EVENT_STREAM: &str = "text/event-stream";

/// Members of parts with content.
const CONTENT: &[&str] = &["url", "bytes", "mediaType", "name"];
/// Kinds of parts that clients send, with their members. The other kinds are for agents, and for the service.
const KINDS: [(&str, &[&str]); 7] = [
    ("text", &["text"]),
    ("data", &["data"]),
    ("image", CONTENT),
    ("audio", CONTENT),
    ("document", CONTENT),
    ("video", CONTENT),
    ("binary", CONTENT),
];

/// Answers all methods of `/things/{id}/conversation`.
pub(super) async fn any(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    match request.method().as_str() {
        "POST" => ask(context, request, payload).await,
        other => Err(Problem::method_not_allowed(other, "POST")),
    }
}

/// Send a message to an agent, through the registry
///
/// The registry calls the agent, and waits until it answers or asks a question. It stores nothing: the answer
/// contains the whole conversation, which must be sent with the next message. If an agent ends the work without
/// success, that is also an answer, with the corresponding `state`. Only available if the server was started with
/// `--conversations`.
///
/// As `text/event-stream`, the answer is streamed while the agent creates it. A part of the answer, or the next piece
/// of a part, is an event with the name of its `kind`, or `media` for an `image`, `audio`, `document`, `video`, or
/// `binary`. The event `status` contains the `state` of the work, and its `progress` from 0 to 1. The last event is
/// `done`, or `question` if the agent asks a question, both with the same JSON as an answer without streaming; or
/// `error` with a problem document. Failures before the stream begins are ordinary error responses. If the client
/// disconnects, the call is canceled.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things/{id}/conversation",
    operation_id = "ask_agent",
    tag = "things",
    params(super::schemas::ThingId),
    request_body(content((Turn = "application/json"))),
    responses(
        (status = 200, description = "Answer of the agent", content((agentdex_api::Answered = "application/json"), (String = "text/event-stream"))),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
        super::schemas::BodyRefusals,
        super::schemas::CallRefusals,
    )
))]
pub(super) async fn ask(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let media_type = negotiate(&request, &ANSWERS)?;
    let id = thing_id_before(&request, &context.options, END)?;
    let Turn { message, input, parts, action, conversation } = json_body(&context, &request, payload, &[]).await?;
    let message = message_of(message, input, parts)?;
    let mut agent = called_agent(&context, &request, id).await?;
    if let Some(action) = action {
        agent = agent.update(Settings::new().action(action));
    }
    let stored = conversation.map(|stored| agent.restore_conversation(stored.get())).transpose().map_err(problem)?;
    if media_type == EVENT_STREAM {
        let mut dialogue = stored.map_or_else(|| agent.stream(), |stored| stored.stream());
        dialogue.send(message);
        return AnswerStream::new(dialogue, Open::new(&context, &request)?).respond().await;
    }
    let _place = context.streams.take_for_stream(&request)?;
    let turn = match stored {
        Some(stored) => stored.process(message).await,
        None => agent.process(message).await,
    };
    Ok(HttpResponse::Ok().json(answered(&turn.map_err(problem)?)?))
}

/// Makes a message of its text, its input, and further parts, in this order.
fn message_of(text: Option<String>, input: Option<Value>, parts: Vec<Value>) -> Result<Message, Problem> {
    let own = text.map(Part::text).into_iter().chain(input.map(Part::data));
    let further = parts.into_iter().enumerate().map(|(index, part)| part_of(index, part));
    let parts = own.map(Ok).chain(further).collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() {
        return Err(refused("the message is empty; give a `message`, the `input` of an action, or `parts`"));
    }
    Ok(Message::user(parts))
}

fn part_of(index: usize, given: Value) -> Result<Part, Problem> {
    let refused = |reason: String| refused(format!("/parts/{index}: {reason}"));
    let kind = given["kind"].as_str().unwrap_or_default();
    let Some((kind, known)) = KINDS.into_iter().find(|(known, _)| *known == kind) else {
        let kinds = KINDS.map(|(kind, _)| kind).join(", ");
        return Err(refused(format!("unknown kind of part {:?}; known kinds are {kinds}", excerpt(kind))));
    };
    let members = given.as_object().into_iter().flat_map(|members| members.keys());
    if let Some(other) = members.into_iter().find(|name| *name != "kind" && !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(refused(format!(
            "a part of the kind {kind:?} can't have the member {:?}; allowed members: {known}",
            excerpt(other)
        )));
    }
    if known == CONTENT && given.get("url").is_some() == given.get("bytes").is_some() {
        return Err(refused("give exactly one of `url` and `bytes`".to_owned()));
    }
    serde_json::from_value(given).map_err(|error| refused(error.to_string()))
}

/// 400 for a message that can't be sent.
fn refused(message: impl Into<String>) -> Problem {
    Error::InvalidQuery { message: message.into() }.into()
}
