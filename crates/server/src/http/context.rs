//! What all handlers share.

use std::sync::Arc;

use actix_web::{HttpRequest, web::Data};

use super::{
    caller, host::Hosts, limits::Places, listening::Listening, metrics::Metrics, network::Network, options::Options,
    rates::Rates, stop::Stopped,
};
use crate::Registry;

/// What all handlers share.
pub(super) struct Context {
    /// The registry with all that is in it, for what isn't shown or done in the name of a caller.
    pub(super) trusted: Registry,
    pub(super) options: Options,
    pub(super) hosts: Hosts,
    /// Those of a [`Server`].
    pub(super) connections: Arc<Places>,
    /// Event streams, long polls, and MQTT over WebSocket.
    pub(super) streams: Arc<Places>,
    pub(super) rates: Rates,
    pub(super) metrics: Metrics,
    pub(super) network: Network,
    /// Where the API is mounted into a server that doesn't say when it stops.
    pub(super) listening: Option<Arc<Listening>>,
}

impl Context {
    /// What the servers of one registry share.
    pub(super) fn shared(registry: &Registry, options: Options) -> Context {
        Context {
            trusted: registry.clone(),
            hosts: Hosts::of(&options),
            connections: options.limits.connection_places(),
            streams: options.limits.stream_places(),
            rates: Rates::new(options.limits.requests_per_second),
            metrics: Metrics::default(),
            network: Network::default(),
            listening: None,
            options,
        }
    }

    /// The same for an API that is mounted into a server of somebody else's.
    pub(super) fn mounted(registry: &Registry, options: Options) -> Context {
        Context { listening: Some(Arc::default()), ..Context::shared(registry, options) }
    }

    /// The registry as the caller of a request sees and changes it.
    pub(super) fn registry(&self, request: &HttpRequest) -> Registry {
        let address = request.peer_addr().map(|peer| peer.ip());
        self.trusted.as_caller(caller::of(request, &self.options.access)).at_address(address)
    }

    /// What ends a stream that a request opens: the signal of the options, that its server no longer listens, or that its
    /// caller's credentials are no longer valid.
    pub(super) fn stopped(context: &Data<Context>, request: &HttpRequest) -> Stopped {
        let address = request.app_config().local_addr();
        let gone = context.listening.as_ref().and_then(|listening| listening.watch(address));
        context.options.stop.listener(gone, context.registry(request))
    }
}
