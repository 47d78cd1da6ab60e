//! Transport of MCP 2024-11-05: all answers arrive in a stream of events, whose first event contains the URL for
//! posting messages.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream, stream::BoxStream};
use reqwest::{Method, Url};
use rmcp::{
    model::JsonRpcMessage,
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport as McpTransport,
};
use tokio::sync::Semaphore;

use super::{
    super::{
        Call, Error, Result,
        headers::declared_headers,
        transport::{Outgoing, Transport, origin},
    },
    answer::NAME,
};
use crate::{client::sse::Block, fetch::shown};

/// Maximum number of requests of a server that aren't answered; until then its stream is read no further.
const MAX_UNANSWERED: usize = 16;

/// A connection to a server.
pub(super) struct SseTransport {
    http: Transport,
    /// Address that messages are posted to.
    endpoint: String,
    events: BoxStream<'static, Result<Block>>,
    unanswered: Arc<Semaphore>,
    ending: Ending,
}

/// The reason why a stream ended, which the protocol library doesn't pass on.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending(Arc<Mutex<Option<Error>>>);

impl Ending {
    fn set(&self, error: Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Returns the reason once, if the stream ended with an error.
    pub(super) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl SseTransport {
    /// Opens the stream of a form.
    pub(super) async fn connect(call: &Call, ending: Ending) -> Result<SseTransport> {
        let http = Transport::of(call).with_headers(declared_headers(call)?);
        SseTransport::open(http, &call.form.href, ending).await
    }

    /// Opens the stream and waits for the address of messages, which must be of the same origin.
    pub(super) async fn open(http: Transport, target: &str, ending: Ending) -> Result<SseTransport> {
        let request = Outgoing::new(Method::GET, target).header("accept", "text/event-stream");
        let answer = http.send(&request).await?;
        let (url, base) = (answer.url.clone(), answer.response.url().clone());
        let media_type = answer.media_type();
        if media_type != "text/event-stream" {
            return Err(protocol(&url, format!("the media type is {media_type:?} instead of text/event-stream")));
        }
        let mut events = answer.blocks().boxed();
        let first = events.next().await.transpose()?;
        let endpoint = match first {
            Some(block) if block.kind == "endpoint" => resolve(&base, &block.data),
            Some(block) => return Err(protocol(&url, format!("the first event is {:?}, not `endpoint`", block.kind))),
            None => return Err(Error::Interrupted { url, reason: "the stream ended before its first event".into() }),
        };
        let endpoint = endpoint.ok_or_else(|| protocol(&url, "its endpoint is not a URL".into()))?;
        if origin(&endpoint) != origin(target) {
            let reason = format!("{url} declares it as the message endpoint, but their origins differ");
            return Err(Error::Refused { url: shown(&endpoint), reason });
        }
        let unanswered = Arc::new(Semaphore::new(MAX_UNANSWERED));
        Ok(SseTransport { http, endpoint, events, unanswered, ending })
    }
}

fn resolve(base: &Url, reference: &str) -> Option<String> {
    base.join(reference.trim()).ok().map(String::from)
}

fn protocol(url: &str, reason: String) -> Error {
    let reason: String = reason.chars().filter(|character| !character.is_control()).take(300).collect();
    Error::Protocol { url: shown(url), binding: NAME, reason }
}

impl McpTransport<RoleClient> for SseTransport {
    type Error = Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = Result<()>> + Send + 'static {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (http, unanswered) = (self.http.clone(), self.unanswered.clone());
        let request = Outgoing::new(Method::POST, self.endpoint.clone());
        let url = self.endpoint.clone();
        async move {
            let body = serde_json::to_vec(&message).map_err(|error| protocol(&url, error.to_string()))?;
            let sent = http.send(&request.body("application/json", body)).await;
            if is_answer {
                unanswered.add_permits(1);
            }
            sent.map(drop)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let place = self.unanswered.acquire().await.ok()?;
            let block = match self.events.next().await? {
                Ok(block) => block,
                Err(error) => {
                    self.ending.set(error);
                    return None;
                }
            };
            // Other events are none of the protocol.
            if !matches!(block.kind.as_str(), "" | "message") {
                continue;
            }
            match serde_json::from_str(&block.data) {
                Ok(message) => {
                    if matches!(message, JsonRpcMessage::Request(_)) {
                        place.forget();
                    }
                    return Some(message);
                }
                Err(error) => {
                    self.ending.set(protocol(&self.endpoint, format!("an event is not a JSON-RPC message: {error}")));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<()> {
        self.events = stream::empty().boxed();
        Ok(())
    }
}
