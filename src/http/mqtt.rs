//! `/mqtt`: MQTT over WebSocket (MQTT 5.0, section 6), a door to the same endpoint as its socket.
//!
//! Binary messages are a stream of bytes in both directions, cut anywhere. Pages of other origins
//! are let in as by CORS, which browsers don't apply to WebSockets themselves.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderMap},
    },
    rt, web,
};
use actix_ws::{Item, Message, MessageStream, Session};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    time::timeout,
};

use super::{Context, Problem};

/// The subprotocol that clients have to offer.
const SUBPROTOCOL: &str = "mqtt";
/// How much is on its way between the endpoint and the WebSocket.
const BUFFER_BYTES: usize = 64 * 1024;
/// The most bytes in one message to the client.
const MESSAGE_BYTES: usize = 16 * 1024;
/// How long a client may take nothing.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers `GET /mqtt`.
pub(super) async fn connect(
    request: HttpRequest,
    body: web::Payload,
    context: web::Data<Context>,
) -> Result<HttpResponse, actix_web::Error> {
    let Some(door) = &context.options.mqtt else { return Err(Problem::unknown_path(request.path()).into()) };
    if !offers_mqtt(request.headers()) {
        let detail = "offer the WebSocket subprotocol `mqtt` in `Sec-WebSocket-Protocol`";
        return Err(Problem::invalid_parameter("Sec-WebSocket-Protocol", detail).into());
    }
    if !is_origin_allowed(request.headers(), &context.options.cors_origins) {
        let detail = "pages of this origin are not let in; add it to the allowed origins";
        return Err(Problem::new(StatusCode::FORBIDDEN, "origin-not-allowed", detail).into());
    }
    let (response, session, messages) = actix_ws::handle_with_protocols(&request, body, &[SUBPROTOCOL])?;
    let (near, far) = tokio::io::duplex(BUFFER_BYTES);
    let peer = request.connection_info().peer_addr().unwrap_or("unknown").to_owned();
    door.attach(far, format!("{peer} (WebSocket)"));
    rt::spawn(bridge(session, messages, near));
    Ok(response)
}

/// Moves bytes until one side is done.
async fn bridge(session: Session, messages: MessageStream, near: DuplexStream) {
    let (reader, writer) = tokio::io::split(near);
    let from_client = receive(session.clone(), messages, writer);
    let to_client = send(session, reader);
    tokio::pin!(to_client);
    tokio::select! {
        () = &mut to_client => {}
        // The endpoint sees the end, says what it has to say, and closes.
        () = from_client => to_client.await,
    }
}

async fn receive(mut session: Session, mut messages: MessageStream, mut writer: WriteHalf<DuplexStream>) {
    while let Some(Ok(message)) = messages.recv().await {
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Continuation(Item::FirstBinary(bytes) | Item::Continue(bytes) | Item::Last(bytes)) => bytes,
            Message::Ping(payload) => match session.pong(&payload).await {
                Ok(()) => continue,
                Err(_) => break,
            },
            Message::Pong(_) | Message::Nop => continue,
            // Text is no MQTT.
            Message::Text(_) | Message::Continuation(Item::FirstText(_)) | Message::Close(_) => break,
        };
        if writer.write_all(&bytes).await.is_err() {
            break;
        }
    }
    let _ = writer.shutdown().await;
}

async fn send(mut session: Session, mut reader: ReadHalf<DuplexStream>) {
    let mut buffer = vec![0; MESSAGE_BYTES];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        let bytes = buffer.get(..count).unwrap_or_default().to_vec();
        if !matches!(timeout(SEND_TIMEOUT, session.binary(bytes)).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = timeout(SEND_TIMEOUT, session.close(None)).await;
}

fn offers_mqtt(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).filter_map(|value| value.to_str().ok());
    offers.flat_map(|value| value.split(',')).any(|protocol| protocol.trim() == SUBPROTOCOL)
}

/// Whether the page that connects, if it is one, is of this host or of an allowed origin.
fn is_origin_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let is_own = origin.split_once("://").is_some_and(|(_, authority)| Some(authority) == host);
    is_own || allowed.iter().any(|other| other == "*" || other == origin)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HOST, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_PROTOCOL};

    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn subprotocol_mqtt_has_to_be_offered() {
        assert!(offers_mqtt(&headers(&[(SEC_WEBSOCKET_PROTOCOL, "other, mqtt")])));
        assert!(!offers_mqtt(&headers(&[(SEC_WEBSOCKET_PROTOCOL, "mqttv3.1")])));
        assert!(!offers_mqtt(&headers(&[])));
    }

    #[test]
    fn pages_of_other_origins_are_let_in_only_where_allowed() {
        let of = |origin| headers(&[(HOST, "localhost:8080"), (ORIGIN, origin)]);
        let allowed = ["https://example.org".to_owned()];
        assert!(is_origin_allowed(&of("http://localhost:8080"), &[]));
        assert!(!is_origin_allowed(&of("https://example.org"), &[]));
        assert!(is_origin_allowed(&of("https://example.org"), &allowed));
        assert!(!is_origin_allowed(&of("null"), &allowed));
        assert!(is_origin_allowed(&of("https://other.example"), &["*".to_owned()]));
    }
}
