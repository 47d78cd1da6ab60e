//! How sources are followed, and which.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    Error, Result,
    convert::{
        Conversion, Format,
        a2a::{self, Card},
        lmos_capabilities,
    },
    fetch::{Fetcher, shown},
    registry::IfExists,
    signature::TrustedKeys,
};

/// Turns a document that arrived into Things.
pub type Converter = Arc<dyn Fn(&Arrived<'_>) -> Result<Conversion> + Send + Sync>;

/// A document that was fetched and is to be converted.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    /// What it is said to be.
    pub format: Format,
    /// The document.
    pub document: &'a [u8],
    /// Where it came from, after redirects.
    pub url: &'a str,
    /// What relative URLs in it are resolved against. None for a card with a valid signature: what it says
    /// must not depend on who serves it.
    pub base: Option<&'a str>,
    /// The id that its first Thing must have, if that is set already.
    pub id: Option<&'a str>,
}

/// How a registry follows sources; given to [`crate::registry::Builder::following`].
#[derive(Clone)]
pub struct Following {
    /// Fetches documents and the keys of their domains.
    pub fetcher: Fetcher,
    /// Converts what was fetched.
    pub convert: Converter,
    /// The keys that agent cards are trusted by, beside those of their domains.
    pub trusted_keys: TrustedKeys,
    /// Whether agent cards without a valid signature are refused.
    pub require_signature: bool,
    /// The pause between two looks at a source that succeed.
    pub interval: Duration,
    /// How many failures in a row make an import stale.
    pub stale_after: u32,
    /// Whether a thread looks at what is due; else [`crate::Registry::refresh_due`] must be called.
    pub in_background: bool,
}

impl Following {
    /// Follows agent cards and LMOS capability files. Looks every hour, calls stale what failed five times, and
    /// trusts the keys of domains only.
    pub fn new(fetcher: Fetcher) -> Following {
        Following {
            fetcher,
            convert: Arc::new(convert),
            trusted_keys: TrustedKeys::none(),
            require_signature: false,
            interval: Duration::from_secs(60 * 60),
            stale_after: 5,
            in_background: true,
        }
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following")
            .field("fetcher", &self.fetcher)
            .field("interval", &self.interval)
            .field("stale_after", &self.stale_after)
            .finish_non_exhaustive()
    }
}

/// A source to be imported and followed.
#[derive(Debug, Clone)]
#[must_use = "nothing is followed until Registry::follow is called"]
pub struct Follow {
    pub(super) url: String,
    pub(super) format: Format,
    pub(super) id: Option<String>,
    pub(super) if_exists: IfExists,
    pub(super) ttl: Option<u64>,
    pub(super) dry_run: bool,
    pub(super) actor: Option<String>,
}

impl Follow {
    /// The document of that format at a URL.
    pub fn new(url: impl Into<String>, format: Format) -> Follow {
        Follow {
            url: url.into(),
            format,
            id: None,
            if_exists: IfExists::default(),
            ttl: None,
            dry_run: false,
            actor: None,
        }
    }

    /// Gives the Thing this id instead of one that is made of the document.
    pub fn id(mut self, id: Option<String>) -> Follow {
        self.id = id;
        self
    }

    /// Replaces or refuses what is there.
    pub fn if_exists(mut self, if_exists: IfExists) -> Follow {
        self.if_exists = if_exists;
        self
    }

    /// Lets the Things expire so many seconds after they were last renewed, which they are as long as they
    /// are followed; at least 60.
    pub fn ttl(mut self, seconds: Option<u64>) -> Follow {
        self.ttl = seconds;
        self
    }

    /// Checks everything, writes nothing and follows nothing.
    pub fn dry_run(mut self, dry_run: bool) -> Follow {
        self.dry_run = dry_run;
        self
    }

    /// Notes who imports in the changes.
    pub fn actor(mut self, actor: Option<String>) -> Follow {
        self.actor = actor;
        self
    }
}

/// Converts the formats that agents serve themselves at places that are known.
fn convert(arrived: &Arrived<'_>) -> Result<Conversion> {
    let (id, base) = (arrived.id.map(str::to_owned), arrived.base.map(str::to_owned));
    match arrived.format {
        Format::A2a => Card::parse(arrived.document)?.to_thing(&a2a::Options { id, base }),
        Format::LmosCapabilities => {
            lmos_capabilities::to_thing(arrived.document, &lmos_capabilities::Options { id, base })
        }
        format => {
            let reason = format!("{format} documents are imported, not followed");
            Err(Error::FetchRefused { url: shown(arrived.url), reason })
        }
    }
}
