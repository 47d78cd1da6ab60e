//! The interface of protocol bindings: a form and a checked request in, events out.
//!
//! A binding knows how its protocol sends a request and how to read the answers. The caller has already chosen the
//! affordance and the form, checked the input against the action's schema, and resolved the credentials (including
//! fetching an OAuth 2.0 token); it also enforces the time limits. That makes a binding a single type:
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
//! Use [`Consumer::with_binding`](super::Consumer::with_binding) to add a custom binding. The built-in bindings are
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

/// Stream of the events of a call. It ends after [`Event::Done`], [`Event::InputRequired`], or an error. The stream
/// of a subscription ends when either side ends the subscription. Dropping the stream drops the request.
pub type Events = Pin<Box<dyn Stream<Item = Result<Event>> + Send>>;

/// A protocol for calling agents.
pub trait Binding: fmt::Debug + Send + Sync {
    /// Returns the binding's name for explanations and errors, such as `a2a`.
    fn name(&self) -> &'static str;

    /// Returns the [`Fit`] of this binding for an operation with a form, or `None` if it can't perform the operation.
    /// The form need not list the operation. For example, a description may contain only a form for invoking an action,
    /// from which the binding derives how to query the action's status. See [`Form::has_operation`].
    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit>;

    /// Returns the description referred to by the form, such as the agent's card, together with the form to use from
    /// it. The default is `None`: the form itself is complete.
    ///
    /// `call` contains the credentials required by its own description. Before [`Binding::start`], the caller adds the
    /// credentials required by the returned description.
    ///
    /// # Errors
    /// Same as [`Binding::start`].
    fn find_description<'a>(&'a self, call: &'a Call) -> Pending<'a, Option<(Description, Form)>> {
        let _ = call;
        Box::pin(async { Ok(None) })
    }

    /// Sends the request. Resolves once the request is sent and the first answer is known to follow the protocol;
    /// further answers arrive through [`Exchange::events`]. The caller stops polling at the deadline of the call, so
    /// a binding needs no timers, but it must not spawn work that outlives the events.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Protocol`], [`Error::Agent`], [`Error::Status`], and other variants that tell
    /// which side is at fault.
    fn start(&self, call: Call) -> Pending<'_, Exchange>;

    /// Closes connections and cancels work kept between calls, such as calls waiting for an answer of the user.
    ///
    /// # Errors
    /// The built-in bindings return no errors.
    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Suitability of a binding for a form: its rank and its supported features.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fit {
    /// Rank. Of the bindings that fit a form, the binding with the highest rank is used, and forms with a higher rank
    /// are tried first. The built-in bindings use 29 or 30 for protocols made for agents, 20 for transports with a
    /// subprotocol for agents, and 9 or 10 for plain transports.
    pub rank: u8,
    /// True if the binding sends whole messages ([`Request::Message`]). Otherwise a message is first converted to the
    /// input of the action, and arrives as [`Request::Invoke`].
    pub takes_messages: bool,
    /// True if the caller's answer to a question can continue the action that asked it, using the [`Continuation`] of
    /// the request. Otherwise the answer is sent as a new call, together with the preceding conversation if the action
    /// accepts it.
    pub continues: bool,
    /// True if the binding sends earlier turns as separate messages ([`Request::Message`]). Otherwise they are sent as
    /// text if the agent doesn't know them and the action accepts text.
    pub takes_history: bool,
    /// True if answers can be streamed.
    pub streams: bool,
}

/// A single call of an agent, ready to be sent.
#[derive(Debug, Clone)]
pub struct Call {
    /// Description that contains the form.
    pub description: Arc<Description>,
    /// Form to call, with its affordance.
    pub form: Form,
    /// Operation to perform, with its input.
    pub request: Request,
    /// Values of the form's URI variables (`uriVariables`), checked against their schemas.
    pub variables: Map<String, Value>,
    /// Credentials, each with its place in the request. Empty if the agent requires none.
    pub authorization: Vec<Authorization>,
    /// Headers set by the caller, for protocols with headers.
    pub headers: Vec<(String, String)>,
    /// Trace of the call, to be propagated if the protocol supports it.
    pub trace: Option<Trace>,
    /// Limits of time and size.
    pub limits: Limits,
    /// Network access, through which every connection to a URL of a description is opened.
    pub network: Network,
}

/// Operation requested by a caller, with its input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// A message to an agent, for bindings that take messages.
    Message {
        /// The message, including any [`Part::SystemPrompt`] and [`Part::ToolResult`].
        message: Box<Message>,
        /// Earlier turns unknown to the agent, for bindings that send them ([`Fit::takes_history`]).
        history: Vec<Message>,
        /// Ids of the conversation to which the message belongs.
        continuation: Continuation,
        /// True if the answer may be streamed.
        stream: bool,
        /// JSON Schema for the answer.
        schema: Option<Value>,
    },
    /// Invoke an action with input that satisfies its schema.
    Invoke {
        /// Input, if the action takes any.
        input: Option<Value>,
        /// Binary input for forms with a content type other than JSON, in place of `input`.
        parts: Vec<Part>,
        /// Ids of the conversation continued by the input, for bindings with [`Fit::continues`].
        continuation: Continuation,
        /// True if the answer may be streamed.
        stream: bool,
    },
    /// Query the status of an action.
    Query {
        /// Task to query, a value of [`Continuation::task`].
        task: Option<String>,
    },
    /// Cancel an action.
    Cancel {
        /// Task to cancel, a value of [`Continuation::task`].
        task: Option<String>,
    },
    /// Receive the events of a task again after the connection broke.
    Resume {
        /// Id of the task.
        task: String,
    },
    /// List the tasks of the agent.
    Tasks {
        /// Id of the conversation whose tasks are listed; `None` lists all tasks.
        context: Option<String>,
    },
    /// Read a property.
    Read,
    /// Write a property.
    Write(Value),
    /// Subscribe to an event, or observe a property, until the [`Events`] are dropped. Notifications arrive as
    /// [`Event::Notification`].
    Subscribe {
        /// Input of the subscription, for events that declare a schema for it (`subscription`).
        input: Option<Value>,
    },
}

impl Request {
    /// Returns the operation of this request in terms of the Thing Description.
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

    /// Returns the data to send, if any.
    pub fn data(&self) -> Option<&Value> {
        match self {
            Request::Invoke { input, .. } | Request::Subscribe { input } => input.as_ref(),
            Request::Write(value) => Some(value),
            _ => None,
        }
    }

    /// True if repeating the request has no effect on the agent.
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

/// Limits of a call. The caller enforces [`Limits::deadline`] and [`Limits::idle`] while it waits for
/// [`Binding::start`] and for each event. A binding may enforce them itself to fail sooner or with a better message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time at which the call is aborted. `None` for subscriptions.
    pub deadline: Option<Instant>,
    /// Maximum pause between two events. `None` for subscriptions.
    pub idle: Option<Duration>,
    /// Maximum number of bytes of an answer, and of each event of a stream. The caller also applies it to answers
    /// assembled from a stream.
    pub max_bytes: usize,
}

/// A call in progress.
pub struct Exchange {
    /// Events of the call, in order.
    pub events: Events,
    /// Control of the running call. `None` if the protocol supports only a single request and its answer.
    pub control: Option<Arc<dyn Control>>,
}

impl Exchange {
    /// Creates an exchange that consists of a complete reply.
    pub fn reply(reply: Reply) -> Exchange {
        let events = reply.events().into_iter().map(Ok);
        Exchange { events: stream::iter(events.collect::<Vec<_>>()).boxed(), control: None }
    }

    /// Creates an exchange from a stream of events.
    pub fn new(events: impl Stream<Item = Result<Event>> + Send + 'static) -> Exchange {
        Exchange { events: events.boxed(), control: None }
    }

    /// Adds a control for the running call.
    pub fn with_control(self, control: impl Control + 'static) -> Exchange {
        Exchange { control: Some(Arc::new(control)), ..self }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Control of a running call: sends further messages, and cancels, pauses, or resumes the call. By default each
/// operation fails with [`Error::Unsupported`].
pub trait Control: fmt::Debug + Send + Sync {
    /// Sends a further message or further input while answers arrive.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the protocol allows only one request per call.
    fn send(&self, message: Message) -> Pending<'_, ()> {
        drop(message);
        unsupported("further messages during a call")
    }

    /// Returns the id of the agent's task, once the agent has reported it. After a broken connection, the id is used to
    /// receive events again ([`Request::Resume`]) and to query the state ([`Request::Query`]).
    fn task(&self) -> Option<String> {
        None
    }

    /// Asks the agent to stop.
    ///
    /// # Errors
    /// [`Error::Unsupported`], and the error of an agent that refuses.
    fn cancel(&self) -> Pending<'_, ()> {
        unsupported("canceling a call")
    }

    /// Asks the agent to pause.
    ///
    /// # Errors
    /// Same as [`Control::cancel`].
    fn pause(&self) -> Pending<'_, ()> {
        unsupported("pausing a call")
    }

    /// Asks the agent to continue after a pause.
    ///
    /// # Errors
    /// Same as [`Control::cancel`].
    fn resume(&self) -> Pending<'_, ()> {
        unsupported("resuming a call")
    }
}

fn unsupported<'a>(what: &'static str) -> Pending<'a, ()> {
    Box::pin(async move { Err(Error::Unsupported { what: what.into() }) })
}
