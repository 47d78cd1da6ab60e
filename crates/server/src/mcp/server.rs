//! Streamable HTTP: a request in, an answer out.

use std::{convert::Infallible, fmt, sync::Arc};

use ::http as messages;
use bytes::Bytes;
use http_body_util::{BodyDataStream, Full, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};

use super::{handler::Handler, tools::Tools};

/// A request of HTTP.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The target, with its query.
    pub(crate) uri: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// The body, without content coding.
    pub(crate) body: Bytes,
}

/// An answer of HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: BodyDataStream<BoxBody<Bytes, Infallible>>,
}

/// A server of MCP. Cloning is cheap.
pub(crate) struct Server<T: Tools>(Arc<StreamableHttpService<Handler<T>, NeverSessionManager>>);

impl<T: Tools> Clone for Server<T> {
    fn clone(&self) -> Server<T> {
        Server(self.0.clone())
    }
}

impl<T: Tools> fmt::Debug for Server<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mcp::Server")
    }
}

impl<T: Tools> Server<T> {
    /// A server of tools.
    pub(crate) fn new(tools: T) -> Server<T> {
        let tools = Arc::new(tools);
        // Whoever serves HTTP checks `Host` and `Origin` before.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts();
        let handler = move || Ok(Handler(tools.clone()));
        Server(Arc::new(StreamableHttpService::new(handler, Arc::default(), config)))
    }

    /// Answers a request; none for one that isn't HTTP. Needs a tokio runtime around it.
    pub(crate) async fn answer(&self, request: Request) -> Option<Answer> {
        let head = messages::Request::builder().method(request.method.as_str()).uri(request.uri);
        let head = request.headers.iter().fold(head, |head, (name, value)| head.header(name, value.as_slice()));
        let answer = self.0.handle(head.body(Full::new(request.body)).ok()?).await;
        let (head, body) = answer.into_parts();
        let headers = head.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        Some(Answer { status: head.status.as_u16(), headers: headers.collect(), body: BodyDataStream::new(body) })
    }
}
