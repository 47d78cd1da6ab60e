//! `RegistryClient`: a client for the REST API of a registry.
//!
//! Documents are sent and received as text, so that numbers and the order of members are preserved. Refusals are
//! [`Error::Refused`] with the problem document.

mod access;
mod announcements;
mod credentials;
mod documents;
mod error;
mod events;
mod guardian;
mod import;
mod keys;
mod mcp;
mod search;
mod service;
#[doc(hidden)]
pub mod sse;
mod tracked_sources;
mod transport;

use std::{borrow::Cow, fmt, pin::Pin, time::Duration};

use agentdex_api::{ClockAccepted, Cluster, Ready, ThingCollection, Verification};
use futures_util::{Stream, TryStreamExt, stream};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde::Deserialize;

use self::transport::Transport;
use agentdex_api::{Cursor, Position};
use agentdex_td::{Json, Violation};

pub use self::{
    error::Error,
    events::{Event, EventFilter, Events},
    import::Document,
    mcp::McpMessages,
};

pub use agentdex_api as api;
#[doc(inline)]
pub use agentdex_api::{
    Answer as SearchAnswer, Answered, BatchResult, CapabilityHit as MatchingCapability, CapabilitySummary, Changes,
    Converted, Effect, ExportedDocument, History, Hit as SearchHit, Imported, Problem, RefreshResult, Refreshed,
    Revision, SourceStatus, Summary, TrackedSource, ValidationError, Version,
    guardian::{Decision as GuardianDecision, Entry as GuardedStep, Finding as RuleFinding, LiveSession},
};
pub use agentdex_td as td;

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Stream of the pieces of a response body.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<Vec<u8>>> + Send>>;

/// Stream of the events of an agent's answer.
pub type TurnEvents = Pin<Box<dyn Stream<Item = Result<agentdex_api::TurnEvent>> + Send>>;

/// Number of attempts of a request in all, unless the caller sets another.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause, also where the registry asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The characters that stay as they are in a path segment: RFC 3986, unreserved, and `:` for the sake of URNs.
const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Client of a registry. Cloning is cheap and shares connections.
///
/// ```no_run
/// # async fn example() -> agentdex_client::Result<()> {
/// let registry = agentdex_client::RegistryClient::new("http://127.0.0.1:8080")?;
/// let written = registry.put("urn:example:a", r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1",
///     "id": "urn:example:a", "title": "A", "security": "none",
///     "securityDefinitions": {"none": {"scheme": "nosec"}}}"#).await?;
/// assert_eq!(written.id, "urn:example:a");
/// let answer = registry.search(&[("q", "weather"), ("limit", "5")]).await?;
/// for hit in answer.hits {
///     println!("{} {}", hit.score, hit.id);
/// }
/// # Ok(())
/// # }
/// ```
// Debug without the password that the URL may have.
#[derive(Clone)]
pub struct RegistryClient {
    http: reqwest::Client,
    transport: Transport,
    base: reqwest::Url,
    /// `base` without user and password.
    shown: String,
    attempts: u32,
}

/// Result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Id of the Thing.
    pub id: String,
    /// Effect of the write.
    pub effect: Effect,
    /// Warnings, for example about applied fixes.
    pub warnings: Vec<Violation>,
}

impl fmt::Debug for RegistryClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryClient").field("url", &self.shown).finish_non_exhaustive()
    }
}

impl RegistryClient {
    /// Creates a client for the registry at `url`, such as `http://127.0.0.1:8080`, or `127.0.0.1:8080` for short.
    /// Doesn't connect yet. Installs the ring provider of rustls, unless the process has a provider.
    ///
    /// # Errors
    /// [`Error::InvalidUrl`]
    pub fn new(url: &str) -> Result<RegistryClient> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.into(), reason };
        // `localhost:8080` alone would be read as a URL of the scheme `localhost`.
        let full = if url.contains("://") { Cow::Borrowed(url) } else { Cow::Owned(format!("http://{url}")) };
        let mut base = reqwest::Url::parse(&full).map_err(|error| invalid(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(invalid("it starts with neither http:// nor https://".into()));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails only where another thread was faster, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let transport = Transport::default();
        let http = transport.client().map_err(|error| invalid(error.to_string()))?;
        let mut shown = base.clone();
        // Fails for URLs without a host, which those of http have.
        let _ = shown.set_username("").and_then(|()| shown.set_password(None));
        Ok(RegistryClient { http, transport, base, shown: shown.into(), attempts: ATTEMPTS })
    }

    /// Sets the total number of attempts for a request: 4 by default; 1 disables retries. A request is retried if the
    /// registry is busy (429, 503), or if an established connection failed and the request is idempotent. The pause
    /// doubles with each attempt, unless the registry specifies a time, and is at most 10 s. Messages sent with
    /// [`RegistryClient::mcp`] are not retried.
    #[must_use]
    pub fn attempts(self, attempts: u32) -> RegistryClient {
        RegistryClient { attempts: attempts.max(1), ..self }
    }

    /// Returns the URL of the registry, without user and password.
    ///
    /// ```
    /// let client = agentdex_client::RegistryClient::new("https://me:s3cret@registry.example/agents")?;
    /// assert_eq!(client.url(), "https://registry.example/agents/");
    /// assert!(!format!("{client:?}").contains("s3cret"));
    /// # Ok::<(), agentdex_client::Error>(())
    /// ```
    pub fn url(&self) -> &str {
        &self.shown
    }

    /// Creates or replaces the Thing `id`. The document must contain the same id.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// use agentdex_td::Description;
    ///
    /// let tides = Description::new("Tide agent").id("urn:example:tides").capability("tide-table");
    /// let written = client.put("urn:example:tides", tides).await?;
    /// println!("{:?}", written.warnings);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn put(&self, id: &str, document: impl Into<Json>) -> Result<Written> {
        self.put_with(id, document, &[]).await
    }

    /// Like [`RegistryClient::put`], with `parameters` of `PUT /things/{id}`, such as `if_exists` and `version`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn put_with(&self, id: &str, document: impl Into<Json>, parameters: &[(&str, &str)]) -> Result<Written> {
        let request = self.request(Method::PUT, &thing_path(id), parameters);
        let request = request.header(header::CONTENT_TYPE, "application/td+json").body(document.into().into_bytes());
        self.write(request, Some(id)).await
    }

    /// Creates a Thing. A document without an id gets a new id. If the id is taken, the registry refuses the request
    /// (412).
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// let written = client.register(agentdex_td::Description::new("Tide agent")).await?;
    /// println!("its id is {}", written.id);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn register(&self, document: impl Into<Json>) -> Result<Written> {
        #[derive(Deserialize)]
        struct Identified {
            id: Option<String>,
        }
        let document = document.into().into_bytes();
        // What can't be read is for the registry to refuse.
        let id = serde_json::from_slice::<Identified>(&document).ok().and_then(|document| document.id);
        let request = match &id {
            Some(id) => self.request(Method::PUT, &thing_path(id), &[]).header(header::IF_NONE_MATCH, "*"),
            None => self.request(Method::POST, "things", &[]),
        };
        let request = request.header(header::CONTENT_TYPE, "application/td+json").body(document);
        self.write(request, id.as_deref()).await
    }

    /// Applies a merge patch (RFC 7396) to a Thing. The patch `{}` renews its expiry.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// client.patch("urn:example:tides", r#"{"description": "Knows the tides of every harbour."}"#).await?;
    /// // Renews what expires.
    /// client.patch("urn:example:tides", "{}").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn patch(&self, id: &str, patch: impl Into<Json>) -> Result<Written> {
        let request = self.request(Method::PATCH, &thing_path(id), &[]);
        let request =
            request.header(header::CONTENT_TYPE, "application/merge-patch+json").body(patch.into().into_bytes());
        self.write(request, Some(id)).await
    }

    /// Changes a Thing like [`RegistryClient::patch`], but only if its entity tag is still `tag`.
    ///
    /// # Errors
    /// [`Error::Refused`], with [`Error::is_conflict`] if the Thing has changed; [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn patch_if(&self, id: &str, patch: impl Into<Json>, tag: &str) -> Result<Written> {
        let request = self.request(Method::PATCH, &thing_path(id), &[]).header(header::IF_MATCH, tag);
        let request =
            request.header(header::CONTENT_TYPE, "application/merge-patch+json").body(patch.into().into_bytes());
        self.write(request, Some(id)).await
    }

    /// Sends a write, and asks for its effect.
    async fn write(&self, request: RequestBuilder, id: Option<&str>) -> Result<Written> {
        written(self.send(request.header("prefer", "return=effect")).await?, id).await
    }

    /// Returns the description of a Thing with its `registration`, or `None` if the Thing doesn't exist.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// if let Some(text) = client.find("urn:example:tides").await? {
    ///     let thing: serde_json::Value = serde_json::from_str(&text)?;
    ///     println!("{}", thing["title"]);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`].
    pub async fn find(&self, id: &str) -> Result<Option<String>> {
        match self.send(self.request(Method::GET, &thing_path(id), &[])).await {
            Ok(response) => Ok(Some(text(response).await?)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the description of a Thing with its entity tag, for [`RegistryClient::patch_if`], or `None` if the Thing
    /// doesn't exist.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn find_with_tag(&self, id: &str) -> Result<Option<(String, String)>> {
        let response = match self.send(self.request(Method::GET, &thing_path(id), &[])).await {
            Ok(response) => response,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let (expected, reason) = ("a description with an entity tag", "the ETag is missing".to_owned());
        let tag = tag.ok_or(Error::UnexpectedAnswer { expected, reason })?;
        Ok(Some((text(response).await?, tag)))
    }

    /// Returns the description of a version of a Thing as it was registered, without later edits. `range` is a version,
    /// `latest`, or a range in npm syntax, which selects the highest matching version.
    ///
    /// # Errors
    /// [`Error::Refused`], for example if there is no such version; [`Error::Unreachable`].
    pub async fn find_version(&self, id: &str, range: &str) -> Result<String> {
        text(self.send(self.request(Method::GET, &thing_path(id), &[("version", range)])).await?).await
    }

    /// Removes a Thing. Parts of its document that are registered as Things of their own are removed, too, unless
    /// another document contains them. A returned warning lists the ids of the removed parts.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn remove(&self, id: &str) -> Result<Vec<Violation>> {
        #[derive(Default, Deserialize)]
        struct Removed {
            warnings: Vec<Violation>,
        }
        let request = self.request(Method::DELETE, &thing_path(id), &[]);
        let answer = text(self.send(request.header("prefer", "return=representation")).await?).await?;
        // A registry that tells nothing answers nothing.
        let removed = if answer.is_empty() { Removed::default() } else { read(&answer, "the result of a removal")? };
        Ok(removed.warnings)
    }

    /// Removes a version of a Thing. If it is the only version, the Thing is removed, and [`Written::effect`] is
    /// [`Effect::Removed`].
    ///
    /// # Errors
    /// [`Error::Refused`], for example if there is no such version; [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn remove_version(&self, id: &str, version: &str) -> Result<Written> {
        self.write(self.request(Method::DELETE, &thing_path(id), &[("version", version)]), Some(id)).await
    }

    /// Returns summaries of Things in ascending order of id. `parameters` are those of `GET /things`: `limit`,
    /// `offset`, and search filters. If the registry splits a large `limit` into pages, all pages are read.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// for agent in client.summaries(&[("capability", "tide-table"), ("limit", "20")]).await? {
    ///     println!("{} {}", agent.id, agent.title.unwrap_or_default());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn summaries(&self, parameters: &[(&str, &str)]) -> Result<Vec<Summary>> {
        let limit = parameters.iter().find(|(name, _)| *name == "limit").and_then(|(_, limit)| limit.parse().ok());
        let mut summaries: Vec<Summary> = Vec::new();
        let mut page = Some(self.request(Method::GET, "things", &[&[("view", "summary")], parameters].concat()));
        while let Some(request) = page {
            let response = self.send(request).await?;
            let next = self.next_page(&response);
            summaries.extend(read::<Vec<Summary>>(&text(response).await?, "a list of summaries")?);
            page = next.filter(|_| limit.is_some_and(|limit| summaries.len() < limit));
        }
        summaries.truncate(limit.unwrap_or(usize::MAX));
        Ok(summaries)
    }

    /// Returns a stream of summaries of Things in ascending order of id. Pages are requested when they are needed.
    /// `parameters` are those of `GET /things`; `limit` is the size of a page, 1,000 by default.
    pub fn all_summaries(&self, parameters: &[(&str, &str)]) -> impl Stream<Item = Result<Summary>> + Send + use<> {
        let own = [("view", "summary"), ("limit", "1000")];
        let own = own.into_iter().filter(|(name, _)| !parameters.iter().any(|(known, _)| known == name));
        let parameters: Vec<(&str, &str)> = own.chain(parameters.iter().copied()).collect();
        let first = self.request(Method::GET, "things", &parameters);
        let state = (self.clone(), Some(first), Vec::new().into_iter());
        stream::try_unfold(state, |(client, mut page, mut ready)| async move {
            loop {
                if let Some(summary) = ready.next() {
                    return Ok(Some((summary, (client, page, ready))));
                }
                let Some(request) = page.take() else { return Ok(None) };
                let response = client.send(request).await?;
                page = client.next_page(&response);
                ready = read::<Vec<Summary>>(&text(response).await?, "a list of summaries")?.into_iter();
            }
        })
    }

    /// Returns the number of Things that match the search filters in `parameters`, which are those of `GET /things`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn count(&self, parameters: &[(&str, &str)]) -> Result<u64> {
        let filters = parameters.iter().filter(|(name, _)| !["limit", "offset"].contains(name)).copied();
        let one = [("format", "collection"), ("view", "summary"), ("limit", "1")].into_iter();
        let request = self.request(Method::GET, "things", &one.chain(filters).collect::<Vec<_>>());
        Ok(read::<ThingCollection>(&text(self.send(request).await?).await?, "a collection")?.total)
    }

    /// The request for the page that a response links to with `rel="next"`, at the registry itself.
    fn next_page(&self, response: &Response) -> Option<RequestBuilder> {
        let links = response.headers().get_all(header::LINK).iter().filter_map(|links| links.to_str().ok());
        let mut links = links.flat_map(|links| links.split(", "));
        let target =
            links.find_map(|link| link.strip_suffix("; rel=\"next\"")?.strip_prefix('<')?.strip_suffix('>'))?;
        let url = response.url().join(target).ok().filter(|url| url.origin() == self.base.origin())?;
        Some(self.http.request(Method::GET, url))
    }

    /// Returns the body of `GET /things` in pieces. With the parameter `format` set to `ndjson`, each line of the body
    /// is a Thing.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`].
    pub async fn list(&self, parameters: &[(&str, &str)]) -> Result<Pieces> {
        self.pieces(self.request(Method::GET, "things", parameters)).await
    }

    /// Returns a backup of the registry in pieces. Together, the pieces are a file for `agentdex restore`.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`].
    pub async fn backup(&self) -> Result<Pieces> {
        self.pieces(self.request(Method::GET, "backup", &[])).await
    }

    /// The body of a response, piece by piece.
    async fn pieces(&self, request: RequestBuilder) -> Result<Pieces> {
        let response = self.send(request).await?;
        let url = response.url().to_string();
        let pieces = response.bytes_stream().map_ok(Vec::from);
        Ok(Box::pin(pieces.map_err(move |source| Error::unreachable(url.clone(), source))))
    }

    /// Reports a step to the guardian of the registry, and returns the guardian's response. The step and the response
    /// are JSON-RPC messages of the Agent Observability Standard.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn report_step(&self, step: &serde_json::Value) -> Result<serde_json::Value> {
        let request = self.request(Method::POST, "aos", &[]).json(step);
        read(&text(self.send(request).await?).await?, "a decision about a step")
    }

    /// Returns up to `limit` changes after a position of the log, or from its beginning. If there are no changes yet,
    /// the registry waits for a change, up to `wait` (whole seconds, at most 60). To continue, pass [`Changes::cursor`]
    /// as `since`. If `since` belongs to another log, for example because the registry was restored from a backup, the
    /// answer is `truncated`.
    ///
    /// Positions may have gaps. A caller who sees all agents has missed nothing if the first change
    /// [follows](agentdex_api::Change::follows) `since`, and each further change its predecessor.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn changes(&self, since: Option<Cursor>, limit: usize, wait: Duration) -> Result<Changes> {
        let (limit, wait) = (limit.to_string(), wait.as_secs().to_string());
        let since = since.map(|since| since.to_string());
        let mut parameters = vec![("limit", limit.as_str()), ("wait", &wait)];
        parameters.extend(since.iter().map(|since| ("since", since.as_str())));
        let parameters = parameters.as_slice();
        let text = text(self.send(self.request(Method::GET, "changes", parameters)).await?).await?;
        read(&text, "a list of changes")
    }

    /// Returns up to `limit` retained changes of a Thing, oldest first, optionally only those after `since`.
    ///
    /// ```no_run
    /// # async fn with(client: agentdex_client::RegistryClient) -> Result<(), Box<dyn std::error::Error>> {
    /// for change in client.history("urn:example:tides", None, 100).await?.changes {
    ///     println!("{} {}", change.at, change.kind);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn history(&self, id: &str, since: Option<Position>, limit: usize) -> Result<History> {
        let (since, limit) = (since.map(|since| since.to_string()), limit.to_string());
        let mut parameters = vec![("limit", limit.as_str())];
        parameters.extend(since.iter().map(|since| ("since", since.as_str())));
        let request = self.request(Method::GET, &format!("{}/history", thing_path(id)), &parameters);
        read(&text(self.send(request).await?).await?, "a history")
    }

    /// Returns the versions of a Thing, the served version first.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn versions(&self, id: &str) -> Result<Vec<Version>> {
        let request = self.request(Method::GET, &format!("{}/versions", thing_path(id)), &[]);
        read(&text(self.send(request).await?).await?, "versions")
    }

    /// Returns the status of a registry that is ready, from `GET /health/ready`.
    ///
    /// # Errors
    /// [`Error::Refused`] while it isn't ready; [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn status(&self) -> Result<Ready> {
        read(&text(self.send(self.request(Method::GET, "health/ready", &[])).await?).await?, "the status of a registry")
    }

    /// Resets the time of the log to the clock of the registry, if the log is ahead.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Unreachable`], [`Error::UnexpectedAnswer`].
    pub async fn accept_clock(&self) -> Result<ClockAccepted> {
        let request = self.request(Method::POST, "clock/accept", &[]);
        read(&text(self.send(request).await?).await?, "the result of a clock reset")
    }

    /// Returns the state of the cluster, as known to the node that answers.
    ///
    /// # Errors
    /// [`Error::Refused`], with the status 404 if the registry is not a node of a cluster; [`Error::Unreachable`],
    /// [`Error::UnexpectedAnswer`].
    pub async fn cluster(&self) -> Result<Cluster> {
        read(&text(self.send(self.request(Method::GET, "cluster", &[])).await?).await?, "the state of a cluster")
    }

    /// Asks all running nodes of the cluster to compare their whole content. The result is in
    /// [`RegistryClient::cluster`] once its `verified` is at least the returned commit.
    ///
    /// # Errors
    /// Same as [`RegistryClient::cluster`].
    pub async fn verify_cluster(&self) -> Result<Verification> {
        let request = self.request(Method::POST, "cluster/verification", &[]);
        read(&text(self.send(request).await?).await?, "a verification of a cluster")
    }

    fn request(&self, method: Method, path: &str, parameters: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.base.clone();
        // Not `Url::join`: an id such as `urn:a` would be read as a URL of its own.
        url.set_path(&format!("{}{path}", self.base.path()));
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        self.http.request(method, url)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let unreachable = |source| Error::unreachable(self.shown.clone(), source);
        let mut request = request.build().map_err(unreachable)?;
        // Repeating it leaves the registry as one request would.
        let is_idempotent = !matches!(*request.method(), Method::POST | Method::PATCH);
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let again = request.try_clone().filter(|_| attempt < self.attempts);
            let asked = match self.http.execute(request).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let status = response.status().as_u16();
                    let asked = retry_after(&response);
                    if !matches!(status, 429 | 503) || again.is_none() {
                        let body = text(response).await?;
                        return Err(Error::Refused(Box::new(error::read_problem(status, &body))));
                    }
                    asked
                }
                // Where nobody listens, nobody will in a moment.
                Err(source) if source.is_connect() || !is_idempotent || again.is_none() => {
                    return Err(unreachable(source));
                }
                Err(_) => None,
            };
            tokio::time::sleep(asked.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match again {
                Some(again) => request = again,
                None => break,
            }
        }
        Err(Error::UnexpectedAnswer { expected: "an answer", reason: "no request was sent".into() })
    }
}

/// The pause that the registry asks for.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn thing_path(id: &str) -> String {
    format!("things/{}", utf8_percent_encode(id, PATH_SEGMENT))
}

async fn written(response: Response, id: Option<&str>) -> Result<Written> {
    /// The member that the answers to all writes have.
    #[derive(Default, Deserialize)]
    struct Warned {
        #[serde(default)]
        warnings: Vec<Violation>,
    }
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let location = header(header::LOCATION.as_str());
    let assigned = location
        .and_then(|location| location.rsplit('/').next())
        .map(|segment| percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned());
    let id = assigned.or_else(|| id.map(str::to_owned));
    let expected = "the result of a write";
    let id = id.ok_or_else(|| Error::UnexpectedAnswer { expected, reason: "the Location header is missing".into() })?;
    let effect = header("agentdex-effect").and_then(Effect::from_name);
    let by_status = if response.status() == StatusCode::CREATED { Effect::Created } else { Effect::Updated };
    let effect = effect.unwrap_or(by_status);
    // A registry that knows no effects as bodies answers with nothing.
    let answer = text(response).await?;
    let Warned { warnings } =
        if answer.is_empty() { Warned::default() } else { read(&answer, "the result of a write")? };
    Ok(Written { id, effect, warnings })
}

async fn text(response: Response) -> Result<String> {
    let url = response.url().to_string();
    response.text().await.map_err(|source| Error::unreachable(url, source))
}

fn read<'a, T: Deserialize<'a>>(text: &'a str, expected: &'static str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::UnexpectedAnswer { expected, reason: error.to_string() })
}

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
