//! Reporting of calls to a guardian, as steps of the Agent Observability Standard.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    super::{
        Call, Control, Error, Event, Events, Exchange, Message, Part, Pending, Reply, Request, Result, Status,
        answer_builder::AnswerBuilder, template::text_of,
    },
    Middleware, Next,
};
use crate::{client::RegistryClient, td::Timestamp};

/// Reports messages and action calls to a guardian before they are sent, and their answers before they are returned.
/// The verdict `deny` stops the call or withholds the answer; `modify` replaces the request or the answer. If the
/// guardian is unreachable, nothing is sent or returned. Other operations, such as reading a property, are not
/// reported.
///
/// Invoking an action is reported as a tool call. The tool's id is the name of the action, and its inputs are the URI
/// variables and the members of the action's input. A message is reported as an A2A message. Streamed answers, and
/// answers to status queries, are held back until the guardian has judged them. Reports of progress are forwarded
/// without their messages.
#[derive(Debug, Clone)]
pub struct ReportSteps {
    guardian: RegistryClient,
    agent: Value,
    session: String,
    open: Arc<Mutex<VecDeque<OpenTask>>>,
}

/// A task that continues after the call.
#[derive(Debug, Clone)]
struct OpenTask {
    task: String,
    turn: String,
    is_message: bool,
}

/// Maximum number of tasks whose answers are still expected.
const MAX_OPEN: usize = 1000;

impl ReportSteps {
    /// Creates a middleware that reports to the guardian of a registry. `agent` describes the caller as an agent
    /// object of the Agent Observability Standard (`id`, `name`, `version`, `provider`…). `session` is the id of the
    /// caller's session.
    pub fn new(guardian: RegistryClient, agent: Value, session: impl Into<String>) -> ReportSteps {
        ReportSteps { guardian, agent, session: session.into(), open: Arc::default() }
    }

    /// Remembers the turn that a task belongs to.
    fn remember(&self, task: String, turn: &str, is_message: bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|known| known.task != task);
        if open.len() == MAX_OPEN {
            open.pop_front();
        }
        open.push_back(OpenTask { task, turn: turn.to_owned(), is_message });
    }

    /// Returns the turn of a request: a new turn, or the turn of the task that is queried. Returns `None` if the
    /// request is not reported.
    fn turn_of(&self, request: &Request) -> Option<(String, bool)> {
        match request {
            Request::Message { .. } => Some((Uuid::new_v4().to_string(), true)),
            Request::Invoke { .. } => Some((Uuid::new_v4().to_string(), false)),
            Request::Query { task: Some(task) } | Request::Resume { task } => {
                let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                let known = open.iter().find(|known| known.task == *task)?;
                Some((known.turn.clone(), known.is_message))
            }
            _ => None,
        }
    }

    /// Returns the parameters as modified by the guardian, or `None` if they are unchanged.
    async fn decide(&self, method: &str, turn: &str, mut params: Map<String, Value>) -> Result<Option<Value>> {
        let context = json!({
            "agent": self.agent, "session": {"id": self.session}, "turnId": turn,
            "stepId": Uuid::new_v4().to_string(), "timestamp": Timestamp::now().to_string(),
        });
        if !params.contains_key("payload") {
            params.insert("context".into(), context);
        }
        let request = json!({"jsonrpc": "2.0", "id": Uuid::new_v4().to_string(), "method": method, "params": params});
        let denied = |reason: String| Error::Denied { by: "the guardian".into(), reason };
        let answer = self.guardian.report_step(&request).await;
        let answer = answer.map_err(|error| denied(format!("the request to it failed: {error}")))?;
        let result = answer.get("result").ok_or_else(|| denied(format!("it returned no decision: {answer}")))?;
        let said = || result.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned();
        match result.get("decision").and_then(Value::as_str) {
            Some("allow") => Ok(None),
            Some("modify") => {
                let modified = result.get("modifiedRequest").and_then(|modified| modified.get("params"));
                modified.cloned().map(Some).ok_or_else(|| denied(said()))
            }
            _ => Err(denied(said())),
        }
    }

    /// The call as the guardian lets it be sent.
    async fn before(&self, mut call: Call, turn: &str) -> Result<Call> {
        match &mut call.request {
            Request::Message { message, .. } => {
                let parts: Vec<Value> = message.parts.iter().map(content).collect();
                let sent = json!({"message": {"kind": "message", "role": "user", "messageId": turn, "parts": parts}});
                let payload = json!({"jsonrpc": "2.0", "id": turn, "method": "message/send", "params": sent});
                let params = Map::from_iter([("payload".to_owned(), payload)]);
                if let Some(modified) = self.decide("message/send", turn, params).await? {
                    replace(message, &modified["payload"]["params"]["message"]["parts"])?;
                }
            }
            Request::Invoke { input, .. } => {
                // An input of a tool may be in the URL and in the rest of the request.
                let is_input = |name: &str| input.as_ref().is_some_and(|input| input.get(name).is_some());
                let variables = call.variables.iter().filter(|(name, _)| !is_input(name));
                let mut inputs: Vec<Value> = variables.map(given).collect();
                match &*input {
                    Some(Value::Object(members)) => inputs.extend(members.iter().map(given)),
                    Some(value) => inputs.push(json!({"name": "input", "value": value})),
                    None => {}
                }
                let tool = json!({"executionId": turn, "toolId": call.form.affordance.name(), "inputs": inputs});
                let params = Map::from_iter([("toolCallRequest".to_owned(), tool)]);
                if let Some(modified) = self.decide("steps/toolCallRequest", turn, params).await? {
                    replace_inputs(input, &call.variables, &modified["toolCallRequest"]["inputs"])?;
                }
            }
            _ => {}
        }
        Ok(call)
    }

    /// The answer as the guardian lets it be returned.
    async fn after(&self, mut reply: Reply, turn: &str, is_message: bool) -> Result<Reply> {
        let outputs: Vec<Value> = reply.message.parts.iter().map(content).collect();
        let (method, params) = match is_message {
            true => ("steps/message", json!({"message": {"id": turn, "role": "agent", "content": outputs}})),
            false => {
                let result = json!({"outputs": outputs, "isError": reply.state.is_failure()});
                ("steps/toolCallResult", json!({"executionId": turn, "result": result}))
            }
        };
        let Value::Object(params) = params else { return Ok(reply) };
        if let Some(modified) = self.decide(method, turn, params).await? {
            let parts = if is_message { &modified["message"]["content"] } else { &modified["result"]["outputs"] };
            replace(&mut reply.message, parts)?;
        }
        Ok(reply)
    }
}

impl Middleware for ReportSteps {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let Some((turn, is_message)) = self.turn_of(&call.request) else { return next.run(call).await };
            let call = self.before(call, &turn).await?;
            let builder = AnswerBuilder::new(call.description.id(), call.limits.max_bytes);
            let Exchange { events, control } = next.run(call).await?;
            let (guardian, own) = (self.clone(), control.clone());
            let judged = Judged { guardian, turn, is_message, events, control: own, builder };
            let events = stream::try_unfold(judged, |mut judged| async move {
                Ok(judged.next().await?.map(|event| (event, judged)))
            });
            Ok(Exchange { events: events.boxed(), control })
        })
    }
}

/// Events of a call whose answer is held back until the guardian has judged it.
struct Judged {
    guardian: ReportSteps,
    turn: String,
    is_message: bool,
    events: Events,
    control: Option<Arc<dyn Control>>,
    builder: AnswerBuilder,
}

impl Judged {
    async fn next(&mut self) -> Result<Option<Event>> {
        while let Some(event) = self.events.next().await {
            let event = match event {
                // The agent's own failure, which has a reason.
                Err(Error::Failed { state, message, data }) => {
                    let text = (!message.is_empty()).then(|| Part::text(message));
                    let parts = text.into_iter().chain(data.map(|data| Part::Data { data: *data }));
                    Event::Done(Reply { state, ..Reply::message(Message::agent(parts)) })
                }
                Err(error) => {
                    if let Some(task) = self.control.as_ref().and_then(|control| control.task()) {
                        self.guardian.remember(task, &self.turn, self.is_message);
                    }
                    return Err(error);
                }
                Ok(event) => event,
            };
            match event {
                Event::Done(mut reply) if !reply.state.is_final() => {
                    if let Some(task) = reply.continuation.task.clone() {
                        self.guardian.remember(task, &self.turn, self.is_message);
                    }
                    reply.message = Message::default();
                    return Ok(Some(Event::Done(reply)));
                }
                Event::Done(reply) => return self.judge(reply).await.map(|reply| Some(Event::Done(reply))),
                Event::InputRequired(reply) => {
                    return self.judge(reply).await.map(|reply| Some(Event::InputRequired(reply)));
                }
                Event::Status(status) => return Ok(Some(Event::Status(Status { message: None, ..status }))),
                event => self.builder.push(&event)?,
            }
        }
        Ok(None)
    }

    async fn judge(&mut self, reply: Reply) -> Result<Reply> {
        let reply = self.builder.complete(reply);
        self.guardian.after(reply, &self.turn, self.is_message).await
    }
}

/// A part as the standard has it.
fn content(part: &Part) -> Value {
    match part {
        Part::Text { text } | Part::SystemPrompt { text } | Part::Thinking { text } => {
            json!({"kind": "text", "text": text})
        }
        Part::Data { data } if data.is_object() => json!({"kind": "data", "data": data}),
        Part::Data { data } => json!({"kind": "text", "text": data.to_string()}),
        other => json!({"kind": "data", "data": other}),
    }
}

fn given((name, value): (&String, &Value)) -> Value {
    json!({"name": name, "value": value})
}

/// Puts text and data as they were modified in the place of those of a message.
fn replace(message: &mut Message, modified: &Value) -> Result<()> {
    let modified = modified.as_array().filter(|modified| modified.len() == message.parts.len());
    let modified = modified.ok_or_else(|| not_applicable("it must have as many parts as the message"))?;
    for (part, modified) in message.parts.iter_mut().zip(modified) {
        let own = content(part);
        if own == *modified {
            continue;
        }
        match (part, modified.get("text").and_then(Value::as_str), modified.get("data")) {
            (Part::Text { text } | Part::SystemPrompt { text } | Part::Thinking { text }, Some(said), _) => {
                *text = said.to_owned();
            }
            (Part::Data { data }, _, Some(said)) => *data = said.clone(),
            (Part::Data { data }, Some(said), None) => *data = Value::String(said.to_owned()),
            _ => return Err(not_applicable("it changes the kind of a part, or a part that is neither text nor data")),
        }
    }
    Ok(())
}

fn replace_inputs(input: &mut Option<Value>, variables: &Map<String, Value>, modified: &Value) -> Result<()> {
    for given in modified.as_array().into_iter().flatten() {
        let (Some(name), Some(value)) = (given.get("name").and_then(Value::as_str), given.get("value")) else {
            continue;
        };
        match &mut *input {
            _ if variables.get(name).is_some_and(|known| text_of(known) == text_of(value)) => {}
            _ if variables.contains_key(name) => return Err(not_applicable("it modifies a URI variable")),
            Some(Value::Object(members)) => drop(members.insert(name.to_owned(), value.clone())),
            other => *other = Some(value.clone()),
        }
    }
    Ok(())
}

fn not_applicable(reason: &str) -> Error {
    Error::Denied { by: "the guardian".into(), reason: format!("its modification can't be applied: {reason}") }
}
