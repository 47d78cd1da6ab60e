//! Polling of a source. This module waits for the network and doesn't access the store.

use std::{sync::Arc, time::Duration};

use super::{
    blocking::blocking,
    options::{FetchedDocument, ServerDescriber, Tracking},
    source::Tracked,
    trust::{Assessment, Trust},
};
use crate::{
    Error, Result, Timestamp,
    convert::{Conversion, Format, mcp_server},
    fetch::{Answer, Fetched, Request, Validators},
    signature::{Status, Verification, digest},
    td::{Document, Violation},
};

/// Media types of documents whose format isn't known.
const ANY_FORMAT: &str =
    "application/json, application/td+json, application/mcp-server-card+json, application/*+json;q=0.9";

/// Polls sources, and fetches the keys of the domains of signed cards.
#[derive(Clone)]
pub(super) struct Poller {
    pub tracking: Tracking,
    trust: Arc<Trust>,
}

/// The result of a poll.
#[derive(Debug)]
pub(super) enum Polled {
    /// The document is unchanged.
    Same(Same),
    /// A new document was received.
    New(Box<NewDocument>),
    /// No document was received.
    Failed(Error),
}

#[derive(Debug)]
pub(super) struct Same {
    /// Validators and URL, if a new document was received.
    pub response: Option<(Validators, String)>,
    pub max_age: Option<Duration>,
    /// Result of verifying the card's signatures again, since keys may have been revoked.
    pub assessment: Option<Assessment>,
}

/// A document, converted to be registered.
#[derive(Debug)]
pub(super) struct NewDocument {
    pub format: Format,
    /// URL after redirects.
    pub url: String,
    /// New well-known URL, if the document has moved.
    pub moved_to: Option<String>,
    pub validators: Validators,
    pub max_age: Option<Duration>,
    pub hash: String,
    pub conversion: Conversion,
    /// Result of verifying an agent card.
    pub verification: Option<Verification>,
    /// True if the server of a card could not be asked for its tools.
    pub is_without_tools: bool,
}

impl Poller {
    pub fn new(tracking: Tracking) -> Poller {
        let trust = Arc::new(Trust::new(tracking.trusted_keys.clone()));
        Poller { tracking, trust }
    }

    /// Returns a copy with separate queues, so that users of one poller never wait for users of the other.
    pub fn separate(&self) -> Poller {
        let mut poller = self.clone();
        poller.tracking.fetcher = self.tracking.fetcher.apart();
        poller.trust = Arc::new(self.trust.separate());
        poller
    }

    /// Polls a source. `original` is the currently stored document.
    pub async fn poll(&self, source: &Tracked, original: &[u8], now: Timestamp) -> Polled {
        match self.try_poll(source, original, now).await {
            Ok(polled) => polled,
            Err(error @ Error::FetchFailed { status: Some(404 | 410), .. }) => {
                let elsewhere = self.fetch_elsewhere(source, original, now).await;
                elsewhere.map_or(Polled::Failed(error), |document| Polled::New(Box::new(document)))
            }
            Err(error) => Polled::Failed(error),
        }
    }

    /// Fetches a document that is no longer at its well-known path from the first other well-known path with an
    /// answer, since each version of a protocol may have a path of its own.
    async fn fetch_elsewhere(&self, source: &Tracked, original: &[u8], now: Timestamp) -> Option<NewDocument> {
        let places = well_known(source.format);
        let site = places.iter().find_map(|place| source.source.strip_suffix(place))?;
        for place in places.iter().map(|place| format!("{site}{place}")).filter(|place| *place != source.source) {
            match self.fetch_new(&place, source.format, Some(&source.id), now).await {
                Ok(document) if document.is_without_tools && !self.lists_no_tools(source, original).await => {
                    return None;
                }
                Ok(document) => return Some(NewDocument { moved_to: Some(place), ..document }),
                Err(error) if is_absent(&error) => {}
                Err(_) => return None,
            }
        }
        None
    }

    async fn try_poll(&self, source: &Tracked, original: &[u8], now: Timestamp) -> Result<Polled> {
        // Of a card that had secrets, or was imported by hand in the meantime, something else is stored than was
        // signed: to be checked, it has to be fetched again.
        let is_as_sent = !source.format.is_signed() || source.hash() == Some(&digest(original));
        let lists_no_tools = self.lists_no_tools(source, original).await;
        let known = if is_as_sent && !lists_no_tools { source.validators() } else { Validators::default() };
        let request = request(&source.source, source.format);
        let answer = match self.tracking.fetcher.fetch_if_changed(&request, &known).await {
            Ok(Answer::Fetched(fetched)) => match self.add_tools(fetched, source.format).await? {
                // The tools that are known stay until others are.
                (_, Some(failure)) if !lists_no_tools => return Err(failure),
                (fetched, _) => Answer::Fetched(fetched),
            },
            Ok(answer) => answer,
            Err(error) => self.described(&source.source, source.format, error.into()).await?,
        };
        match answer {
            Answer::NotModified { max_age } => {
                let (bytes, url) = (original.to_vec(), source.location().to_owned());
                let known = Fetched { url, media_type: String::new(), bytes, validators: source.validators(), max_age };
                self.check_again(source, known, false, now).await
            }
            Answer::Fetched(fetched) if source.hash() == Some(&digest(&fetched.bytes)) => {
                self.check_again(source, fetched, true, now).await
            }
            Answer::Fetched(fetched) => {
                let document = self.receive(fetched, source.format, Some(&source.id), now).await?;
                Ok(Polled::New(Box::new(document)))
            }
        }
    }

    /// Describes the MCP server at the URL, which publishes no card there.
    async fn described(&self, url: &str, format: Format, error: Error) -> Result<Answer> {
        let is_asked = format == Format::McpServer && is_endpoint(url) && may_be_elsewhere(&error);
        match &self.tracking.server_describer {
            Some(describer) if is_asked => {
                let bytes = self.ask(describer, url).await.map_err(|_| error)?;
                Ok(Answer::Fetched(described_document(url, bytes)))
            }
            _ => Err(error),
        }
    }

    /// Adds the tools of its server to a card that lists none. The server itself is asked for them, so the result has no validators.
    /// If that fails, returns the card unchanged, and the reason.
    async fn add_tools(&self, mut fetched: Fetched, format: Format) -> Result<(Fetched, Option<Error>)> {
        let Some(describer) = self.asks(format) else { return Ok((fetched, None)) };
        let Some(endpoint) = endpoint_without_tools(&fetched.bytes, &fetched.url).await? else {
            return Ok((fetched, None));
        };
        match self.ask(describer, &endpoint).await {
            Ok(description) => {
                let with_tools = mcp_server::with_tools(&fetched.bytes, &description);
                fetched.bytes = with_tools.unwrap_or(fetched.bytes);
                fetched.validators = Validators::default();
                Ok((fetched, None))
            }
            Err(failure) => Ok((fetched, Some(failure))),
        }
    }

    /// True if a stored document is a card whose server is still to be asked for its tools.
    async fn lists_no_tools(&self, source: &Tracked, original: &[u8]) -> bool {
        let endpoint = endpoint_without_tools(original, source.location());
        self.asks(source.format).is_some() && endpoint.await.is_ok_and(|endpoint| endpoint.is_some())
    }

    /// The describer of servers, if documents of a format are about them.
    fn asks(&self, format: Format) -> Option<&ServerDescriber> {
        self.tracking.server_describer.as_ref().filter(|_| format == Format::McpServer)
    }

    /// Asks a server to describe itself, subject to the rate limits of fetches.
    async fn ask(&self, describer: &ServerDescriber, url: &str) -> Result<Vec<u8>> {
        let _permit = self.tracking.fetcher.permit(url).await?;
        describer(url.to_owned()).await
    }

    /// Asks an MCP server to describe itself. Returns `None` if that is disabled.
    pub async fn describe_new(&self, url: &str, id: Option<&str>, now: Timestamp) -> Option<Result<NewDocument>> {
        let describer = self.tracking.server_describer.as_ref().filter(|_| is_endpoint(url))?;
        Some(match self.ask(describer, url).await {
            Ok(bytes) => self.receive(described_document(url, bytes), Format::McpServer, id, now).await,
            Err(error) => Err(error),
        })
    }

    /// Fetches a JSON document of any format.
    pub async fn fetch_any(&self, url: &str) -> Result<Fetched> {
        Ok(self.tracking.fetcher.fetch(&Request::new(url).accept(ANY_FORMAT)).await?)
    }

    /// Fetches a new document and prepares it for registration.
    pub async fn fetch_new(&self, url: &str, format: Format, id: Option<&str>, now: Timestamp) -> Result<NewDocument> {
        let fetched = self.tracking.fetcher.fetch(&request(url, format)).await?;
        self.receive_new(fetched, format, id, now).await
    }

    /// Like [`Poller::receive`], for a document that may be a card without the tools of its server.
    pub async fn receive_new(
        &self,
        fetched: Fetched,
        format: Format,
        id: Option<&str>,
        now: Timestamp,
    ) -> Result<NewDocument> {
        let (fetched, failure) = self.add_tools(fetched, format).await?;
        let mut document = self.receive(fetched, format, id, now).await?;
        if let Some(failure) = failure {
            let message = format!("the card lists no tools, and the server could not be asked for them: {failure}");
            document.conversion.warnings.push(Violation::new("", "tools-unknown", message));
            document.is_without_tools = true;
        }
        Ok(document)
    }

    /// Verifies the signatures of a card. `url` is its URL, if known.
    ///
    /// # Errors
    /// [`Error::SignatureRequired`]
    pub async fn check(&self, card: &Document, url: Option<&str>, now: Timestamp) -> Result<Verification> {
        let found = self.trust.check(&self.tracking.fetcher, card, url, now).await?.verification;
        if self.tracking.require_signature && found.status != Status::Valid {
            return Err(Error::SignatureRequired { status: found.status.name(), reason: found.reason });
        }
        Ok(found)
    }

    /// Converts a fetched document, and verifies it if its format supports signatures.
    pub async fn receive(
        &self,
        fetched: Fetched,
        format: Format,
        id: Option<&str>,
        now: Timestamp,
    ) -> Result<NewDocument> {
        if !format.is_signed() {
            return self.convert(fetched, format, id, None).await;
        }
        match self.check_fetched(&fetched, now).await {
            Ok(found) => self.convert(fetched, format, id, Some(found)).await,
            // A document that isn't a card at all is reported as that, not as a card without a signature.
            Err(refused) => Err(self.convert(fetched, format, id, None).await.err().unwrap_or(refused)),
        }
    }

    async fn check_fetched(&self, fetched: &Fetched, now: Timestamp) -> Result<Verification> {
        let card = read(&fetched.bytes).await?;
        self.check(&card, Some(&fetched.url), now).await
    }

    async fn convert(
        &self,
        fetched: Fetched,
        format: Format,
        id: Option<&str>,
        verification: Option<Verification>,
    ) -> Result<NewDocument> {
        let (convert, id) = (self.tracking.convert.clone(), id.map(str::to_owned));
        let work = move || {
            let Fetched { url, bytes, validators, max_age, .. } = fetched;
            let is_signed = verification.as_ref().is_some_and(|found| found.status == Status::Valid);
            let base = (!is_signed).then_some(url.as_str());
            let document = FetchedDocument { format, document: &bytes, url: &url, base, id: id.as_deref() };
            let conversion = convert(&document)?;
            let hash = digest(&bytes);
            let (moved_to, is_without_tools) = (None, false);
            Ok(NewDocument {
                format,
                hash,
                url,
                moved_to,
                validators,
                max_age,
                conversion,
                verification,
                is_without_tools,
            })
        };
        blocking("converting a document", work).await?
    }

    /// Verifies a known document again. A card with a valid signature is converted again, since its signature may
    /// have been invalid before, in which case its relative URLs were resolved.
    async fn check_again(
        &self,
        source: &Tracked,
        known: Fetched,
        is_new_response: bool,
        now: Timestamp,
    ) -> Result<Polled> {
        let mut assessment = None;
        if source.format.is_signed() {
            let card = read(&known.bytes).await?;
            let found = self.trust.check(&self.tracking.fetcher, &card, Some(&known.url), now).await?;
            if found.verification.status == Status::Valid {
                let document = self.convert(known, source.format, Some(&source.id), Some(found.verification)).await?;
                return Ok(Polled::New(Box::new(document)));
            }
            assessment = Some(found);
        }
        let (max_age, response) = (known.max_age, is_new_response.then_some((known.validators, known.url)));
        Ok(Polled::Same(Same { response, max_age, assessment }))
    }
}

impl Polled {
    pub fn failure(&self) -> Option<&Error> {
        match self {
            Polled::Failed(error) => Some(error),
            Polled::Same(_) | Polled::New(_) => None,
        }
    }

    pub fn max_age(&self) -> Option<Duration> {
        match self {
            Polled::Same(same) => same.max_age,
            Polled::New(document) => document.max_age,
            Polled::Failed(_) => None,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Polled::Failed(Error::FetchFailed { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }
}

/// Returns the URL at which the server of a card without tools can be asked for them.
async fn endpoint_without_tools(document: &[u8], url: &str) -> Result<Option<String>> {
    let (document, url) = (document.to_vec(), url.to_owned());
    blocking("reading a card", move || mcp_server::endpoint_without_tools(&document, &url)).await
}

async fn read(document: &[u8]) -> Result<Document> {
    let document = document.to_vec();
    Ok(blocking("reading a card", move || Document::parse(&document)).await??)
}

fn request(url: &str, format: Format) -> Request {
    let request = Request::new(url);
    match format.tracking().and_then(|tracking| tracking.accept) {
        Some(accept) => request.accept(accept),
        None => request,
    }
}

/// True if an MCP server may be at a URL.
fn is_endpoint(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    !path.ends_with(".json") && !path.contains("/.well-known/")
}

fn described_document(url: &str, bytes: Vec<u8>) -> Fetched {
    let (media_type, validators) = ("application/json".to_owned(), Validators::default());
    Fetched { url: url.to_owned(), media_type, bytes, validators, max_age: None }
}

/// The well-known paths of the documents of a format.
pub(super) fn well_known(format: Format) -> &'static [&'static str] {
    format.tracking().map_or(&[], |tracking| tracking.well_known)
}

/// True if the server withholds the content at a URL, or serves something other than a document: it requires
/// credentials, or redirects to or returns a web page.
pub(super) fn is_withheld(error: &Error) -> bool {
    matches!(error, Error::FetchFailed { status: Some(200..=399 | 401 | 403), .. })
}

/// True if a server has nothing to fetch at a URL.
pub(super) fn is_absent(error: &Error) -> bool {
    matches!(error, Error::FetchFailed { .. }) && may_be_elsewhere(error) && !is_withheld(error)
}

/// True if the document may be at another place of the site in spite of a failure.
pub(super) fn may_be_elsewhere(error: &Error) -> bool {
    match error {
        // Payment, a proxy, time, a rate, and a law keep a document from being given; it is there all the same.
        Error::FetchFailed { status: Some(402 | 407 | 408 | 425 | 429 | 451), .. } => false,
        Error::FetchFailed { status, .. } => status.is_some_and(|status| status < 500),
        Error::InvalidSource { .. }
        | Error::OtherFormat { .. }
        | Error::MalformedJson { .. }
        | Error::UnclearFormat { .. } => true,
        _ => false,
    }
}
