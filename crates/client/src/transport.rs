//! How requests are sent: whom they are from, and which servers are trusted.

use std::{sync::Arc, time::Duration};

use reqwest::{
    Certificate, Identity,
    header::{self, HeaderMap, HeaderValue},
};

/// How long a registry may take to take a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may say nothing: more than the longest long poll, and six signs of life of an event stream.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);

/// What a connection is made with.
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
