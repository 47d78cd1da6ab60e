//! Actions that are called with data.

use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::{Affordance, Agent, Continuation, Exchange, Reply, Request, Result, agent::Intent, turn::Turn};

impl Agent {
    /// Invokes an action with data and returns its output. Members of the data that are URI variables of the action
    /// go into the URL.
    ///
    /// # Errors
    /// As [`Agent::ask`]; [`Error::InvalidInput`](super::Error::InvalidInput) and [`Error::Unconfirmed`](super::Error::Unconfirmed) before anything is sent,
    /// [`Error::InvalidAnswer`](super::Error::InvalidAnswer) where the output is not what the description says.
    pub async fn call(&self, action: &str, data: impl Into<Option<Value>>) -> Result<Reply> {
        self.invocation(action, data.into(), false).finish().await?.into_result()
    }

    /// Invokes an action with data. A failure that the agent reports is a reply as well, with its state, text, and data.
    ///
    /// # Errors
    /// As [`Agent::call`], but for [`Error::Failed`](super::Error::Failed).
    pub async fn invoke(&self, action: &str, data: impl Into<Option<Value>>) -> Result<Reply> {
        Ok(self.invocation(action, data.into(), false).finish().await?.reply)
    }

    /// Invokes an action and returns the answers as they come, however many. The message at the end is empty if the answer is longer
    /// than 256 KiB. A failure that the agent reports is an end as well, with its state.
    ///
    /// # Errors
    /// As [`Agent::call`], but for the schema of the output, which pieces don't satisfy.
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
