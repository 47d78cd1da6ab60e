//! The server side of the Model Context Protocol: tools over streamable HTTP, one request at a time.
//!
//! [`Tools`] says which tools there are and what they do; [`Server`] speaks the protocol for them, without sessions. It
//! takes requests and returns answers in types of its own, so that whatever serves HTTP can mount it.

mod handler;
mod server;
mod tools;

pub(crate) use self::{
    server::{Request, Server},
    tools::{Tool, Tools},
};
