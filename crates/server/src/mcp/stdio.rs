//! Serves a data directory to a single client, without HTTP.

use std::{fmt, future::pending, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};

use super::{
    message::{Message, Refusal},
    registry::RegistryTools,
    server::{Answer, Request, Server},
};
use crate::{Registry, access::Rules, registry::Since};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// A registry as an MCP server for one client in this process. It answers messages as `/mcp` does. Cloning is cheap.
#[derive(Clone)]
pub struct LocalServer(Server<RegistryTools>);

impl fmt::Debug for LocalServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalServer")
    }
}

impl LocalServer {
    /// Creates a server of a registry. Reads and writes of the registry run on the task that polls an answer.
    #[must_use]
    pub fn new(registry: &Registry, rules: Rules) -> LocalServer {
        LocalServer(Server::new(RegistryTools {
            registry: registry.clone(),
            rules,
            conversations: None,
            since: Since::Now,
            stopped: Arc::new(|| pending().boxed()),
            blocking: |work| async move { work() }.boxed(),
            explain: |error| error.to_string(),
        }))
    }

    /// Answers a message, an object of JSON-RPC 2.0. Returns a stream of response messages: a single message in most cases,
    /// an open-ended stream for a subscription, an empty stream for a notification. Dropping it cancels the request. Needs a
    /// tokio runtime around it.
    pub async fn answer(&self, text: &str) -> BoxStream<'static, String> {
        match self.find_answer(text).await {
            Ok(answer) => answer,
            Err(refusal) => stream::iter([refusal.body.to_string()]).boxed(),
        }
    }

    async fn find_answer(&self, text: &str) -> Result<BoxStream<'static, String>, Refusal> {
        let message = Message::read(text.as_bytes())?;
        if let Some(version) = message.version() {
            message.check_version(version.as_bytes())?;
        }
        let request = Request {
            method: "POST".to_owned(),
            // The SDK refuses a request without a host.
            uri: "http://localhost/mcp".to_owned(),
            headers: headers_of(&message),
            body: text.to_owned().into(),
        };
        let Some(Answer { status, headers, body }) = self.0.answer(request).await else {
            return Err(message.invalid_params());
        };
        let kind = headers.iter().find(|(name, _)| name == "content-type");
        match kind.map(|(_, kind)| kind.as_slice()) {
            Some(kind) if kind == EVENT_STREAM.as_bytes() => Ok(events(body)),
            Some(kind) if kind == JSON.as_bytes() => {
                let pieces: Vec<_> = body.filter_map(async |piece| piece.ok()).collect().await;
                Ok(stream::iter([String::from_utf8_lossy(&pieces.concat()).into_owned()]).boxed())
            }
            _ if status < 300 => Ok(stream::empty().boxed()),
            _ => Err(message.invalid_params()),
        }
    }
}

/// Returns headers of a request over HTTP. Some repeat members of its message.
fn headers_of(message: &Message) -> Vec<(String, Vec<u8>)> {
    let fixed = [("content-type", JSON.to_owned()), ("accept", format!("{JSON}, {EVENT_STREAM}"))];
    let repeated = message.version().into_iter().flat_map(|version| {
        let method = ("mcp-method", message.method().to_owned());
        let name = message.subject().map(|name| ("mcp-name", header_value(name)));
        [("mcp-protocol-version", version.to_owned()), method].into_iter().chain(name)
    });
    fixed.into_iter().chain(repeated).map(|(name, value)| (name.to_owned(), value.into_bytes())).collect()
}

/// Encodes a text in Base64, as headers allow only some characters.
fn header_value(text: &str) -> String {
    format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
}

/// Returns messages in a body of events. Each is one line of data.
fn events(body: super::server::Body) -> BoxStream<'static, String> {
    stream::unfold((body, Vec::new()), async |(mut body, mut held): (_, Vec<u8>)| {
        loop {
            let Some(end) = held.iter().position(|byte| *byte == b'\n') else {
                held.extend_from_slice(&body.next().await?.ok()?);
                continue;
            };
            let line: Vec<u8> = held.drain(..=end).collect();
            let data = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).filter(|data| !data.is_empty());
            if let Some(data) = data {
                return Some((String::from_utf8_lossy(data).into_owned(), (body, held)));
            }
        }
    })
    .boxed()
}
