//! The settings of the endpoint and of the publisher.

use std::{path::PathBuf, time::Duration};

use crate::access::Rules;

/// Options of the built-in endpoint.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// The first levels of all topics.
    pub prefix: String,
    /// Access rules of clients. By default everybody who reaches the endpoint may connect.
    pub access: Rules,
    /// TLS of connections to its socket; none: they aren't encrypted.
    pub tls: Option<crate::tls::ServerTls>,
    /// The most connections at a time, WebSocket included. Those beyond are refused.
    pub max_connections: usize,
    /// The most sessions, connected or away. New ones beyond are refused.
    pub max_sessions: usize,
    /// The most subscriptions of one session. Those beyond get the reason code 0x97 (3.1.1: 0x80).
    pub max_subscriptions: usize,
    /// The most bytes that the subscriptions of one session take: for each twice its filter and 512 bytes.
    pub max_session_subscription_bytes: usize,
    /// The most bytes that the subscriptions of all sessions take.
    pub max_subscription_bytes: usize,
    /// Time that a session of version 3.1.1 waits for its client, which can't ask for a time.
    pub default_session_expiry: Duration,
    /// Maximum time that a session waits for its client, even if the client asks for more.
    pub max_session_expiry: Duration,
    /// Maximum time for a new connection to send CONNECT; under TLS also the maximum time for the handshake before.
    pub connect_timeout: Duration,
    /// Maximum time for which a subscriber may take no bytes, or acknowledge none of a full window. It is then
    /// disconnected.
    pub stall_timeout: Duration,
    /// The longest keep-alive granted to MQTT 5 clients; CONNACK states it to a client that asks for more, or none.
    pub max_keep_alive: Duration,
    /// Maximum time that [`super::Endpoint::stop`] waits for clients to take their DISCONNECT.
    pub stop_timeout: Duration,
}

impl Default for EndpointOptions {
    fn default() -> EndpointOptions {
        EndpointOptions {
            prefix: "agentdex".into(),
            access: Rules::default(),
            tls: None,
            max_connections: 10_000,
            max_sessions: 10_000,
            max_subscriptions: 1_000,
            max_session_subscription_bytes: 1024 * 1024,
            max_subscription_bytes: 64 * 1024 * 1024,
            default_session_expiry: Duration::from_secs(24 * 3600),
            max_session_expiry: Duration::from_secs(7 * 24 * 3600),
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(30),
            max_keep_alive: Duration::from_secs(3600),
            stop_timeout: Duration::from_secs(3),
        }
    }
}

/// Options for publishing to an existing broker.
#[derive(Debug, Clone)]
pub struct PublisherOptions {
    /// The first levels of all topics.
    pub prefix: String,
    /// A PEM file with the certificates that a `mqtts` broker is trusted by; none: those of the system.
    pub trusted_certificates: Option<PathBuf>,
    /// The longest description that is published; packets may be 64 KiB longer.
    pub max_body_bytes: usize,
    /// The longest wait before the next attempt to reach the broker; the first is 100 ms, then it doubles.
    pub max_backoff: Duration,
    /// Maximum time that [`super::Publisher::stop`] waits for messages that are on their way.
    pub stop_timeout: Duration,
}

impl Default for PublisherOptions {
    fn default() -> PublisherOptions {
        PublisherOptions {
            prefix: "agentdex".into(),
            trusted_certificates: None,
            max_body_bytes: crate::td::MAX_DOCUMENT_BYTES,
            max_backoff: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(3),
        }
    }
}
