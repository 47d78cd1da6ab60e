//! Calls of actions with data.

use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::{Affordance, Agent, Continuation, Exchange, Reply, Request, Result, agent::Intent, turn::Turn};

impl Agent {
    /// Invokes an action with data and returns its output. Members of `data` that are URI variables of the action are
    /// moved into the URL.
    ///
    /// # Errors
    /// Same as [`Agent::ask`]; [`Error::InvalidInput`](super::Error::InvalidInput) and
    /// [`Error::Unconfirmed`](super::Error::Unconfirmed) before anything is sent;
    /// [`Error::InvalidAnswer`](super::Error::InvalidAnswer) if the output violates the schema of the description.
    pub async fn call(&self, action: &str, data: impl Into<Option<Value>>) -> Result<Reply> {
        self.invocation(action, data.into(), false).finish().await?.into_result()
    }

    /// Invokes an action with data. Unlike [`Agent::call`], returns a failure reported by the agent as a reply, with
    /// its state, text, and data.
    ///
    /// # Errors
    /// Same as [`Agent::call`], except [`Error::Failed`](super::Error::Failed).
    pub async fn invoke(&self, action: &str, data: impl Into<Option<Value>>) -> Result<Reply> {
        Ok(self.invocation(action, data.into(), false).finish().await?.reply)
    }

    /// Invokes an action and returns its answers as they arrive, without a limit on their number. The message of the
    /// last event is empty if the answer is longer than 256 KiB. A failure reported by the agent is a final event
    /// with the state of the failure.
    ///
    /// # Errors
    /// Same as [`Agent::invoke`]. An output that arrives in pieces is not checked against its schema.
    pub async fn call_streaming(&self, action: &str, data: impl Into<Option<Value>>) -> Result<Exchange> {
        let mut turn = self.invocation(action, data.into(), true).forwarding();
        turn.begin().await?;
        let control = turn.control();
        let events = stream::unfold(turn, |mut turn| async move { Some((turn.next().await?, turn)) });
        Ok(Exchange { events: events.boxed(), control })
    }

    fn invocation(&self, action: &str, input: Option<Value>, stream: bool) -> Turn {
        let request = Request::Invoke { input, parts: Vec::new(), continuation: Continuation::default(), stream };
        Turn::new(self, Affordance::Action(action.to_owned()), Intent::Request(request), true)
    }
}
