//! Connections for requests of any kind to URLs from documents: checked as every fetch is, and reused.
//!
//! There is a client for each origin. Its resolver checks what the name stands for whenever a connection is made, and
//! the connection goes to the very addresses that were checked.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{Client, Url, redirect};
use rustls::ClientConfig;

use super::{Options, Resolver, redacted_url::shown, resolver::SystemResolver, target::Target, tls};
use crate::{BoxError, Error, Result};

/// Origins whose connections are reused; beyond, all are forgotten and made again.
const MAX_CLIENTS: usize = 1024;
/// Idle connections to one origin that are reused.
const MAX_IDLE: usize = 16;

/// Opens connections to the destinations that the operator allows. Cloning is cheap and shares the
/// connections.
#[derive(Clone)]
pub struct Connections(Arc<Pool>);

struct Pool {
    options: Options,
    tls: ClientConfig,
    resolver: Arc<dyn Resolver>,
    clients: Mutex<HashMap<String, Client>>,
}

/// Checks what a name stands for as a connection is made.
struct Guard {
    pool: Options,
    resolver: Arc<dyn Resolver>,
    target: Target,
}

/// An address that may not be connected to, among the causes of a failed connection.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refusal(String);

impl Connections {
    /// Connections that resolve names with the operating system.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for a proxy or a file with certificates that can't be used.
    pub fn new(options: Options) -> Result<Connections> {
        Connections::with_resolver(options, SystemResolver)
    }

    /// Connections with their own resolver of names.
    ///
    /// # Errors
    /// As [`Connections::new`].
    pub fn with_resolver(options: Options, resolver: impl Resolver + 'static) -> Result<Connections> {
        let tls = tls::configuration(options.ca.as_deref())?;
        Ok(Connections(Arc::new(Pool { options, tls, resolver: Arc::new(resolver), clients: Mutex::default() })))
    }

    /// The options with which they were created.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// A client for requests only to the origin of a URL. It follows no redirects.
    ///
    /// # Errors
    /// [`Error::Refused`] where it may not be connected to, as far as that is known before a connection is made;
    /// afterwards [`refusal`] tells.
    pub async fn client(&self, url: &Url) -> Result<Client> {
        let refused = |reason| Error::Refused { url: shown(url.as_str()), reason };
        let target = Target::parse(url.as_str()).map_err(refused)?;
        self.check(&target).map_err(refused)?;
        if self.0.options.proxy.is_some() {
            // The proxy resolves the name again, and may know names that this machine doesn't.
            let addresses = self.0.resolver.resolve(&target.host).await.unwrap_or_default();
            target.check_addresses(&addresses, &self.0.options.allowed).map_err(refused)?;
        }
        let origin = url.origin().ascii_serialization();
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&origin) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let client = self.0.make(target).map_err(|error| refused(error.without_url().to_string()))?;
        clients.insert(origin, client.clone());
        Ok(client)
    }

    /// The TLS configuration for protocols that open their own connections: the trusted
    /// certificates.
    pub fn tls(&self) -> ClientConfig {
        let mut configuration = self.0.tls.clone();
        // What HTTP would negotiate.
        configuration.alpn_protocols.clear();
        configuration
    }

    /// The addresses of a host, all checked, for protocols that open their own connections.
    ///
    /// # Errors
    /// [`Error::Refused`] where one may not be connected to, [`Error::Failed`] where there is none.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
        let bracketed =
            if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        let url = format!("http://{bracketed}:{port}/");
        let refused = |reason| Error::Refused { url: format!("{bracketed}:{port}"), reason };
        let target = Target::parse(&url).map_err(refused)?;
        self.check(&target).map_err(refused)?;
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => self.0.resolver.resolve(&target.host).await.map_err(|error| Error::Failed {
                url: format!("{bracketed}:{port}"),
                status: None,
                reason: format!("the host {} can't be resolved: {error}", target.host),
                retry_after: None,
                source: Some(error.into()),
            })?,
        };
        target.check_addresses(&addresses, &self.0.options.allowed).map_err(refused)?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// Checks what a URL says itself.
    fn check(&self, target: &Target) -> std::result::Result<(), String> {
        let allowed = &self.0.options.allowed;
        target.check_name(allowed)?;
        target.check_addresses(target.address().as_slice(), allowed)
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("allowed", &self.0.options.allowed).finish_non_exhaustive()
    }
}

impl Pool {
    fn make(&self, target: Target) -> reqwest::Result<Client> {
        let builder = Client::builder()
            .user_agent(concat!("agentdex/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(self.tls.clone())
            .http1_only()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(self.options.phase_timeout)
            .pool_max_idle_per_host(MAX_IDLE);
        match &self.options.proxy {
            Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy)?).build(),
            None => {
                let guard = Guard { pool: self.options.clone(), resolver: self.resolver.clone(), target };
                builder.no_proxy().dns_resolver(guard).build()
            }
        }
    }
}

impl reqwest::dns::Resolve for Guard {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let (resolver, target, allowed) = (self.resolver.clone(), self.target.clone(), self.pool.allowed.clone());
        Box::pin(async move {
            let addresses = resolver.resolve(&target.host).await?;
            target.check_addresses(&addresses, &allowed).map_err(Refusal)?;
            if addresses.is_empty() {
                return Err(io::Error::other(format!("the host {} has no address", target.host)).into());
            }
            let addresses: Vec<SocketAddr> = addresses.into_iter().map(|address: IpAddr| (address, 0).into()).collect();
            Ok::<_, BoxError>(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

/// The reason why a connection was refused before it was opened, if it is among the causes of a client's error.
pub fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(Refusal(reason)) = error.downcast_ref::<Refusal>() {
            return Some(reason.clone());
        }
        cause = error.source();
    }
    None
}
