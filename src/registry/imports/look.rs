//! Looking at a source: everything that waits for the network, and nothing that needs the store.

use super::{
    followed::FollowedImport,
    options::{Arrived, Following},
    trust::{Checked, Trust},
};
use crate::{
    Error, Result, Timestamp,
    convert::{Conversion, Format},
    fetch::{Answer, Fetched, Request, Validators},
    signature::{Status, Verification, digest},
    td::Document,
};
use std::{sync::Arc, time::Duration};

/// Asks sources, and the domains of signed cards.
#[derive(Clone)]
pub(super) struct Looker {
    pub following: Following,
    trust: Arc<Trust>,
}

/// What became of a look.
#[derive(Debug)]
pub(super) enum Look {
    /// The document is the one that is known.
    Same(Same),
    /// There is another one.
    New(Box<Arrival>),
    /// There is none.
    Failed(Error),
}

#[derive(Debug)]
pub(super) struct Same {
    /// The validators, where they came anew.
    pub validators: Option<Validators>,
    pub max_age: Option<Duration>,
    /// The card's signatures, checked again: keys may have been taken back.
    pub checked: Option<Checked>,
}

/// A document as it is registered.
#[derive(Debug)]
pub(super) struct Arrival {
    pub validators: Validators,
    pub max_age: Option<Duration>,
    pub hash: String,
    pub conversion: Conversion,
    /// What the check of an agent card came to.
    pub verification: Option<Verification>,
}

impl Looker {
    pub fn new(following: Following) -> Looker {
        let trust = Arc::new(Trust::new(following.trusted_keys.clone()));
        Looker { following, trust }
    }

    /// The same with turns of its own: it never waits for those who ask with the other.
    pub fn apart(&self) -> Looker {
        let mut looker = self.clone();
        looker.following.fetcher = self.following.fetcher.apart();
        looker
    }

    /// Looks for a followed document whose bytes are stored as `original`.
    pub async fn look(&self, import: &FollowedImport, original: &[u8], now: Timestamp) -> Look {
        let (request, validators) = (request(&import.source, import.format), import.validators());
        match self.following.fetcher.fetch_if_changed(&request, &validators).await {
            Ok(Answer::NotModified { max_age }) => Look::Same(self.same(import, original, None, max_age, now).await),
            Ok(Answer::Fetched(fetched)) if import.hash() == Some(&digest(&fetched.bytes)) => {
                let validators = Some(fetched.validators);
                Look::Same(self.same(import, original, validators, fetched.max_age, now).await)
            }
            Ok(Answer::Fetched(fetched)) => {
                let arrival = self.receive(fetched, import.format, Some(&import.id), now);
                arrival.await.map_or_else(Look::Failed, |arrival| Look::New(Box::new(arrival)))
            }
            Err(error) => Look::Failed(error),
        }
    }

    /// Fetches a document that isn't followed yet, ready to be registered.
    pub async fn bring(&self, url: &str, format: Format, id: Option<&str>, now: Timestamp) -> Result<Arrival> {
        let fetched = self.following.fetcher.fetch(&request(url, format)).await?;
        self.receive(fetched, format, id, now).await
    }

    /// Checks the signatures of a card from `source`, if it is known.
    ///
    /// # Errors
    /// [`Error::SignatureRequired`]
    pub async fn check(&self, card: &Document, source: Option<&str>, now: Timestamp) -> Result<Verification> {
        let found = self.trust.check(&self.following.fetcher, card, source, now).await.verification;
        if self.following.require_signature && found.status != Status::Valid {
            return Err(Error::SignatureRequired { status: found.status.name(), reason: found.reason });
        }
        Ok(found)
    }

    async fn receive(&self, fetched: Fetched, format: Format, id: Option<&str>, now: Timestamp) -> Result<Arrival> {
        let Fetched { url, bytes, validators, max_age, .. } = fetched;
        let conversion = (self.following.convert)(&Arrived { format, document: &bytes, url: &url, id })?;
        let verification = match format {
            Format::A2a => Some(self.check(&Document::parse(&bytes)?, Some(&url), now).await?),
            _ => None,
        };
        Ok(Arrival { validators, max_age, hash: digest(&bytes), conversion, verification })
    }

    async fn same(
        &self,
        import: &FollowedImport,
        original: &[u8],
        validators: Option<Validators>,
        max_age: Option<Duration>,
        now: Timestamp,
    ) -> Same {
        // Of a document that had secrets something else is stored than was signed.
        let is_as_signed = import.format == Format::A2a && import.hash() == Some(&digest(original));
        let checked = match Document::parse(original) {
            Ok(card) if is_as_signed => {
                Some(self.trust.check(&self.following.fetcher, &card, Some(&import.source), now).await)
            }
            _ => None,
        };
        Same { validators, max_age, checked }
    }
}

fn request(url: &str, format: Format) -> Request {
    let request = Request::new(url);
    match format {
        Format::A2a => request.accept("application/a2a+json, application/json;q=0.9"),
        _ => request,
    }
}

/// Where the document of a site is, for those that have such a place.
pub(super) fn well_known(format: Format) -> &'static [&'static str] {
    match format {
        Format::A2a => &["/.well-known/agent-card.json", "/.well-known/agent.json"],
        Format::LmosCapabilities => &["/.well-known/capabilities.json"],
        _ => &[],
    }
}

/// Whether a failure leaves it open that the document is at another place of the site.
pub(super) fn may_be_elsewhere(error: &Error) -> bool {
    match error {
        Error::FetchFailed { status, .. } => status.is_some_and(|status| status < 500),
        Error::InvalidSource { .. } | Error::MalformedJson { .. } | Error::UnclearFormat { .. } => true,
        _ => false,
    }
}
