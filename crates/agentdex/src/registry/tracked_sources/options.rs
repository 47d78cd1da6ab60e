//! Options of tracking.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use crate::{
    Error, Result,
    convert::{Conversion, Format, ImportOptions, Input, detect},
    fetch::{Fetcher, shown},
    signature::TrustedKeys,
};

/// Turns a document that fetched into Things.
pub type Converter = Arc<dyn Fn(&FetchedDocument<'_>) -> Result<Conversion> + Send + Sync>;

/// Connects to the MCP server at a URL, if it is one, and returns what it says about itself as a Server Card.
pub type ServerDescriber = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send>> + Send + Sync>;

/// A document that was fetched and is to be converted.
#[derive(Debug, Clone, Copy)]
pub struct FetchedDocument<'a> {
    /// The format that it is declared to have.
    pub format: Format,
    /// The document.
    pub document: &'a [u8],
    /// The URL that it came from, after redirects.
    pub url: &'a str,
    /// The base for relative URLs in it. None for a card with a valid signature: what it says must not depend on
    /// who serves it.
    pub base: Option<&'a str>,
    /// The id that its first Thing must have, if that is set already.
    pub id: Option<&'a str>,
}

/// Options of tracking; given to [`crate::registry::Builder::tracking`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Tracking {
    /// Fetches documents and the keys of their domains.
    pub fetcher: Fetcher,
    /// Converts what was fetched.
    pub convert: Converter,
    /// Asks MCP servers that publish no card; `None`: they are not asked.
    pub server_describer: Option<ServerDescriber>,
    /// The keys that agent cards are trusted by, beside those of their domains.
    pub trusted_keys: TrustedKeys,
    /// True if agent cards without a valid signature are refused.
    pub require_signature: bool,
    /// The pause after a poll that succeeds.
    pub interval: Duration,
    /// Number of failures in a row that make a source stale.
    pub stale_after: u32,
    /// True if a thread polls the sources that are due; else [`crate::Registry::refresh_due`] must be called.
    pub in_background: bool,
}

impl Tracking {
    /// Tracks agent cards, MCP Server Cards and LMOS capability files: polls them every hour, makes a source stale after five
    /// failures, and trusts the keys of domains only.
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

    /// Sets [`Tracking::stale_after`], a number of failures in a row.
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
            let reason = format!("{} documents can be imported, but not tracked by URL", fetched.format);
            Err(Error::FetchRefused { url: shown(fetched.url), reason })
        }
    }
}

/// The error of a document that is refused; where it is in another format, with the name of that.
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
