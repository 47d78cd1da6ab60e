//! `Server`: the API on a socket of its own, until it is asked to stop.
//!
//! One thread, the [`listener`], accepts connections, waits for their first bytes, answers health and metrics
//! itself and passes everything else on to the [`worker`]s. So a worker that is busy, and connections that
//! have used up what there is, delay or cost no health check. Under TLS that thread does the handshakes as well: what
//! a connection asks for can't be seen before. A [`connection`] whose client sends or takes nothing for too long is cut.

mod connection;
mod listener;
mod refusal;
mod socket;
mod worker;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    thread::available_parallelism,
    time::Duration,
};

use tokio::{sync::watch, time::MissedTickBehavior};

use self::{listener::Listener, worker::Worker};
use super::{Options, context::Context};
use crate::{Error, Registry, Result};

/// The HTTP API on a socket of its own.
///
/// ```
/// # fn main() -> agentdex::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("agentdex-server-{}", std::process::id()));
/// let registry = agentdex::Registry::builder(&directory).open()?;
/// let server = agentdex_server::http::Server::bind("127.0.0.1:0", &registry, agentdex_server::http::Options::default())?;
/// println!("http://{}", server.local_addr());
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// let shutdown = async { /* wait for a signal */ };
/// runtime.block_on(server.run(shutdown))?;
/// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a server serves nothing until it is run"]
pub struct Server {
    listener: TcpListener,
    local_addr: SocketAddr,
    registry: Registry,
    options: Options,
}

impl Server {
    /// Takes an address; port 0 is any that is free.
    ///
    /// # Errors
    /// [`Error::Io`] where the address can't be had, [`Error::InvalidSetting`] as [`Options::check`] says.
    pub fn bind(address: impl ToSocketAddrs, registry: &Registry, options: Options) -> Result<Server> {
        let listener = TcpListener::bind(address)
            .map_err(|source| Error::Io { doing: "opening the HTTP port".to_owned(), source })?;
        Server::on_listener(listener, registry, options)
    }

    /// Takes a socket that listens already.
    ///
    /// # Errors
    /// [`Error::Io`] where its address can't be read, [`Error::InvalidSetting`] as [`Options::check`] says.
    pub fn on_listener(listener: TcpListener, registry: &Registry, options: Options) -> Result<Server> {
        options.check()?;
        let address = listener.local_addr();
        let local_addr = address
            .map_err(|source| Error::Io { doing: "reading the address of the HTTP socket".to_owned(), source })?;
        Ok(Server { listener, local_addr, registry: registry.clone(), options })
    }

    /// The address that is served.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` is done, then stops: no new requests are taken, requests that are being served
    /// finish, event streams and long polls end. That takes at most five seconds. The registry is left open.
    ///
    /// Needs a tokio runtime around it.
    ///
    /// # Errors
    /// [`Error::Io`] where the socket fails.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let failed = |source| Error::Io { doing: format!("serving HTTP on {}", self.local_addr), source };
        let stop = self.options.stop.clone();
        let count = self.options.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)).max(1);
        let (stopping, stopped) = watch::channel(false);
        let context = actix_web::web::Data::new(Context::shared(&self.registry, self.options));
        let context = context.into_inner();
        let worker = Worker { context: context.clone(), stopped: stopped.clone(), threads: count };
        let (mut workers, mut ends) = (Vec::new(), Vec::new());
        for number in 0..count {
            let (connections, end) = worker.clone().start(number).map_err(failed)?;
            workers.push(connections);
            ends.push(end);
        }
        let listener = Listener { worker, workers };
        let mut accepting = listener.start(self.listener).map_err(failed)?;
        let failure = tokio::select! {
            ended = &mut accepting => Some(ended),
            () = shutdown => None,
            never = log_requests(&context) => match never {},
            never = watch_certificate(&context) => match never {},
        };
        stop.stop();
        stopping.send_replace(true);
        let accepted = match failure {
            Some(ended) => ended,
            None => accepting.await,
        };
        for end in ends {
            // An error is the end of a thread that panicked, which is reported where it happened.
            let _ = end.await;
        }
        accepted.unwrap_or_else(|_| Err(io::Error::other("the listener panicked"))).map_err(failed)
    }
}

/// Replaces the certificate when its files change.
async fn watch_certificate(context: &Context) -> Infallible {
    if let Some(tls) = &context.options.tls {
        return tls.watch().await;
    }
    let _ = context;
    std::future::pending().await
}

/// Logs once a minute how many requests were answered, if there were any.
async fn log_requests(context: &Context) -> Infallible {
    let mut minute = tokio::time::interval(Duration::from_secs(60));
    minute.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut before = context.metrics.requests();
    loop {
        minute.tick().await;
        let now = context.metrics.requests();
        let [requests, refused, failed] = std::array::from_fn(|i| now[i].saturating_sub(before[i]));
        if requests > 0 {
            tracing::info!(target: "agentdex::access", requests, refused, failed, "requests of the last minute");
        }
        before = now;
    }
}
