//! The registry itself: its description, health, metrics, and API.

use agentdex_api::{About, Live, ProtectedResource};
use reqwest::Method;
use serde_json::Value;

use super::{RegistryClient, Result, read, text};

impl RegistryClient {
    /// Returns the version, formats, and links of the registry, and the permissions of the caller, from `GET /`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn about(&self) -> Result<About> {
        let request = self.request(Method::GET, "", &[]).header("accept", "application/json");
        read(&text(self.send(request).await?).await?, "a registry")
    }

    /// Returns the Thing Description of the registry (`/.well-known/wot`).
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn description(&self) -> Result<Value> {
        let request = self.request(Method::GET, ".well-known/wot", &[]);
        read(&text(self.send(request).await?).await?, "the description of a registry")
    }

    /// Returns the metadata of the registry as a protected resource (RFC 9728), including the issuer of the tokens that
    /// it accepts. The request is refused (404) if the registry accepts no tokens.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn protected_resource(&self) -> Result<ProtectedResource> {
        let request = self.request(Method::GET, ".well-known/oauth-protected-resource", &[]);
        read(&text(self.send(request).await?).await?, "the metadata of a protected resource")
    }

    /// Returns the OpenAPI document of the REST API.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn openapi(&self) -> Result<Value> {
        let request = self.request(Method::GET, "openapi.json", &[]);
        read(&text(self.send(request).await?).await?, "an OpenAPI description")
    }

    /// Returns the metrics in the text format of Prometheus.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn metrics(&self) -> Result<String> {
        text(self.send(self.request(Method::GET, "metrics", &[])).await?).await
    }

    /// Checks that the process of the registry is alive. To check that the registry is ready, use
    /// [`RegistryClient::status`].
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn liveness(&self) -> Result<Live> {
        let request = self.request(Method::GET, "health/live", &[]);
        read(&text(self.send(request).await?).await?, "a health status")
    }
}
