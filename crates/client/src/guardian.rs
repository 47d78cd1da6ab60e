//! The guardian of a registry: steps, decisions and sessions.

use agentdex_api::guardian::{Entry, LiveSession};
use futures_util::Stream;
use percent_encoding::utf8_percent_encode;
use reqwest::Method;

use super::{Event, Events, PATH_SEGMENT, RegistryClient, Result, read, text};

impl RegistryClient {
    /// Returns steps with the guardian's decisions, oldest first. `parameters` are those of `GET /aos/decisions`.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn decisions(&self, parameters: &[(&str, &str)]) -> Result<Vec<Entry>> {
        read(&text(self.send(self.request(Method::GET, "aos/decisions", parameters)).await?).await?, "decisions")
    }

    /// Returns live sessions of agents, ordered by their latest step, newest first. `parameters` are those of `GET
    /// /aos/sessions`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::decisions`].
    pub async fn sessions(&self, parameters: &[(&str, &str)]) -> Result<Vec<LiveSession>> {
        read(&text(self.send(self.request(Method::GET, "aos/sessions", parameters)).await?).await?, "sessions")
    }

    /// Returns the steps of a session, in order. `parameters` are those of `GET /aos/sessions/{id}`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::decisions`].
    pub async fn session(&self, id: &str, parameters: &[(&str, &str)]) -> Result<Vec<Entry>> {
        let path = format!("aos/sessions/{}", utf8_percent_encode(id, PATH_SEGMENT));
        read(
            &text(self.send(self.request(Method::GET, &path, parameters)).await?).await?,
            "a list of the steps of a session",
        )
    }

    /// Subscribes to decisions of the guardian. `parameters` are those of `GET /aos/events`. Decisions made during a
    /// reconnection are missed. If the client is too slow, decisions are skipped, and an event of the kind `missed`
    /// contains their number. [`RegistryClient::decisions`] returns missed decisions.
    pub fn subscribe_to_decisions(
        &self,
        parameters: &[(&str, &str)],
    ) -> impl Stream<Item = Result<Event>> + Send + use<> {
        Events::at(self.clone(), "aos/events".into(), parameters, None).stream()
    }
}
