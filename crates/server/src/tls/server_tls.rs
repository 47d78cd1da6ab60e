//! `ServerTls`: what listeners accept connections with. It is replaced as a whole when its files change.

use std::{
    convert::Infallible,
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::sleep,
};
use tokio_rustls::TlsAcceptor;

use super::{
    Options, client_certificate,
    files::{self, Loaded, Stamps},
};
use crate::{Result, access::Caller, td::Timestamp};

/// Interval at which files are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A connection under TLS.
pub(crate) type Stream<S> = tokio_rustls::server::TlsStream<S>;

/// The protocol spoken under TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Mqtt,
}

/// TLS of a server: its certificate, and the clients that it knows by theirs. Listeners share one; cloning is cheap.
///
/// The files are read again when they change, which [`ServerTls::watch`] notices, and on [`ServerTls::reload`]. New
/// connections get what was read last; files that can't be used change nothing.
///
/// ```no_run
/// # fn main() -> agentdex::Result<()> {
/// use agentdex_server::{http, tls::{self, ServerTls}};
///
/// let tls = ServerTls::open(tls::Options {
///     certificate: "registry.pem".into(),
///     key: "registry.key".into(),
///     client_ca: None,
///     client_roles: Default::default(),
/// })?;
/// let options = http::Options { tls: Some(tls), ..http::Options::default() };
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ServerTls(Arc<Inner>);

struct Inner {
    options: Options,
    loaded: RwLock<Arc<Loaded>>,
    /// The files as they were when they were last read, whatever came of it.
    stamps: Mutex<Stamps>,
    reloads: AtomicU64,
    reload_failures: AtomicU64,
    handshake_failures: AtomicU64,
}

/// State of the TLS of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// When the certificate that is in use stops to be valid.
    pub expires: Timestamp,
    /// Number of times the files were read again and taken.
    pub reloads: u64,
    /// Number of times they were read again and couldn't be used.
    pub reload_failures: u64,
    /// Number of connections that ended before they were encrypted: clients that trust another authority, show a
    /// certificate that isn't valid, speak no TLS, or took too long.
    pub handshake_failures: u64,
}

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`crate::Error::InvalidSetting`] for a file that can't be read, has no certificate or key, or not the key of the
    /// certificate.
    pub fn open(options: Options) -> Result<ServerTls> {
        let stamps = files::stamps(&options);
        let loaded = files::load(&options)?;
        if loaded.expires <= Timestamp::now() {
            tracing::warn!("the certificate in {} expired at {}", options.certificate.display(), loaded.expires);
        }
        Ok(ServerTls(Arc::new(Inner {
            options,
            loaded: RwLock::new(Arc::new(loaded)),
            stamps: Mutex::new(stamps),
            reloads: AtomicU64::new(0),
            reload_failures: AtomicU64::new(0),
            handshake_failures: AtomicU64::new(0),
        })))
    }

    /// Reads the files again, changed or not. Connections that are open go on as they are. Blocks.
    ///
    /// # Errors
    /// As [`ServerTls::open`], and where the new certificate has expired while the present one hasn't; everything stays
    /// as it was.
    pub fn reload(&self) -> Result<()> {
        let mut stamps = self.0.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_again(&mut stamps)
    }

    /// Reads the files again if they have changed. Blocks.
    fn reload_if_changed(&self) {
        let mut stamps = self.0.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if *stamps != files::stamps(&self.0.options) {
            // An error is logged, and these files aren't read again until they change.
            let _ = self.read_again(&mut stamps);
        }
    }

    fn read_again(&self, stamps: &mut Stamps) -> Result<()> {
        // Before the files are read: what is written meanwhile is noticed as a change.
        *stamps = files::stamps(&self.0.options);
        let Inner { options, loaded, reloads, reload_failures, .. } = &*self.0;
        let old = self.loaded().expires;
        let checked = files::load(options).and_then(|new| match Timestamp::now() {
            now if new.expires <= now && old > now => Err(crate::Error::InvalidSetting {
                origin: "tls_cert".into(),
                message: format!("{}: the certificate expired at {}", options.certificate.display(), new.expires),
            }),
            _ => Ok(new),
        });
        match checked {
            Ok(new) => {
                tracing::info!("TLS: reloaded {}, valid until {}", options.certificate.display(), new.expires);
                *loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                reloads.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "TLS: the new files can't be used; the previous certificate stays in use");
                reload_failures.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Reads the files again whenever they change, at most two seconds later. [`crate::http::Server`] and
    /// [`crate::mqtt::Endpoint`] do so by themselves.
    pub async fn watch(&self) -> Infallible {
        loop {
            sleep(POLL_INTERVAL).await;
            let tls = self.clone();
            // It can't fail but by a panic, which is reported where it happens.
            let _ = tokio::task::spawn_blocking(move || tls.reload_if_changed()).await;
        }
    }

    /// Returns the expiry of the certificate, and the counts of reloads and failed handshakes.
    pub fn status(&self) -> Status {
        let number = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Status {
            expires: self.loaded().expires,
            reloads: number(&self.0.reloads),
            reload_failures: number(&self.0.reload_failures),
            handshake_failures: number(&self.0.handshake_failures),
        }
    }

    /// Does the handshake with a client, and says who it is where it has proved that with a certificate.
    ///
    /// # Errors
    /// Why there is no connection; [`io::ErrorKind::TimedOut`] where it took too long.
    pub(crate) async fn accept<S>(
        &self,
        stream: S,
        protocol: Protocol,
        patience: Duration,
    ) -> io::Result<(Stream<S>, Option<Caller>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let loaded = self.loaded();
        let configuration = match protocol {
            Protocol::Http => &loaded.http,
            Protocol::Mqtt => &loaded.mqtt,
        };
        let handshake = TlsAcceptor::from(configuration.clone()).accept(stream);
        let done = tokio::time::timeout(patience, handshake).await;
        let done = done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = done.inspect_err(|_| {
            self.0.handshake_failures.fetch_add(1, Ordering::Relaxed);
        })?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let holder = certificate.and_then(|shown| client_certificate::holder(shown, &self.0.options.client_roles));
        Ok((stream, holder.map(Caller::Principal)))
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.0.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("options", &self.0.options).finish_non_exhaustive()
    }
}
