//! The guardian of a registry: steps, decisions and sessions.

use agentdex_api::guardian::{Entry, LiveSession};
use futures_util::Stream;
use percent_encoding::utf8_percent_encode;
use reqwest::Method;

use super::{Event, Events, PATH_SEGMENT, RegistryClient, Result, read, text};

impl RegistryClient {
    /// The steps that the guardian decided about, the oldest first: the answer of `GET /aos/decisions`, with its
    /// parameters.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn decisions(&self, parameters: &[(&str, &str)]) -> Result<Vec<Entry>> {
        read(&text(self.send(self.request(Method::GET, "aos/decisions", parameters)).await?).await?, "decisions")
    }

    /// The live sessions of agents, the one with the latest step first: the answer of `GET /aos/sessions`, with its parameters.
    ///
    /// # Errors
    /// As [`RegistryClient::decisions`].
    pub async fn sessions(&self, parameters: &[(&str, &str)]) -> Result<Vec<LiveSession>> {
        read(&text(self.send(self.request(Method::GET, "aos/sessions", parameters)).await?).await?, "sessions")
    }

    /// The steps of a session, in order.
    ///
    /// # Errors
    /// As [`RegistryClient::decisions`].
    pub async fn session(&self, id: &str, parameters: &[(&str, &str)]) -> Result<Vec<Entry>> {
        let path = format!("aos/sessions/{}", utf8_percent_encode(id, PATH_SEGMENT));
        read(&text(self.send(self.request(Method::GET, &path, parameters)).await?).await?, "the steps of a session")
    }

    /// The decisions of the guardian from now on, with the parameters of `GET /aos/events`. What is decided while the
    /// connection is broken is not among them; [`RegistryClient::decisions`] has it.
    pub fn subscribe_to_decisions(
        &self,
        parameters: &[(&str, &str)],
    ) -> impl Stream<Item = Result<Event>> + Send + use<> {
        Events::at(self.clone(), "aos/events".into(), parameters, None).stream()
    }
}
