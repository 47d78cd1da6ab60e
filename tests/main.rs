//! All integration tests: one binary, one module a resource or promise.

mod http;
mod layers;
mod mqtt;
mod search;
mod store;
mod support;
mod td;
