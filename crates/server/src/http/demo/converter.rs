//! The unit converter over A2A 1.0: JSON-RPC, with streaming and questions back.

use std::convert::Infallible;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::CACHE_CONTROL,
    web::{self, Bytes, Data},
};
use futures_util::stream;
use serde_json::{Value, json};

use super::{
    activity::{Activity, Demo},
    tasks::{Task, Tasks},
};
use crate::{
    a2a::{Failure, Kind, rpc},
    http::{body, context::Context, parameters::Parameters, problem::Problem},
};

/// Maximum length of the id of a message, a task or a context, in bytes.
const MAX_ID: usize = 256;

/// Returns the error of an id that is longer than [`MAX_ID`].
fn id_too_long() -> Failure {
    Failure::new(Kind::InvalidParams, "an id has more than 256 bytes")
}

/// `GET /demo/agents/units/.well-known/agent-card.json`
pub(in crate::http) async fn card(demo: Data<Demo>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    Ok(HttpResponse::Ok().content_type("application/json").body(demo.card().to_owned()))
}

/// `POST /demo/agents/units`
pub(in crate::http) async fn message(
    context: Data<Context>,
    demo: Data<Demo>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    body::check_type(&request, &["application/json"])?;
    let json = body::read(&request, payload, context.options.body_limit).await?;
    let rpc::Request { id, method, params } = match rpc::Request::parse(&json) {
        Ok(request) => request,
        Err((id, failure)) => return Ok(HttpResponse::Ok().json(rpc::response(&id, Err(failure)))),
    };
    let text_of = |params: &Value| params.pointer("/message/parts").map(text_of_parts).unwrap_or_default();
    let answered = match method.as_str() {
        "SendMessage" | "SendStreamingMessage" => sent(demo.tasks(), &params),
        "GetTask" => of_task(&params, |id| demo.tasks().find(id), Kind::TaskNotFound),
        "CancelTask" => of_task(&params, |id| demo.tasks().cancel(id), Kind::TaskNotCancelable),
        _ => Err(Failure::new(Kind::MethodNotFound, "this agent has no such method")),
    };
    let task = match answered {
        Ok(task) => task,
        Err(failure) => return Ok(HttpResponse::Ok().json(rpc::response(&id, Err(failure)))),
    };
    if method.starts_with("Send") {
        let (question, answer) = (text_of(&params), task.said.clone());
        demo.report(Activity::Asked { agent: "urn:demo:units", question, answer });
    }
    let response = |result: Value| rpc::response(&id, Ok(result));
    if method != "SendStreamingMessage" {
        let result = if method == "SendMessage" { json!({"task": task.written()}) } else { task.written() };
        return Ok(HttpResponse::Ok().json(response(result)));
    }
    let results = [
        json!({"task": task.as_submitted()}),
        json!({"statusUpdate": task.working()}),
        json!({"statusUpdate": task.ended()}),
    ];
    let events = results.map(|result| Ok::<_, Infallible>(Bytes::from(format!("data: {}\n\n", response(result)))));
    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream").insert_header((CACHE_CONTROL, "no-store"));
    Ok(response.streaming(stream::iter(events)))
}

fn sent(tasks: &Tasks, params: &Value) -> Result<Task, Failure> {
    let Some(message) = params.get("message").filter(|message| message["parts"].is_array()) else {
        return Err(Failure::new(Kind::InvalidParams, "params has no message with parts"));
    };
    let id = |name: &str| message.get(name).and_then(Value::as_str).filter(|id| !id.is_empty());
    let (task, context) = (id("taskId"), id("contextId"));
    if [id("messageId"), task, context].into_iter().flatten().any(|id| id.len() > MAX_ID) {
        return Err(id_too_long());
    }
    let taken = tasks.take(&text_of_parts(&message["parts"]), task, context);
    taken.ok_or_else(|| Failure::new(Kind::TaskNotFound, "no such task is waiting for an answer"))
}

fn of_task(params: &Value, find: impl FnOnce(&str) -> Option<Task>, kind: Kind) -> Result<Task, Failure> {
    let Some(id) = params.get("id").and_then(Value::as_str) else {
        return Err(Failure::new(Kind::InvalidParams, "params has no task id"));
    };
    if id.len() > MAX_ID {
        return Err(id_too_long());
    }
    let reason =
        if kind == Kind::TaskNotFound { "there is no such task" } else { "no such task is waiting for an answer" };
    find(id).ok_or_else(|| Failure::new(kind, reason))
}

/// The text of a message: that of its parts, and the texts in its data.
fn text_of_parts(parts: &Value) -> String {
    let text = |part: &Value| match (part.get("text"), part.get("data")) {
        (Some(Value::String(text)), _) => vec![text.clone()],
        (_, Some(Value::Object(members))) => members.values().filter_map(scalar).collect(),
        (_, Some(data)) => scalar(data).into_iter().collect(),
        _ => Vec::new(),
    };
    let texts: Vec<String> = parts.as_array().into_iter().flatten().flat_map(text).collect();
    texts.join(" ")
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
