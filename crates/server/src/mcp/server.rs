//! Streamable HTTP: a request in, an answer out.

use std::{borrow::Cow, convert::Infallible, fmt, sync::Arc};

use ::http as messages;
use bytes::Bytes;
use http_body_util::{BodyDataStream, BodyExt, Full, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, json, value::RawValue};

use super::{foreign_text::excerpt, handler::Handler, tools::Tools};

/// Maximum number of characters of an error's message.
const LONGEST_MESSAGE: usize = 1000;
/// Error code of JSON-RPC 2.0 for an unknown method.
const METHOD_NOT_FOUND: i32 = -32601;

/// Body of an answer.
pub(crate) type Body = BodyDataStream<BoxBody<Bytes, Infallible>>;

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
    pub(crate) body: Body,
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
        let headers: Vec<_> = headers.filter(|(name, _)| name != "content-length").collect();
        let is_json = headers.iter().any(|(name, kind)| name == "content-type" && kind == b"application/json");
        let body = match is_json {
            true => Full::new(with_short_error(body.collect().await.unwrap_or_default().to_bytes())).boxed(),
            false => body,
        };
        Some(Answer { status: head.status.as_u16(), headers, body: BodyDataStream::new(body) })
    }
}

/// Shortens an error message. The SDK may repeat client texts in it, or write nothing but a method name.
fn with_short_error(body: Bytes) -> Bytes {
    #[derive(Deserialize)]
    struct Failure<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        error: Option<Reason<'a>>,
        #[serde(rename = "result")]
        _result: Option<Unread>,
    }

    /// Ends the reading of a result, which may be long.
    struct Unread;

    impl<'de> Deserialize<'de> for Unread {
        fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Unread, D::Error> {
            Err(D::Error::custom("it is a result"))
        }
    }

    #[derive(Deserialize)]
    struct Reason<'a> {
        code: i32,
        #[serde(borrow)]
        message: Cow<'a, str>,
        data: Option<Value>,
    }

    let Ok(Failure { id, error: Some(Reason { code, message, data }), .. }) = serde_json::from_slice(&body) else {
        return body;
    };
    let message = match code {
        METHOD_NOT_FOUND => "the server has no such method".to_owned(),
        _ => excerpt(&message, LONGEST_MESSAGE),
    };
    let mut error = json!({"code": code, "message": message});
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into()
}
