//! Cards of a registry, its description for language models, and its A2A agent.

use agentdex_api::ClientConfigurations;
use percent_encoding::utf8_percent_encode;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::{PATH_SEGMENT, RegistryClient, Result, read, text};

/// Version of A2A that is spoken.
const VERSION: &str = "1.0";

impl RegistryClient {
    /// Returns the registry's A2A agent card.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn agent_card(&self) -> Result<Value> {
        let request = self.request(Method::GET, ".well-known/agent-card.json", &[]);
        read(&text(self.send(request).await?).await?, "an agent card")
    }

    /// Returns the Server Card of the registry's MCP server.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn server_card(&self) -> Result<Value> {
        read(&text(self.send(self.request(Method::GET, "mcp/server-card", &[])).await?).await?, "a Server Card")
    }

    /// Returns `llms.txt`, a description of the registry for language models, in Markdown.
    ///
    /// # Errors
    /// Same as [`RegistryClient::metrics`].
    pub async fn llms_txt(&self) -> Result<String> {
        text(self.send(self.request(Method::GET, "llms.txt", &[])).await?).await
    }

    /// Returns configurations for connecting MCP clients to the registry.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn configurations(&self) -> Result<ClientConfigurations> {
        read(&text(self.send(self.request(Method::GET, "connect", &[])).await?).await?, "client configurations")
    }

    /// Returns configurations for connecting MCP clients to an MCP server listed in the registry.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn configurations_for(&self, id: &str) -> Result<ClientConfigurations> {
        let path = format!("things/{}/connect", utf8_percent_encode(id, PATH_SEGMENT));
        read(&text(self.send(self.request(Method::GET, &path, &[])).await?).await?, "client configurations")
    }

    /// Sends a JSON-RPC request to the registry's A2A agent, and returns its response, which may be a JSON-RPC error.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn a2a(&self, request: &Value) -> Result<Value> {
        let asked = self.agent_request(Method::POST, "a2a", &[]).json(request);
        read(&text(self.send(asked).await?).await?, "a response of JSON-RPC")
    }

    /// Sends a message to the registry's A2A agent, which searches for agents. `params` are the parameters of the
    /// method `SendMessage`, whose result is returned.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn send_message(&self, params: &Value) -> Result<Value> {
        let request = self.agent_request(Method::POST, "a2a/message:send", &[]).json(params);
        read(&text(self.send(request).await?).await?, "a task of A2A")
    }

    /// Returns a page of the latest tasks that the caller gave to the registry's A2A agent. `parameters` are those of
    /// `GET /a2a/tasks`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn tasks(&self, parameters: &[(&str, &str)]) -> Result<Value> {
        read(&text(self.send(self.agent_request(Method::GET, "a2a/tasks", parameters)).await?).await?, "tasks of A2A")
    }

    /// Returns a recent task that the caller gave to the registry's A2A agent.
    ///
    /// # Errors
    /// Same as [`RegistryClient::description`].
    pub async fn task(&self, id: &str) -> Result<Value> {
        let request =
            self.agent_request(Method::GET, &format!("a2a/tasks/{}", utf8_percent_encode(id, PATH_SEGMENT)), &[]);
        read(&text(self.send(request).await?).await?, "a task of A2A")
    }

    fn agent_request(&self, method: Method, path: &str, parameters: &[(&str, &str)]) -> RequestBuilder {
        self.request(method, path, parameters).header("A2A-Version", VERSION)
    }
}
