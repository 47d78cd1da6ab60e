//! Options and requests of a fetcher.

use std::{path::PathBuf, time::Duration};

use super::AllowList;

/// Media types that a request accepts by default.
const JSON: &str = "application/json, application/*+json;q=0.9";

/// Options of a [`Fetcher`](super::Fetcher) or of [`Connections`](super::Connections). The default suits public documents.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Destinations that are allowed although they aren't public.
    pub allowed: AllowList,
    /// The HTTP proxy for all requests, such as `http://proxy.internal:3128`; `None` for no proxy,
    /// whatever the environment says. Names are still checked if they can be resolved locally, but
    /// the proxy decides to which address it connects.
    pub proxy: Option<String>,
    /// A PEM file with certificates to trust in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// Maximum time of a fetch, including redirects and the body.
    pub timeout: Duration,
    /// Maximum time of each phase: waiting for a turn, resolving, connecting, waiting for the next bytes.
    pub phase_timeout: Duration,
    /// Maximum size of a document in bytes, decompressed or not.
    pub max_bytes: usize,
    /// Maximum number of fetches at the same time; others wait. Polls of tracked sources have a separate limit of
    /// the same size.
    pub at_once: usize,
    /// Maximum number of simultaneous fetches from one host.
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

impl Options {
    /// Sets [`Options::allowed`].
    pub fn allowed(mut self, allowed: AllowList) -> Options {
        self.allowed = allowed;
        self
    }

    /// Sets [`Options::proxy`].
    pub fn proxy(mut self, url: impl Into<Option<String>>) -> Options {
        self.proxy = url.into();
        self
    }

    /// Sets [`Options::ca`].
    pub fn ca(mut self, path: impl Into<Option<PathBuf>>) -> Options {
        self.ca = path.into();
        self
    }

    /// Sets [`Options::timeout`].
    pub fn timeout(mut self, limit: Duration) -> Options {
        self.timeout = limit;
        self
    }

    /// Sets [`Options::phase_timeout`].
    pub fn phase_timeout(mut self, limit: Duration) -> Options {
        self.phase_timeout = limit;
        self
    }

    /// Sets [`Options::max_bytes`].
    pub fn max_bytes(mut self, bytes: usize) -> Options {
        self.max_bytes = bytes;
        self
    }

    /// Sets [`Options::at_once`].
    pub fn at_once(mut self, fetches: usize) -> Options {
        self.at_once = fetches;
        self
    }

    /// Sets [`Options::at_once_per_host`].
    pub fn at_once_per_host(mut self, fetches: usize) -> Options {
        self.at_once_per_host = fetches;
        self
    }
}

/// A URL to fetch, and the media types to request.
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

    /// Sets the preferred media types. The response must have a JSON media type in any case.
    pub fn accept(mut self, media_types: &'static str) -> Request {
        self.accept = media_types;
        self
    }
}
