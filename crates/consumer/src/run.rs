//! Execution of chains of agents: each node calls an agent, and its answer determines the next nodes.
//!
//! In addition to the rules of [`sacp`](crate::sacp):
//! - An agent is found by its id or by a capability ([`Router`](super::Router)). If no agent is registered under the
//!   id, a description contained in the chain is used. Like an agent found by a search, it receives no credential
//!   without an origin.
//! - An answer that is a SACP response is read as such. Otherwise its text is the message and its data is the data
//!   (values other than objects become the member `result`). If the action declares `sacp:Response`, an unreadable
//!   answer is a failure, as specified in section 7.2.
//! - A node with `sacp` instructs its agent to answer in SACP
//!   ([`Settings::sacp_instructions`](super::Settings::sacp_instructions)), and treats any other answer as a failure.
//! - If a later agent requests another attempt, the agent receives the same input with the instruction: in the member
//!   `instruction` or another free-text member, or as an additional text if it accepts messages.
//! - A failed call is a failure of its node, which can be handled by edges with `on_error`.

mod call;
mod event;

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, PoisonError},
    task::Poll,
    time::Duration,
};

use futures_util::{Stream, future::BoxFuture, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

pub use self::event::RunEvent;
use self::{
    call::{Caller, Controls},
    event::Answered,
};
use super::{Consumer, Control, Error, Result};
use crate::sacp::{Chain, Outcome, Place, State, Task};

/// Maximum total time for the calls of a run unless it is set.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Default maximum number of calls of a run.
const MAX_CALLS: u32 = 1000;
/// Maximum number of parallel calls of a run.
const MAX_PARALLEL: usize = 16;
/// Maximum number of unread events; calls wait while there are as many.
const MAX_EVENTS: usize = 64;
/// Maximum time for the cancellation of a call.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A running chain.
///
/// ```no_run
/// # async fn example(consumer: agentdex_consumer::Consumer) -> Result<(), Box<dyn std::error::Error>> {
/// use agentdex_consumer::RunEvent;
/// use agentdex_sacp::Chain;
///
/// let chain = Chain::new(serde_json::json!({
///     "start": "writer",
///     "nodes": {
///         "writer": {"capability": "write"},
///         "translator": {"agent": "urn:example:translator", "action": "translate", "input": "{{writer.message}}"},
///     },
///     "edges": [{"from": "writer", "to": "translator"}],
/// }))?;
/// let mut run = consumer.run(chain, "Something about the weather in Bonn");
/// while let Some(event) = run.next().await {
///     match event {
///         RunEvent::Started { node, title, .. } => println!("{node}: {title}"),
///         RunEvent::NeedsInput { message, .. } => {
///             println!("{message}");
///             run.answer("Yes.");
///         }
///         _ => {}
///     }
///     std::fs::write("run.json", run.to_json())?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// After each event the run can be stored ([`Run::to_json`]) and later resumed in another process
/// ([`Consumer::resume`]). Calls interrupted that way are repeated. Dropping a run drops its calls, and cancels the
/// tasks of agents whose protocol supports that.
pub struct Run {
    consumer: Consumer,
    chain: Arc<Chain>,
    state: State,
    limits: RunLimits,
    /// Number of agents called, and the time spent on the calls.
    calls: u32,
    spent: Duration,
    under_way: Vec<(Place, BoxFuture<'static, Answered>)>,
    controls: Controls,
    /// Questions already reported.
    asked: HashSet<Place>,
    ready: VecDeque<RunEvent>,
    events: mpsc::Receiver<RunEvent>,
    sender: mpsc::Sender<RunEvent>,
    has_ended: bool,
}

/// The bounds of a run.
#[derive(Debug, Clone, Copy)]
struct RunLimits {
    timeout: Duration,
    max_calls: u32,
    /// True if the agents of the chain count as named by the caller.
    is_named: bool,
}

/// A run as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored<S> {
    state: S,
    #[serde(default)]
    calls: u32,
}

enum Next {
    Event(RunEvent),
    Answered(Place, Answered),
    TimedOut,
}

impl Consumer {
    /// Starts a run of a chain. No agent is called before [`Run::next`].
    pub fn run(&self, chain: impl Into<Arc<Chain>>, input: impl Into<Value>) -> Run {
        let chain = chain.into();
        let state = chain.start(input.into());
        Run::new(self.clone(), chain, state, 0)
    }

    /// Resumes a run stored with [`Run::to_json`].
    ///
    /// # Errors
    /// [`Error::InvalidHistory`] if `stored` is not a run of this chain.
    pub fn resume(&self, chain: impl Into<Arc<Chain>>, stored: &str) -> Result<Run> {
        let chain = chain.into();
        let invalid = |reason: String| Error::InvalidHistory { reason };
        let stored: Stored<Value> = serde_json::from_str(stored).map_err(|error| invalid(error.to_string()))?;
        let state = chain.restore(&stored.state.to_string()).map_err(|error| invalid(error.to_string()))?;
        Ok(Run::new(self.clone(), chain, state, stored.calls))
    }
}

impl Run {
    fn new(consumer: Consumer, chain: Arc<Chain>, state: State, calls: u32) -> Run {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let limits = RunLimits { timeout: TIMEOUT, max_calls: MAX_CALLS, is_named: true };
        Run {
            consumer,
            chain,
            state,
            limits,
            calls,
            spent: Duration::ZERO,
            under_way: Vec::new(),
            controls: Controls::default(),
            asked: HashSet::new(),
            ready: VecDeque::new(),
            events,
            sender,
            has_ended: false,
        }
    }

    /// Limits the total time spent waiting for calls; 30 minutes by default. Excludes the time waiting for the user
    /// and the time before [`Consumer::resume`].
    pub fn timeout(mut self, limit: Duration) -> Run {
        self.limits.timeout = limit;
        self
    }

    /// Limits the number of calls, including calls before the run was stored; 1,000 by default.
    pub fn max_calls(mut self, limit: u32) -> Run {
        self.limits.max_calls = limit;
        self
    }

    /// Marks the chain as written by a third party. Its agents are then treated like agents found by a search:
    /// credentials without an origin are not sent to them.
    pub fn of_others(mut self) -> Run {
        self.limits.is_named = false;
        self
    }

    /// Runs the chain until the next event. Returns `None` if the run has ended, or if it can only continue after
    /// [`Run::answer`].
    pub async fn next(&mut self) -> Option<RunEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            self.report();
            if !self.ready.is_empty() {
                continue;
            }
            self.begin();
            if self.under_way.is_empty() {
                // A bound of the run may have ended it.
                self.report();
                return self.ready.pop_front();
            }
            match self.wait().await {
                Next::Event(event) => return Some(event),
                Next::Answered(place, answered) => self.take(&place, answered),
                Next::TimedOut => {
                    let reason =
                        format!("the calls of the run took longer than {} s in total", self.limits.timeout.as_secs());
                    self.stop(&reason);
                }
            }
        }
    }

    /// Converts the run into a stream of its events, which ends with the run or at the first question.
    pub fn events(self) -> impl Stream<Item = RunEvent> + Send {
        stream::unfold(self, |mut run| async move { Some((run.next().await?, run)) })
    }

    /// Runs the chain to its end or to the first question. Returns the outcome if the run has ended.
    pub async fn finish(&mut self) -> Option<&Outcome> {
        while self.next().await.is_some() {}
        self.outcome()
    }

    /// Answers the first open question on behalf of the user. Returns false if no question is open.
    pub fn answer(&mut self, answer: impl Into<Value>) -> bool {
        let place = self.chain.due(&self.state).into_iter().find_map(|due| match due.task {
            Task::Ask { .. } => Some(due.place),
            Task::Call { .. } => None,
        });
        place.is_some_and(|place| self.chain.answer(&mut self.state, &place, answer.into()))
    }

    /// Returns the first open question, or `None` if no question is open.
    pub fn question(&self) -> Option<&str> {
        self.chain.due(&self.state).into_iter().find_map(|due| match due.task {
            Task::Ask { message } => Some(message),
            Task::Call { .. } => None,
        })
    }

    /// Returns the outcome if the run has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.outcome()
    }

    /// Returns the current state of the chain.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Serializes the run as JSON for storage. See [`Consumer::resume`].
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists have a JSON form.
        serde_json::to_string(&Stored { state: &self.state, calls: self.calls }).unwrap_or_default()
    }

    /// Cancels the run: drops its calls, and asks agents to stop if their protocol supports that. A state stored
    /// earlier can still be resumed.
    pub async fn cancel(&mut self) {
        let controls = std::mem::take(&mut *self.controls.lock().unwrap_or_else(PoisonError::into_inner));
        let cancel = |control: Arc<dyn Control>| async move { timeout(CANCEL_TIMEOUT, control.cancel()).await };
        futures_util::future::join_all(controls.into_iter().map(|(_, control)| cancel(control))).await;
        self.stop("the run was canceled");
    }

    fn stop(&mut self, reason: &str) {
        self.chain.stop(&mut self.state, reason);
        self.under_way.clear();
    }

    /// Reports notices, questions, and the end.
    fn report(&mut self) {
        self.ready.extend(std::mem::take(&mut self.state.notices).into_iter().map(RunEvent::from));
        for due in self.chain.due(&self.state) {
            if let Task::Ask { message } = due.task
                && self.asked.insert(due.place)
            {
                self.ready.push_back(RunEvent::NeedsInput { node: due.name, message: message.to_owned() });
            }
        }
        if let (Some(outcome), false) = (self.state.outcome(), self.has_ended) {
            self.ready.push_back(RunEvent::Ended(outcome.clone()));
            self.has_ended = true;
        }
    }

    /// Starts calls that are due, and drops calls that no longer are.
    fn begin(&mut self) {
        let due = self.chain.due(&self.state);
        let is_due = |place: &Place| due.iter().any(|due| due.place == *place);
        self.under_way.retain(|(place, _)| is_due(place));
        self.controls.lock().unwrap_or_else(PoisonError::into_inner).retain(|(place, _)| is_due(place));
        for due in due {
            let Task::Call { node, input } = due.task else { continue };
            let is_begun = self.under_way.iter().any(|(place, _)| *place == due.place);
            if is_begun || self.under_way.len() >= MAX_PARALLEL {
                continue;
            }
            if self.calls >= self.limits.max_calls {
                let reason = format!("the run has reached its limit of {} calls", self.calls);
                return self.stop(&reason);
            }
            self.calls += 1;
            let caller = Caller {
                consumer: self.consumer.clone(),
                name: due.name,
                place: due.place.clone(),
                is_named: self.limits.is_named,
                controls: self.controls.clone(),
                events: self.sender.clone(),
            };
            let (node, input, conversation) = (node.clone(), input.clone(), due.conversation.cloned());
            let instruction = due.instruction.map(str::to_owned);
            let call = async move { caller.call(&node, &input, instruction.as_deref(), conversation.as_ref()).await };
            self.under_way.push((due.place, Box::pin(call)));
        }
    }

    async fn wait(&mut self) -> Next {
        let since = Instant::now();
        let until = since + self.limits.timeout.saturating_sub(self.spent);
        let (events, under_way) = (&mut self.events, &mut self.under_way);
        let answered = poll_fn(|context| {
            for index in 0..under_way.len() {
                if let Poll::Ready(answered) = Pin::new(&mut under_way[index].1).poll(context) {
                    let (place, _) = under_way.swap_remove(index);
                    return Poll::Ready(Next::Answered(place, answered));
                }
            }
            Poll::Pending
        });
        let next = tokio::select! {
            biased;
            Some(event) = events.recv() => Next::Event(event),
            next = answered => next,
            () = tokio::time::sleep_until(until) => Next::TimedOut,
        };
        self.spent += since.elapsed();
        next
    }

    fn take(&mut self, place: &Place, answered: Answered) {
        // What the call said before it ended comes first.
        while let Ok(event) = self.events.try_recv() {
            self.ready.push_back(event);
        }
        self.chain.remember(&mut self.state, place, answered.conversation.clone());
        self.chain.take(&mut self.state, place, answered.response.clone());
        self.ready.push_back(answered.into_event());
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("state", &self.state).field("calls", &self.calls).finish_non_exhaustive()
    }
}
