//! What all handlers share.

use std::sync::Arc;

use actix_web::web::Data;

use super::{host::Hosts, limits::Places, metrics::Metrics, network::Network, options::Options};
use crate::Registry;

/// What all handlers share.
pub(super) struct Context {
    pub(super) registry: Registry,
    pub(super) options: Options,
    pub(super) hosts: Hosts,
    /// Those of a [`Server`].
    pub(super) connections: Arc<Places>,
    /// Event streams, long polls, and MQTT over WebSocket.
    pub(super) streams: Arc<Places>,
    pub(super) metrics: Metrics,
    pub(super) network: Network,
}

impl Context {
    /// What the servers of one registry share.
    pub(super) fn shared(registry: &Registry, options: Options) -> Data<Context> {
        Data::new(Context {
            registry: registry.clone(),
            hosts: Hosts::of(&options),
            connections: options.limits.connection_places(),
            streams: options.limits.stream_places(),
            metrics: Metrics::default(),
            network: Network::default(),
            options,
        })
    }
}
