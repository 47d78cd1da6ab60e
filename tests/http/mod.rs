//! The REST API, one module a resource.

mod changes;
mod events;
mod list;
mod problems;
mod search;
mod thing;
