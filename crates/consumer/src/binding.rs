//! The interface of protocol bindings: a form and a checked request in, events out.
//!
//! A binding knows how its protocol sends a request and what the answers mean. Everything else is done before it is
//! called: the affordance and the form are chosen, the input is checked against the action's schema, credentials are
//! resolved (an OAuth 2.0 token is fetched), and the whole is bounded by time. So a binding is one type:
//!
//! ```
//! use agentdex_consumer::{Binding, Call, Error, Event, Exchange, Fit, Form, Operation, Pending, Reply};
//!
//! /// Answers with what it is asked.
//! #[derive(Debug)]
//! struct Echo;
//!
//! impl Binding for Echo {
//!     fn name(&self) -> &'static str {
//!         "echo"
//!     }
//!
//!     fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
//!         let is_ours = form.scheme() == "echo" && operation == Operation::InvokeAction;
//!         is_ours.then_some(Fit { rank: 10, ..Fit::default() })
//!     }
//!
//!     fn start(&self, call: Call) -> Pending<'_, Exchange> {
//!         Box::pin(async move {
//!             let input = call.request.data().cloned().unwrap_or_default();
//!             Ok(Exchange::reply(Reply::data(input)))
//!         })
//!     }
//! }
//! ```
//!
//! [`Consumer::with_binding`](super::Consumer::with_binding) adds one of your own; those that come with agentdex are
//! listed in `bindings.rs`.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt, stream};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    Authorization, Continuation, Description, Error, Event, Form, Message, Network, Part, Reply, Result, Trace,
};
pub use crate::td::Operation;

/// A boxed future that resolves to a value or an [`Error`].
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The events of a call, one after another. The stream ends after [`Event::Done`], after [`Event::InputRequired`] or an
/// error; a subscription ends when either side ends it. Dropping it drops the request.
pub type Events = Pin<Box<dyn Stream<Item = Result<Event>> + Send>>;

/// A protocol that agents are called by.
pub trait Binding: fmt::Debug + Send + Sync {
    /// Its name in explanations and errors, such as `a2a`.
    fn name(&self) -> &'static str;

    /// Returns the [`Fit`] of the binding for an operation by a form; none if it can't perform it. The form is one of
    /// the affordance in question, but need not list the operation: a form that invokes an action may be all that a
    /// description has, and a binding knows by it how the action's status is asked for. See [`Form::has_operation`].
    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit>;

    /// Returns the description that the form of a call refers to, such as the agent's card, with the form to use there.
    /// `None`, the default, where the form itself says how the agent is called.
    ///
    /// The call has the credentials that its own description asks for by name. Those that the returned one requires are
    /// resolved before [`Binding::start`] is given both.
    ///
    /// # Errors
    /// As [`Binding::start`].
    fn find_description<'a>(&'a self, call: &'a Call) -> Pending<'a, Option<(Description, Form)>> {
        let _ = call;
        Box::pin(async { Ok(None) })
    }

    /// Sends the request. Resolves once it is sent and the first answer is known to be one of the protocol; what
    /// follows comes through [`Exchange::events`]. The caller stops polling at the deadline of the call, so a binding
    /// needs no timers, but must not detach work that outlives the events.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Protocol`], [`Error::Agent`], [`Error::Status`] and other variants that say
    /// whose fault it is.
    fn start(&self, call: Call) -> Pending<'_, Exchange>;

    /// Ends what the binding keeps open between calls, such as calls that wait for the answer of a user.
    ///
    /// # Errors
    /// None in the bindings that come with agentdex.
    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// The suitability of a binding for a form: its rank, and the features that it supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fit {
    /// Of several that fit, the one with the highest rank is taken: 30 for a protocol made for agents, 20 for one with
    /// a subprotocol of agents, 10 for a plain transport.
    pub rank: u8,
    /// True if it sends whole messages ([`Request::Message`]). Otherwise a message is turned into the input of the
    /// action first, and comes as [`Request::Invoke`].
    pub takes_messages: bool,
    /// True if an answer to a question continues the action that asked, by the [`Continuation`] of the request. Otherwise the
    /// answer comes with the conversation before it, if the action takes one.
    pub continues: bool,
    /// True if it sends earlier turns as messages of their own ([`Request::Message`]). Otherwise an agent that doesn't know them
    /// gets them as a text, if its action takes one.
    pub takes_history: bool,
    /// True if an answer can come in pieces.
    pub streams: bool,
}

/// One call of an agent, ready to be sent.
#[derive(Debug, Clone)]
pub struct Call {
    /// The description that the form is from.
    pub description: Arc<Description>,
    /// The form that is called, with its affordance.
    pub form: Form,
    /// The operation to perform, with its input.
    pub request: Request,
    /// The values of the form's URI variables (`uriVariables`), checked against their schemas.
    pub variables: Map<String, Value>,
    /// Credentials, each with its place; empty where nothing is required.
    pub authorization: Vec<Authorization>,
    /// Headers that the caller sets, for protocols that have headers.
    pub headers: Vec<(String, String)>,
    /// The trace that the call belongs to, to be passed on where the protocol can.
    pub trace: Option<Trace>,
    /// The bounds.
    pub limits: Limits,
    /// Connections: every URL from a description is opened through it.
    pub network: Network,
}

/// An operation that a caller requests of an agent, with its input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// A message to an agent, for bindings that take messages.
    Message {
        /// The message; service messages are in it.
        message: Box<Message>,
        /// Earlier turns that the agent doesn't know, for bindings that take them ([`Fit::takes_history`]).
        history: Vec<Message>,
        /// The conversation it belongs to.
        continuation: Continuation,
        /// True if the answer may come in pieces.
        stream: bool,
        /// The JSON Schema that the answer should satisfy.
        schema: Option<Value>,
    },
    /// Invoke an action with input that satisfies its schema.
    Invoke {
        /// The input, if the action takes some.
        input: Option<Value>,
        /// Binary input, in place of `input`, for forms whose content is not JSON.
        parts: Vec<Part>,
        /// The conversation that the input continues, for bindings that do so ([`Fit::continues`]).
        continuation: Continuation,
        /// True if the answer may come in pieces.
        stream: bool,
    },
    /// Ask how an action goes.
    Query {
        /// Its task, as [`Continuation::task`] has it.
        task: Option<String>,
    },
    /// Cancel an action.
    Cancel {
        /// Its task.
        task: Option<String>,
    },
    /// Receive the events of a task again, after the connection broke.
    Resume {
        /// The task.
        task: String,
    },
    /// List the tasks of the agent.
    Tasks {
        /// Only those of this conversation.
        context: Option<String>,
    },
    /// Read a property.
    Read,
    /// Write a property.
    Write(Value),
    /// Receive an event, or the changes of a property, until the events are dropped. They come as
    /// [`Event::Notification`].
    Subscribe {
        /// The input of the subscription (`subscription` of the event), if it takes some.
        input: Option<Value>,
    },
}

impl Request {
    /// The operation of the description that this is.
    pub fn operation(&self) -> Operation {
        match self {
            Request::Message { .. } | Request::Invoke { .. } => Operation::InvokeAction,
            Request::Query { .. } => Operation::QueryAction,
            Request::Tasks { .. } => Operation::QueryAllActions,
            Request::Cancel { .. } => Operation::CancelAction,
            Request::Resume { .. } | Request::Subscribe { .. } => Operation::SubscribeEvent,
            Request::Read => Operation::ReadProperty,
            Request::Write(_) => Operation::WriteProperty,
        }
    }

    /// The data that is sent, if any.
    pub fn data(&self) -> Option<&Value> {
        match self {
            Request::Invoke { input, .. } | Request::Subscribe { input } => input.as_ref(),
            Request::Write(value) => Some(value),
            _ => None,
        }
    }

    /// True if repeating it changes nothing.
    pub fn is_safe(&self) -> bool {
        matches!(
            self,
            Request::Query { .. }
                | Request::Tasks { .. }
                | Request::Read
                | Request::Resume { .. }
                | Request::Subscribe { .. }
        )
    }
}

/// The bounds of a call. The caller enforces both times around [`Binding::start`] and each event; bindings use them
/// where they can do so sooner or say more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When everything must be over; none for subscriptions.
    pub deadline: Option<Instant>,
    /// The longest pause between two events; none for subscriptions.
    pub idle: Option<Duration>,
    /// The most bytes of one answer, and of one event of a stream. The caller applies it to what it gathers of a stream.
    pub max_bytes: usize,
}

/// A call that was sent.
pub struct Exchange {
    /// The events of the call, in order.
    pub events: Events,
    /// Control of the call while it runs; none where the protocol has one answer and nothing else.
    pub control: Option<Arc<dyn Control>>,
}

impl Exchange {
    /// One that is over with its first answer.
    pub fn reply(reply: Reply) -> Exchange {
        let events = reply.events().into_iter().map(Ok);
        Exchange { events: stream::iter(events.collect::<Vec<_>>()).boxed(), control: None }
    }

    /// One whose events are to come.
    pub fn new(events: impl Stream<Item = Result<Event>> + Send + 'static) -> Exchange {
        Exchange { events: events.boxed(), control: None }
    }

    /// With what can be done about it.
    pub fn with_control(self, control: impl Control + 'static) -> Exchange {
        Exchange { control: Some(Arc::new(control)), ..self }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Control of a call under way: further messages, cancel, pause and resume. Each is refused unless the protocol
/// can do it.
pub trait Control: fmt::Debug + Send + Sync {
    /// Sends a further message, or further input, while the answers come.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the protocol has one request a call.
    fn send(&self, message: Message) -> Pending<'_, ()> {
        drop(message);
        unsupported("a further message during a call")
    }

    /// The task that the agent works on, once it has said so: its events can be received again after a break
    /// ([`Request::Resume`]), and its state can be queried ([`Request::Query`]).
    fn task(&self) -> Option<String> {
        None
    }

    /// Asks the agent to stop.
    ///
    /// # Errors
    /// [`Error::Unsupported`], and what the agent refuses.
    fn cancel(&self) -> Pending<'_, ()> {
        unsupported("cancelling a call")
    }

    /// Asks the agent to wait.
    ///
    /// # Errors
    /// As [`Control::cancel`].
    fn pause(&self) -> Pending<'_, ()> {
        unsupported("pausing a call")
    }

    /// Asks the agent to continue.
    ///
    /// # Errors
    /// As [`Control::cancel`].
    fn resume(&self) -> Pending<'_, ()> {
        unsupported("resuming a call")
    }
}

fn unsupported<'a>(what: &'static str) -> Pending<'a, ()> {
    Box::pin(async move { Err(Error::Unsupported { what: what.into() }) })
}
