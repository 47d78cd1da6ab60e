//! Changes over MQTT: a built-in endpoint, and a publisher to an existing broker.
//!
//! Two ways to the same topics ([`topics`]). [`Endpoint`] is an MQTT 3.1.1 and 5 server that only the
//! registry publishes on; [`Publisher`] brings the same messages to an existing broker.
//!
//! # Why the endpoint is no broker
//!
//! What is published is in the log and the store anyway. A general broker copies it: a message for
//! each subscriber, the retained state once more. Measured on two cores, 10,000 retained
//! descriptions of 3 KB, brokers with their limits raised as far as they go:
//!
//! | | a server on `mqtt-protocol-core` 0.7.9 | mqtt5 0.49 | rmqtt 0.24 | rumqttd 0.20 |
//! |---|---|---|---|---|
//! | crates it brings | 88 | 155 | 245 | 171 |
//! | a new subscriber at QoS 1 gets | all, in 66 ms | all, in 209 ms; silently none beyond 20,000 | all; 1,547 by default | 100 |
//! | peak memory, 20 new subscribers at once | 42 MB | 669 MB | 759 MB | – |
//! | QoS 1 p50, 1 and 10 subscribers | 0.19, 0.30 ms | 0.35, 0.54 ms | 0.32, 0.64 ms | 0.24, 0.33 ms |
//! | QoS 1 messages a second, 1 subscriber | 173,000 | 34,000 | 16,000, and 16 % lost | 106,000 |
//! | bind error reported, port 0, stop | ours to do | yes, yes, yes | yes, yes, no | no, no, no |
//!
//! So the endpoint is a reader of the log and the store, as SSE is: what a slow subscriber costs is
//! a position in the log. The protocol itself is the engine's, which does no I/O and is tested for
//! both versions; sockets, sessions and what is sent when are ours.
//!
//! # For readers without sessions
//!
//! What always works, without MQTT: `GET /things` answers with the log position in the header
//! `Agentdex-Position`; `GET /changes?since=<that>&wait=30` returns what came after.

pub mod topics;

mod cloud_event;
mod endpoint;
mod feed;
mod options;
mod publisher;

pub(crate) use endpoint::Origin;
pub use endpoint::{Endpoint, EndpointHandle};
pub use options::{EndpointOptions, PublisherOptions};
pub use publisher::{Publisher, Resynced, resync};
