//! Credentials of requests, and trusted certificates.

use reqwest::{Certificate, Identity, header::HeaderValue};

use super::{Error, RegistryClient, Result, transport::Transport};
use crate::api::access::Token;

impl RegistryClient {
    /// Sets the API key, which is sent with every request as `Authorization: Bearer`.
    ///
    /// ```
    /// # fn main() -> agentdex_client::Result<()> {
    /// let key = format!("adx_0123456789ab_{}", "0".repeat(64));
    /// let registry = agentdex_client::RegistryClient::new("http://127.0.0.1:8080")?.api_key(&key)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidApiKey`] if the text doesn't have the format of a key.
    pub fn api_key(self, key: &str) -> Result<RegistryClient> {
        let key = Token::parse(key.trim()).map(|_| key.trim()).ok_or(Error::InvalidApiKey)?;
        self.bearer(key)
    }

    /// Sets an access token issued by an authorization server that the registry trusts. The token is sent in place of
    /// an API key.
    ///
    /// # Errors
    /// [`Error::InvalidApiKey`] if the token is empty, or contains characters other than visible ASCII.
    pub fn access_token(self, token: &str) -> Result<RegistryClient> {
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::InvalidApiKey);
        }
        self.bearer(token)
    }

    fn bearer(self, text: &str) -> Result<RegistryClient> {
        let mut credentials = HeaderValue::try_from(format!("Bearer {text}")).map_err(|_| Error::InvalidApiKey)?;
        credentials.set_sensitive(true);
        let transport = Transport { credentials: Some(credentials), ..self.transport.clone() };
        self.sending_by(transport)
    }

    /// Trusts certificate authorities in PEM, in addition to those of the system. A second call replaces the
    /// authorities of the first.
    ///
    /// # Errors
    /// [`Error::InvalidCertificate`] if `authorities` contains no certificate, or an invalid certificate.
    pub fn trusting(self, authorities: &[u8]) -> Result<RegistryClient> {
        let read = Certificate::from_pem_bundle(authorities);
        let read = read.map_err(|error| Error::InvalidCertificate { reason: error.to_string() })?;
        if read.is_empty() {
            return Err(Error::InvalidCertificate { reason: "no PEM certificate was found".into() });
        }
        let transport = Transport { authorities: read.into(), ..self.transport.clone() };
        self.sending_by(transport)
    }

    /// Sets the client certificate and its private key, concatenated in PEM.
    ///
    /// # Errors
    /// [`Error::InvalidCertificate`] if the certificate or the key is missing or invalid.
    pub fn client_certificate(self, certificate_and_key: &[u8]) -> Result<RegistryClient> {
        let identity = Identity::from_pem(certificate_and_key);
        let identity = identity.map_err(|error| Error::InvalidCertificate { reason: error.to_string() })?;
        let transport = Transport { identity: Some(identity), ..self.transport.clone() };
        self.sending_by(transport)
    }

    fn sending_by(self, transport: Transport) -> Result<RegistryClient> {
        let http = transport.client().map_err(|error| Error::InvalidCertificate { reason: error.to_string() })?;
        Ok(RegistryClient { http, transport, ..self })
    }
}
