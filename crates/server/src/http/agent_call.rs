//! Calls of agents by the registry, for clients: the agent that a request addresses, and the problem of a call that failed.

use actix_web::{HttpRequest, http::StatusCode, web::Data};
use serde_json::json;

use super::{
    blocking::blocking,
    context::Context,
    problem::{Problem, validation_errors},
};
use crate::{
    Error,
    consumer::{self, Agent},
};

/// The agent that the registry calls for a client, where it offers that.
pub(super) async fn called_agent(context: &Data<Context>, request: &HttpRequest, id: String) -> Result<Agent, Problem> {
    let Some(consumer) = &context.options.conversations else {
        let detail = "this registry doesn't call agents unless it is started with --conversations";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "conversations-not-offered", detail.to_owned()));
    };
    let registry = context.registry(request);
    let found = blocking(move || registry.find(&id)?.ok_or(Error::NotFound { id })).await?;
    consumer.agent_of(found.text()).map_err(problem)
}

/// The problem of a call that failed.
pub(super) fn problem(error: consumer::Error) -> Problem {
    use consumer::Error as E;
    let (status, code) = match &error {
        E::InvalidInput { .. } => (StatusCode::BAD_REQUEST, "invalid-input"),
        E::InvalidHistory { .. } => (StatusCode::BAD_REQUEST, "invalid-conversation"),
        E::TimedOut { .. } => (StatusCode::GATEWAY_TIMEOUT, "agent-timed-out"),
        E::AnswerTooLarge { .. } => (StatusCode::BAD_GATEWAY, "agent-answer-too-large"),
        E::Unsupported { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "agent-not-callable"),
        error if error.is_before_sending() => (StatusCode::UNPROCESSABLE_ENTITY, "agent-not-callable"),
        _ => (StatusCode::BAD_GATEWAY, "agent-failed"),
    };
    let problem = Problem::new(status, code, error.to_string());
    match &error {
        E::InvalidInput { violations, .. } => problem.with("validationErrors", json!(validation_errors(violations))),
        E::InvalidAnswer { violations, answer, .. } => problem
            .with("validationErrors", json!(validation_errors(violations)))
            .with("answer", answer.as_ref().clone()),
        _ => problem,
    }
}
