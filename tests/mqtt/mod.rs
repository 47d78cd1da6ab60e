//! Changes over MQTT, as clients that others wrote hear of them.

mod broker;
mod events;
mod lifecycle;
mod protocol;
mod support;
mod wire;
