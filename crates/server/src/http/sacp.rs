//! `/things/{id}/actions/{name}/sacp`: answers of agents in the Standard Agent Communication Protocol.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use serde_json::json;

use super::{
    address::affordance, blocking::blocking, body, context::Context, parameters::Parameters, problem::Problem,
};
use crate::sacp;

/// Path segment before the name of an action, and suffix after it.
pub(super) const ENDS: (&str, &str) = ("/actions/", "/sacp");
/// Media types of an answer: also text, since what an agent writes often isn't the JSON that it should be.
const ANSWERS: [&str; 2] = ["text/plain", "application/json"];

/// Answers all methods.
pub(super) async fn any(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    match request.method().as_str() {
        "GET" | "HEAD" => instructions(context, request).await,
        "POST" => check(context, request, payload).await,
        other => Err(Problem::method_not_allowed(other, "GET, HEAD, POST")),
    }
}

/// Read instructions that make an agent answer in SACP
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/actions/{name}/sacp",
    tag = "things",
    operation_id = "sacp_instructions",
    params(
        super::schemas::ThingId,
        ("name" = String, Path, description = "The name of the action"),
    ),
    responses(
        (status = 200, description = "Text to append to a system prompt; it names the data that the action declares", body = String, content_type = "text/plain"),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
))]
pub(super) async fn instructions(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let (id, action) = affordance(&request, &context.options, ENDS)?;
    let registry = context.registry(&request);
    let contract = blocking(move || registry.response_contract(&id, &action)).await?;
    Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(sacp::instructions(Some(&contract))))
}

/// Check an answer in SACP against the declaration of the action
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things/{id}/actions/{name}/sacp",
    tag = "things",
    operation_id = "check_sacp_response",
    params(
        super::schemas::ThingId,
        ("name" = String, Path, description = "The name of the action"),
    ),
    request_body(content((String = "text/plain"), (serde_json::Value = "application/json")), description = "Text written by the agent, including anything around the response"),
    responses(
        (status = 200, description = "Result of the check, even if the answer is wrong", body = agentdex_api::SacpReading),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
        super::schemas::ThingRefusals,
    )
))]
pub(super) async fn check(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    body::check_type(&request, &ANSWERS)?;
    let (id, action) = affordance(&request, &context.options, ENDS)?;
    let text = body::read(&request, payload, context.options.body_limit).await?;
    let registry = context.registry(&request);
    let read = move || registry.check_response(&id, &action, &String::from_utf8_lossy(&text));
    let answer = blocking(read).await?;
    Ok(HttpResponse::Ok().json(json!(answer.report())))
}
