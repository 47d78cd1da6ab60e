//! Parsing of answers of both versions, distinguished by their structure.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::super::{Artifact, Content, Continuation, Media, Message, Part, Reply, State, Status, ToolCall, ToolResult};

/// Content of an answer, or of a stream event.
#[derive(Debug)]
pub(super) enum Answer {
    Message(Box<Reply>),
    Task(Box<Task>),
    Status { status: Status, ids: Continuation, is_last: bool },
    Artifact { artifact: Artifact, ids: Continuation },
}

/// A task as it stands.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) ids: Continuation,
    pub(super) state: State,
    pub(super) said: Option<Message>,
    pub(super) artifacts: Vec<Artifact>,
    /// The last message of the history, if it is the agent's: some agents answer there alone.
    pub(super) last: Option<Message>,
    pub(super) cost: Option<Value>,
}

/// Parses an answer. Returns `None` if the value is not an answer.
pub(super) fn answer(result: &Value) -> Option<Answer> {
    // 1.0, and HTTP+JSON of 0.3, say what it is by a member, 0.3 by its `kind`.
    for (member, kind) in [
        ("task", "task"),
        ("message", "message"),
        ("msg", "message"),
        ("statusUpdate", "status-update"),
        ("artifactUpdate", "artifact-update"),
    ] {
        if let Some(inner) = result.get(member).filter(|inner| inner.is_object() && result.get("kind").is_none()) {
            return of_kind(kind, inner);
        }
    }
    match result.get("kind").and_then(Value::as_str) {
        Some(kind) => of_kind(kind, result),
        None if result.get("status").is_some_and(Value::is_object) && result.get("id").is_some() => {
            of_kind("task", result)
        }
        None => None,
    }
}

fn of_kind(kind: &str, value: &Value) -> Option<Answer> {
    let ids = |task: &str| Continuation { context: text(value, "contextId"), task: text(value, task) };
    Some(match kind {
        "message" => {
            let continuation = ids("taskId");
            Answer::Message(Box::new(Reply { continuation, cost: cost(value), ..Reply::message(message(value)) }))
        }
        "task" => Answer::Task(Box::new(task(value)?)),
        "status-update" => {
            let status = value.get("status")?;
            let state = state(status)?;
            let is_last = value.get("final") == Some(&Value::Bool(true));
            let said = status.get("message").filter(|said| said.is_object()).map(message);
            Answer::Status { status: Status { state, message: said, progress: None }, ids: ids("taskId"), is_last }
        }
        "artifact-update" => {
            let append = value.get("append") == Some(&Value::Bool(true));
            let artifact = Artifact { append, ..artifact(value.get("artifact")?) };
            Answer::Artifact { artifact, ids: ids("taskId") }
        }
        _ => return None,
    })
}

/// Parses a task. Returns `None` if the value is not a task.
pub(super) fn task(value: &Value) -> Option<Task> {
    let status = value.get("status")?;
    let artifacts = value.get("artifacts").and_then(Value::as_array).into_iter().flatten().map(artifact);
    Some(Task {
        ids: Continuation { context: text(value, "contextId"), task: Some(text(value, "id")?) },
        state: state(status)?,
        said: status.get("message").filter(|said| said.is_object()).map(message),
        artifacts: artifacts.collect(),
        last: last_message(value),
        cost: cost(value),
    })
}

fn last_message(task: &Value) -> Option<Message> {
    let last = task.get("history")?.as_array()?.last()?;
    let role = last.get("role")?.as_str()?;
    matches!(role, "agent" | "ROLE_AGENT").then(|| message(last))
}

impl Task {
    /// Returns the agent's message about the state. For a finished task without artifacts, returns the last message
    /// of its history. A message that repeats the text of the artifacts is ignored.
    pub(super) fn said(&self) -> Option<&Message> {
        let said = self.said.as_ref().filter(|said| !said.is_empty());
        let has_content = self.artifacts.iter().any(|artifact| !artifact.parts.is_empty());
        if !has_content {
            return said.or(self.last.as_ref().filter(|_| self.state == State::Completed));
        }
        let artifacts = Message::agent(self.artifacts.iter().cloned().map(Part::Artifact));
        said.filter(|said| {
            said.parts.iter().any(|part| !matches!(part, Part::Text { .. })) || said.text() != artifacts.text()
        })
    }

    /// Converts the task to a reply: its artifacts, followed by the agent's message, as in a stream.
    pub(super) fn into_reply(self) -> Reply {
        let said = self.said().cloned().unwrap_or_default().parts.into_iter();
        let artifacts = self.artifacts.into_iter().map(Part::Artifact);
        let message = Message::agent(artifacts.chain(said));
        // A task that is over is continued by none.
        let task = self.ids.task.filter(|_| !self.state.is_final());
        let continuation = Continuation { task, ..self.ids };
        Reply { message, state: self.state, continuation, cost: self.cost, ..Reply::default() }
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn cost(value: &Value) -> Option<Value> {
    let metadata = value.get("metadata")?;
    metadata.get("cost").or_else(|| metadata.get("usage")).cloned()
}

fn state(status: &Value) -> Option<State> {
    let name = status.get("state")?.as_str()?;
    let name = name.strip_prefix("TASK_STATE_").unwrap_or(name).to_ascii_lowercase().replace('_', "-");
    Some(match name.as_str() {
        "submitted" => State::Submitted,
        "input-required" => State::InputRequired,
        "auth-required" => State::AuthRequired,
        "completed" => State::Completed,
        "failed" => State::Failed,
        "canceled" | "cancelled" => State::Cancelled,
        "rejected" => State::Rejected,
        _ => State::Working,
    })
}

/// Reads a message.
pub(super) fn message(value: &Value) -> Message {
    let parts = value.get("parts").or_else(|| value.get("content"));
    let parts = parts.and_then(Value::as_array).into_iter().flatten().map(part);
    Message { id: text(value, "messageId"), ..Message::agent(parts) }
}

fn artifact(value: &Value) -> Artifact {
    let parts = value.get("parts").and_then(Value::as_array).into_iter().flatten().map(part);
    Artifact {
        id: text(value, "artifactId").unwrap_or_default(),
        name: text(value, "name"),
        parts: parts.collect(),
        append: false,
    }
}

fn part(value: &Value) -> Part {
    if let Some(own) = value.get("text").and_then(Value::as_str) {
        let metadata = value.get("metadata");
        let is = |name: &str| metadata.and_then(|metadata| metadata.get(name)) == Some(&Value::Bool(true));
        return match is("thought") || is("adk_thought") || is("thinking") {
            true => Part::Thinking { text: own.to_owned() },
            false => Part::text(own),
        };
    }
    // Of 0.3, a file is an object of its own; of 1.0, the part itself.
    let file = value.get("file").unwrap_or(value);
    let member = |names: [&str; 3]| names.into_iter().find_map(|name| text(file, name));
    let decoded = |text: &str| BASE64_STANDARD.decode(text).ok();
    let content = match (member(["url", "uri", "fileWithUri"]), member(["raw", "bytes", "fileWithBytes"])) {
        (Some(url), _) => Some(Content::Url(url)),
        (None, Some(bytes)) => decoded(&bytes).map(|bytes| {
            // The SDK of 0.3 encodes twice over HTTP+JSON.
            let inner = file.get("fileWithBytes").and_then(|_| decoded(std::str::from_utf8(&bytes).ok()?));
            Content::Bytes(inner.unwrap_or(bytes))
        }),
        (None, None) => None,
    };
    if let Some(content) = content {
        let (media_type, name) =
            (member(["mediaType", "mimeType", "mime_type"]), member(["filename", "name", "fileName"]));
        return Part::of_media(Media { content, media_type, name });
    }
    let data = value.get("data").cloned().unwrap_or_default();
    // HTTP+JSON of 0.3 has the data in an object of their own.
    let data = match data.get("data") {
        Some(inner) if value.get("kind").is_none() && data.as_object().is_some_and(|members| members.len() == 1) => {
            inner.clone()
        }
        _ => data,
    };
    tool(&data).unwrap_or(Part::Data { data })
}

/// Reads a tool call or tool result from a data part, as written by this client or by kits with a convention. Returns
/// `None` for other data.
fn tool(data: &Value) -> Option<Part> {
    if let Some(call) = data.get("toolCall") {
        return serde_json::from_value::<ToolCall>(call.clone()).ok().map(Part::ToolCall);
    }
    if let Some(result) = data.get("toolResult") {
        return serde_json::from_value::<ToolResult>(result.clone()).ok().map(Part::ToolResult);
    }
    None
}
