//! Documents in other formats: import and export.

use agentdex_api::ExportedDocument;
use reqwest::{Method, Response, header};
use uuid::Uuid;

use super::{Imported, RegistryClient, Result, read, text, thing_path};
use crate::Error;

/// A document in another format, as it is sent or was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its media type.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl RegistryClient {
    /// Registers all Things of a document in another format, such as `a2a`, or none of them. `components` are further
    /// documents that it refers to; `parameters` are those of `POST /import/{format}`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn import(
        &self,
        format: &str,
        document: &Document,
        components: &[Document],
        parameters: &[(&str, &str)],
    ) -> Result<Imported> {
        let request = self.request(Method::POST, &format!("import/{format}"), parameters);
        let request = if components.is_empty() {
            request.header(header::CONTENT_TYPE, &document.media_type).body(document.bytes.clone())
        } else {
            let boundary = format!("agentdex-{}", Uuid::new_v4());
            let kind = format!("multipart/form-data; boundary={boundary}");
            request.header(header::CONTENT_TYPE, kind).body(multipart(document, components, &boundary))
        };
        let text = text(self.send(request).await?).await?;
        read(&text, "what became of an import")
    }

    /// Has the registry fetch a document, register its Things, and track its source from now on. The URL is that
    /// of the document, or of the agent that it is about. `parameters` are those of `POST /import/{format}`.
    ///
    /// ```no_run
    /// # async fn example() -> agentdex_client::Result<()> {
    /// let registry = agentdex_client::RegistryClient::new("http://127.0.0.1:8080")?;
    /// let imported = registry.import_url("a2a", "https://agents.example", &[("ttl", "86400")]).await?;
    /// for warning in imported.warnings {
    ///     println!("{warning}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], also where the document can't be fetched; [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn import_url(&self, format: &str, url: &str, parameters: &[(&str, &str)]) -> Result<Imported> {
        let request = self.request(Method::POST, &format!("import/{format}"), parameters);
        let text = text(self.send(request.json(&serde_json::json!({"url": url}))).await?).await?;
        read(&text, "what became of an import")
    }

    /// Has the registry find the description of the agent at a URL, in whatever format it is, and register it.
    /// `parameters` are those of `POST /import`.
    ///
    /// # Errors
    /// As [`RegistryClient::import_url`].
    pub async fn import_detected(&self, url: &str, parameters: &[(&str, &str)]) -> Result<Imported> {
        let request = self.request(Method::POST, "import", parameters);
        let text = text(self.send(request.json(&serde_json::json!({"url": url}))).await?).await?;
        read(&text, "what became of an import")
    }

    /// A Thing in another format, or in a version of it: what it was imported from, else what the registry makes of its
    /// description; none if there is no such Thing. `format` is named as in [`RegistryClient::import`].
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// if let Some(card) = client.export("urn:example:tides", "a2a", Some("1.0")).await? {
    ///     std::fs::write("agent-card.json", &card.bytes)?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], also where the description can't be given in that format; [`Error::Unreachable`].
    pub async fn export(&self, id: &str, format: &str, version: Option<&str>) -> Result<Option<Document>> {
        let version = version.map(|version| ("version", version));
        self.export_with(id, format, version.as_slice()).await
    }

    /// The same with `parameters` of that operation: `version`, `edits` (`false`: the original as it came) and `thing_version`.
    ///
    /// # Errors
    /// Those of [`RegistryClient::export`].
    pub async fn export_with(&self, id: &str, format: &str, parameters: &[(&str, &str)]) -> Result<Option<Document>> {
        let Some(response) = self.send_export(id, format, parameters, &[]).await? else { return Ok(None) };
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let media_type = kind.unwrap_or("application/octet-stream").to_owned();
        let url = response.url().to_string();
        let bytes = response.bytes().await.map_err(|source| Error::unreachable(url, source))?.to_vec();
        Ok(Some(Document { media_type, bytes }))
    }

    /// The same with warnings: of members that the document can't express, and of values that were left out. `media_type` asks for a
    /// syntax, such as `application/json` for an original in YAML.
    ///
    /// # Errors
    /// Those of [`RegistryClient::export`].
    pub async fn export_with_warnings(
        &self,
        id: &str,
        format: &str,
        parameters: &[(&str, &str)],
        media_type: Option<&str>,
    ) -> Result<Option<ExportedDocument>> {
        let accept = media_type.map(|media_type| ("accept", media_type));
        let headers: Vec<_> = [("prefer", "return=effect")].into_iter().chain(accept).collect();
        let Some(response) = self.send_export(id, format, parameters, &headers).await? else { return Ok(None) };
        read(&text(response).await?, "an exported document").map(Some)
    }

    async fn send_export(
        &self,
        id: &str,
        format: &str,
        parameters: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Result<Option<Response>> {
        // The one path that isn't the name of its format.
        let name = if format == "a2a" { "agent-card" } else { format };
        let mut request = self.request(Method::GET, &format!("{}/{name}", thing_path(id)), parameters);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match self.send(request).await {
            Ok(response) => Ok(Some(response)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A body of several parts (RFC 7578). The boundary is random, so that no document has it.
fn multipart(document: &Document, components: &[Document], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let parts = [("document", document)].into_iter().chain(components.iter().map(|component| ("component", component)));
    for (name, part) in parts {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\nContent-Type: {}\r\n\r\n",
            part.media_type
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&part.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}
