//! Connections to URLs from descriptions: the rules of the guarded fetcher hold for each.

use std::net::SocketAddr;

use reqwest::{Client, Url};

use super::{Error, Result, error::NoConnection};
use crate::fetch::{self, Connections, refusal, shown};

/// Opens connections. What isn't public is refused unless the operator allowed it (`--allow-fetch`). Cloning is cheap
/// and shares connections.
#[derive(Debug, Clone)]
pub struct Network {
    connections: Connections,
}

impl Network {
    /// Connections by these options; [`fetch::Options::allowed`] says what is allowed beside the public internet.
    ///
    /// # Errors
    /// [`Error::Setting`] for a proxy or certificates that can't be used.
    pub fn new(options: fetch::Options) -> Result<Network> {
        let connections = Connections::new(options);
        let connections =
            connections.map_err(|error| Error::Setting { setting: "network".into(), reason: error.to_string() })?;
        Ok(Network { connections })
    }

    /// Connections that were made elsewhere.
    pub fn of(connections: Connections) -> Network {
        Network { connections }
    }

    /// A client for one URL. It keeps connections alive, follows no redirects and has no timeout of its own but
    /// that of connecting.
    ///
    /// # Errors
    /// [`Error::Refused`] where the URL may not be called.
    pub async fn http(&self, url: &str) -> Result<(Client, Url)> {
        let parsed = Url::parse(url)
            .map_err(|error| Error::Refused { url: shown(url), reason: format!("it is not a valid URL: {error}") })?;
        let client = self.connections.client(&parsed).await.map_err(refused)?;
        Ok((client, parsed))
    }

    /// The addresses of a host for protocols that connect themselves: connect to these and to no others.
    ///
    /// # Errors
    /// [`Error::Refused`] where it may not be connected to, [`Error::Unreachable`] where it has no address.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
        self.connections.addresses(host, port).await.map_err(refused)
    }

    /// The configuration of TLS for protocols that connect themselves: it trusts whom HTTP trusts.
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
