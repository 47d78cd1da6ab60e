//! The guarded fetcher, against real servers on loopback that it may or may not fetch from.

mod bounds;
mod conditions;
mod proxies;
mod redirects;
mod refusals;
mod secrets;
mod secured;

use std::time::Duration;

use agentdex::fetch::{AllowList, Error, Fetched, Fetcher, Options, Request};

use crate::support::Site;

/// Options that allow these places, with short times.
fn allowing<E: AsRef<str>>(entries: impl IntoIterator<Item = E>) -> Options {
    Options::default()
        .allowed(AllowList::parse(entries).unwrap())
        .timeout(Duration::from_secs(20))
        .phase_timeout(Duration::from_secs(10))
}

/// A fetcher that may fetch from a site.
fn fetcher_for(site: &Site) -> Fetcher {
    Fetcher::new(allowing([site.address().to_string()])).unwrap()
}

fn fetch(fetcher: &Fetcher, url: &str) -> Result<Fetched, Error> {
    block_on(fetcher.fetch(&Request::new(url)))
}

/// Why a URL isn't fetched.
fn refusal(fetcher: &Fetcher, url: &str) -> String {
    match fetch(fetcher, url) {
        Err(Error::Refused { url: refused, reason }) => {
            assert!(url.starts_with(refused.trim_end_matches('…')) || url.contains('@'), "{refused}");
            reason
        }
        other => panic!("{url} is not refused: {other:?}"),
    }
}

/// Why fetching failed.
fn failure(fetcher: &Fetcher, url: &str) -> String {
    match fetch(fetcher, url) {
        Err(Error::Failed { reason, .. }) => reason,
        other => panic!("fetching {url} does not fail: {other:?}"),
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
