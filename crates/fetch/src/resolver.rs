//! Resolution of host names: once for each request. The addresses are checked, and connected to without resolving
//! again.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
};

/// A future with the addresses of a host.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves host names to addresses. All results are checked before they are used.
pub trait Resolver: Send + Sync {
    /// All addresses of `host`.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// Asks the operating system.
pub(super) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The resolver of one connection: it returns the addresses that were checked, for any name.
pub(super) struct Checked(pub Vec<IpAddr>);

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        // Port 0 stands for the port in the URL.
        let addresses: Vec<SocketAddr> = self.0.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs) })
    }
}
