//! What names stand for: asked once a request, checked, and then connected to without asking again.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

use tokio::sync::Semaphore;

/// Look-ups that may be under way at once; one that takes long can't be called off.
const LOOKUPS_AT_ONCE: usize = 64;

/// The addresses of a host, to come.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Says which addresses a host name stands for. Whatever it says is checked before it is used.
pub trait Resolver: Send + Sync {
    /// All addresses of `host`.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// Asks the operating system.
pub(super) struct SystemResolver(Arc<Semaphore>);

impl SystemResolver {
    pub fn new() -> SystemResolver {
        SystemResolver(Arc::new(Semaphore::new(LOOKUPS_AT_ONCE)))
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let place = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
            let host = host.to_owned();
            // A task of its own, since the place must be held until the system's look-up has ended,
            // also where nobody waits for it any more.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((host, 0)).await;
                drop(place);
                found.map(|addresses| addresses.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

/// The resolver of one connection: it says what was checked, whoever asks for whatever.
pub(super) struct Checked(pub Vec<IpAddr>);

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        // Port 0 stands for the port in the URL.
        let addresses: Vec<SocketAddr> = self.0.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs) })
    }
}
