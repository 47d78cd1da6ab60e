//! How to fetch, and what.

use std::{path::PathBuf, time::Duration};

use super::AllowList;

/// What is asked for unless the caller asks for something else.
const JSON: &str = "application/json, application/*+json;q=0.9";

/// How a [`super::Fetcher`] fetches. The default is right for public documents.
#[derive(Debug, Clone)]
pub struct Options {
    /// What may be fetched from although it isn't public.
    pub allowed: AllowList,
    /// The HTTP proxy that everything goes through, such as `http://proxy.internal:3128`; none: none,
    /// whatever the environment says. Names are still checked where they can be resolved here; which
    /// address is connected to is then up to the proxy.
    pub proxy: Option<String>,
    /// A PEM file with certificates that are trusted beside those of the system.
    pub ca: Option<PathBuf>,
    /// How long everything may take, redirects and the body included.
    pub timeout: Duration,
    /// How long each of waiting for a turn, resolving, connecting, and waiting for the next bytes may take.
    pub phase_timeout: Duration,
    /// The most bytes of a document, decompressed or not.
    pub max_bytes: usize,
    /// Maximum number of fetches at the same time; others wait. Polls of tracked sources have as many of their own.
    pub at_once: usize,
    /// Fetches at once from one host.
    pub at_once_per_host: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            allowed: AllowList::default(),
            proxy: None,
            ca: None,
            timeout: Duration::from_secs(15),
            phase_timeout: Duration::from_secs(5),
            max_bytes: 1024 * 1024,
            at_once: 16,
            at_once_per_host: 4,
        }
    }
}

/// What to fetch.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is fetched"]
pub struct Request {
    pub(super) url: String,
    pub(super) accept: &'static str,
}

impl Request {
    /// The JSON document at a URL.
    pub fn new(url: impl Into<String>) -> Request {
        Request { url: url.into(), accept: JSON }
    }

    /// Says which media types are preferred; whatever comes must be one of JSON.
    pub fn accept(mut self, media_types: &'static str) -> Request {
        self.accept = media_types;
        self
    }
}
