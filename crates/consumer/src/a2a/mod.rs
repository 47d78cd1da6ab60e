//! A2A, versions 0.3 and 1.0, over JSON-RPC and HTTP+JSON.
//!
//! The form of an action, as written by the converter of agent cards, names the binding, version, and tenant of an
//! interface. All other methods are derived from it:
//!
//! | request | 0.3 JSON-RPC | 1.0 JSON-RPC | HTTP+JSON |
//! |---|---|---|---|
//! | message | `message/send` | `SendMessage` | `POST …/message:send` |
//! | message with a streamed answer | `message/stream` | `SendStreamingMessage` | `POST …/message:stream` |
//! | status of a task | `tasks/get` | `GetTask` | `GET …/tasks/{id}` |
//! | cancellation of a task | `tasks/cancel` | `CancelTask` | `POST …/tasks/{id}:cancel` |
//! | renewed subscription to a task | `tasks/resubscribe` | `SubscribeToTask` | `GET …/tasks/{id}:subscribe` |
//! | list of tasks | – | `ListTasks` | `GET …/tasks` |
//!
//! A form may name the URL of an agent card instead (`a2a:agentCard`, from an `A2AAgent` of Agent Spec). The call
//! then uses the card's interface and the credentials required by the card.
//!
//! The schema of a typed answer is sent in the metadata of the message as [`SCHEMA_METADATA`], together with
//! `application/json` in `acceptedOutputModes`. The cost reported by an agent is read from the members `cost` and
//! `usage` of the metadata of its message or task.

mod card;
mod endpoint;
mod read;
mod run;
mod spoken;
mod write;

pub use self::write::SCHEMA_METADATA;
use super::{Binding, Call, Description, Exchange, Fit, Form, Operation, Pending};

/// A2A over HTTP, as a [`Binding`].
#[derive(Debug, Clone, Copy, Default)]
pub struct A2a;

impl Binding for A2a {
    fn name(&self) -> &'static str {
        "a2a"
    }

    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
        let endpoint = endpoint::Endpoint::of(form)?;
        let is_possible = matches!(
            operation,
            Operation::InvokeAction
                | Operation::QueryAction
                | Operation::CancelAction
                | Operation::SubscribeEvent
                | Operation::QueryAllActions
        );
        let rank = if endpoint.is_rpc { 30 } else { 29 };
        is_possible.then_some(Fit { rank, takes_messages: true, continues: true, streams: true, ..Fit::default() })
    }

    fn find_description<'a>(&'a self, call: &'a Call) -> Pending<'a, Option<(Description, Form)>> {
        Box::pin(async move {
            match card::url(&call.form) {
                Some(url) => card::fetch(call, url).await,
                None => Ok(None),
            }
        })
    }

    fn start(&self, call: Call) -> Pending<'_, Exchange> {
        Box::pin(run::run(call))
    }
}
