//! The server of an agentdex registry: the REST API, MQTT, TLS and the web page.
//!
//! A program opens a [`Registry`] and serves it with [`http::Server`], mounts the API into an
//! actix-web application of its own ([`http::configure`]), or offers its changes over MQTT ([`mqtt::Endpoint`]). An MCP client
//! without HTTP is answered by [`mcp::LocalServer`].

use agentdex_convert as convert;

use agentdex::{
    Change, ChangeKind, Epoch, Error, Position, Precondition, Registry, Result, Seq, Timestamp, access, change,
    consumer, fetch, policy, registry, sacp, search, signature, store, td,
};

mod a2a;
pub mod http;
pub mod mcp;
pub mod mqtt;
pub mod otlp;
pub mod tls;

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
