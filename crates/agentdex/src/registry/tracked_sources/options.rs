//! Options of tracking.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use crate::{
    Error, Result,
    convert::{Conversion, Format, ImportOptions, Input, detect},
    fetch::{Fetcher, shown},
    signature::TrustedKeys,
};

/// Function that converts a fetched document to Things.
pub type Converter = Arc<dyn Fn(&FetchedDocument<'_>) -> Result<Conversion> + Send + Sync>;

/// Function that connects to the MCP server at a URL, and returns its description as a Server Card.
pub type ServerDescriber = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send>> + Send + Sync>;

/// A fetched document to be converted.
#[derive(Debug, Clone, Copy)]
pub struct FetchedDocument<'a> {
    /// Requested or detected format.
    pub format: Format,
    /// Content of the document.
    pub document: &'a [u8],
    /// URL of the document, after redirects.
    pub url: &'a str,
    /// Base for relative URLs in the document. `None` for a card with a valid signature, whose meaning must not depend
    /// on the server.
    pub base: Option<&'a str>,
    /// Required id of the first Thing, if any.
    pub id: Option<&'a str>,
}

/// Options of tracked sources, for [`crate::registry::Builder::tracking`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Tracking {
    /// Fetcher for documents and the keys of their domains.
    pub fetcher: Fetcher,
    /// Converter for fetched documents.
    pub convert: Converter,
    /// Describer for MCP servers without a card, or with a card that lists no tools; `None` to ignore such servers.
    pub server_describer: Option<ServerDescriber>,
    /// Trusted keys for agent cards, in addition to those of their domains.
    pub trusted_keys: TrustedKeys,
    /// True to refuse agent cards without a valid signature.
    pub require_signature: bool,
    /// Pause after a successful poll.
    pub interval: Duration,
    /// Number of consecutive failures that make a source stale.
    pub stale_after: u32,
    /// True to poll due sources on a background thread; otherwise call [`crate::Registry::refresh_due`].
    pub in_background: bool,
}

impl Tracking {
    /// Creates options for agent cards, MCP Server Cards, and LMOS capability files: hourly polls, stale after five
    /// failures, trust in keys of domains only.
    pub fn new(fetcher: Fetcher) -> Tracking {
        Tracking {
            fetcher,
            convert: Arc::new(convert),
            server_describer: None,
            trusted_keys: TrustedKeys::none(),
            require_signature: false,
            interval: Duration::from_secs(60 * 60),
            stale_after: 5,
            in_background: true,
        }
    }

    /// Sets [`Tracking::fetcher`].
    pub fn fetcher(mut self, fetcher: Fetcher) -> Tracking {
        self.fetcher = fetcher;
        self
    }

    /// Sets [`Tracking::convert`].
    pub fn convert(mut self, convert: Converter) -> Tracking {
        self.convert = convert;
        self
    }

    /// Sets [`Tracking::server_describer`].
    pub fn server_describer(mut self, describer: impl Into<Option<ServerDescriber>>) -> Tracking {
        self.server_describer = describer.into();
        self
    }

    /// Sets [`Tracking::trusted_keys`].
    pub fn trusted_keys(mut self, keys: TrustedKeys) -> Tracking {
        self.trusted_keys = keys;
        self
    }

    /// Sets [`Tracking::require_signature`].
    pub fn require_signature(mut self, required: bool) -> Tracking {
        self.require_signature = required;
        self
    }

    /// Sets [`Tracking::interval`].
    pub fn interval(mut self, interval: Duration) -> Tracking {
        self.interval = interval;
        self
    }

    /// Sets [`Tracking::stale_after`], a number of consecutive failures.
    pub fn stale_after(mut self, failures: u32) -> Tracking {
        self.stale_after = failures;
        self
    }

    /// Sets [`Tracking::in_background`].
    pub fn in_background(mut self, in_background: bool) -> Tracking {
        self.in_background = in_background;
        self
    }
}

impl fmt::Debug for Tracking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracking")
            .field("fetcher", &self.fetcher)
            .field("interval", &self.interval)
            .field("stale_after", &self.stale_after)
            .finish_non_exhaustive()
    }
}

/// Converts the formats that agents serve themselves at well-known places.
fn convert(fetched: &FetchedDocument<'_>) -> Result<Conversion> {
    match fetched.format.import().filter(|import| import.tracking.is_some()) {
        Some(import) => {
            let options = ImportOptions::of_fetched(fetched.id, fetched.base);
            import
                .to_things(&Input::json(fetched.document), &options)
                .map_err(|error| name_format(error.into(), fetched))
        }
        None => {
            let reason = format!(
                "{} documents can be imported, but not tracked by URL; register the document as a file",
                fetched.format
            );
            Err(Error::FetchRefused { url: shown(fetched.url), reason })
        }
    }
}

/// Adds the detected format to the error about a refused document, if it differs from the requested one.
fn name_format(error: Error, fetched: &FetchedDocument<'_>) -> Error {
    let detected = || detect(str::from_utf8(fetched.document).ok()?).ok().filter(|found| *found != fetched.format);
    match error {
        Error::InvalidSource { .. } => match detected() {
            Some(found) => {
                Error::OtherFormat { found: found.name(), noun: found.descriptor().noun, source: Box::new(error) }
            }
            None => error,
        },
        error => error,
    }
}
