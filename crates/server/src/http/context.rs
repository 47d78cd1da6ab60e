//! State that all handlers share.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix_web::{
    HttpRequest,
    web::{Bytes, Data},
};
use agentdex_api::SignIn;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    caller, host::Hosts, limits::Places, listening::Listening, metrics::Metrics, network::Network, options::Options,
    pace::Pace, problem::Problem, rates::Rates, stop::Stopped,
};
use crate::{
    Epoch, Error, Position, Registry, Seq,
    a2a::Tasks,
    access::{Caller, Unauthenticated},
    registry::IssuerOptions,
};

/// State that all handlers share: the registry, the options, counters and limits.
pub(super) struct Context {
    /// The registry with all that is in it. Handlers get it as the caller of their request sees it, or for an admin.
    trusted: Registry,
    pub(super) options: Options,
    pub(super) hosts: Hosts,
    /// Those of a [`Server`].
    pub(super) connections: Arc<Places>,
    /// Event streams, long polls, and MQTT over WebSocket.
    pub(super) streams: Arc<Places>,
    pub(super) rates: Rates,
    pub(super) pace: Pace,
    pub(super) metrics: Metrics,
    pub(super) network: Network,
    /// The latest tasks of the A2A agent.
    pub(super) tasks: Tasks,
    /// The OpenAPI document of a registry that authenticates its clients, once it was asked for.
    pub(super) openapi: OnceLock<Bytes>,
    /// Stop detection for a server that the API is mounted into, which doesn't announce its stop; none for a
    /// [`super::Server`].
    pub(super) listening: Option<Arc<Listening>>,
}

/// The registry for the request of an admin. There is no other way to one for whoever reads keys, backups and the trail.
pub(super) struct Admin(Registry);

impl Deref for Admin {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.0
    }
}

impl Context {
    /// Creates the state that the servers of one registry share.
    pub(super) fn shared(registry: &Registry, options: Options) -> Context {
        Context {
            trusted: registry.clone(),
            hosts: Hosts::of(&options),
            connections: options.limits.connection_places(),
            streams: options.limits.stream_places(),
            rates: Rates::new(options.limits.requests_per_second),
            pace: Pace::default(),
            metrics: Metrics::default(),
            network: Network::default(),
            tasks: Tasks::default(),
            openapi: OnceLock::new(),
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

    /// The registry for what only admins do.
    pub(super) fn admin(&self, request: &HttpRequest) -> Result<Admin, Problem> {
        let registry = self.registry(request);
        if registry.grants().is_none() {
            return Ok(Admin(registry));
        }
        Err(Error::AccessRefused { message: "only admins can use this operation".to_owned() }.into())
    }

    /// The life of the store.
    pub(super) fn epoch(&self) -> Epoch {
        self.trusted.epoch()
    }

    /// True if this registry is a node of a cluster.
    pub(super) fn is_node(&self) -> bool {
        self.trusted.is_node()
    }

    /// Waits until a node of a cluster contains all acknowledged writes.
    pub(super) async fn catch_up(&self) -> crate::Result<()> {
        self.trusted.catch_up_with_cluster().await
    }

    /// The time since this node had all writes of its cluster, if that is too long.
    pub(super) fn cut_off_for(&self) -> Option<Duration> {
        self.trusted.cut_off_for()
    }

    /// The end of the log that the registry was restored from, if it was.
    pub(super) fn origin(&self) -> Option<Position> {
        self.trusted.origin()
    }

    /// The uuid of the registry.
    pub(super) fn registry_id(&self) -> Uuid {
        self.trusted.registry_id()
    }

    /// The durable end of the log.
    pub(super) fn last_seq(&self) -> Seq {
        self.trusted.last_seq()
    }

    /// The durable end of the log, as it moves.
    pub(super) fn durable(&self) -> watch::Receiver<Seq> {
        self.trusted.durable()
    }

    /// True if all entries after a position are in memory, and at most `most`.
    pub(super) fn has_near(&self, since: Seq, most: usize) -> bool {
        self.trusted.cached_entries(since, most + 1).is_some_and(|cached| cached.len() <= most)
    }

    /// True if it answers SPARQL queries.
    pub(super) fn answers_sparql(&self) -> bool {
        self.trusted.answers_sparql()
    }

    /// The issuer of the tokens that are taken, if any are.
    pub(super) fn issuer(&self) -> Option<&IssuerOptions> {
        self.trusted.issuer()
    }

    /// The URL of the metadata of the issuer of the tokens that are taken (OpenID Connect Discovery 1.0, section 4).
    pub(super) fn openid_url(&self) -> Option<String> {
        let issuer = self.issuer()?.issuer.trim_end_matches('/');
        Some(format!("{issuer}/.well-known/openid-configuration"))
    }

    /// The sign-in of a browser, if there is one.
    pub(super) fn sign_in(&self) -> Option<Arc<SignIn>> {
        self.trusted.sign_in()
    }

    /// The caller that a key or token stands for.
    pub(super) async fn authenticate(&self, token: &str) -> Result<Caller, Unauthenticated> {
        self.trusted.authenticate(token).await
    }

    /// Returns the signal that ends a stream which a request opens: the stop signal of the options, the end of its
    /// server's listener, the expiry or revocation of its caller's credentials, or that the data of this node of a cluster
    /// may be stale.
    pub(super) fn stopped(context: &Data<Context>, request: &HttpRequest) -> Stopped {
        let address = request.app_config().local_addr();
        let gone = context.listening.as_ref().and_then(|listening| listening.watch(address));
        context.options.stop.listener(gone, context.registry(request))
    }
}
