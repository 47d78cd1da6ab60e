//! The server side of the Model Context Protocol, over streamable HTTP, one request at a time.
//!
//! [`Tools`] says which tools there are and what they do; [`Server`] speaks the protocol for them, without sessions. It
//! takes requests and returns answers in types of its own, so that whatever serves HTTP can mount it. [`RegistryTools`] are the
//! tools of a registry.

mod card;
mod foreign_text;
mod handler;
mod message;
mod registry;
mod resources;
mod server;
mod size_limit;
mod stdio;
mod tools;

pub use self::stdio::LocalServer;
pub(crate) use self::{
    card::server_card,
    message::{Message, Refusal},
    registry::RegistryTools,
    server::{Answer, Request, Server},
    size_limit::{LeftOut, MIN_BYTES, fit},
    tools::{Hints, Tool, Tools},
};
