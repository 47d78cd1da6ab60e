//! A call over A2A: sending the request and interpreting the answers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use super::{
    super::{
        Artifact, Call, Continuation, Control, Error, Event, Exchange, Message, Part, Pending, Reply, Request, Result,
        State,
        headers::{check_no_body, declared_headers},
        transport::{Incoming, Transport},
    },
    endpoint::{Endpoint, Rpc},
    read::{self, Answer},
    spoken::spoken,
    write,
};

/// Maximum length of artifact text that is compared with the message at the end of a task, in bytes.
const MAX_COMPARED: usize = 64 * 1024;

/// The id of a request in JSON-RPC.
type RequestId = Option<String>;

/// An agent, with the state of the call.
#[derive(Debug, Clone)]
struct Session {
    endpoint: Endpoint,
    transport: Transport,
    ids: Arc<Mutex<Continuation>>,
}

pub(super) async fn run(call: Call) -> Result<Exchange> {
    let transport = Transport::of(&call).with_headers(declared_headers(&call)?);
    check_no_body(&call.authorization, "A2A")?;
    let endpoint = Endpoint::of(&call.form).ok_or_else(|| unsupported("A2A with this `a2a:binding`"))?;
    let can_stream = streams(&call);
    let session = Session { endpoint, transport, ids: Arc::default() };
    match &call.request {
        // Also where the answer is wanted whole: a stream names the task at once, so that a call that is dropped can cancel it.
        Request::Message { message, continuation, schema, .. } => {
            session.note(continuation);
            let parameters =
                write::parameters(&session.endpoint, &spoken(message, &call), continuation, schema.as_ref());
            session.say(parameters, can_stream).await
        }
        Request::Invoke { input, parts, continuation, .. } => {
            session.note(continuation);
            let data = input.clone().map(Part::from).into_iter();
            let message = Message::user(data.chain(parts.iter().cloned()));
            let parameters = write::parameters(&session.endpoint, &spoken(&message, &call), continuation, None);
            session.say(parameters, can_stream).await
        }
        Request::Subscribe { input } => {
            // The event of a card is a message whose answer comes in pieces.
            let message = input.clone().map(Message::from).unwrap_or_default();
            let parameters = write::parameters(&session.endpoint, &message, &Continuation::default(), None);
            session.stream(&Rpc::Stream(parameters)).await
        }
        Request::Query { task: Some(task) } => session.ask(&Rpc::Get(task.clone())).await,
        Request::Cancel { task: Some(task) } => session.ask(&Rpc::Cancel(task.clone())).await,
        Request::Resume { task } => {
            session.note(&Continuation { context: None, task: Some(task.clone()) });
            session.stream(&Rpc::Subscribe(task.clone())).await
        }
        Request::Tasks { context } => session.list(&Rpc::List(context.clone())).await,
        Request::Query { task: None } => Err(unsupported("querying an action without a task id")),
        Request::Cancel { task: None } => Err(unsupported("canceling an action without a task id")),
        Request::Read | Request::Write(_) => Err(unsupported("properties over A2A")),
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported { what: what.into() }
}

/// True if the agent's card says that it streams.
fn streams(call: &Call) -> bool {
    let value = call.description.value();
    let said = value.get("a2a:capabilities").and_then(|capabilities| capabilities.get("streaming"));
    said == Some(&Value::Bool(true)) || value.get("events").is_some_and(|events| events.get("messageStream").is_some())
}

impl Session {
    /// Stores the agent's ids for the conversation and the task.
    fn note(&self, ids: &Continuation) {
        let mut known = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        known.context = ids.context.clone().or(known.context.take());
        known.task = ids.task.clone().or(known.task.take());
    }

    fn known(&self) -> Continuation {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn perform(&self, method: &Rpc) -> Result<(Incoming, RequestId)> {
        let request =
            self.endpoint.request(method).ok_or_else(|| unsupported("listing tasks, which requires A2A 1.0"))?;
        let (request, id) = request;
        Ok((self.transport.send(&request).await.map_err(agent_error)?, id))
    }

    /// Returns the result of a method that is answered at once, and the URL it came from.
    async fn perform_whole(&self, method: &Rpc) -> Result<(Value, String)> {
        let (answer, id) = self.perform(method).await?;
        let url = answer.url.clone();
        Ok((self.result(&answer.bytes().await?, &url, id.as_deref())?, url))
    }

    async fn ask(&self, method: &Rpc) -> Result<Exchange> {
        let (result, url) = self.perform_whole(method).await?;
        let not_one = || protocol(&url, "it contains neither a message nor a task");
        // The methods about tasks answer with the task itself.
        let answer = match method {
            Rpc::Get(_) | Rpc::Cancel(_) => read::task(&result).map(|task| Answer::Task(Box::new(task))),
            _ => read::answer(&result),
        };
        let reply = match answer.ok_or_else(not_one)? {
            Answer::Message(reply) => *reply,
            Answer::Task(task) => task.into_reply(),
            Answer::Status { .. } | Answer::Artifact { .. } => return Err(not_one()),
        };
        self.note(&reply.continuation);
        Ok(Exchange::reply(reply).with_control(self.clone()))
    }

    /// Sends a message. If an agent advertises streaming but refuses it, the message is sent without streaming.
    async fn say(&self, parameters: Value, streams: bool) -> Result<Exchange> {
        if !streams {
            return self.ask(&Rpc::Send(parameters)).await;
        }
        match self.stream(&Rpc::Stream(parameters.clone())).await {
            Err(error) if is_unperformed(&error) => self.ask(&Rpc::Send(parameters)).await,
            exchange => exchange,
        }
    }

    async fn list(&self, method: &Rpc) -> Result<Exchange> {
        let (result, _) = self.perform_whole(method).await?;
        let tasks = result.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default();
        let listed: Vec<Value> = tasks
            .iter()
            .filter_map(read::task)
            .map(|task| json!({"id": task.ids.task, "context": task.ids.context, "state": task.state.name()}))
            .collect();
        Ok(Exchange::reply(Reply::data(Value::Array(listed))))
    }

    /// The result of a JSON-RPC answer to the request with this id, or the body of HTTP+JSON.
    fn result(&self, bytes: &[u8], url: &str, id: Option<&str>) -> Result<Value> {
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| protocol(url, &format!("it is not JSON: {error}")))?;
        // An error may have no id: that of a request which the agent couldn't read.
        if let (Some(id), Some(answered)) = (id, value.get("id").filter(|answered| !answered.is_null()))
            && answered != id
        {
            return Err(protocol(url, "its id differs from the id of the request"));
        }
        if let Some(error) = value.get("error").filter(|error| error.is_object() || error.is_string()) {
            return Err(error_of(error));
        }
        if !self.endpoint.is_rpc {
            return Ok(value);
        }
        match value {
            Value::Object(mut members) => {
                members.remove("result").ok_or_else(|| protocol(url, "it has neither a result nor an error"))
            }
            _ => Err(protocol(url, "it is not a JSON-RPC object")),
        }
    }

    async fn stream(&self, method: &Rpc) -> Result<Exchange> {
        let (answer, id) = self.perform(method).await?;
        match answer.media_type().as_str() {
            "text/event-stream" => Ok(Exchange::new(self.events(answer, id)).with_control(self.clone())),
            // An error, or an agent that answers at once after all.
            _ => {
                let url = answer.url.clone();
                let result = self.result(&answer.bytes().await?, &url, id.as_deref())?;
                let reply = match read::answer(&result) {
                    Some(Answer::Message(reply)) => *reply,
                    Some(Answer::Task(task)) => task.into_reply(),
                    _ => return Err(protocol(&url, "it is not an event stream, a message, or a task")),
                };
                self.note(&reply.continuation);
                Ok(Exchange::reply(reply).with_control(self.clone()))
            }
        }
    }

    fn events(&self, answer: Incoming, id: RequestId) -> impl Stream<Item = Result<Event>> + Send + 'static {
        let url = answer.url.clone();
        let reader = Reader {
            session: self.clone(),
            url,
            id,
            ready: VecDeque::new(),
            has_content: false,
            text: String::new(),
            is_over: false,
            last: None,
        };
        stream::try_unfold((answer.blocks().boxed(), reader), |(mut blocks, mut reader)| async move {
            loop {
                if let Some(event) = reader.ready.pop_front() {
                    return Ok(Some((event, (blocks, reader))));
                }
                if reader.is_over {
                    return Ok(None);
                }
                match blocks.next().await {
                    Some(block) => {
                        let data = block?.data;
                        let result = reader.session.result(data.as_bytes(), &reader.url, reader.id.as_deref())?;
                        reader.take(&result)?;
                    }
                    None => reader.end()?,
                }
            }
        })
    }
}

/// Turns the answers of a stream into events.
struct Reader {
    session: Session,
    url: String,
    id: RequestId,
    ready: VecDeque<Event>,
    /// True once an event with content came.
    has_content: bool,
    /// The text of the artifacts, as far as it is compared with the message at the end.
    text: String,
    is_over: bool,
    /// Last status that is not final by itself.
    last: Option<(State, Option<Message>, Option<Value>)>,
}

impl Reader {
    fn push(&mut self, event: Event) {
        self.has_content = true;
        self.ready.push_back(event);
    }

    fn push_artifact(&mut self, artifact: Artifact) {
        if !artifact.append && !self.text.is_empty() {
            self.text.push('\n');
        }
        let text = Message::agent([Part::Artifact(artifact.clone())]).text();
        if self.text.len() + text.len() <= MAX_COMPARED {
            self.text.push_str(&text);
        }
        self.push(Event::Artifact(artifact));
    }

    /// Returns the message that ends a task. A message that repeats the text of the artifacts is ignored. If nothing
    /// else is left, returns the last message about the work.
    fn last_said(&self, said: Option<Message>) -> Option<Message> {
        let said = said.filter(|said| !said.is_empty());
        match (&said, &self.last) {
            (Some(said), _) if self.has_content && said.text() == self.text && !self.text.is_empty() => None,
            (None, Some((_, last, _))) if !self.has_content => last.clone(),
            _ => said,
        }
    }

    fn take(&mut self, result: &Value) -> Result<()> {
        let answer = read::answer(result)
            .ok_or_else(|| protocol(&self.url, "an event is not a message, a task, or an update"))?;
        match answer {
            Answer::Message(reply) => {
                self.session.note(&reply.continuation);
                match self.has_content {
                    true => {
                        let (parts, message) = (reply.message.parts, Message::default());
                        self.ready.extend(Event::of_parts(parts));
                        self.ready.push_back(Event::Done(Reply { message, ..*reply }));
                    }
                    false => self.ready.extend(reply.events()),
                }
                self.is_over = true;
            }
            Answer::Task(task) => {
                self.session.note(&task.ids);
                for artifact in &task.artifacts {
                    self.push_artifact(artifact.clone());
                }
                self.status(task.state, task.said().cloned(), task.cost.clone(), false);
            }
            Answer::Status { status, ids, is_last } => {
                self.session.note(&ids);
                self.status(status.state, status.message, None, is_last);
            }
            Answer::Artifact { artifact, ids } => {
                self.session.note(&ids);
                self.push_artifact(artifact);
            }
        }
        Ok(())
    }

    fn status(&mut self, state: State, said: Option<Message>, cost: Option<Value>, is_last: bool) {
        if state.is_final() || state.needs_input() || is_last {
            return self.finish(state, said, cost);
        }
        let status = super::super::Status { state, message: said.clone(), progress: None };
        self.ready.push_back(Event::Status(status));
        self.last = Some((state, said, cost));
    }

    fn finish(&mut self, state: State, said: Option<Message>, cost: Option<Value>) {
        let said = self.last_said(said).unwrap_or_default();
        // A question, and the reason of a failure, are the end itself, and so is what the agent says of work that goes on. An
        // answer came in pieces, which are not gathered here.
        let is_end = state != State::Completed;
        let (pieces, last) = if is_end { (Vec::new(), said.parts) } else { (said.parts, Vec::new()) };
        for event in Event::of_parts(pieces) {
            self.push(event);
        }
        let ids = self.session.known();
        let task = ids.task.filter(|_| !state.is_final());
        let continuation = Continuation { task, ..ids };
        let reply = Reply { message: Message::agent(last), state, continuation, cost, ..Reply::default() };
        self.ready.push_back(if state.needs_input() { Event::InputRequired(reply) } else { Event::Done(reply) });
        self.is_over = true;
    }

    /// The end of the stream without an end of the task.
    fn end(&mut self) -> Result<()> {
        match self.last.take() {
            _ if self.is_over => Ok(()),
            None if !self.has_content => Err(protocol(&self.url, "the stream contains no events")),
            _ => Err(Error::Interrupted {
                url: self.url.clone(),
                reason: "the stream ended before the task was finished".into(),
            }),
        }
    }
}

impl Control for Session {
    fn send(&self, message: Message) -> Pending<'_, ()> {
        Box::pin(async move {
            let parameters = write::parameters(&self.endpoint, &message, &self.known(), None);
            self.perform_whole(&Rpc::Send(parameters)).await.map(drop)
        })
    }

    fn task(&self) -> Option<String> {
        self.known().task
    }

    fn cancel(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            let Some(task) = self.known().task else {
                return Err(unsupported("canceling an action without a task id"));
            };
            self.perform_whole(&Rpc::Cancel(task)).await.map(drop)
        })
    }
}

fn protocol(url: &str, reason: &str) -> Error {
    Error::Protocol { url: url.to_owned(), binding: "a2a", reason: reason.to_owned() }
}

fn error_of(error: &Value) -> Error {
    let message = error.get("message").and_then(Value::as_str).or_else(|| error.as_str()).unwrap_or("no reason given");
    Error::Agent {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: message.chars().take(500).collect(),
        data: error.get("data").or_else(|| error.get("details")).cloned().map(Box::new),
    }
}

/// True if the agent did not perform a method because it doesn't support it: `UnsupportedOperationError` in A2A,
/// "method not found" in JSON-RPC, or the status for an unknown path in HTTP.
fn is_unperformed(error: &Error) -> bool {
    matches!(
        error,
        Error::Agent { code: -32004 | -32601 | 404 | 405, .. } | Error::Status { status: 404 | 405 | 501, .. }
    )
}

/// Turns status 400, 404, 405, 409, 415 or 422 with a detail in the body into [`Error::Agent`]: HTTP+JSON reports
/// errors of the protocol by these. Other errors stay as they are.
fn agent_error(error: Error) -> Error {
    match error {
        Error::Status { status: status @ (400 | 404 | 405 | 409 | 415 | 422), detail: Some(message), .. } => {
            Error::Agent { code: status.into(), message, data: None }
        }
        other => other,
    }
}
