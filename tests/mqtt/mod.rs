//! Changes over MQTT, as clients that others wrote hear of them.

mod events;
mod support;
