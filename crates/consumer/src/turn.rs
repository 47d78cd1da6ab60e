//! A turn: a message or an input is sent to an agent, followed by events until it is the caller's turn again with a
//! result, a failure, or a question.
//!
//! All commands and library calls use turns, so answers are interpreted the same way for every caller and every kind
//! of answer. A turn
//! 1. sends the request ([`Agent::perform`]);
//! 2. forwards the pieces of the answer, but holds back a possible SACP response, which isn't meant for people;
//! 3. waits while the agent continues by itself: it queries the task, and resumes its event stream if it broke;
//! 4. reads the answer with [`read_answer`](crate::sacp::read_answer), and ends with [`Event::Done`],
//!    [`Event::InputRequired`], or an error. A failure reported by the agent is not an error here: its reply contains
//!    the state, text, and data.

mod withheld;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture};
use tokio::time::{Instant, sleep};

use self::withheld::Withheld;
use super::{
    Affordance, Agent, Artifact, Continuation, Control, Error, Event, Events, Exchange, Message, Part, Reply, Request,
    Result, Settings, State, Status,
    agent::Intent,
    answer::{invalid, with_answer},
    answer_builder::AnswerBuilder,
    bounded::CancelOnDrop,
    choose::Choice,
};
use crate::sacp::{Answer, Kind, Sacp};

/// Pause before the first query for the state of the work. Each further pause is longer by half.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest of these pauses.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// How often in a row an agent that works on a task is asked again after a failure, although nothing came in between.
const MAX_ATTEMPTS: u32 = 4;
/// Maximum size in bytes of the stored part of a forwarded answer.
const MAX_FORWARDED: usize = 256 * 1024;

/// A running turn. Dropping it cancels the call if the protocol supports that.
pub(super) struct Turn {
    agent: Agent,
    affordance: Affordance,
    /// Form and binding of the request.
    choice: Option<Choice>,
    sacp: Sacp,
    /// Whether SACP responses are expected, according to the description and the caller.
    expected: Sacp,
    /// True if work that goes on without the caller is waited for.
    waits: bool,
    /// True if the answer is gathered, within its limit. Otherwise it is as long as it fits, and a stream may be endless.
    gathers: bool,
    /// True if the builder has all of the answer so far.
    is_kept: bool,
    phase: Phase,
    control: Option<Arc<dyn Control>>,
    /// Cancels the task of an agent that goes on when the turn is dropped.
    guard: Option<CancelOnDrop>,
    /// Error of a stream that broke, until further events arrive.
    broken: Option<Error>,
    continuation: Continuation,
    builder: AnswerBuilder,
    withheld: Withheld,
    /// Events to be returned next.
    ready: VecDeque<Result<Event>>,
    /// Last forwarded status.
    status: Option<Status>,
    started: Instant,
    pause: Duration,
    /// Failures in a row of asking how the work goes.
    failures: u32,
    calls: u32,
    /// Last interim message of the agent about its work.
    interim: Message,
    end: Option<End>,
}

/// How a turn ended.
#[derive(Debug)]
pub(super) struct End {
    /// Complete reply. If the answer is unusable, contains the answer as received.
    pub(super) reply: Reply,
    /// Final message of the agent: the whole answer, unless pieces preceded a question or the reason for a failure.
    pub(super) last: Message,
    /// Result of reading the answer.
    pub(super) answer: Answer,
}

impl End {
    /// The reply, or the error with the agent's reason.
    pub(super) fn into_result(self) -> Result<Reply> {
        match self.reply.state.is_failure() {
            true => Reply { message: self.last, ..self.reply }.into_result(),
            false => Ok(self.reply),
        }
    }
}

enum Phase {
    Beginning(BoxFuture<'static, Result<(Exchange, Choice)>>),
    Receiving(Events),
    Over,
}

impl Turn {
    /// Creates a turn. Nothing is sent before it is polled. With `waits`, the turn waits until the agent is done or
    /// asks a question.
    pub(super) fn new(agent: &Agent, affordance: Affordance, intent: Intent, waits: bool) -> Turn {
        let settings = agent.settings();
        let (caller, target) = (agent.clone(), affordance.clone());
        let sacp = settings.sacp();
        Turn {
            expected: agent.sacp_of_messages(&affordance, sacp),
            affordance,
            choice: None,
            sacp,
            waits,
            gathers: true,
            is_kept: true,
            phase: Phase::Beginning(Box::pin(async move { caller.perform(&target, intent).await })),
            control: None,
            guard: None,
            broken: None,
            continuation: Continuation::default(),
            builder: agent.answer_builder(),
            withheld: Withheld::new(settings.answer_bytes()),
            ready: VecDeque::new(),
            status: None,
            started: Instant::now(),
            pause: FIRST_PAUSE,
            failures: 0,
            calls: 1,
            interim: Message::default(),
            end: None,
            agent: agent.clone(),
        }
    }

    /// Sets whether answers are read as SACP responses, overriding the settings.
    pub(super) fn reading(self, sacp: Sacp) -> Turn {
        Turn { sacp, expected: self.agent.sacp_of_messages(&self.affordance, sacp), ..self }
    }

    /// Sets forwarding of a possibly endless stream. The reply at the end of a long stream is empty.
    pub(super) fn forwarding(self) -> Turn {
        let limit = self.agent.settings().answer_bytes().min(MAX_FORWARDED);
        Turn { gathers: false, builder: AnswerBuilder::new(self.agent.id(), limit), ..self }
    }

    /// Sends the request, unless it was already sent.
    ///
    /// # Errors
    /// Errors before the answer begins. A failure reported by the agent is returned by [`Turn::next`].
    pub(super) async fn begin(&mut self) -> Result<()> {
        let Phase::Beginning(beginning) = &mut self.phase else { return Ok(()) };
        match beginning.await {
            Ok((Exchange { events, control }, choice)) => {
                self.choice.get_or_insert(choice);
                self.control = control.or(self.control.take());
                self.phase = Phase::Receiving(events);
                Ok(())
            }
            Err(error) => match self.continuation.task.clone() {
                Some(task) if self.waits && self.guard.is_some() => self.try_again(task, error),
                _ => self.fail(error),
            },
        }
    }

    /// Returns the next event, or `None` after the last. Canceling the future loses no event.
    pub(super) async fn next(&mut self) -> Option<Result<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let outcome = match &mut self.phase {
                Phase::Over => return None,
                Phase::Beginning(_) => self.begin().await,
                Phase::Receiving(events) => {
                    let event = events.next().await;
                    self.take(event)
                }
            };
            if let Err(error) = outcome {
                self.phase = Phase::Over;
                // What came before isn't lost, whatever it would have become.
                self.ready.extend(self.withheld.take().into_iter().map(Ok));
                self.ready.push_back(Err(error));
                self.guard = None;
            }
        }
    }

    /// Runs the turn to its end.
    ///
    /// # Errors
    /// Errors that end the turn without a usable reply.
    pub(super) async fn finish(&mut self) -> Result<End> {
        while let Some(event) = self.next().await {
            event?;
        }
        self.take_end().ok_or(Error::Cancelled)
    }

    /// Takes the end of the turn, once it has ended, even if [`Turn::next`] failed because the answer violates its
    /// schema.
    pub(super) fn take_end(&mut self) -> Option<End> {
        self.end.take()
    }

    /// Returns the control of the call, or `None` if the call hasn't started or the protocol doesn't support control.
    pub(super) fn control(&self) -> Option<Arc<dyn Control>> {
        self.control.clone()
    }

    /// Returns the number of requests sent, including queries for the state of the work.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// The time since the turn was made.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn take(&mut self, event: Option<Result<Event>>) -> Result<()> {
        match event {
            Some(Ok(Event::Done(reply) | Event::InputRequired(reply))) => self.take_reply(reply),
            Some(Ok(event)) => self.pass_on(event),
            // A binding that ends without a last event has said all that there is.
            None => self.take_reply(Reply::default()),
            Some(Err(error)) => match self.control.as_ref().and_then(|control| control.task()) {
                Some(task) if self.waits && self.broken.is_some() => self.try_again(task, error),
                Some(task) if self.waits && error.is_transient() => self.resume(task, error),
                _ => self.fail(error),
            },
        }
    }

    fn pass_on(&mut self, event: Event) -> Result<()> {
        let event = match event {
            Event::Status(status) => {
                if self.status.as_ref() != Some(&status) {
                    self.status = Some(status.clone());
                    self.ready.push_back(Ok(Event::Status(status)));
                }
                return Ok(());
            }
            // Whole once more: in the snapshot of a task, or after a break.
            Event::Artifact(artifact) if self.is_kept && !artifact.append => {
                let unshown = unshown(&self.builder, &artifact);
                self.keep(&Event::Artifact(artifact))?;
                match unshown {
                    Some(event) => event,
                    None => return Ok(()),
                }
            }
            event => {
                self.keep(&event)?;
                event
            }
        };
        self.broken = None;
        self.failures = 0;
        if matches!(&event, Event::Text(text) if text.is_empty()) {
            return Ok(());
        }
        let passed = self.withheld.pass(event, self.expected);
        self.ready.extend(passed.into_iter().map(Ok));
        Ok(())
    }

    /// Adds an event to the answer. If a forwarded answer becomes too long, its content is discarded.
    fn keep(&mut self, event: &Event) -> Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        match self.builder.push(event) {
            Err(_) if !self.gathers => {
                self.is_kept = false;
                drop(self.builder.take_message());
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Handles the end of an exchange, which is also the end of the turn unless the agent continues.
    fn take_reply(&mut self, mut reply: Reply) -> Result<()> {
        let Continuation { context, task } = std::mem::take(&mut self.continuation);
        reply.continuation.context = reply.continuation.context.or(context);
        if !reply.state.is_final() {
            reply.continuation.task = reply.continuation.task.or(task);
        }
        let goes_on = self.waits && !reply.state.is_final() && !reply.state.needs_input();
        match reply.continuation.task.clone() {
            Some(task) if goes_on => {
                (self.broken, self.failures) = (None, 0);
                if !reply.message.is_empty() {
                    self.interim = reply.message;
                }
                self.continuation = reply.continuation;
                self.query(task)
            }
            None if goes_on => {
                let what = "waiting for unfinished work, since its answer contains no status URL";
                Err(Error::Unsupported { what: what.into() })
            }
            _ => self.finish_with(reply),
        }
    }

    /// Waits, and asks how the work goes.
    fn query(&mut self, task: String) -> Result<()> {
        let (agent, affordance, pause) = self.follow_up()?;
        self.phase = Phase::Beginning(Box::pin(async move {
            sleep(pause).await;
            agent.perform(&affordance, Intent::Request(Request::Query { task: Some(task) })).await
        }));
        Ok(())
    }

    /// Receives the events of a task again whose stream broke off.
    fn resume(&mut self, task: String, broken: Error) -> Result<()> {
        let Ok((agent, affordance, pause)) = self.follow_up() else { return Err(broken) };
        self.continuation.task = Some(task.clone());
        self.broken = Some(broken);
        self.phase = Phase::Beginning(Box::pin(async move {
            sleep(pause).await;
            agent.perform(&affordance, Intent::Request(Request::Resume { task })).await
        }));
        Ok(())
    }

    /// Asks once more how the work goes after that has failed. An agent that can't be asked has lost the answer.
    fn try_again(&mut self, task: String, error: Error) -> Result<()> {
        self.failures += 1;
        let is_worth_it = self.failures == 1 && self.broken.is_some() || error.is_transient();
        if is_worth_it && self.failures < MAX_ATTEMPTS {
            self.continuation.task = Some(task.clone());
            return self.query(task);
        }
        let error = self.broken.take().unwrap_or(error);
        self.fail(error)
    }

    /// Returns the agent with the remaining time limit, and the pause before the next query. The task is canceled if
    /// nobody waits for it any longer.
    fn follow_up(&mut self) -> Result<(Agent, Affordance, Duration)> {
        let settings = self.agent.settings();
        let limited = self.choice.as_ref().map(|choice| settings.limited_by(&choice.form.members));
        let limit = limited.as_ref().unwrap_or(settings).whole_timeout();
        let left = limit.saturating_sub(self.started.elapsed());
        if self.guard.is_none() {
            self.guard = Some(CancelOnDrop::new(self.control.clone()));
        }
        if left.is_zero() {
            return Err(Error::TimedOut { id: self.agent.id().into(), waiting_for: "its work", limit });
        }
        let pause = self.pause.min(left);
        self.pause = (self.pause * 3 / 2).min(MAX_PAUSE);
        self.calls += 1;
        let within = self.agent.update(Settings::new().timeout(left));
        Ok((within, self.affordance.clone(), pause))
    }

    /// Ends the turn with an error. A failure reported by the agent itself becomes a reply.
    fn fail(&mut self, error: Error) -> Result<()> {
        match error {
            Error::Failed { state, message, data } => {
                let text = (!message.is_empty()).then(|| Part::text(message));
                let parts = text.into_iter().chain(data.map(|data| Part::Data { data: *data }));
                self.finish_with(Reply { state, ..Reply::message(Message::agent(parts)) })
            }
            error => Err(error),
        }
    }

    /// Reads the answer, and returns the part that has not been shown yet.
    fn finish_with(&mut self, mut reply: Reply) -> Result<()> {
        self.phase = Phase::Over;
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
        let has_pieces = self.withheld.has_passed;
        let last = reply.message.clone();
        if reply.message.is_empty() && !self.is_kept {
            // The end of a long stream is all that can be read.
            for event in self.withheld.events() {
                self.builder.push(event)?;
            }
        }
        reply = self.builder.complete(reply);
        if reply.message.is_empty() && reply.state == State::Completed {
            reply.message = std::mem::take(&mut self.interim);
        }
        let answer = self.agent.answer(&self.affordance, self.choice.as_ref(), &reply, self.sacp)?;
        let is_response = matches!(answer.kind, Kind::Response(_));
        let withheld = self.withheld.take();
        let has_passed = has_pieces || answer.kind == Kind::Plain && !withheld.is_empty();
        if answer.kind == Kind::Plain {
            self.ready.extend(withheld.into_iter().map(Ok));
        }
        // Pieces that were forwarded satisfy no schema.
        let is_checked = !reply.state.is_failure() && (self.gathers || !has_pieces || is_response);
        if is_checked && let Some(error) = invalid(self.affordance.to_string(), &answer) {
            self.ready.push_back(Err(error));
            self.end = Some(End { reply, last, answer });
            return Ok(());
        }
        let reply = with_answer(reply, &answer);
        let mut said = match is_response || last.is_empty() && !has_passed {
            true => reply.message.clone(),
            false => last,
        };
        if reply.state != State::Completed && !has_passed && !is_response {
            // What was achieved before the question, or the reason, came with it.
            let (results, rest): (Vec<Part>, Vec<Part>) = std::mem::take(&mut said.parts)
                .into_iter()
                .partition(|part| part.media().is_some() || matches!(part, Part::Artifact(_)));
            self.ready.extend(Event::of_parts(results).into_iter().map(Ok));
            said.parts = rest;
        }
        let end = match reply.state {
            state if state.is_failure() => {
                let message = Some(said.clone()).filter(|said| !said.is_empty());
                self.ready.push_back(Ok(Event::Status(Status { state, message, progress: None })));
                Event::Done(reply.clone())
            }
            state if state.needs_input() => Event::InputRequired(Reply { message: said.clone(), ..reply.clone() }),
            _ => {
                if is_response || !has_passed {
                    self.ready.extend(Event::of_parts(textual(&reply.message)).into_iter().map(Ok));
                }
                Event::Done(reply.clone())
            }
        };
        self.ready.push_back(Ok(end));
        self.end = Some(End { reply, last: said, answer });
        Ok(())
    }
}

/// Text, data and thoughts of a message: all else was passed on as it came.
fn textual(message: &Message) -> impl Iterator<Item = Part> {
    let is_textual = |part: &&Part| matches!(part, Part::Text { .. } | Part::Data { .. } | Part::Thinking { .. });
    message.parts.iter().filter(is_textual).cloned().collect::<Vec<_>>().into_iter()
}

/// Returns the new part of a complete artifact: all of it, the text after the known text, or nothing.
fn unshown(known: &AnswerBuilder, artifact: &Artifact) -> Option<Event> {
    let whole = || Some(Event::Artifact(artifact.clone()));
    let Some(before) = known.artifact(&artifact.id).filter(|before| !before.parts.is_empty()) else { return whole() };
    if before.parts == artifact.parts {
        return None;
    }
    let text = Message::agent([Part::Artifact(artifact.clone())]).text();
    let is_text = |parts: &[Part]| parts.iter().all(|part| matches!(part, Part::Text { .. }));
    let shown = Message::agent([Part::Artifact(before.clone())]).text();
    match text.strip_prefix(&shown) {
        Some("") if is_text(&artifact.parts) && is_text(&before.parts) => None,
        Some(rest) if is_text(&artifact.parts) && is_text(&before.parts) => {
            let parts = vec![Part::text(rest)];
            Some(Event::Artifact(Artifact { parts, append: true, ..artifact.clone() }))
        }
        _ => whole(),
    }
}
