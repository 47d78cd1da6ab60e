//! The REST API, one module a resource.

mod about;
mod batch;
mod changes;
mod corpus;
mod events;
mod import;
mod list;
mod problems;
mod search;
mod server;
mod thing;
mod validate;
