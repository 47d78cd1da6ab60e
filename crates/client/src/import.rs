//! Documents in other formats: import and export.

use agentdex_api::ExportedDocument;
use reqwest::{Method, Response, header};
use uuid::Uuid;

use super::{Imported, RegistryClient, Result, read, text, thing_path};
use crate::Error;

/// A document with its media type, as sent to an import or returned by an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Media type of the document.
    pub media_type: String,
    /// Content of the document.
    pub bytes: Vec<u8>,
}

impl RegistryClient {
    /// Registers all Things of a document in another format, such as `a2a`, in a single transaction. `components` are
    /// further documents to which it refers, and `parameters` those of `POST /import/{format}`.
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
        read(&text, "the result of an import")
    }

    /// Makes the registry fetch a document, register its Things, and track its source. `url` is the URL of the document
    /// or of its agent. `parameters` are those of `POST /import/{format}`.
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
    /// [`Error::Refused`], for example if the document can't be fetched; [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn import_url(&self, format: &str, url: &str, parameters: &[(&str, &str)]) -> Result<Imported> {
        let request = self.request(Method::POST, &format!("import/{format}"), parameters);
        let text = text(self.send(request.json(&serde_json::json!({"url": url}))).await?).await?;
        read(&text, "the result of an import")
    }

    /// Makes the registry find and register the description of the agent at a URL, in any known format. `parameters`
    /// are those of `POST /import`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::import_url`].
    pub async fn import_detected(&self, url: &str, parameters: &[(&str, &str)]) -> Result<Imported> {
        let request = self.request(Method::POST, "import", parameters);
        let text = text(self.send(request.json(&serde_json::json!({"url": url}))).await?).await?;
        read(&text, "the result of an import")
    }

    /// Exports a Thing to another format, or to a version of that format. Returns the original document if the Thing
    /// was imported from this format, otherwise a conversion, and `None` if the Thing doesn't exist. `format` is a
    /// name as in [`RegistryClient::import`].
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
    /// [`Error::Refused`], for example if the description can't be expressed in that format; [`Error::Unreachable`].
    pub async fn export(&self, id: &str, format: &str, version: Option<&str>) -> Result<Option<Document>> {
        let version = version.map(|version| ("version", version));
        self.export_with(id, format, version.as_slice()).await
    }

    /// Like [`RegistryClient::export`], with `parameters` of that operation: `version`, `edits` (`false` returns the
    /// unchanged original), and `thing_version`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::export`].
    pub async fn export_with(&self, id: &str, format: &str, parameters: &[(&str, &str)]) -> Result<Option<Document>> {
        let Some(response) = self.send_export(id, format, parameters, &[]).await? else { return Ok(None) };
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let media_type = kind.unwrap_or("application/octet-stream").to_owned();
        let url = response.url().to_string();
        let bytes = response.bytes().await.map_err(|source| Error::unreachable(url, source))?.to_vec();
        Ok(Some(Document { media_type, bytes }))
    }

    /// Like [`RegistryClient::export_with`], but also returns warnings about members that the format can't express and
    /// values that were omitted. `media_type` chooses a syntax, such as `application/json` for an original in YAML.
    ///
    /// # Errors
    /// Same as [`RegistryClient::export`].
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
