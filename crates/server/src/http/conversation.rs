//! `/things/{id}/conversation`: a conversation with an agent through the registry, where its operator offers that.
//!
//! Nothing of it is stored here: an answer has the whole conversation, which the client sends along with its next message.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use agentdex_api::{Answered, Turn};
use serde_json::json;

use super::{
    address::thing_id_before,
    agent_call::{called_agent, problem},
    compatible::json_body,
    context::Context,
    problem::Problem,
};
use crate::{Error, consumer::Settings};

/// Path suffix after the id of a Thing.
pub(super) const END: &str = "/conversation";

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

/// Say something to an agent, through the registry
///
/// The registry calls the agent and waits until it has answered, or asks something back. It stores nothing: the answer
/// has the whole conversation, which goes along with the next message. Offered where the server was started with
/// `--conversations`.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things/{id}/conversation",
    operation_id = "ask_agent",
    tag = "things",
    params(super::schemas::ThingId),
    request_body(content((Turn = "application/json"))),
    responses(
        (status = 200, description = "What the agent answers", body = Answered),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
        super::schemas::CallRefusals,
    )
))]
pub(super) async fn ask(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let id = thing_id_before(&request, &context.options, END)?;
    let Turn { message, action, conversation } = json_body(&context, &request, payload, &[]).await?;
    let mut agent = called_agent(&context, &request, id).await?;
    let _place = context.streams.take_for_stream(&request)?;
    if let Some(action) = action {
        agent = agent.update(Settings::new().action(action));
    }
    let turn = match &conversation {
        Some(stored) => agent.restore_conversation(stored.get()).map_err(problem)?.process(message).await,
        None => agent.process(message).await,
    };
    let turn = turn.map_err(problem)?;
    let conversation = serde_json::from_str(&turn.to_json()).map_err(|source| {
        Problem::from(Error::Io { doing: "writing a conversation".to_owned(), source: source.into() })
    })?;
    Ok(HttpResponse::Ok().json(Answered {
        conversation,
        message: json!(turn.message()),
        state: turn.state().to_string(),
        text: turn.message().text(),
    }))
}
