//! All integration tests: one binary, one module a resource or promise.

mod layers;
mod mqtt;
mod search;
mod store;
mod td;
