//! API keys of a registry, managed by clients with the role `admin`.

use percent_encoding::utf8_percent_encode;
use reqwest::Method;

use super::{PATH_SEGMENT, RegistryClient, Result, read, text};
use crate::api::access::{ApiKey, CreatedKey, NewKey};

impl RegistryClient {
    /// Creates an API key. Returns its metadata, and the secret text that clients send. The registry can't show the
    /// text again.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_api::access::{NewKey, Role};
    ///
    /// let new = NewKey { role: Role::Register, owner: "weather-team".parse()?, ttl: Some(90 * 86_400) };
    /// let (key, secret) = client.create_key(&new).await?;
    /// println!("{} is shown once; to revoke it, name {}", secret, key.id);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn create_key(&self, new: &NewKey) -> Result<(ApiKey, String)> {
        let request = self.request(Method::POST, "keys", &[]).json(new);
        let created: CreatedKey = read(&text(self.send(request).await?).await?, "an API key")?;
        Ok((created.listed, created.key))
    }

    /// Returns all API keys, without their secrets.
    ///
    /// # Errors
    /// Same as [`RegistryClient::create_key`].
    pub async fn keys(&self) -> Result<Vec<ApiKey>> {
        read(&text(self.send(self.request(Method::GET, "keys", &[])).await?).await?, "a list of API keys")
    }

    /// Revokes an API key by its id.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable).
    pub async fn revoke_key(&self, id: &str) -> Result<()> {
        let path = format!("keys/{}", utf8_percent_encode(id, PATH_SEGMENT));
        self.send(self.request(Method::DELETE, &path, &[])).await.map(drop)
    }
}
