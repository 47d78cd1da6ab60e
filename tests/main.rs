//! All integration tests: one binary, one module a resource or promise.

mod a2a;
mod agent_spec;
mod aos;
mod cli;
mod consumer;
mod crash;
mod fetch;
mod followers;
mod http;
mod import;
mod layers;
mod lmos_capabilities;
mod mcp_server;
mod mqtt;
mod page;
mod process;
mod registry;
mod sacp;
mod search;
mod secrets;
mod signature;
mod store;
mod support;
mod td;
mod tracked_sources;
mod words;
