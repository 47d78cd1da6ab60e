//! Changes over MQTT, as clients that others wrote receive them.

mod access;
pub mod broker;
mod decisions;
mod events;
mod groups;
mod lifecycle;
mod protocol;
mod queries;
mod retained;
mod sessions;
mod stalled;
pub mod support;
mod visibility;
mod websocket;
pub mod wire;
