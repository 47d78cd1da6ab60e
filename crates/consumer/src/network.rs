//! Connections to URLs from descriptions, all of which are subject to the rules of the guarded fetcher.

use std::net::SocketAddr;

use reqwest::{Client, Url};

use super::{Error, Result, error::NoConnection};
use crate::fetch::{self, Connections, refusal, shown};

/// Network access for calls. Addresses outside the public internet are refused unless the operator allowed them
/// (`--allow-fetch`). Cloning is cheap and shares connections.
#[derive(Debug, Clone)]
pub struct Network {
    connections: Connections,
}

impl Network {
    /// Creates network access with the given options. [`fetch::Options::allowed`] lists addresses allowed in addition
    /// to the public internet.
    ///
    /// # Errors
    /// [`Error::Setting`] if a proxy or certificate is invalid.
    pub fn new(options: fetch::Options) -> Result<Network> {
        let connections = Connections::new(options);
        let connections =
            connections.map_err(|error| Error::Setting { setting: "network".into(), reason: error.to_string() })?;
        Ok(Network { connections })
    }

    /// Wraps existing connections.
    pub fn of(connections: Connections) -> Network {
        Network { connections }
    }

    /// Returns an HTTP client for the given URL, and the parsed URL. The client keeps connections alive, follows no
    /// redirects, and has no timeout except for connecting.
    ///
    /// # Errors
    /// [`Error::Refused`] if the URL must not be called.
    pub async fn http(&self, url: &str) -> Result<(Client, Url)> {
        let parsed = Url::parse(url)
            .map_err(|error| Error::Refused { url: shown(url), reason: format!("it is not a valid URL: {error}") })?;
        let client = self.connections.client(&parsed).await.map_err(refused)?;
        Ok((client, parsed))
    }

    /// Resolves a host for protocols with their own connections. Connect to these addresses only.
    ///
    /// # Errors
    /// [`Error::Refused`] if the host must not be contacted, [`Error::Unreachable`] if it has no address.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
        self.connections.addresses(host, port).await.map_err(refused)
    }

    /// Returns the TLS configuration for protocols with their own connections, with the same trust anchors as HTTP.
    #[cfg(feature = "mqtt")]
    pub(super) fn tls(&self) -> rustls::ClientConfig {
        self.connections.tls()
    }

    /// Maps the error of a failed request to [`Error::Refused`] or [`Error::Unreachable`].
    pub fn failure(url: &str, error: reqwest::Error) -> Error {
        let url = shown(url);
        let error = error.without_url();
        if let Some(reason) = refusal(&error) {
            return Error::Refused { url, reason };
        }
        let mut innermost: &dyn std::error::Error = &error;
        while let Some(next) = innermost.source() {
            innermost = next;
        }
        Error::Unreachable { url, reason: innermost.to_string(), source: Some(error.into()) }
    }
}

fn refused(error: fetch::Error) -> Error {
    match error {
        fetch::Error::Refused { url, reason } => Error::Refused { url, reason },
        // No host of that name.
        fetch::Error::Failed { url, reason, .. } => {
            Error::Unreachable { url, reason, source: Some(Box::new(NoConnection)) }
        }
        other => Error::Refused { url: "the agent".into(), reason: other.to_string() },
    }
}
