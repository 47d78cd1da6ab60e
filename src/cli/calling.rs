//! Commands that call agents: what they share.

use std::{net::SocketAddr, time::Duration};

use clap::Args;

use super::output::complain;
use crate::settings::number;
use agentdex::fetch::{self, AllowList};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Consumer, PassTrace, Sacp, Settings};

#[derive(Debug, Args)]
pub(super) struct Calling {
    /// Allow calls to this network, address, or host even if it isn't public, such as 127.0.0.1:9000; can be repeated
    #[arg(long, env = "AGENTDEX_ALLOW_FETCH", value_delimiter = ',', value_name = "CIDR|HOST[:PORT]")]
    allow_fetch: Vec<String>,
    /// Maximum duration of a call in seconds; by default, the duration declared in the agent's description, or else 120
    #[arg(long, value_name = "SECONDS", value_parser = number::<u64>(0..=u64::MAX))]
    timeout: Option<u64>,
    /// Use only this binding: a2a, http, mcp, mqtt, or lmos-websocket
    #[arg(long, value_name = "NAME")]
    binding: Option<String>,
}

impl Calling {
    /// A consumer whose agents' answers are read for people.
    pub(super) async fn consumer(&self, client: &RegistryClient) -> anyhow::Result<Consumer> {
        let consumer = self.consumer_of_answers(client).await?;
        Ok(consumer.with_settings(Settings::new().answers(Sacp::Allowed)))
    }

    /// A consumer that leaves answers as they are.
    pub(super) async fn consumer_of_answers(&self, client: &RegistryClient) -> anyhow::Result<Consumer> {
        // A variable that is set to nothing allows nothing.
        let allowed = AllowList::parse(self.allow_fetch.iter().filter(|entry| !entry.is_empty()))?;
        let allowed = match agents_of_demo(client).await? {
            Some(own) => allowed.and(own),
            None => allowed,
        };
        let options = fetch::Options::default().allowed(allowed);
        let mut settings = Settings::new();
        if let Some(seconds) = self.timeout {
            settings = settings.timeout(Duration::from_secs(seconds));
        }
        if let Some(name) = &self.binding {
            settings = settings.binding(name);
        }
        let consumer = Consumer::with_options(client.clone(), options)?;
        Ok(consumer.with_settings(settings).with_middleware(PassTrace))
    }
}

/// The address of the registry, if agents there may be called: it is on loopback, and says that it is a demo. A registry
/// elsewhere could talk its clients into calling their own machines.
async fn agents_of_demo(client: &RegistryClient) -> anyhow::Result<Option<AllowList>> {
    let Some(address) = loopback_address(client.url()) else { return Ok(None) };
    // What can't be reached is reported by the command.
    if !client.clone().attempts(1).about().await.is_ok_and(|about| about.demo) {
        return Ok(None);
    }
    complain(&format!("allowing calls to {address}: the registry there is a demo on this machine"));
    Ok(Some(AllowList::parse([address.to_string()])?))
}

/// The address in a URL, if it is on loopback.
fn loopback_address(url: &str) -> Option<SocketAddr> {
    let authority = url.strip_prefix("http://")?.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let address = match authority.strip_prefix("localhost") {
        Some(port) => format!("127.0.0.1{port}"),
        None => authority.to_owned(),
    };
    let address = address.parse().or_else(|_| format!("{address}:80").parse()).ok();
    address.filter(|address: &SocketAddr| address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_registries_on_loopback_may_be_demos() {
        let address = |url: &str| loopback_address(url).map(|address| address.to_string());
        for (url, expected) in [
            ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
            ("http://localhost:8080", "127.0.0.1:8080"),
            ("http://user:password@127.0.0.1:9/registry/", "127.0.0.1:9"),
            ("http://[::1]:8080/", "[::1]:8080"),
            ("http://127.0.0.2/", "127.0.0.2:80"),
        ] {
            assert_eq!(address(url).as_deref(), Some(expected), "{url}");
        }
        for url in [
            "http://192.0.2.1:8080/",
            "http://localhost.example:8080/",
            "http://127.0.0.1.example:8080/",
            "http://127.0.0.1:8080@registry.example/",
            "https://127.0.0.1:8080/",
            "http://registry.example/?127.0.0.1:8080",
        ] {
            assert_eq!(address(url), None, "{url}");
        }
    }
}
