//! One turn: a message or an input goes to an agent, and what follows until it is the caller's turn again: a result, a failure,
//! or a question.
//!
//! Every command and every call of the library goes through here, so that an agent is understood the same whoever asks, and
//! however the answer comes. A turn
//! 1. sends the request ([`Agent::perform`]);
//! 2. passes on the pieces of the answer, but holds back what may become a response of SACP, which people don't read;
//! 3. waits while the agent goes on by itself: it queries the task, and receives its events again if their stream broke;
//! 4. reads the answer with [`read_answer`](crate::sacp::read_answer), and ends with [`Event::Done`], [`Event::InputRequired`], or
//!    an error. A failure that the agent reports is no error here: its reply has the state, text, and data.

mod withheld;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture};
use tokio::time::{Instant, sleep};

use self::withheld::Withheld;
use super::{
    Affordance, Agent, Artifact, Continuation, Control, Error, Event, Events, Exchange, Message, Part, Reply, Request,
    Result, Status,
    agent::Intent,
    answer::{invalid, with_answer},
    answer_builder::AnswerBuilder,
};
use crate::sacp::{Answer, Expected, Given, Kind, Sacp, read_answer};

/// The pause before an agent is asked for the first time how its work goes. Each is half as long again as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest of these pauses.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// How often in a row the events of a task are received again although nothing new came in between.
const MAX_RESUMPTIONS: u32 = 3;

/// A turn under way. Dropping it cancels the call where the protocol can.
pub(super) struct Turn {
    agent: Agent,
    affordance: Affordance,
    sacp: Sacp,
    /// True if work that goes on without the caller is waited for.
    waits: bool,
    /// True if what was passed on is gathered, within the limit of an answer. Otherwise a stream may be endless.
    gathers: bool,
    phase: Phase,
    control: Option<Arc<dyn Control>>,
    continuation: Continuation,
    builder: AnswerBuilder,
    withheld: Withheld,
    /// What is to be passed on next.
    ready: VecDeque<Result<Event>>,
    /// The status that was passed on last.
    status: Option<Status>,
    started: Instant,
    pause: Duration,
    resumptions: u32,
    calls: u32,
    end: Option<End>,
}

/// How a turn ended.
#[derive(Debug)]
pub(super) struct End {
    /// The reply, whole, as it was read. One whose answer can't be used is as it came.
    pub(super) reply: Reply,
    /// What the agent said at the end: all of the answer, unless pieces came before a question or the reason of a failure.
    pub(super) last: Message,
    /// What was read of it.
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
    Beginning(BoxFuture<'static, Result<Exchange>>),
    Receiving(Events),
    Over,
}

impl Turn {
    /// A turn that sends nothing before it is polled. `waits`: until the agent is done or asks.
    ///
    /// # Errors
    /// If the description has no action for a message.
    pub(super) fn new(agent: &Agent, intent: Intent, waits: bool) -> Result<Turn> {
        let settings = agent.all_settings();
        let affordance = match &intent {
            Intent::Message { .. } => agent.message_action(&settings)?.0,
            Intent::Request(affordance, _) => affordance.clone(),
        };
        let caller = agent.clone();
        Ok(Turn {
            affordance,
            sacp: settings.sacp(),
            waits,
            gathers: true,
            phase: Phase::Beginning(Box::pin(async move { caller.perform(intent).await })),
            control: None,
            continuation: Continuation::default(),
            builder: agent.answer_builder(),
            withheld: Withheld::default(),
            ready: VecDeque::new(),
            status: None,
            started: Instant::now(),
            pause: FIRST_PAUSE,
            resumptions: 0,
            calls: 1,
            end: None,
            agent: agent.clone(),
        })
    }

    /// The same turn with answers read as responses of SACP or not, whatever the settings say.
    pub(super) fn reading(self, sacp: Sacp) -> Turn {
        Turn { sacp, ..self }
    }

    /// The same turn, of which only what isn't passed on yet is kept: the reply at its end is empty if pieces came.
    pub(super) fn forwarding(self) -> Turn {
        Turn { gathers: false, ..self }
    }

    /// Sends the request, unless it was sent.
    ///
    /// # Errors
    /// What the call fails with before an answer begins. A failure that the agent reports is passed on by [`Turn::next`].
    pub(super) async fn begin(&mut self) -> Result<()> {
        let Phase::Beginning(beginning) = &mut self.phase else { return Ok(()) };
        match beginning.await {
            Ok(Exchange { events, control }) => {
                self.control = control.or(self.control.take());
                self.phase = Phase::Receiving(events);
                Ok(())
            }
            Err(error) => self.fail(error),
        }
    }

    /// The next event; none after the last. Dropping the future loses nothing.
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
                return Some(Err(error));
            }
        }
    }

    /// Goes on to the end of the turn.
    ///
    /// # Errors
    /// What ends the turn without a reply that can be used.
    pub(super) async fn finish(&mut self) -> Result<End> {
        while let Some(event) = self.next().await {
            event?;
        }
        self.take_end().ok_or(Error::Cancelled)
    }

    /// How the turn ended, once it has: also if [`Turn::next`] gave an error because the answer breaks its schema.
    pub(super) fn take_end(&mut self) -> Option<End> {
        self.end.take()
    }

    /// Control of the call; none before it began, or if its protocol has none.
    pub(super) fn control(&self) -> Option<Arc<dyn Control>> {
        self.control.clone()
    }

    /// Requests that were sent: one, and those that asked how the work goes.
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
                Some(task) if self.waits && error.is_transient() && self.resumptions < MAX_RESUMPTIONS => {
                    self.resume(task, error)
                }
                _ => self.fail(error),
            },
        }
    }

    fn pass_on(&mut self, event: Event) -> Result<()> {
        let is_kept = self.gathers || !self.withheld.has_passed;
        let event = match event {
            Event::Status(status) => {
                if self.status.as_ref() != Some(&status) {
                    self.resumptions = 0;
                    self.status = Some(status.clone());
                    self.ready.push_back(Ok(Event::Status(status)));
                }
                return Ok(());
            }
            // Whole once more: in the snapshot of a task, or after a break.
            Event::Artifact(artifact) if is_kept && !artifact.append => {
                let unshown = unshown(&self.builder, &artifact);
                self.builder.push(&Event::Artifact(artifact))?;
                match unshown {
                    Some(event) => event,
                    None => return Ok(()),
                }
            }
            event => {
                if is_kept {
                    self.builder.push(&event)?;
                }
                event
            }
        };
        if matches!(&event, Event::Text(text) if text.is_empty()) {
            return Ok(());
        }
        self.resumptions = 0;
        let passed = self.withheld.pass(event, self.expected_sacp());
        self.ready.extend(passed.into_iter().map(Ok));
        if !self.gathers && self.withheld.has_passed {
            drop(self.builder.take_message());
        }
        Ok(())
    }

    /// What the description and the caller say of responses in SACP.
    fn expected_sacp(&self) -> Sacp {
        self.agent.sacp_of_messages(&self.affordance, self.sacp)
    }

    /// The end of an exchange, which is that of the turn unless the agent goes on.
    fn take_reply(&mut self, mut reply: Reply) -> Result<()> {
        let Continuation { context, task } = std::mem::take(&mut self.continuation);
        reply.continuation.context = reply.continuation.context.or(context);
        if !reply.state.is_final() {
            reply.continuation.task = reply.continuation.task.or(task);
        }
        let goes_on = self.waits && !reply.state.is_final() && !reply.state.needs_input();
        match reply.continuation.task.clone() {
            Some(task) if goes_on => {
                self.continuation = reply.continuation;
                self.query(task)
            }
            _ => self.finish_with(reply),
        }
    }

    /// Waits, and asks how the work goes.
    fn query(&mut self, task: String) -> Result<()> {
        self.check_time()?;
        let (agent, affordance, pause) = (self.agent.clone(), self.affordance.clone(), self.pause);
        self.pause = (pause * 3 / 2).min(MAX_PAUSE);
        self.calls += 1;
        self.phase = Phase::Beginning(Box::pin(async move {
            sleep(pause).await;
            agent.request(affordance, Request::Query { task: Some(task) }).await
        }));
        Ok(())
    }

    /// Receives the events of a task again whose stream broke off. Where that isn't possible, asks how the work goes.
    fn resume(&mut self, task: String, broken: Error) -> Result<()> {
        if self.check_time().is_err() {
            return Err(broken);
        }
        let (agent, affordance, pause) = (self.agent.clone(), self.affordance.clone(), self.pause);
        self.resumptions += 1;
        self.calls += 1;
        self.continuation.task = Some(task.clone());
        self.phase = Phase::Beginning(Box::pin(async move {
            sleep(pause).await;
            let again = agent.request(affordance.clone(), Request::Resume { task: task.clone() }).await;
            let queried = match again {
                Err(_) => agent.request(affordance, Request::Query { task: Some(task) }).await,
                again => again,
            };
            // An agent that can do neither has lost the answer.
            queried.map_err(|_| broken)
        }));
        Ok(())
    }

    fn check_time(&self) -> Result<()> {
        let limit = self.agent.all_settings().whole_timeout();
        if self.started.elapsed() + self.pause > limit {
            return Err(Error::TimedOut { id: self.agent.id().into(), waiting_for: "the end of its work", limit });
        }
        Ok(())
    }

    /// The end of the turn by an error. What the agent itself reports as its failure is a reply.
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

    /// Reads the answer, and passes on what people haven't seen of it.
    fn finish_with(&mut self, reply: Reply) -> Result<()> {
        self.phase = Phase::Over;
        let last = reply.message.clone();
        let reply = self.builder.complete(reply);
        let is_forwarded = !self.gathers && reply.message.is_empty();
        let answer = match is_forwarded {
            true => read_answer(&Given::default(), &Expected::any(Sacp::Off)),
            false => self.agent.answer(&self.affordance, &reply, self.sacp)?,
        };
        let is_response = matches!(answer.kind, Kind::Response(_));
        let withheld = self.withheld.take();
        if answer.kind == Kind::Plain {
            self.ready.extend(withheld.into_iter().map(Ok));
        }
        if !reply.state.is_failure()
            && let Some(error) = invalid(self.affordance.to_string(), &answer)
        {
            self.ready.push_back(Err(error));
            self.end = Some(End { reply, last, answer });
            return Ok(());
        }
        let reply = if is_forwarded { reply } else { with_answer(reply, &answer) };
        let said = if is_response || last.is_empty() { reply.message.clone() } else { last };
        let end = match reply.state {
            state if state.is_failure() => {
                let message = Some(said.clone()).filter(|said| !said.is_empty());
                self.ready.push_back(Ok(Event::Status(Status { state, message, progress: None })));
                Event::Done(reply.clone())
            }
            state if state.needs_input() => Event::InputRequired(Reply { message: said.clone(), ..reply.clone() }),
            _ => {
                if is_response || !self.withheld.has_passed {
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

/// What is new of an artifact that comes whole: all of it, the text after what is known, or nothing.
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
