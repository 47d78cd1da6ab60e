//! Readers and the past: what callers get to know of agents that they see, saw, or never saw.
//!
//! Each test runs the program and uses nothing but its interfaces: REST, server-sent events and MQTT.

mod deletions;
mod histories;
mod markers;
mod oracle;
mod past;
mod queries;
mod readers;
mod refusals;
pub mod server;
mod thresholds;
mod world;
