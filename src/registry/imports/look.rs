//! Looking at a source: everything that waits for the network, and nothing that needs the store.

use std::{sync::Arc, time::Duration};

use super::{
    blocking::blocking,
    followed::FollowedImport,
    options::{Arrived, Following},
    trust::{Assessment, Trust},
};
use crate::{
    Error, Result, Timestamp,
    convert::{Conversion, Format},
    fetch::{Answer, Fetched, Request, Validators},
    signature::{Status, Verification, digest},
    td::Document,
};

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
    /// The validators and the place, where they came anew.
    pub told: Option<(Validators, String)>,
    pub max_age: Option<Duration>,
    /// The card's signatures, checked again: keys may have been taken back.
    pub assessment: Option<Assessment>,
}

/// A document as it is registered.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Where it came from in the end.
    pub url: String,
    /// The place where it is now, if it left the one that is known.
    pub moved_to: Option<String>,
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
        looker.trust = Arc::new(self.trust.apart());
        looker
    }

    /// Looks for a followed document whose bytes are stored as `original`.
    pub async fn look(&self, import: &FollowedImport, original: &[u8], now: Timestamp) -> Look {
        match self.try_look(import, original, now).await {
            Ok(look) => look,
            Err(error @ Error::FetchFailed { status: Some(404 | 410), .. }) => {
                self.look_beside(import, now).await.map_or(Look::Failed(error), |arrival| Look::New(Box::new(arrival)))
            }
            Err(error) => Look::Failed(error),
        }
    }

    /// Looks for a document that left its well-known place at the others of the site: each version of a
    /// protocol may have one of its own.
    async fn look_beside(&self, import: &FollowedImport, now: Timestamp) -> Option<Arrival> {
        let places = well_known(import.format);
        let site = places.iter().find_map(|place| import.source.strip_suffix(place))?;
        for place in places.iter().map(|place| format!("{site}{place}")).filter(|place| *place != import.source) {
            if let Ok(arrival) = self.bring(&place, import.format, Some(&import.id), now).await {
                return Some(Arrival { moved_to: Some(place), ..arrival });
            }
        }
        None
    }

    async fn try_look(&self, import: &FollowedImport, original: &[u8], now: Timestamp) -> Result<Look> {
        // Of a card that had secrets, or came by hand in the meantime, something else is stored than was signed:
        // to be checked, it has to come again.
        let is_as_sent = import.format != Format::A2a || import.hash() == Some(&digest(original));
        let known = if is_as_sent { import.validators() } else { Validators::default() };
        let request = request(&import.source, import.format);
        match self.following.fetcher.fetch_if_changed(&request, &known).await? {
            Answer::NotModified { max_age } => {
                let (bytes, url) = (original.to_vec(), import.location().to_owned());
                let known = Fetched { url, media_type: String::new(), bytes, validators: import.validators(), max_age };
                Ok(self.same(import, known, false, now).await?)
            }
            Answer::Fetched(fetched) if import.hash() == Some(&digest(&fetched.bytes)) => {
                Ok(self.same(import, fetched, true, now).await?)
            }
            Answer::Fetched(fetched) => {
                let arrival = self.receive(fetched, import.format, Some(&import.id), now).await?;
                Ok(Look::New(Box::new(arrival)))
            }
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
        let found = self.trust.check(&self.following.fetcher, card, source, now).await?.verification;
        if self.following.require_signature && found.status != Status::Valid {
            return Err(Error::SignatureRequired { status: found.status.name(), reason: found.reason });
        }
        Ok(found)
    }

    async fn receive(&self, fetched: Fetched, format: Format, id: Option<&str>, now: Timestamp) -> Result<Arrival> {
        if format != Format::A2a {
            return self.take(fetched, format, id, None).await;
        }
        match self.check_fetched(&fetched, now).await {
            Ok(found) => self.take(fetched, format, id, Some(found)).await,
            // What is no card at all is told as such.
            Err(refused) => Err(self.take(fetched, format, id, None).await.err().unwrap_or(refused)),
        }
    }

    async fn check_fetched(&self, fetched: &Fetched, now: Timestamp) -> Result<Verification> {
        let card = read(&fetched.bytes).await?;
        self.check(&card, Some(&fetched.url), now).await
    }

    /// Makes of a document what is registered.
    async fn take(
        &self,
        fetched: Fetched,
        format: Format,
        id: Option<&str>,
        verification: Option<Verification>,
    ) -> Result<Arrival> {
        let (convert, id) = (self.following.convert.clone(), id.map(str::to_owned));
        let work = move || {
            let Fetched { url, bytes, validators, max_age, .. } = fetched;
            let is_vouched_for = verification.as_ref().is_some_and(|found| found.status == Status::Valid);
            let base = (!is_vouched_for).then_some(url.as_str());
            let conversion = convert(&Arrived { format, document: &bytes, url: &url, base, id: id.as_deref() })?;
            Ok(Arrival { hash: digest(&bytes), url, moved_to: None, validators, max_age, conversion, verification })
        };
        blocking("converting a document", work).await?
    }

    /// Checks a known document again. One that is vouched for is converted anew, since it may not have been
    /// before: then what it leaves open was filled in.
    async fn same(&self, import: &FollowedImport, known: Fetched, is_told: bool, now: Timestamp) -> Result<Look> {
        let mut assessment = None;
        if import.format == Format::A2a {
            let card = read(&known.bytes).await?;
            let found = self.trust.check(&self.following.fetcher, &card, Some(&known.url), now).await?;
            if found.verification.status == Status::Valid {
                let arrival = self.take(known, import.format, Some(&import.id), Some(found.verification)).await?;
                return Ok(Look::New(Box::new(arrival)));
            }
            assessment = Some(found);
        }
        let max_age = known.max_age;
        Ok(Look::Same(Same { told: is_told.then_some((known.validators, known.url)), max_age, assessment }))
    }
}

async fn read(document: &[u8]) -> Result<Document> {
    let document = document.to_vec();
    blocking("reading a card", move || Document::parse(&document)).await?
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
