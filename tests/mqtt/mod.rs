//! Changes over MQTT, as clients that others wrote receive them.

mod access;
mod broker;
mod decisions;
mod events;
mod groups;
mod lifecycle;
mod protocol;
mod retained;
mod sessions;
mod stalled;
pub mod support;
mod visibility;
mod websocket;
pub mod wire;
