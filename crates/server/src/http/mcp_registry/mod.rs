//! The MCP registry API, version 0.1, for clients of MCP registries. `/v0` is an alias.
//!
//! It lists all Things that can be exported as `server.json`, with their versions. The name of a server is derived from the id of
//! the Thing ([`name`]).

mod cursor;
mod entry;
mod failure;
pub(super) mod list;
mod name;
mod path;
pub(super) mod publish;
pub(super) mod read;
mod respond;
pub(super) mod status;

pub(super) use self::{
    failure::complete,
    path::{PREFIXES, PUBLISH, Route, SERVERS, is_open_to_pages},
};
