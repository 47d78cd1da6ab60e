//! `/a2a`: the registry as an A2A agent. The JSON-RPC binding, and below it the HTTP+JSON one (A2A 1.0, sections 9 and 11).
//!
//! A request of HTTP+JSON that fails gets a problem document whose member `error` is the status that the protocol specifies.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, StatusCode, header::CACHE_CONTROL},
    web::{self, Data},
};
use serde_json::{Value, json};

use super::{body, caller, context::Context, limits::network_of, mcp, parameters::Parameters, problem::Problem};
use crate::{
    a2a::{Agent, Failure, Kind, rpc},
    access::Caller,
};

/// Path of the JSON-RPC binding, and of what is below it.
pub(super) const RPC: &str = "/a2a";
pub(super) const REST: &str = "/a2a/";
pub(super) const SEND: &str = "/a2a/message:send";
/// Operations without a handler of their own, and their paths.
pub(super) const OTHER: &str = "/a2a/{operation}";
pub(super) const OTHERS: &str = "/a2a/{operation:message:stream|extendedAgentCard|tasks/[^/]+:(cancel|subscribe)|\
    tasks/[^/]+/pushNotificationConfigs(/[^/]+)?}";

/// Name of the header, or else the query parameter, with the version that a client speaks.
const VERSION: &str = "A2A-Version";
const A2A_JSON: &str = "application/a2a+json";
/// Member of a problem document with the status of `google.rpc`.
const ERROR: &str = "error";
/// Media types of requests.
const TAKEN: [&str; 2] = [A2A_JSON, "application/json"];

/// Talk with the registry as an A2A agent, over JSON-RPC
///
/// `SendMessage` searches for agents; `GetTask` and `ListTasks` read the caller's latest tasks. Errors of the protocol come with
/// the status 200.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/a2a",
    operation_id = "a2a",
    tag = "search",
    params(("A2A-Version" = super::schemas::A2aVersion, Header, description = "The version of the protocol")),
    request_body(content((super::schemas::JsonRpcRequest = "application/json"))),
    responses(
        super::schemas::Refusals,
        (status = 200, description = "The answer, which may be an error of the protocol", body = super::schemas::JsonRpcAnswer, content_type = "application/json"),
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn rpc(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    parameters(&request, &[])?;
    body::check_type(&request, &TAKEN)?;
    let body = body::read(&request, payload, context.options.body_limit).await?;
    let response = match rpc::Request::parse(&body) {
        Ok(asked) => {
            let agent = agent(&context, &request);
            rpc::response(&asked.id, agent.answer(&version(&request), &asked.method, &asked.params).await)
        }
        Err((id, failure)) => rpc::response(&id, Err(failure)),
    };
    Ok(HttpResponse::Ok().insert_header((CACHE_CONTROL, "no-store")).json(response))
}

/// Search for agents by a message to the registry as an A2A agent
///
/// The text of the message describes the task. A data part may add the arguments of the MCP tool `search_agents`: `query`,
/// `filters`, `limit`, `page_token`, and `max_bytes`.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/a2a/message:send",
    operation_id = "send_message",
    tag = "search",
    params(("A2A-Version" = super::schemas::A2aVersion, Header, description = "The version of the protocol")),
    request_body(content((super::schemas::SendMessageRequest = "application/a2a+json"), (super::schemas::SendMessageRequest = "application/json"))),
    responses(
        super::schemas::Refusals,
        (status = 200, description = "The task, which is over", body = super::schemas::SendMessageResponse, content_type = "application/a2a+json"),
        (status = 404, description = "The message names a task that is not there", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn send(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let answer = async {
        parameters(&request, &[])?;
        body::check_type(&request, &TAKEN)?;
        let body = body::read(&request, payload, context.options.body_limit).await?;
        let Ok(params) = serde_json::from_slice::<Value>(&body) else {
            return Err(problem(&Failure::new(Kind::InvalidRequest, "the body is not JSON")));
        };
        answer(&context, &request, "SendMessage", params).await
    };
    answer.await.map_err(with_status)
}

/// List the latest tasks of the caller
///
/// The latest come first. If the registry requires credentials, callers without any can read tasks only by id.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/a2a/tasks",
    operation_id = "list_tasks",
    tag = "search",
    params(
        ("A2A-Version" = super::schemas::A2aVersion, Header, description = "The version of the protocol"),
        ("contextId" = Option<String>, Query, description = "Tasks of this context only"),
        ("status" = Option<super::schemas::TaskState>, Query, description = "Tasks in this state only"),
        ("pageSize" = Option<i32>, Query, description = "Maximum number of tasks; 50 by default", minimum = 1, maximum = 100),
        ("pageToken" = Option<String>, Query, description = "The `nextPageToken` of the page before"),
        ("historyLength" = Option<i32>, Query, description = "Maximum number of messages; none are stored", minimum = 0),
        ("statusTimestampAfter" = Option<String>, Query, description = "Tasks from this moment on only (RFC 3339)"),
        ("includeArtifacts" = Option<bool>, Query, description = "`true`: with the results of the tasks"),
    ),
    responses(
        super::schemas::Refusals,
        (status = 200, description = "A page of tasks", body = super::schemas::TaskList, content_type = "application/a2a+json"),
    )
))]
pub(super) async fn tasks(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    const KNOWN: [&str; 7] =
        ["contextId", "status", "pageSize", "pageToken", "historyLength", "statusTimestampAfter", "includeArtifacts"];
    let answer = async {
        let given = parameters(&request, &KNOWN)?;
        answer(&context, &request, "ListTasks", params(&given, &KNOWN)).await
    };
    answer.await.map_err(with_status)
}

/// Read one of the latest tasks of the caller
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/a2a/tasks/{id}",
    operation_id = "find_task",
    tag = "search",
    params(
        ("A2A-Version" = super::schemas::A2aVersion, Header, description = "The version of the protocol"),
        ("id" = String, Path, description = "Id of the task"),
        ("historyLength" = Option<i32>, Query, description = "Maximum number of messages; none are stored", minimum = 0),
    ),
    responses(
        super::schemas::Refusals,
        (status = 200, description = "The task, with the results that the caller can still see", body = super::schemas::AgentTask, content_type = "application/a2a+json"),
        (status = 404, description = "The caller has no such task, or it is no longer stored", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn task(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    const KNOWN: [&str; 1] = ["historyLength"];
    let answer = async {
        let mut params = params(&parameters(&request, &KNOWN)?, &KNOWN);
        params["id"] = request.match_info().get("id").into();
        answer(&context, &request, "GetTask", params).await
    };
    answer.await.map_err(with_status)
}

/// Answers the other operations of the binding, most of which this agent doesn't have.
pub(super) async fn other(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let answer = async {
        let path = request.match_info().get("operation").unwrap_or_default();
        match operation(request.method(), path) {
            Some((method, task)) => answer(&context, &request, method, json!({"id": task})).await,
            None => Err(Problem::unknown_path(request.path())),
        }
    };
    answer.await.map_err(with_status)
}

/// Returns the method of an operation, and the task that it is about.
fn operation<'p>(method: &Method, path: &'p str) -> Option<(&'static str, &'p str)> {
    if let Some((task, rest)) = path.strip_prefix("tasks/").and_then(|path| path.split_once('/')) {
        let is_list = rest == "pushNotificationConfigs";
        let is_one = rest.strip_prefix("pushNotificationConfigs/").is_some_and(|id| !id.is_empty());
        return Some(match method.as_str() {
            "POST" if is_list => ("CreateTaskPushNotificationConfig", task),
            "GET" if is_list => ("ListTaskPushNotificationConfigs", task),
            "GET" if is_one => ("GetTaskPushNotificationConfig", task),
            "DELETE" if is_one => ("DeleteTaskPushNotificationConfig", task),
            _ => return None,
        });
    }
    let of_task = |verb| path.strip_prefix("tasks/")?.strip_suffix(verb);
    match (method.as_str(), path) {
        ("POST", "message:stream") => Some(("SendStreamingMessage", "")),
        ("GET", "extendedAgentCard") => Some(("GetExtendedAgentCard", "")),
        ("POST", _) if of_task(":cancel").is_some() => Some(("CancelTask", of_task(":cancel")?)),
        ("GET" | "POST", _) => Some(("SubscribeToTask", of_task(":subscribe")?)),
        _ => None,
    }
}

/// The agent, for the caller of a request.
fn agent<'c>(context: &'c Context, request: &HttpRequest) -> Agent<'c> {
    let caller = caller::of(request, &context.options.access);
    let lists_tasks = caller != Caller::Anonymous;
    let caller = match &caller {
        Caller::Principal(principal) => principal.key.clone(),
        // Whoever has no credentials is known by its address.
        _ => request.peer_addr().map(|peer| format!("@{}", network_of(peer.ip()))).unwrap_or_default(),
    };
    Agent { tools: mcp::tools(context, request), tasks: &context.tasks, caller, lists_tasks }
}

/// Answers a request of HTTP+JSON.
async fn answer(
    context: &Context,
    request: &HttpRequest,
    method: &str,
    params: Value,
) -> Result<HttpResponse, Problem> {
    let result = agent(context, request).answer(&version(request), method, &params).await;
    let result = result.map_err(|failure| problem(&failure))?;
    let mut response = HttpResponse::Ok();
    response.content_type(A2A_JSON).insert_header((CACHE_CONTROL, "no-store"));
    Ok(response.body(result.to_string()))
}

/// The version that the client speaks: that of the header, else of the query. Empty if it names none.
fn version(request: &HttpRequest) -> String {
    let header = request.headers().get(VERSION).and_then(|version| version.to_str().ok());
    let of_query = |pair: &'_ str| Some(pair.strip_prefix(VERSION)?.strip_prefix('=')?.to_owned());
    header.map(str::to_owned).or_else(|| request.query_string().split('&').find_map(of_query)).unwrap_or_default()
}

/// Reads the query parameters but for the version.
fn parameters(request: &HttpRequest, known: &[&str]) -> Result<Parameters, Problem> {
    let is_other = |pair: &&str| pair.split('=').next() != Some(VERSION);
    let query: Vec<&str> = request.query_string().split('&').filter(is_other).collect();
    Parameters::parse_query(&query.join("&"), known)
}

/// Query parameters as the params of a method: numbers and flags where they are ones.
fn params(given: &Parameters, known: &[&str]) -> Value {
    let value = |name: &str, text: &str| match name {
        "pageSize" | "historyLength" => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        "includeArtifacts" => text.parse::<bool>().map_or_else(|_| text.into(), Value::from),
        _ => text.into(),
    };
    let members = known.iter().filter_map(|name| Some(((*name).to_owned(), value(name, given.text(name)?))));
    Value::Object(members.collect())
}

/// The problem of an error of the protocol (A2A 1.0, sections 5.4 and 11.6).
fn problem(failure: &Failure) -> Problem {
    let (status, code) = match failure.kind {
        Kind::TaskNotFound => (StatusCode::NOT_FOUND, "task-not-found"),
        Kind::TaskNotCancelable => (StatusCode::BAD_REQUEST, "task-not-cancelable"),
        Kind::PushNotificationNotSupported => (StatusCode::BAD_REQUEST, "push-notification-not-supported"),
        Kind::UnsupportedOperation => (StatusCode::BAD_REQUEST, "unsupported-operation"),
        Kind::ContentTypeNotSupported => (StatusCode::BAD_REQUEST, "content-type-not-supported"),
        Kind::VersionNotSupported => (StatusCode::BAD_REQUEST, "version-not-supported"),
        Kind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        Kind::Parse | Kind::InvalidRequest | Kind::MethodNotFound | Kind::InvalidParams => {
            (StatusCode::BAD_REQUEST, "invalid-message")
        }
    };
    let error = json!({
        "code": status.as_u16(), "status": failure.kind.status(), "message": failure.message, "details": failure.details(),
    });
    Problem::new(status, code, failure.message.clone()).with(ERROR, error)
}

/// Adds the status of `google.rpc` to a problem that has none: one that is not of the protocol.
pub(super) fn with_status(problem: Problem) -> Problem {
    let document = problem.document();
    if document.members.contains_key(ERROR) {
        return problem;
    }
    let status = match document.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        400..500 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    let details = json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": document.code.to_uppercase().replace('-', "_"), "domain": "agentdex", "metadata": {},
    }]);
    let message = problem.to_string();
    let error = json!({"code": document.status, "status": status, "message": message, "details": details});
    problem.with(ERROR, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_methods() {
        for (method, path, expected) in [
            ("POST", "message:stream", Some(("SendStreamingMessage", ""))),
            ("POST", "tasks/1:cancel", Some(("CancelTask", "1"))),
            ("POST", "tasks/1:subscribe", Some(("SubscribeToTask", "1"))),
            ("GET", "tasks/1:subscribe", Some(("SubscribeToTask", "1"))),
            ("GET", "extendedAgentCard", Some(("GetExtendedAgentCard", ""))),
            ("POST", "tasks/1/pushNotificationConfigs", Some(("CreateTaskPushNotificationConfig", "1"))),
            ("GET", "tasks/1/pushNotificationConfigs", Some(("ListTaskPushNotificationConfigs", "1"))),
            ("DELETE", "tasks/1/pushNotificationConfigs/2", Some(("DeleteTaskPushNotificationConfig", "1"))),
            ("GET", "message:stream", None),
            ("PUT", "tasks/1:cancel", None),
            ("GET", "tasks/1/pushNotificationConfigs/", None),
            ("GET", "tenant/tasks", None),
        ] {
            assert_eq!(operation(&method.parse().unwrap(), path), expected, "{method} {path}");
        }
    }
}
