//! `/mcp`: the registry as an MCP server. Converts between the requests and responses of actix and those of the protocol's server.

use std::{future::pending, sync::Arc};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue},
    },
    web::{self, Data},
};
use futures_util::{FutureExt, StreamExt};

use super::{
    backpressure::Pacer, blocking::blocking, body, context::Context, event_stream::Open, negotiation::preferred,
    parameters::Parameters, problem::Problem,
};
use crate::{
    Error, Position,
    mcp::{self, Message, Refusal, RegistryTools, Server, Tools},
    registry::Since,
};

/// Media types of an answer; clients have to accept both.
const ANSWERS: &str = "application/json, text/event-stream";
const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// Speak the Model Context Protocol: tools to search, read, and register agents
///
/// Streamable HTTP without sessions, for the revisions 2026-07-28 and 2025-11-25, and for earlier revisions, which
/// start with `initialize`. The body is a single JSON-RPC 2.0 message. `tools/list` returns the tools available to the
/// caller.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/mcp",
    operation_id = "mcp",
    tag = "search",
    request_body(content((super::schemas::JsonRpcRequest = "application/json"))),
    responses(
        super::schemas::Refusals,
        (status = 200, description = "The answer, which may be a protocol error", content((super::schemas::JsonRpcAnswer = "application/json"), (String = "text/event-stream"))),
        (status = 202, description = "A notification was accepted"),
        (status = 400, description = "The body is not a message of the protocol, or contradicts the headers", content((super::schemas::JsonRpcAnswer = "application/json"), (super::schemas::Problem = "application/problem+json"))),
        (status = 404, description = "The method is unknown", content((super::schemas::JsonRpcAnswer = "application/json"))),
        super::schemas::TypeRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn message(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    body::check_type(&request, &[JSON])?;
    let body = body::read(&request, payload, context.options.body_limit).await?;
    let message = match read(&request, &body) {
        Ok(message) => message,
        Err(refusal) => return Ok(refused(refusal)),
    };
    let tool = message.tool();
    if matches!(tool, Some("register_agent" | "remove_agent")) {
        Pacer::new(&context, &request).wait().await;
    }
    let _place = (tool == Some("ask_agent")).then(|| context.streams.take_for_stream(&request)).transpose()?;
    let open = (message.method() == "subscriptions/listen").then(|| Open::new(&context, &request)).transpose()?;
    let mut tools = tools(&context, &request);
    if let Some(stopped) = open.as_ref().map(|open| open.stopped.clone()) {
        tools.stopped = Arc::new(move || {
            let mut stopped = stopped.clone();
            async move { stopped.wait().await }.boxed()
        });
    }
    let answer = ask(&Server::new(tools), &request, body).await?;
    if answer.status == StatusCode::UNSUPPORTED_MEDIA_TYPE.as_u16() {
        // The content type was checked above: the message itself can't be read.
        return Ok(refused(message.invalid_params()));
    }
    respond(answer, open).await
}

/// The registry as tools for the caller of a request.
pub(super) fn tools(context: &Context, request: &HttpRequest) -> RegistryTools {
    let registry = context.registry(request);
    RegistryTools {
        since: Since::After(Position { epoch: registry.epoch(), seq: registry.last_seq() }),
        registry,
        stopped: Arc::new(|| pending().boxed()),
        rules: context.options.access,
        conversations: context.options.conversations.clone(),
        blocking: |work| blocking(work).boxed(),
        explain,
    }
}

/// Returns the detail of the problem document for an error. Internal errors are logged.
fn explain(error: Error) -> String {
    let problem = Problem::from(error);
    if let Some(internal) = problem.internal() {
        tracing::error!(error = internal as &dyn std::error::Error, "a tool failed");
    }
    problem.to_string()
}

/// Reads a message, and checks the revision in the headers.
fn read(request: &HttpRequest, body: &[u8]) -> Result<Message, Refusal> {
    let message = Message::read(body)?;
    if let Some(version) = request.headers().get("mcp-protocol-version") {
        message.check_version(version.as_bytes())?;
    }
    Ok(message)
}

fn refused(refusal: Refusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    HttpResponse::build(status).json(refusal.body)
}

/// Hands a request to a server of the protocol, with its body as it was decoded.
pub(super) async fn ask<T: Tools>(
    server: &Server<T>,
    request: &HttpRequest,
    body: Vec<u8>,
) -> Result<mcp::Answer, Problem> {
    let headers = request.headers().iter().filter(|(name, _)| ![CONTENT_ENCODING, CONTENT_LENGTH].contains(name));
    // The SDK knows no wildcards.
    let accepts_all = [JSON, EVENT_STREAM].iter().all(|kind| preferred(request, &[kind]).is_some());
    let headers = headers.filter(|(name, _)| !(accepts_all && *name == ACCEPT));
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let all = accepts_all.then(|| (ACCEPT.to_string(), ANSWERS.as_bytes().to_vec()));
    let asked = mcp::Request {
        method: request.method().to_string(),
        uri: request.uri().to_string(),
        headers: headers.chain(all).collect(),
        body: body.into(),
    };
    server.answer(asked).await.ok_or_else(|| Problem::of_status(StatusCode::BAD_REQUEST))
}

/// Sends an answer of the protocol, event streams as they come, others as a whole. Plain-text failures become problem documents.
pub(super) async fn respond(answer: mcp::Answer, open: Option<Open>) -> Result<HttpResponse, Problem> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let kind = answer.headers.iter().find(|(name, _)| name == CONTENT_TYPE.as_str());
    let kind = kind.and_then(|(_, value)| HeaderValue::from_bytes(value).ok());
    if kind.as_ref().is_some_and(|kind| kind == EVENT_STREAM) {
        let mut response = HttpResponse::build(status);
        for (name, value) in answer.headers.iter().filter(|(name, _)| name != CONTENT_LENGTH.as_str()) {
            response.append_header((name.as_str(), value.as_slice()));
        }
        // The place of the stream is taken until its body has ended.
        let body = answer.body.map(move |chunk| {
            let _place = &open;
            chunk
        });
        return Ok(response.streaming(body));
    }
    let chunks: Vec<_> = answer.body.filter_map(|chunk| async move { chunk.ok() }).collect().await;
    let body = chunks.concat();
    match kind {
        Some(kind) => {
            let mut response = HttpResponse::build(status);
            Ok(response.insert_header((CONTENT_TYPE, kind)).insert_header((CACHE_CONTROL, "no-store")).body(body))
        }
        None if status.is_success() => Ok(HttpResponse::build(status).finish()),
        None => Err(Problem::of_status(status).with_detail(String::from_utf8_lossy(&body))),
    }
}
