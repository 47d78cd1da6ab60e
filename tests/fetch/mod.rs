//! The guarded fetcher, against real servers on loopback that it may or may not fetch from.

mod bounds;
mod conditions;
mod proxies;
mod redirects;
mod refusals;
mod secured;
mod site;

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agentdex::{
    Error,
    fetch::{AllowList, Fetched, Fetcher, Options, Request, Resolver, Resolving},
};

use self::site::Site;

/// Options that allow these places, with short times.
fn allowing<E: AsRef<str>>(entries: impl IntoIterator<Item = E>) -> Options {
    Options {
        allowed: AllowList::parse(entries).unwrap(),
        timeout: Duration::from_secs(20),
        phase_timeout: Duration::from_secs(10),
        ..Options::default()
    }
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
        Err(Error::FetchRefused { url: refused, reason }) => {
            assert_eq!(refused, url);
            reason
        }
        other => panic!("{url} is not refused: {other:?}"),
    }
}

/// Why fetching failed.
fn failure(fetcher: &Fetcher, url: &str) -> String {
    match fetch(fetcher, url) {
        Err(Error::FetchFailed { reason, .. }) => reason,
        other => panic!("fetching {url} does not fail: {other:?}"),
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A resolver that gives one answer after the other, and the last one again and again.
#[derive(Clone, Default)]
struct Answers {
    left: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    asked: Arc<AtomicUsize>,
}

impl Answers {
    fn of(answers: &[&[&str]]) -> Answers {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        let left = answers.iter().rev().map(parse).collect();
        Answers { left: Arc::new(Mutex::new(left)), asked: Arc::default() }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Resolver for Answers {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let mut left = self.left.lock().unwrap();
            let answer = if left.len() > 1 { left.pop() } else { left.last().cloned() };
            answer.ok_or_else(|| io::Error::other("no such name"))
        })
    }
}
