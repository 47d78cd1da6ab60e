//! Endpoint of a client.

use std::{fmt, sync::Arc};

/// Endpoint of a [`Client`](crate::Client), displayed as its URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub(crate) index: usize,
    url: Arc<str>,
}

impl Endpoint {
    pub(crate) fn new(index: usize, url: &str) -> Endpoint {
        Endpoint { index, url: url.into() }
    }

    /// Returns the URL, as it was configured.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}
