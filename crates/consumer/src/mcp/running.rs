//! A running call: its progress, its questions, and its result.

use std::{sync::Arc, time::Duration};

use futures_util::stream;
use rmcp::{
    ErrorData,
    model::{ElicitRequestParams, ElicitResult, ErrorCode, InputRequest, InputRequiredResult, ServerResult},
    service::ServiceError,
};
use tokio::sync::{Notify, oneshot};

use super::{
    super::{Call, Control, Error, Event, Exchange, Pending, Result},
    answer::{self, protocol},
    asking::{Answer, Asking, known_answer},
    client::Asked,
    connector::Connector,
    elicitation::{self, Question},
    held_call::HeldCall,
    open::Open,
    request::{only_output, params},
};

/// Maximum number of times that a server may want a call to be repeated without asking anything.
const MAX_DELAYS: u32 = 8;
/// Error of a server that requires URLs to be opened before the call.
const URL_REQUIRED: ErrorCode = ErrorCode(-32042);
/// Maximum size of the state that a server wants back, in bytes.
const MAX_STATE_BYTES: usize = 64 * 1024;

/// A call under way. Dropping it ends the connection, unless the call waits for the answer of a user.
pub(super) struct Running {
    connector: Connector,
    call: Call,
    asking: Asking,
    /// `None` once the call is over, or held.
    open: Option<Open>,
    /// Answers to questions that a repeated call asks again.
    known: Vec<Answer>,
    /// True if the call was held, and its connection may have ended meanwhile.
    was_held: bool,
    delays: u32,
    cancelled: Arc<Notify>,
    /// Pending events of the answer, in reverse order.
    left: Vec<Event>,
}

/// Next step of a call.
enum Next {
    Progress(Event),
    Question(Asked),
    Result(std::result::Result<ServerResult, ServiceError>),
    Cancelled,
}

impl Running {
    /// Creates the state of a call whose request was sent.
    pub(super) fn new(connector: Connector, call: Call, asking: Asking, open: Open) -> Running {
        let (cancelled, left) = (Arc::default(), Vec::new());
        let known = asking.answers();
        Running { connector, call, asking, open: Some(open), known, was_held: false, delays: 0, cancelled, left }
    }

    /// Creates the state of a call that waited for an answer to its question.
    pub(super) fn of_held(connector: Connector, call: Call, asking: Asking, open: Open) -> Running {
        Running { known: Vec::new(), was_held: true, ..Running::new(connector, call, asking, open) }
    }

    pub(super) fn into_exchange(self) -> Exchange {
        let control = Cancel(self.cancelled.clone());
        let running = self;
        let events = stream::try_unfold(running, |mut running| async move {
            Ok(running.next().await?.map(|event| (event, running)))
        });
        Exchange::new(events).with_control(control)
    }

    async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.left.pop() {
                return Ok(Some(event));
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            let next = tokio::select! {
                biased;
                Some(event) = open.received.progress.recv() => Next::Progress(event),
                Some(asked) = open.received.questions.recv() => Next::Question(asked),
                result = &mut open.handle.rx => Next::Result(result.unwrap_or(Err(ServiceError::TransportClosed))),
                () = self.cancelled.notified() => Next::Cancelled,
            };
            match next {
                Next::Progress(event) => return Ok(Some(event)),
                Next::Question((question, answer)) => self.ask(question, answer).await?,
                Next::Result(result) => self.take_result(result).await?,
                Next::Cancelled => {
                    if let Some(open) = self.open.take() {
                        open.cancel().await;
                    }
                    return Err(Error::Cancelled);
                }
            }
        }
    }

    /// Passes a question on to the user, and holds the call until the answer comes.
    async fn ask(&mut self, question: Question, answer: oneshot::Sender<ElicitResult>) -> Result<()> {
        if let Some(known) = known_answer(&mut self.known, &question) {
            // A server that doesn't wait for it any more goes on by itself.
            let _ = answer.send(known);
            return Ok(());
        }
        let Some(open) = self.open.take() else { return Ok(()) };
        let target = &self.call.form.href;
        self.asking.has_session = true;
        if let Err(error) = self.asking.ask(vec![question], target) {
            open.cancel().await;
            return Err(error);
        }
        self.asking.held = Some(self.connector.held.insert(HeldCall { open, answer }, target));
        self.end(self.asking.to_reply().events());
        Ok(())
    }

    async fn take_result(&mut self, result: std::result::Result<ServerResult, ServiceError>) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let target = self.call.form.href.clone();
        match result {
            Ok(ServerResult::CallToolResult(result)) => {
                open.close().await;
                self.end(answer::reply(result, only_output(&self.call))?.events());
            }
            Ok(ServerResult::InputRequiredResult(required)) => return self.take_required(required, open).await,
            Ok(result) => {
                open.close().await;
                let is_question =
                    matches!(&result, ServerResult::CustomResult(value) if value.0["resultType"] == "input_required");
                let reason = if is_question {
                    elicitation::UNREADABLE
                } else {
                    "the response to tools/call is not a tool result"
                };
                return Err(protocol(&target, reason.to_owned()));
            }
            Err(ServiceError::McpError(error)) if !self.asking.has_session && needs_session(&error) => {
                open.close().await;
                self.asking.has_session = true;
                self.call_again().await?;
            }
            Err(ServiceError::TransportClosed) if self.was_held => {
                self.was_held = false;
                self.call_again().await?;
            }
            Err(ServiceError::McpError(error)) if error.code == URL_REQUIRED => {
                open.close().await;
                let questions = urls(&error).ok_or_else(|| answer::failure(&target, ServiceError::McpError(error)))?;
                self.asking.ask(questions, &target)?;
                self.asking.requires_urls = true;
                self.end(self.asking.to_reply().events());
            }
            Err(error) => return Err(open.take_ending().unwrap_or_else(|| answer::failure(&target, error))),
        }
        Ok(())
    }

    /// Handles a result of the protocol without sessions that asks questions or requests a later repetition.
    async fn take_required(&mut self, required: InputRequiredResult, mut open: Open) -> Result<()> {
        let target = self.call.form.href.clone();
        let state = required.request_state;
        if state.as_ref().is_some_and(|state| state.len() > MAX_STATE_BYTES) {
            return Err(protocol(&target, format!("`requestState` is larger than {MAX_STATE_BYTES} bytes")));
        }
        self.asking.request_state = state;
        let requests = required.input_requests.unwrap_or_default();
        let questions = requests.into_iter().map(|(key, request)| match request {
            InputRequest::Elicitation(request) => {
                Question::new(Some(key), request.params).map_err(|reason| protocol(&target, reason))
            }
            _ => Err(protocol(
                &target,
                "the server requests sampling or roots, which agentdex does not support".to_owned(),
            )),
        });
        self.asking.ask(questions.collect::<Result<_>>()?, &target)?;
        if self.asking.has_questions() {
            open.close().await;
            self.end(self.asking.to_reply().events());
            return Ok(());
        }
        if self.delays == MAX_DELAYS {
            return Err(protocol(&target, format!("the server postponed the call {MAX_DELAYS} times")));
        }
        tokio::time::sleep(Duration::from_millis(100) * 2u32.pow(self.delays.min(4))).await;
        self.delays += 1;
        open.send(params(&self.call, &self.asking)?, &target).await?;
        self.open = Some(open);
        Ok(())
    }

    /// Makes the call again. The questions that it asks again are answered as before.
    async fn call_again(&mut self) -> Result<()> {
        self.known = self.asking.answers();
        self.open = Some(self.connector.open(&self.call, &self.asking).await?);
        Ok(())
    }

    /// The last events of the call.
    fn end(&mut self, mut events: Vec<Event>) {
        events.reverse();
        self.left = events;
    }
}

/// True if the tool can only ask in the protocol with sessions, but was called in the other protocol.
fn needs_session(error: &ErrorData) -> bool {
    error.code == ErrorCode::INVALID_REQUEST && error.message.contains(elicitation::METHOD)
}

/// Returns the URLs to be opened before calling the server again.
fn urls(error: &ErrorData) -> Option<Vec<Question>> {
    let params: Vec<ElicitRequestParams> =
        serde_json::from_value(error.data.as_ref()?.get("elicitations").cloned()?).ok()?;
    let questions: Vec<Question> =
        params.into_iter().map(|params| Question::new(None, params)).collect::<std::result::Result<_, _>>().ok()?;
    (!questions.is_empty()).then_some(questions)
}

/// Cancels a call.
#[derive(Debug)]
struct Cancel(Arc<Notify>);

impl Control for Cancel {
    fn cancel(&self) -> Pending<'_, ()> {
        self.0.notify_one();
        Box::pin(async { Ok(()) })
    }
}
