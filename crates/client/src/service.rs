//! The registry itself: what it is, how it is, and its API.

use agentdex_api::{About, Live, ProtectedResource};
use reqwest::Method;
use serde_json::Value;

use super::{RegistryClient, Result, read, text};

impl RegistryClient {
    /// The registry, its formats, the permissions of the caller, and links: the answer of `GET /`.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn about(&self) -> Result<About> {
        let request = self.request(Method::GET, "", &[]).header("accept", "application/json");
        read(&text(self.send(request).await?).await?, "a registry")
    }

    /// The Thing Description of the registry (`/.well-known/wot`).
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn description(&self) -> Result<Value> {
        let request = self.request(Method::GET, ".well-known/wot", &[]);
        read(&text(self.send(request).await?).await?, "the description of a registry")
    }

    /// The issuer whose tokens it takes (RFC 9728); refused with 404 where it takes none.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn protected_resource(&self) -> Result<ProtectedResource> {
        let request = self.request(Method::GET, ".well-known/oauth-protected-resource", &[]);
        read(&text(self.send(request).await?).await?, "the metadata of a protected resource")
    }

    /// The OpenAPI description of its API.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn openapi(&self) -> Result<Value> {
        let request = self.request(Method::GET, "openapi.json", &[]);
        read(&text(self.send(request).await?).await?, "an OpenAPI description")
    }

    /// Its measurements, as Prometheus reads them.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn metrics(&self) -> Result<String> {
        text(self.send(self.request(Method::GET, "metrics", &[])).await?).await
    }

    /// The sign of life of its process; [`RegistryClient::status`] tells if it is ready.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn liveness(&self) -> Result<Live> {
        let request = self.request(Method::GET, "health/live", &[]);
        read(&text(self.send(request).await?).await?, "a sign of life")
    }
}
