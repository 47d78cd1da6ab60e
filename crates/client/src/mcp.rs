//! Messages of the Model Context Protocol, for the MCP server of a registry.

use std::pin::Pin;

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{Stream, StreamExt, stream};
use reqwest::{Method, RequestBuilder, Response, header};
use serde_json::Value;

use super::{Error, RegistryClient, Result, error::read_problem, sse::Parser};

/// Stream of MCP messages, each the text of a JSON object.
pub type McpMessages = Pin<Box<dyn Stream<Item = Result<String>> + Send>>;

/// Media types of answers.
const ANSWERS: &str = "application/json, text/event-stream";
/// Member of `_meta` with the revision of a request.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Maximum size of an answer in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

impl RegistryClient {
    /// Sends an MCP message, which is a JSON-RPC 2.0 object, to the registry's MCP server. Returns a stream of response
    /// messages: a single message in most cases, an open-ended stream for a subscription, and an empty stream for a
    /// notification. JSON-RPC errors are response messages, too. Dropping the stream cancels the request.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt;
    ///
    /// let answers = client.mcp(r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#).await?;
    /// println!("{}", answers.try_collect::<Vec<_>>().await?.concat());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::AnswerTooLarge`].
    pub async fn mcp(&self, message: &str) -> Result<McpMessages> {
        let request = self.request(Method::POST, "mcp", &[]).header(header::ACCEPT, ANSWERS);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let parsed: Value = serde_json::from_str(message).unwrap_or_default();
        let request = with_headers(request, &parsed).body(message.to_owned());
        let unreachable = |source| Error::unreachable(self.url().to_owned(), source);
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match kind.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" if status.is_success() => Ok(events(self.url().to_owned(), response)),
            // Errors of the protocol have statuses of their own.
            "application/json" => Ok(Box::pin(stream::iter([Ok(body(self.url(), response).await?)]))),
            _ if status.is_success() => Ok(Box::pin(stream::empty())),
            _ => {
                let text = body(self.url(), response).await?;
                Err(Error::Refused(Box::new(read_problem(status.as_u16(), &text))))
            }
        }
    }
}

/// Adds the headers that repeat members of a message, from the revision 2026-07-28 on.
fn with_headers(request: RequestBuilder, message: &Value) -> RequestBuilder {
    let Some(version) = message["params"]["_meta"][VERSION].as_str() else { return request };
    let name = match message["method"].as_str() {
        Some("resources/read") => message["params"]["uri"].as_str(),
        _ => message["params"]["name"].as_str(),
    };
    let headers =
        [("mcp-protocol-version", Some(version)), ("mcp-method", message["method"].as_str()), ("mcp-name", name)];
    let given = headers.into_iter().filter_map(|(header, value)| Some((header, header_value(value?))));
    given.fold(request, |request, (header, value)| request.header(header, value))
}

/// Encodes a text as the value of a header, in Base64 if it contains characters that headers can't.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

/// Reads a whole answer.
async fn body(url: &str, response: Response) -> Result<String> {
    let (mut pieces, mut body) = (response.bytes_stream(), Vec::new());
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|source| Error::unreachable(url.to_owned(), source))?);
        if body.len() > MAX_ANSWER {
            return Err(too_large());
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// The messages in a stream of events.
fn events(url: String, response: Response) -> McpMessages {
    let pieces = Box::pin(response.bytes_stream());
    Box::pin(stream::try_unfold((pieces, Parser::default(), url), async |(mut pieces, mut parser, url)| {
        loop {
            if let Some(event) = parser.next_block() {
                // The first event may say only after which time to connect again.
                if !event.data.is_empty() {
                    return Ok(Some((event.data, (pieces, parser, url))));
                }
                continue;
            }
            if parser.held() > MAX_ANSWER {
                return Err(too_large());
            }
            match pieces.next().await {
                Some(Ok(piece)) => parser.push(&piece),
                Some(Err(source)) => return Err(Error::unreachable(url, source)),
                None => return Ok(None),
            }
        }
    }))
}

fn too_large() -> Error {
    Error::AnswerTooLarge { limit: MAX_ANSWER }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_what_they_can_have() {
        for plain in ["search_agents", "agentdex://things/urn:x:a", ""] {
            assert_eq!(header_value(plain), plain);
        }
        assert_eq!(header_value("ü"), "=?base64?w7w=?=");
        assert_eq!(header_value(" a"), "=?base64?IGE=?=");
        assert_eq!(header_value("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
