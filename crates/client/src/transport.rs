//! The transport of requests: credentials and trusted certificates.

use std::{sync::Arc, time::Duration};

use reqwest::{
    Certificate, Identity,
    header::{self, HeaderMap, HeaderValue},
};

/// Maximum time to connect to a registry.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time that it may send nothing: more than the longest long poll, and six signs of life of an event stream.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);

/// The settings of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Transport {
    pub credentials: Option<HeaderValue>,
    pub authorities: Arc<[Certificate]>,
    pub identity: Option<Identity>,
}

impl Transport {
    pub(super) fn client(&self) -> reqwest::Result<reqwest::Client> {
        let credentials = self.credentials.clone().map(|credentials| (header::AUTHORIZATION, credentials));
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("agentdex/", env!("CARGO_PKG_VERSION")))
            .default_headers(HeaderMap::from_iter(credentials))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT);
        if !self.authorities.is_empty() {
            builder = builder.tls_certs_merge(self.authorities.iter().cloned());
        }
        if let Some(identity) = &self.identity {
            builder = builder.identity(identity.clone());
        }
        builder.build()
    }
}
