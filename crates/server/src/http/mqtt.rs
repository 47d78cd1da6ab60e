//! `/mqtt`: MQTT over WebSocket (MQTT 5.0, section 6), served by the same endpoint as its socket.
//!
//! Binary messages are a stream of bytes in both directions, cut anywhere.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderMap},
    rt, web,
};
use actix_ws::{Item, Message, MessageStream, Session};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    time::timeout,
};

use super::{caller::ByConnection, context::Context, problem::Problem};
use crate::mqtt::Origin;

/// The subprotocol that clients have to offer.
const SUBPROTOCOL: &str = "mqtt";
/// Size of the buffer between the endpoint and the WebSocket in bytes, in each direction.
const BUFFER_BYTES: usize = 64 * 1024;
/// The most bytes in one message to the client.
const MESSAGE_BYTES: usize = 16 * 1024;
/// Maximum time for which a client may read nothing.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers `GET /mqtt`.
pub(super) async fn connect(
    request: HttpRequest,
    body: web::Payload,
    context: web::Data<Context>,
) -> Result<HttpResponse, actix_web::Error> {
    let Some(endpoint) = &context.options.mqtt else { return Err(Problem::unknown_path(request.path()).into()) };
    if !offers_mqtt(request.headers()) {
        let detail = "offer the WebSocket subprotocol `mqtt` in `Sec-WebSocket-Protocol`";
        return Err(Problem::invalid_parameter("Sec-WebSocket-Protocol", detail).into());
    }
    // Browsers apply no CORS to WebSockets and send no preflight request.
    context.hosts.check_origin(request.head(), &context.options)?;
    let place = context.streams.take_for_stream(&request)?;
    let (response, session, messages) = actix_ws::handle_with_protocols(&request, body, &[SUBPROTOCOL])?;
    let (near, far) = tokio::io::duplex(BUFFER_BYTES);
    let peer = request.connection_info().peer_addr().unwrap_or("unknown").to_owned();
    endpoint.attach_from(
        far,
        Origin {
            peer: format!("{peer} (WebSocket)"),
            address: request.peer_addr().map(|peer| peer.ip()),
            holder: request.conn_data::<ByConnection>().map(|ByConnection(holder)| holder.clone()),
        },
    );
    rt::spawn(async move {
        bridge(session, messages, near).await;
        drop(place);
    });
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
        // The endpoint sees the end, sends its last packets, and closes.
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
            // MQTT is never text.
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

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};

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
}
