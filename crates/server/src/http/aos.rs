//! `/aos`: the guardian of the Agent Observability Standard, and what it decided.
//!
//! Whatever is posted to `/aos` is answered in JSON-RPC: errors of HTTP, such as another media type, have its status and
//! an error of JSON-RPC as their body. Errors of JSON-RPC alone have the status 200, but for the step of an agent whose
//! steps others report: 403, unless it is one of a batch.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, StatusCode},
    web::{self, Bytes, Data},
};
use futures_util::{Stream, stream};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, sleep_until},
};

use super::{
    audit,
    blocking::blocking,
    body,
    context::Context,
    event_stream::{self, HEARTBEAT, Open},
    listing::Empty,
    parameters::Parameters,
    problem::{Problem, excerpt},
};
use crate::{
    Timestamp,
    convert::aos::{ErrorKind, Outcome, Response, RpcError},
    policy::Decision,
    registry::guardian::{Entries, Entry, Reply},
};

/// Number of entries in a list without `limit`.
const DEFAULT_LIMIT: usize = 100;
/// Maximum number of entries in a list; a larger `limit` is served as this one.
const MAX_LIMIT: usize = 1000;
/// Up to that size a body is read where it arrives; a larger one holds up no other connection.
const SMALL_BODY: usize = 64 * 1024;

/// `POST /aos`
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/aos",
    tag = "guardian",
    operation_id = "guard",
    summary = "Decide about a step of an agent (Agent Observability Standard 0.1.0)",
    description = "JSON-RPC 2.0, including batches and notifications, with the methods `steps/agentTrigger`, \
        `steps/knowledgeRetrieval`, `steps/memoryStore`, `steps/memoryContextRetrieval`, `steps/message`, \
        `steps/toolCallRequest`, `steps/toolCallResult`, `ping`, `protocols/MCP`, and those of A2A. JSON-RPC errors \
        have the status 200. An agent hidden from the caller is treated as not registered. The steps of an agent \
        with an owner can only be reported by that owner, the members of its namespace, and admins. A session \
        belongs to the owner who reports it.",
    params(("consistent" = Option<bool>, Query, description = "Take into account every write acknowledged before the request")),
    request_body(content((super::schemas::AosRequest = "application/json"))),
    responses(
        (status = 200, description = "A response, or the responses of a batch", body = super::schemas::AosResponse, content_type = "application/json"),
        (status = 204, description = "The request contained only notifications"),
        (status = 400, description = "A query parameter or the body is invalid", body = super::schemas::AosResponse, content_type = "application/json"),
        (status = 403, description = "The caller may not report steps of this agent (in a batch: a JSON-RPC error with the code -32003)", body = super::schemas::AosResponse, content_type = "application/json"),
        (status = 408, description = "The body stalled", body = super::schemas::AosResponse, content_type = "application/json"),
        (status = 413, description = "The body is larger than the limit", body = super::schemas::AosResponse, content_type = "application/json"),
        (status = 415, description = "The body isn't `application/json`", body = super::schemas::AosResponse, content_type = "application/json"),
        (status = 503, description = "The server is shutting down, or `consistent` took too long", body = super::schemas::AosResponse, content_type = "application/json"),
    )
))]
pub(super) async fn answer(context: Data<Context>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let reply = match reply(&context, &request, payload).await {
        Ok(reply) => reply,
        Err(problem) => {
            if let Some(error) = problem.internal() {
                tracing::error!(%error, "an AOS request failed");
            }
            let kind = if problem.status().is_server_error() { ErrorKind::Internal } else { ErrorKind::InvalidRequest };
            let mut response = HttpResponse::build(problem.status());
            if problem.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                response.insert_header((actix_web::http::header::ACCEPT, "application/json"));
            }
            return response.json(Response::error(None, RpcError::of(kind, &problem.to_string())));
        }
    };
    if let Some(Reply::Batch(responses)) = &reply {
        for _ in responses.iter().filter(|response| is_refusal(response)) {
            audit::note_part(&context, &request, StatusCode::FORBIDDEN);
        }
    }
    match reply {
        Some(reply) if is_forbidden(&reply) => HttpResponse::Forbidden().json(reply),
        Some(reply) => HttpResponse::Ok().json(reply),
        None => HttpResponse::NoContent().finish(),
    }
}

/// True if it answers one request, which its sender may not make.
fn is_forbidden(reply: &Reply) -> bool {
    matches!(reply, Reply::One(response) if is_refusal(response))
}

fn is_refusal(response: &Response) -> bool {
    matches!(&response.outcome, Outcome::Error(error) if error.code == ErrorKind::Forbidden.code())
}

async fn reply(context: &Context, request: &HttpRequest, payload: web::Payload) -> Result<Option<Reply>, Problem> {
    body::check_type(request, &["application/json"])?;
    let consistent = Parameters::parse(request, &["consistent"])?.flag("consistent")?;
    let bytes = body::read(request, payload, context.options.body_limit).await?;
    let registry = context.registry(request);
    if consistent {
        registry.catch_up_guardian().await?;
    }
    if bytes.len() > SMALL_BODY {
        return Ok(blocking(move || {
            Ok(match parse(&bytes) {
                Ok(body) => registry.guardian().answer(&body),
                Err(refusal) => Some(refusal),
            })
        })
        .await?);
    }
    let body = match parse(&bytes) {
        Ok(body) => body,
        Err(refusal) => return Ok(Some(refusal)),
    };
    if registry.guardian().has_all_agents(&body) {
        return Ok(registry.guardian().answer(&body));
    }
    // An agent is read from the store once.
    Ok(blocking(move || Ok(registry.guardian().answer(&body))).await?)
}

fn parse(bytes: &[u8]) -> Result<Value, Reply> {
    serde_json::from_slice(bytes).map_err(|error| {
        let error = RpcError::of(ErrorKind::Parse, &error.to_string());
        Reply::One(Box::new(Response::error(None, error)))
    })
}

/// `GET /aos/sessions`
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/aos/sessions",
    tag = "guardian",
    operation_id = "list_sessions",
    summary = "List the live sessions of agents",
    params(
        ("agent" = Option<String>, Query, description = "Only entries of the agent with this id"),
        ("limit" = Option<u64>, Query, description = "Maximum number of sessions (default 100); values over 1,000 are reduced to 1,000"),
    ),
    responses(
        (status = 200, description = "The sessions, latest step first", body = Vec<crate::registry::guardian::LiveSession>),
        super::schemas::Refusals,
    )
))]
pub(super) async fn sessions(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["agent", "limit"])?;
    let sessions = context.registry(&request).guardian().sessions(parameters.text("agent"), limit(&parameters)?);
    Ok(HttpResponse::Ok().json(sessions))
}

/// `GET /aos/sessions/{id}`
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/aos/sessions/{id}",
    tag = "guardian",
    operation_id = "retrieve_session",
    summary = "Read the steps of a session, with the decisions about them",
    params(
        ("id" = String, Path, description = "The id of the session, percent-encoded"),
        ("since" = Option<u64>, Query, description = "Only steps after the step with this number"),
        ("limit" = Option<u64>, Query, description = "Maximum number of steps (default 100); values over 1,000 are reduced to 1,000"),
    ),
    responses(
        (status = 200, description = "The steps in order, as far as the trail still contains them", body = Vec<Entry>),
        super::schemas::Refusals,
        (status = 404, description = "The trail contains no step of this session", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn session(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["since", "limit"])?;
    let last = request.uri().path().rsplit('/').next().unwrap_or_default();
    let id = percent_decode_str(last).decode_utf8_lossy().into_owned();
    let (since, limit) = (parameters.number("since", 0)?.unwrap_or_default(), limit(&parameters)?);
    let (registry, session) = (context.registry(&request), id.clone());
    let steps = blocking(move || registry.guardian().steps(&session, since, limit)).await?;
    if steps.is_empty() && since == 0 {
        let detail =
            format!("no steps of session {:?} are stored; GET /aos/sessions lists live sessions", excerpt(&id));
        return Err(Problem::new(StatusCode::NOT_FOUND, "not-found", detail));
    }
    Ok(HttpResponse::Ok().json(steps))
}

/// `GET /aos/decisions`
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/aos/decisions",
    tag = "guardian",
    operation_id = "list_decisions",
    summary = "Read the trail: all steps, with the decisions about them",
    params(
        ("agent" = Option<String>, Query, description = "Only entries of the agent with this id"),
        ("decision" = Option<Decision>, Query, description = "Only entries with this decision"),
        ("since" = Option<String>, Query, description = "Only decisions after this number, or after this time (RFC 3339)"),
        ("limit" = Option<u64>, Query, description = "Maximum number of decisions (default 100); values over 1,000 are reduced to 1,000"),
    ),
    responses(
        (status = 200, description = "Oldest first; to read on, give the `seq` of the last decision as `since`", body = Vec<Entry>),
        super::schemas::Refusals,
    )
))]
pub(super) async fn decisions(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["agent", "decision", "since", "limit"])?;
    let agent = parameters.text("agent").map(str::to_owned);
    let (decision, limit) = (decision(&parameters)?, limit(&parameters)?);
    let moment = parameters.text("since").and_then(Timestamp::parse_rfc3339);
    let after = if moment.is_some() { 0 } else { parameters.number("since", 0)?.unwrap_or_default() };
    let registry = context.registry(&request);
    let read = move || registry.guardian().decisions(agent.as_deref(), decision, moment, after, limit);
    Ok(HttpResponse::Ok().json(blocking(read).await?))
}

fn decision(parameters: &Parameters) -> Result<Option<Decision>, Problem> {
    let choices: Vec<(&str, Decision)> = Decision::ALL.iter().map(|decision| (decision.as_str(), *decision)).collect();
    parameters.choice("decision", &choices)
}

fn limit(parameters: &Parameters) -> Result<usize, Problem> {
    let limit = parameters.number("limit", 1)?.and_then(|limit| usize::try_from(limit).ok());
    Ok(limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT))
}

/// `GET /aos/events`
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/aos/events",
    tag = "guardian",
    operation_id = "guardian_events",
    summary = "Subscribe to decisions as they are made",
    params(
        ("agent" = Option<String>, Query, description = "Only entries of the agent with this id"),
        ("decision" = Option<Decision>, Query, description = "Only entries with this decision"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events. `decision` contains a step of the trail; the id of the event is the number of the step. `missed` means that the client was too slow; `GET /aos/decisions?since=` returns the missed decisions", body = String, content_type = "text/event-stream"),
        super::schemas::Refusals,
    )
))]
pub(super) async fn events(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["agent", "decision"])?;
    let (agent, decision) = (parameters.text("agent").map(str::to_owned), decision(&parameters)?);
    let mut response = event_stream::head();
    if *request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let subscription = Subscription {
        entries: context.registry(&request).guardian().subscribe(),
        agent,
        decision,
        open: Open::new(&context, &request)?,
    };
    Ok(response.streaming(subscription.into_stream()))
}

/// An event stream that is open.
struct Subscription {
    entries: Entries,
    agent: Option<String>,
    decision: Option<Decision>,
    open: Open,
}

impl Subscription {
    fn into_stream(self) -> impl Stream<Item = crate::Result<Bytes>> {
        stream::unfold(self, |mut subscription| async move {
            let chunk = subscription.next().await?;
            Some((Ok(chunk), subscription))
        })
    }

    /// The next chunk; none once the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        let silent_until = Instant::now() + self.open.heartbeat;
        loop {
            let received = tokio::select! {
                biased;
                received = self.entries.recv() => received,
                () = self.open.stopped.wait() => return None,
                () = sleep_until(silent_until) => return Some(HEARTBEAT),
            };
            match received {
                Ok(entry) if self.is_selected(&entry) => return event(&entry),
                Ok(_) if Instant::now() >= silent_until => return Some(HEARTBEAT),
                Ok(_) => {}
                Err(RecvError::Lagged(missed)) => {
                    return Some(format!("event: missed\ndata: {}\n\n", json!({"missed": missed})).into());
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn is_selected(&self, entry: &Entry) -> bool {
        self.decision.is_none_or(|decision| decision == entry.decision)
            && self.agent.as_deref().is_none_or(|agent| entry.agent.as_deref() == Some(agent))
    }
}

fn event(entry: &Entry) -> Option<Bytes> {
    let data = serde_json::to_string(entry).ok()?;
    Some(format!("id: {}\nevent: decision\ndata: {data}\n\n", entry.seq).into())
}
