//! WebSocket connections, opened by upgrading an HTTP request.

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{
    StreamExt,
    stream::{SplitSink, SplitStream},
};
use reqwest::{StatusCode, Upgraded, header, header::HeaderMap};
use ring::digest;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message as Frame,
        error::CapacityError,
        protocol::{Role, WebSocketConfig},
    },
};
use uuid::Uuid;

use super::message::NAME;
use crate::{
    Authorization, Call, Error, Network, Place, Result,
    credential::parts,
    fetch::shown,
    headers::{self, check_no_body},
};

/// The subprotocol.
pub(super) const SUBPROTOCOL: &str = "lmosprotocol";
/// GUID appended to the key of a handshake before hashing (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

pub(super) type Sender = SplitSink<WebSocketStream<Upgraded>, Frame>;
pub(super) type Receiver = SplitStream<WebSocketStream<Upgraded>>;

/// Opens a connection. It is one of the guarded client: addresses, certificates and a proxy are as for HTTP.
pub(super) async fn open(call: &Call) -> Result<(Sender, Receiver)> {
    check_no_body(&call.authorization, "WebSocket")?;
    let target = &call.form.href;
    // ws:// and wss:// are http:// and https:// until the connection is upgraded.
    let (client, mut url) = call.network.http(&format!("http{}", &target[2..])).await?;
    let key = BASE64_STANDARD.encode(Uuid::new_v4().as_bytes());
    let mut sent = HeaderMap::new();
    call.headers.iter().try_for_each(|(name, value)| headers::add(&mut sent, name, value))?;
    headers::add_credentials(&mut sent, &call.authorization)?;
    call.trace.iter().try_for_each(|trace| headers::add_trace(&mut sent, trace))?;
    for Authorization { grant, .. } in &call.authorization {
        if let (text, Place::Query(name)) = parts(grant) {
            url.query_pairs_mut().append_pair(name, &text);
        }
    }
    let request = client
        .get(url.clone())
        .headers(sent)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    let response = request.send().await.map_err(|error| Network::failure(url.as_str(), error))?;
    let text = |name: header::HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
    let refused = |reason: &str| Error::Protocol { url: shown(target), binding: NAME, reason: reason.to_owned() };
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS {
        if status.is_success() {
            return Err(refused("the server answered like a plain web server, not with a WebSocket handshake"));
        }
        return Err(Error::Status { url: shown(target), status: status.as_u16(), detail: None, retry_after: None });
    }
    if text(header::SEC_WEBSOCKET_ACCEPT) != Some(accepted(&key).as_str()) {
        return Err(refused("the `Sec-WebSocket-Accept` header doesn't match the request"));
    }
    if text(header::SEC_WEBSOCKET_PROTOCOL) != Some(SUBPROTOCOL) {
        return Err(refused("the server doesn't support the subprotocol lmosprotocol"));
    }
    let stream = response.upgrade().await.map_err(|error| Network::failure(url.as_str(), error))?;
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(call.limits.max_bytes);
    config.max_frame_size = Some(call.limits.max_bytes);
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await.split())
}

/// The answer to a key.
fn accepted(key: &str) -> String {
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{ACCEPT_SUFFIX}").as_bytes());
    BASE64_STANDARD.encode(hash.as_ref())
}

/// Maps a failure of the connection to the error of the call.
pub(super) fn failure(target: &str, error: tungstenite::Error) -> Error {
    let url = target.to_owned();
    match error {
        tungstenite::Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => {
            Error::AnswerTooLarge { url, limit: max_size }
        }
        tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed | tungstenite::Error::Io(_) => {
            Error::Interrupted { url, reason: error.to_string() }
        }
        tungstenite::Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => {
            Error::Interrupted { url, reason: error.to_string() }
        }
        error => Error::Protocol { url, binding: NAME, reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn key_of_the_specification_is_answered() {
        assert_eq!(super::accepted("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
