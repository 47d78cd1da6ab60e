//! Cards of a registry, its description for language models, and its A2A agent.

use agentdex_api::ClientConfigurations;
use percent_encoding::utf8_percent_encode;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::{PATH_SEGMENT, RegistryClient, Result, read, text};

/// Version of A2A that is spoken.
const VERSION: &str = "1.0";

impl RegistryClient {
    /// Returns the A2A agent card of the registry.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn agent_card(&self) -> Result<Value> {
        let request = self.request(Method::GET, ".well-known/agent-card.json", &[]);
        read(&text(self.send(request).await?).await?, "an agent card")
    }

    /// Returns the Server Card of the MCP server of the registry.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn server_card(&self) -> Result<Value> {
        read(&text(self.send(self.request(Method::GET, "mcp/server-card", &[])).await?).await?, "a Server Card")
    }

    /// Returns the description of the registry for language models, in Markdown.
    ///
    /// # Errors
    /// As [`RegistryClient::metrics`].
    pub async fn llms_txt(&self) -> Result<String> {
        text(self.send(self.request(Method::GET, "llms.txt", &[])).await?).await
    }

    /// Returns the configurations with which MCP clients connect to the registry.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn configurations(&self) -> Result<ClientConfigurations> {
        read(&text(self.send(self.request(Method::GET, "connect", &[])).await?).await?, "configurations of clients")
    }

    /// Returns the configurations with which MCP clients connect to an MCP server that the registry lists.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn configurations_for(&self, id: &str) -> Result<ClientConfigurations> {
        let path = format!("things/{}/connect", utf8_percent_encode(id, PATH_SEGMENT));
        read(&text(self.send(self.request(Method::GET, &path, &[])).await?).await?, "configurations of clients")
    }

    /// Sends a request of JSON-RPC to the A2A agent of the registry, and returns the response, which may be an error of the protocol.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn a2a(&self, request: &Value) -> Result<Value> {
        let asked = self.agent_request(Method::POST, "a2a", &[]).json(request);
        read(&text(self.send(asked).await?).await?, "a response of JSON-RPC")
    }

    /// Sends a message to the A2A agent of the registry, which searches for agents. Takes the params of `SendMessage`, and returns
    /// its result.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn send_message(&self, params: &Value) -> Result<Value> {
        let request = self.agent_request(Method::POST, "a2a/message:send", &[]).json(params);
        read(&text(self.send(request).await?).await?, "a task of A2A")
    }

    /// Returns a page of the caller's latest tasks of the A2A agent, with the parameters of `GET /a2a/tasks`.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn tasks(&self, parameters: &[(&str, &str)]) -> Result<Value> {
        read(&text(self.send(self.agent_request(Method::GET, "a2a/tasks", parameters)).await?).await?, "tasks of A2A")
    }

    /// Returns one of the caller's latest tasks of the A2A agent.
    ///
    /// # Errors
    /// As [`RegistryClient::description`].
    pub async fn task(&self, id: &str) -> Result<Value> {
        let request =
            self.agent_request(Method::GET, &format!("a2a/tasks/{}", utf8_percent_encode(id, PATH_SEGMENT)), &[]);
        read(&text(self.send(request).await?).await?, "a task of A2A")
    }

    fn agent_request(&self, method: Method, path: &str, parameters: &[(&str, &str)]) -> RequestBuilder {
        self.request(method, path, parameters).header("A2A-Version", VERSION)
    }
}
