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
use crate::http::{body, context::Context, parameters::Parameters, problem::Problem};

/// Error codes of JSON-RPC and A2A (A2A 1.0, section 9.5).
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const TASK_NOT_FOUND: i32 = -32001;
const TASK_NOT_CANCELABLE: i32 = -32002;

/// Maximum length of the id of a message, a task or a context, in bytes.
const MAX_ID: usize = 256;

/// A request of JSON-RPC.
#[derive(Debug)]
struct Request {
    id: Value,
    method: String,
    params: Value,
}

/// An error: its code, and a sentence.
type Refused = (i32, &'static str);

/// The error of an id that is longer than [`MAX_ID`].
const ID_TOO_LONG: Refused = (INVALID_PARAMS, "an id has more than 256 bytes");

impl Request {
    /// Reads a request; an error comes with the id of the request, null where that isn't known.
    fn parse(json: &[u8]) -> Result<Request, (Value, Refused)> {
        let invalid = |id: Value, reason: &'static str| (id, (INVALID_REQUEST, reason));
        let value: Value =
            serde_json::from_slice(json).map_err(|_| (Value::Null, (PARSE_ERROR, "the body is not JSON")))?;
        let Value::Object(mut members) = value else { return Err(invalid(Value::Null, "the body is not an object")) };
        let id = members.remove("id").unwrap_or_default();
        if !(id.is_string() || id.is_number() || id.is_null()) {
            return Err(invalid(Value::Null, "id is not a string or a number"));
        }
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid(id, "jsonrpc is not \"2.0\""));
        }
        let Some(Value::String(method)) = members.remove("method") else {
            return Err(invalid(id, "method is not a string"));
        };
        Ok(Request { id, method, params: members.remove("params").unwrap_or_default() })
    }
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
    let Request { id, method, params } = match Request::parse(&json) {
        Ok(request) => request,
        Err((id, refused)) => return Ok(refusal(&id, refused)),
    };
    let text_of = |params: &Value| params.pointer("/message/parts").map(text_of_parts).unwrap_or_default();
    let answered = match method.as_str() {
        "SendMessage" | "SendStreamingMessage" => sent(demo.tasks(), &params),
        "GetTask" => of_task(&params, |id| demo.tasks().find(id), TASK_NOT_FOUND),
        "CancelTask" => of_task(&params, |id| demo.tasks().cancel(id), TASK_NOT_CANCELABLE),
        _ => Err((METHOD_NOT_FOUND, "this agent has no such method")),
    };
    let task = match answered {
        Ok(task) => task,
        Err(refused) => return Ok(refusal(&id, refused)),
    };
    if method.starts_with("Send") {
        let (question, answer) = (text_of(&params), task.said.clone());
        demo.report(Activity::Asked { agent: "urn:demo:units", question, answer });
    }
    let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    if method != "SendStreamingMessage" {
        let result = if method == "SendMessage" { json!({"task": task.written()}) } else { task.written() };
        return Ok(HttpResponse::Ok().json(rpc(result)));
    }
    let results = [
        json!({"task": task.as_submitted()}),
        json!({"statusUpdate": task.working()}),
        json!({"statusUpdate": task.ended()}),
    ];
    let events = results.map(|result| Ok::<_, Infallible>(Bytes::from(format!("data: {}\n\n", rpc(result)))));
    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream").insert_header((CACHE_CONTROL, "no-store"));
    Ok(response.streaming(stream::iter(events)))
}

/// An error as a response of JSON-RPC.
fn refusal(id: &Value, (code, message): Refused) -> HttpResponse {
    let error = json!({"code": code, "message": message});
    HttpResponse::Ok().json(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn sent(tasks: &Tasks, params: &Value) -> Result<Task, Refused> {
    let Some(message) = params.get("message").filter(|message| message["parts"].is_array()) else {
        return Err((INVALID_PARAMS, "params has no message with parts"));
    };
    let id = |name: &str| message.get(name).and_then(Value::as_str).filter(|id| !id.is_empty());
    let (task, context) = (id("taskId"), id("contextId"));
    if [id("messageId"), task, context].into_iter().flatten().any(|id| id.len() > MAX_ID) {
        return Err(ID_TOO_LONG);
    }
    let taken = tasks.take(&text_of_parts(&message["parts"]), task, context);
    taken.ok_or((TASK_NOT_FOUND, "no such task is waiting for an answer"))
}

fn of_task(params: &Value, find: impl FnOnce(&str) -> Option<Task>, code: i32) -> Result<Task, Refused> {
    let Some(id) = params.get("id").and_then(Value::as_str) else {
        return Err((INVALID_PARAMS, "params has no task id"));
    };
    if id.len() > MAX_ID {
        return Err(ID_TOO_LONG);
    }
    let reason = if code == TASK_NOT_FOUND { "there is no such task" } else { "no such task is waiting for an answer" };
    find(id).ok_or((code, reason))
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
