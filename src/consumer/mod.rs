//! From finding an agent to talking with it, whatever it speaks.
//!
//! A [`Consumer`] asks a directory (an embedded [`Registry`](crate::Registry) or a
//! [`RegistryClient`](crate::client::RegistryClient)) for an agent, chooses one of the forms of its description that a
//! binding can use, checks the input against the description's schema, resolves credentials and calls it.
//!
//! ```ignore
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use agentdex::{client::RegistryClient, consumer::Consumer};
//!
//! let consumer = Consumer::new(RegistryClient::new("http://127.0.0.1:8080")?)?;
//! let agent = consumer.find("weather forecast").await?;
//! let conversation = agent.ask("Will it rain in Bonn?").await?;
//! println!("{}", conversation.message());
//! let next = conversation.ask("And in Cologne?").await?;
//! println!("{}", next.message());
//! # Ok(())
//! # }
//! ```
//!
//! # How a binding is added
//! A binding ([`Binding`], in `binding.rs`) is a file, or folder, of its own with one type that implements two methods
//! beside its name: `fit` says whether it can use a form, `start` performs a [`Call`]. A line in `bindings.rs` adds it
//! to those that come with agentdex. What a binding gets is complete: [`Call::form`] (with its target resolved),
//! [`Call::request`] (checked), [`Call::variables`], [`Call::authorization`], [`Call::limits`], [`Call::trace`]
//! and [`Call::network`], through which every connection is opened: [`Network::http`] gives a client for a URL,
//! [`Network::addresses`] the checked addresses of a host for protocols that connect themselves. What it returns is an
//! [`Exchange`]: a stream of [`Event`]s that ends with [`Event::Done`], or [`Event::InputRequired`], and where the
//! protocol can a [`Control`] to send, cancel, pause and resume. The caller enforces the times, and drops the events
//! to give up.

mod binding;
mod credential;
mod description;
mod error;
mod event;
mod message;
mod network;
mod settings;

pub use self::{
    binding::{Binding, Call, Control, Events, Exchange, Fit, Limits, Operation, Pending, Request},
    credential::{Authorization, Credential, Grant, Place, Secret, Trace},
    description::{Affordance, Description, Form},
    error::{Error, Result},
    event::{Continuation, Cost, Event, Notification, Reply, State, Status},
    message::{Artifact, Content, Media, Message, Part, Role, ToolCall, ToolResult},
    network::Network,
    settings::{CREDENTIAL_VARIABLE, Settings},
};
