//! Options of a client.

use std::{fmt, time::Duration};

use crate::error::{Error, Result};

/// Options of a [`Client`](crate::Client).
///
/// ```
/// use agentdex_etcd::{Options, User};
///
/// let options = Options {
///     user: Some(User { name: "registry".into(), password: "secret".into() }),
///     ..Options::new(["https://etcd-1:2379", "https://etcd-2:2379"])
/// };
/// assert_eq!(options.request_deadline.as_secs(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// URLs of the members: scheme (`http` or `https`), host, and port.
    pub endpoints: Vec<String>,
    /// Settings of TLS, for `https` endpoints. Without them, the server's certificate is verified with the roots of the
    /// system. With them, `http` endpoints are an error.
    pub tls: Option<Tls>,
    /// User to log in as.
    pub user: Option<User>,
    /// Maximum duration of an attempt, including login and connecting (3 s).
    pub request_deadline: Duration,
    /// Maximum duration of a read that goes round the endpoints (10 s).
    pub read_deadline: Duration,
    /// Maximum duration of connecting (1 s).
    pub connect_deadline: Duration,
    /// Interval of pings on a connection with open calls or streams (10 s). By default, etcd ends connections with more
    /// than one ping in 5 s (`--grpc-keepalive-min-time`).
    pub keepalive_interval: Duration,
    /// Time after which a connection without an answer to a ping is given up (3 s).
    pub keepalive_deadline: Duration,
    /// Maximum size of a request in bytes (8 MiB). etcd itself accepts 1.5 MiB by default.
    pub max_request_bytes: usize,
    /// Maximum size of a response, and of a message of a watch, in bytes (64 MiB).
    pub max_response_bytes: usize,
    /// Maximum number of concurrent calls (64). Further calls wait until their deadline.
    pub max_calls: usize,
    /// Maximum number of open watches and leases (12). More of them wait until their deadline.
    pub max_streams: usize,
}

impl Options {
    /// Returns default options for these endpoints.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Options {
        Options {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            user: None,
            request_deadline: Duration::from_secs(3),
            read_deadline: Duration::from_secs(10),
            connect_deadline: Duration::from_secs(1),
            keepalive_interval: Duration::from_secs(10),
            keepalive_deadline: Duration::from_secs(3),
            max_request_bytes: 8 << 20,
            max_response_bytes: 64 << 20,
            max_calls: 64,
            max_streams: 12,
        }
    }

    /// Checks everything except for the URLs and certificates.
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |option, message: &str| Err(Error::InvalidOption { option, message: message.into() });
        if self.endpoints.is_empty() {
            return invalid("endpoints", "at least one endpoint is required; for example http://127.0.0.1:2379");
        }
        let durations = [
            ("request_deadline", self.request_deadline),
            ("read_deadline", self.read_deadline),
            ("connect_deadline", self.connect_deadline),
            ("keepalive_interval", self.keepalive_interval),
            ("keepalive_deadline", self.keepalive_deadline),
        ];
        if let Some((option, _)) = durations.into_iter().find(|(_, duration)| duration.is_zero()) {
            return invalid(option, "must be longer than 0 s");
        }
        let numbers = [
            ("max_request_bytes", self.max_request_bytes),
            ("max_response_bytes", self.max_response_bytes),
            ("max_calls", self.max_calls),
            ("max_streams", self.max_streams),
        ];
        match numbers.into_iter().find(|(_, number)| !(1..=i32::MAX as usize).contains(number)) {
            Some((option, _)) => invalid(option, "must be between 1 and 2147483647"),
            None => Ok(()),
        }
    }
}

/// Settings of TLS.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Certificates (PEM) of the authorities that the server's certificate is verified with, instead of the roots of
    /// the system.
    pub ca: Option<Vec<u8>>,
    /// Client certificate.
    pub identity: Option<Identity>,
    /// Name that the server's certificate must have, instead of the host of the URL.
    pub server_name: Option<String>,
}

/// Client certificate with its key, both as PEM.
#[derive(Clone)]
pub struct Identity {
    /// Certificate, followed by those of intermediate authorities.
    pub certificate: Vec<u8>,
    /// Private key.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// User of etcd with a password.
#[derive(Clone)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password.
    pub password: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}
