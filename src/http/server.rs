//! `Server`: the API on a socket of its own, until it is stopped.

use std::{
    future::Future,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    pin::pin,
    thread::available_parallelism,
    time::Duration,
};

use actix_web::{App, HttpServer};

use super::{Options, configure_alone};
use crate::{Error, Registry, Result};

/// How long requests in flight may take to finish once the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// The HTTP API on a socket of its own.
///
/// ```
/// # fn main() -> agentdex::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("agentdex-server-{}", std::process::id()));
/// let registry = agentdex::Registry::builder(&directory).open()?;
/// let server = agentdex::http::Server::bind("127.0.0.1:0", &registry, agentdex::http::Options::default())?;
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
    /// [`Error::Io`] where its address can't be told, [`Error::InvalidSetting`] as [`Options::check`] says.
    pub fn on_listener(listener: TcpListener, registry: &Registry, options: Options) -> Result<Server> {
        options.check()?;
        let address = listener.local_addr();
        let local_addr = address
            .map_err(|source| Error::Io { doing: "asking the HTTP socket for its address".to_owned(), source })?;
        Ok(Server { listener, local_addr, registry: registry.clone(), options })
    }

    /// The address that is served.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` is done, then stops: no new requests are taken, requests in flight
    /// finish, event streams and long polls end. That takes at most five seconds. The registry is left open.
    ///
    /// Needs a tokio runtime around it.
    ///
    /// # Errors
    /// [`Error::Io`] where the socket fails.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let failed = |source| Error::Io { doing: format!("serving HTTP on {}", self.local_addr), source };
        let stop = self.options.stop.clone();
        let workers = self.options.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        let api = configure_alone(&self.registry, self.options);
        let factory = move || App::new().configure(&api);
        let server = HttpServer::new(factory)
            .workers(workers)
            .disable_signals()
            .shutdown_timeout(GRACE.as_secs())
            .tcp_nodelay(true)
            .listen(self.listener)
            .map_err(failed)?
            .run();
        let handle = server.handle();
        let mut server = pin!(server);
        tokio::select! {
            ended = &mut server => return ended.map_err(failed),
            () = shutdown => stop.stop(),
        }
        let (_, ended) = futures_util::future::join(handle.stop(true), server).await;
        ended.map_err(failed)
    }
}
