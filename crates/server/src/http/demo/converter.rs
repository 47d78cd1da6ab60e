//! The unit converter over A2A 1.0: JSON-RPC, with streaming and questions back.

use std::convert::Infallible;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::CACHE_CONTROL,
    web::{self, Bytes, Data},
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    activity::{Activity, Demo},
    tasks::{Task, Tasks},
};
use crate::http::{compatible::json_body, context::Context, parameters::Parameters, problem::Problem};

/// Error codes of JSON-RPC and A2A (A2A 1.0, section 9.5).
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const TASK_NOT_FOUND: i32 = -32001;
const TASK_NOT_CANCELABLE: i32 = -32002;

/// A request of JSON-RPC.
#[derive(Debug, Deserialize)]
struct Request {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

/// An error: its code, and a sentence.
type Refused = (i32, &'static str);

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
    let Request { id, method, params } = json_body(&context, &request, payload, &[]).await?;
    let text_of = |params: &Value| params.pointer("/message/parts").map(text_of_parts).unwrap_or_default();
    let answered = match method.as_str() {
        "SendMessage" | "SendStreamingMessage" => sent(demo.tasks(), &params),
        "GetTask" => of_task(&params, |id| demo.tasks().find(id), TASK_NOT_FOUND),
        "CancelTask" => of_task(&params, |id| demo.tasks().cancel(id), TASK_NOT_CANCELABLE),
        _ => Err((METHOD_NOT_FOUND, "this agent has no such method")),
    };
    let task = match answered {
        Ok(task) => task,
        Err((code, message)) => {
            let error = json!({"code": code, "message": message});
            return Ok(HttpResponse::Ok().json(json!({"jsonrpc": "2.0", "id": id, "error": error})));
        }
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

fn sent(tasks: &Tasks, params: &Value) -> Result<Task, Refused> {
    let Some(message) = params.get("message").filter(|message| message["parts"].is_array()) else {
        return Err((INVALID_PARAMS, "params has no message with parts"));
    };
    let id = |name: &str| message.get(name).and_then(Value::as_str).filter(|id| !id.is_empty());
    let taken = tasks.take(&text_of_parts(&message["parts"]), id("taskId"), id("contextId"));
    taken.ok_or((TASK_NOT_FOUND, "there is no such task that waits for an answer"))
}

fn of_task(params: &Value, find: impl FnOnce(&str) -> Option<Task>, code: i32) -> Result<Task, Refused> {
    let Some(id) = params.get("id").and_then(Value::as_str) else {
        return Err((INVALID_PARAMS, "params has no id of a task"));
    };
    let reason = if code == TASK_NOT_FOUND { "there is no such task" } else { "there is no such task that waits" };
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
