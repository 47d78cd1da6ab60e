//! The built-in endpoint: an MQTT 3.1.1 and 5 server that only the registry publishes on.
//!
//! It reads the log and the store for each client at the client's pace, and queues nothing:
//!
//! - [`framing`], [`topic_alias`], [`engine`] and [`packets`] speak the protocol;
//! - [`handshake`] accepts clients, wherever their [`origin`] is, [`connection`] acts on their requests, [`link`] moves bytes;
//! - [`filter`], [`trie`] and [`matcher`] find the subscriptions that match a change, once for all clients;
//! - [`delivery`] decides what is sent next: changes, shares, [`retained`] descriptions, or what is [`in_flight`] again;
//! - [`decisions`] are those of the guardian, which come from no log;
//! - [`counters`] is what can be measured of it;
//! - [`session`], [`sessions`] and [`stored`] hold what outlives a connection, [`group`] what clients share,
//!   [`index`] what all of them have subscribed to and may.
//!
//! Everything runs on threads of its own, apart from HTTP.

mod connection;
mod context;
mod counters;
mod cursor;
mod decisions;
mod delivery;
mod delivery_options;
mod engine;
mod filter;
mod framing;
mod group;
mod handshake;
mod in_flight;
mod index;
mod link;
mod matcher;
mod origin;
mod packets;
mod retained;
mod session;
mod sessions;
mod stored;
mod topic_alias;
mod trie;

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Builder, Runtime},
    sync::watch,
    time::Instant,
};

pub(crate) use self::origin::Origin;
use self::{context::Context, counters::Counters, handshake::serve, index::SubscriptionIndex, sessions::Sessions};
use super::{
    EndpointOptions,
    feed::{ENDPOINT_MESSAGES, Feed},
    topics::Topics,
};
use crate::tls::{Protocol, ServerTls};
use crate::{Error, Registry, Result};

/// Number of connections beyond the limit that get a CONNACK with the reason; those beyond that are just closed.
const REFUSED_CONNECTIONS: usize = 64;
/// Maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// The most threads that serve clients.
const MAX_THREADS: usize = 4;
/// Interval at which expired sessions are ended.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(10);
/// Pause of the listener when it can't accept, as when there are no file descriptors left.
const REST: Duration = Duration::from_millis(100);

/// The built-in endpoint while it runs. Dropping it stops it.
///
/// ```no_run
/// # fn main() -> agentdex::Result<()> {
/// use agentdex_server::mqtt::{Endpoint, EndpointOptions};
///
/// let registry = agentdex::Registry::builder("agentdex-data").open()?;
/// let endpoint = Endpoint::bind("127.0.0.1:1883", registry, EndpointOptions::default())?;
/// println!("mosquitto_sub -p {} -t 'agentdex/#'", endpoint.local_addr().port());
/// endpoint.stop();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    handle: EndpointHandle,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Serves clients that don't connect to the endpoint's own socket. Cloning is cheap.
#[derive(Clone)]
pub struct EndpointHandle {
    context: Arc<Context>,
    runtime: tokio::runtime::Handle,
}

impl Endpoint {
    /// Listens at `address` (host and port; port 0 for a free port) and serves `registry`.
    ///
    /// # Errors
    /// [`Error::Io`] where the address isn't available, [`Error::InvalidSetting`] for a prefix that
    /// can't start a topic, [`Error::Store`] where the stored sessions can't be read.
    pub fn bind(address: &str, registry: Registry, options: EndpointOptions) -> Result<Endpoint> {
        let topics = Topics::new(&options.prefix)?;
        let feed = Arc::new(Feed::new(registry, topics, ENDPOINT_MESSAGES));
        let index = Arc::new(SubscriptionIndex::new(feed, &options));
        let sessions = Arc::new(Sessions::load(index.clone(), options.max_sessions)?);
        let doing = || format!("listening for MQTT at {address}");
        let failed = |source| Error::Io { doing: doing(), source };
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();

        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
        let mut builder = Builder::new_multi_thread();
        let builder = builder.worker_threads(threads).thread_name("agentdex-mqtt").enable_io().enable_time();
        let runtime = builder.build().map_err(failed)?;
        let entered = runtime.enter();
        let listener = listen(&addresses);
        drop(entered);
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                // Dropping it would panic if the caller is asynchronous.
                runtime.shutdown_background();
                return Err(failed(error));
            }
        };
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let context = Arc::new(Context { index, sessions, options, stop: stopped, counters: Arc::default() });
        context.index.feed.registry().add_metrics(&context);
        let handle = EndpointHandle { context, runtime: runtime.handle().clone() };
        let accepting = handle.clone();
        let thread = std::thread::Builder::new()
            .name("agentdex-mqtt".into())
            .spawn(move || accepting.run(runtime, listener))
            .map_err(failed)?;
        Ok(Endpoint { address, handle, stop, thread: Mutex::new(Some(thread)) })
    }

    /// Returns the address at which it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the handle for clients that don't connect to its own socket.
    pub fn handle(&self) -> EndpointHandle {
        self.handle.clone()
    }

    /// Disconnects all clients, saves their sessions, and ends. Blocks, at most a second longer
    /// than [`EndpointOptions::stop_timeout`].
    pub fn stop(&self) {
        self.stop.send_replace(true);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop();
    }
}

impl EndpointHandle {
    /// Serves the client at the other end of `stream`; `peer` names it in the logs.
    pub fn attach<S>(&self, stream: S, peer: impl Into<String>)
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        self.attach_from(stream, Origin { peer: peer.into(), address: None, holder: None });
    }

    /// The same for a client that more is known of.
    pub(crate) fn attach_from<S>(&self, stream: S, origin: Origin)
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let Some((place, admitted)) = self.admit() else { return };
        let context = self.context.clone();
        self.runtime.spawn(async move {
            serve(context, stream, origin, admitted).await;
            drop(place);
        });
    }

    /// A place for a connection, and whether it is within the limit; none where not even a refusal is sent.
    fn admit(&self) -> Option<(Place, bool)> {
        let limit = self.context.options.max_connections;
        let place = Place::take(&self.context.counters);
        let admitted = place.number <= limit;
        (place.number <= limit + REFUSED_CONNECTIONS).then_some((place, admitted))
    }

    /// Returns the number of open connections, including those before CONNACK and those that are being refused.
    pub fn connections(&self) -> usize {
        self.context.counters.connections.load(Ordering::Relaxed)
    }

    fn run(self, runtime: Runtime, listener: TcpListener) {
        if let Some(tls) = self.context.options.tls.clone() {
            runtime.spawn(async move { tls.watch().await });
        }
        runtime.block_on(async {
            self.accept(listener).await;
            let deadline = Instant::now() + self.context.options.stop_timeout;
            while self.connections() > 0 && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }

    async fn accept(&self, listener: TcpListener) {
        let mut stop = self.context.stop.clone();
        let mut expiry = tokio::time::interval(EXPIRY_INTERVAL);
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => self.attach_tcp(stream, peer),
                    Err(error) => {
                        tracing::warn!(%error, "an MQTT connection can't be accepted");
                        tokio::time::sleep(REST).await;
                    }
                },
                _ = expiry.tick() => self.context.sessions.expire(),
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }

    fn attach_tcp(&self, stream: TcpStream, peer: SocketAddr) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "TCP_NODELAY can't be set on an MQTT connection");
        }
        let origin = Origin { peer: peer.to_string(), address: Some(peer.ip()), holder: None };
        if let Some(tls) = self.context.options.tls.clone() {
            return self.attach_encrypted(tls, stream, origin);
        }
        self.attach_from(stream, origin);
    }

    /// Serves a client once it has done its handshake, for which it has as long as for CONNECT.
    fn attach_encrypted(&self, tls: ServerTls, stream: TcpStream, origin: Origin) {
        let Some((place, admitted)) = self.admit() else { return };
        let (context, mut stop) = (self.context.clone(), self.context.stop.clone());
        self.runtime.spawn(async move {
            let accepted = tokio::select! {
                accepted = tls.accept(stream, Protocol::Mqtt, context.options.connect_timeout) => accepted,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            match accepted {
                Ok((stream, holder)) => serve(context, stream, Origin { holder, ..origin }, admitted).await,
                Err(error) => {
                    tracing::debug!(peer = origin.peer, %error, "a TLS handshake of an MQTT connection failed")
                }
            }
            drop(place);
        });
    }
}

impl std::fmt::Debug for EndpointHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointHandle").field("connections", &self.connections()).finish_non_exhaustive()
    }
}

/// One of the connections, as long as it is held.
struct Place {
    counters: Arc<Counters>,
    number: usize,
}

impl Place {
    fn take(counters: &Arc<Counters>) -> Place {
        Place { counters: counters.clone(), number: counters.connections.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counters.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Listens at the first of the addresses that is available.
fn listen(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the host has no address");
    for address in addresses {
        match listen_at(*address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    // Accepted connections inherit it: a client of 3.1.1 without keep-alive is noticed to be gone.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
