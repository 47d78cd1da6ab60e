//! `Fetcher`: fetches a document, hop by hop.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, Response, StatusCode, Url, header, redirect};
use rustls::ClientConfig;
use time::OffsetDateTime;
use tokio::time::Instant;

use crate::{
    AllowList, Answer, Error, Fetched, Options, Request, Resolver, Result, Validators,
    answer::{check_content, json_media_type, max_age, retry_after, text},
    attempt::Attempt,
    body::{Body, BodyError},
    rate_limits::{Pace, Permit, RateLimits},
    redacted_url::shown,
    resolver::{Checked, SystemResolver},
    target::Target,
    tls,
};

/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 5;
/// The maximum number of addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

/// Fetches JSON documents from the public internet, and from destinations that the operator allows. Cloning is cheap
/// and shares the limits.
///
/// ```no_run
/// # async fn example() -> agentdex_fetch::Result<()> {
/// use agentdex_fetch::{Fetcher, Options, Request};
///
/// let fetcher = Fetcher::new(Options::default())?;
/// let card = fetcher.fetch(&Request::new("https://agents.example/.well-known/agent-card.json")).await?;
/// println!("{} bytes from {}", card.bytes.len(), card.url);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    options: Options,
    tls: ClientConfig,
    resolver: Arc<dyn Resolver>,
    rate_limits: RateLimits,
}

/// The outcome of one hop.
enum Hop {
    Answer(Response, Target, Permit),
    Redirect(Target, StatusCode),
}

impl Fetcher {
    /// A fetcher that resolves names with the operating system.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for a proxy or a file with certificates that can't be used.
    pub fn new(options: Options) -> Result<Fetcher> {
        Fetcher::with_resolver(options, SystemResolver)
    }

    /// A fetcher with its own resolver of names.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn with_resolver(options: Options, resolver: impl Resolver + 'static) -> Result<Fetcher> {
        let (tls, rate_limits) = (tls::configuration(options.ca.as_deref())?, rate_limits(&options));
        let inner = Inner { options, tls, resolver: Arc::new(resolver), rate_limits };
        // A proxy that can't be used is noticed now. Of another kind, or without one, it would be passed
        // over in silence, and connections would go where nobody checked.
        let is_usable = |proxy: &str| Url::parse(proxy).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !inner.options.proxy.as_deref().is_none_or(is_usable) || inner.client(Vec::new()).is_err() {
            return Err(Error::InvalidSetting {
                origin: "fetch_proxy".into(),
                message: "not the URL of an HTTP proxy; for example http://proxy.internal:3128".into(),
            });
        }
        Ok(Fetcher(Arc::new(inner)))
    }

    /// The same fetcher with its own queues: users of one never wait for users of the other.
    #[doc(hidden)]
    pub fn apart(&self) -> Fetcher {
        self.allowing(AllowList::default())
    }

    /// The same fetcher with its own queues and additional allowed destinations.
    #[doc(hidden)]
    pub fn allowing(&self, more: AllowList) -> Fetcher {
        let Inner { options, tls, resolver, .. } = &*self.0;
        let (mut options, tls, resolver) = (options.clone(), tls.clone(), resolver.clone());
        options.allowed = options.allowed.and(more);
        Fetcher(Arc::new(Inner { rate_limits: rate_limits(&options), options, tls, resolver }))
    }

    /// The options with which it was created.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Fetches a document.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Failed`], [`Error::TimedOut`], [`Error::Busy`].
    pub async fn fetch(&self, request: &Request) -> Result<Fetched> {
        let attempt = self.attempt(&request.url);
        match self.run(&attempt, request, &Validators::default()).await? {
            Answer::Fetched(fetched) => Ok(fetched),
            Answer::NotModified { .. } => Err(attempt.unexpected(StatusCode::NOT_MODIFIED, None)),
        }
    }

    /// Fetches a document unless it is still the one to which `validators` belong.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    pub async fn fetch_if_changed(&self, request: &Request, validators: &Validators) -> Result<Answer> {
        self.run(&self.attempt(&request.url), request, validators).await
    }

    /// Waits until requests to the host of a URL are allowed outside of this fetcher. They count as one of its
    /// fetches until the permit is dropped.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Failed`] if the host has no address, [`Error::Busy`].
    #[doc(hidden)]
    pub async fn permit(&self, url: &str) -> Result<Permit> {
        let attempt = self.attempt(url);
        let target = Target::parse(url).map_err(|reason| attempt.refused(reason))?;
        Ok(self.0.permit(&attempt, &target).await?.1)
    }

    fn attempt(&self, url: &str) -> Attempt {
        Attempt { shown: shown(url), deadline: Instant::now() + self.0.options.timeout }
    }

    async fn run(&self, attempt: &Attempt, request: &Request, validators: &Validators) -> Result<Answer> {
        let first = Target::parse(&request.url).map_err(|reason| attempt.refused(reason))?;
        let (mut target, mut known) = (first.clone(), validators.clone());
        let mut redirected = None;
        for _ in 0..=MAX_REDIRECTS {
            match self.0.hop(attempt, target, request, &known).await? {
                Hop::Redirect(next, status) => (target, redirected) = (next, Some(status)),
                Hop::Answer(response, at, _permit) => {
                    if let Some(status) = redirected.filter(|_| is_other_page(&response, &at, &first)) {
                        let page = json_media_type(&response).err().filter(|_| response.status().is_success());
                        let page =
                            page.unwrap_or_else(|| format!("the server there responded with {}", response.status()));
                        let reason = format!(
                            "it redirects to {} ({status}), and {page}; the document may require credentials",
                            at.shown()
                        );
                        return Err(attempt.failed(Some(status), reason));
                    }
                    let mut answer = self.0.read(attempt, response, &at, &known).await?;
                    if let Answer::Fetched(fetched) = &mut answer
                        && !at.is_beside(&first)
                    {
                        fetched.validators = Validators::default();
                    }
                    return Ok(answer);
                }
            }
            // Validators of one server mean nothing to another.
            if !target.is_beside(&first) {
                known = Validators::default();
            }
        }
        Err(attempt.refused(format!("it redirects more than {MAX_REDIRECTS} times")))
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the proxy, which may have a password in it.
        f.debug_struct("Fetcher").field("allowed", &self.0.options.allowed).finish_non_exhaustive()
    }
}

impl Inner {
    /// Asks at a place.
    async fn hop(&self, attempt: &Attempt, at: Target, request: &Request, known: &Validators) -> Result<Hop> {
        let (addresses, permit) = self.permit(attempt, &at).await?;
        let client = self.client(addresses).map_err(|error| attempt.interrupted("preparing", error))?;
        let asking = client
            .get(at.url.clone())
            .header(header::ACCEPT, request.accept)
            .header(header::ACCEPT_ENCODING, "gzip")
            .headers(known.headers())
            .send();
        let response = attempt.within("waiting for the response", asking).await?;
        let doing = |error: &reqwest::Error| if error.is_connect() { "connecting" } else { "waiting for the response" };
        let response = response.map_err(|error| attempt.interrupted(doing(&error), error))?;
        if !is_redirect(response.status()) {
            return Ok(Hop::Answer(response, at, permit));
        }
        let location = text(response.headers(), header::LOCATION);
        let location = location.ok_or_else(|| attempt.unexpected(response.status(), None))?;
        let next = at.redirect(location).map_err(|reason| attempt.refused(reason))?;
        Ok(Hop::Redirect(next, response.status()))
    }

    /// Checks a place and waits for its turn there. Returns its addresses.
    async fn permit(&self, attempt: &Attempt, at: &Target) -> Result<(Vec<IpAddr>, Permit)> {
        let refused = |reason| attempt.refused_at(at, reason);
        at.check_name(&self.options.allowed).map_err(refused)?;
        let place = attempt.permit(&at.host, self.rate_limits.at_host(&at.host)).await?;
        let mut addresses = self.resolve(attempt, at).await?;
        at.check_addresses(&addresses, &self.options.allowed).map_err(refused)?;
        addresses.truncate(MAX_ADDRESSES);
        let permit = attempt.permit(&at.host, self.rate_limits.take(place, &addresses)).await?;
        Ok((addresses, permit))
    }

    async fn resolve(&self, attempt: &Attempt, at: &Target) -> Result<Vec<IpAddr>> {
        if let Some(address) = at.address() {
            return Ok(vec![address]);
        }
        let place = attempt.permit(&at.host, self.rate_limits.lookup()).await?;
        let (resolver, host) = (self.resolver.clone(), at.host.clone());
        // A task of its own, since the place must be held until the system's look-up has ended, also where
        // nobody waits for it any more.
        let lookup = tokio::spawn(async move {
            let found = resolver.resolve(&host).await;
            drop(place);
            found
        });
        let lookup = tokio::time::timeout(self.options.phase_timeout, lookup);
        let found = attempt.within("resolving the host name", lookup).await?;
        let found = found.map_err(|_| attempt.timed_out("resolving the host name"))?;
        match found.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            // The proxy knows names that this machine may not.
            _ if self.options.proxy.is_some() => Ok(Vec::new()),
            Ok(_) => Err(attempt.failed(None, format!("the host {} has no address", at.host))),
            Err(error) => Err(attempt.failed(None, format!("the host {} can't be resolved: {error}", at.host))),
        }
    }

    /// A client for one request, which connects to these addresses and nowhere else.
    fn client(&self, addresses: Vec<IpAddr>) -> reqwest::Result<Client> {
        let builder = Client::builder()
            .user_agent(concat!("agentdex/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(self.tls.clone())
            .http1_only()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(self.options.phase_timeout)
            .read_timeout(self.options.phase_timeout)
            .pool_max_idle_per_host(0);
        match &self.options.proxy {
            Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy)?).build(),
            None => builder.no_proxy().dns_resolver(Checked(addresses)).build(),
        }
    }

    async fn read(&self, attempt: &Attempt, mut response: Response, at: &Target, known: &Validators) -> Result<Answer> {
        let max_age = max_age(response.headers());
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED if !known.is_empty() => return Ok(Answer::NotModified { max_age }),
            status @ (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => {
                return Err(attempt.unexpected(status, retry_after(response.headers(), OffsetDateTime::now_utc())));
            }
            status => return Err(attempt.unexpected(status, None)),
        }
        let failed = |reason: String| attempt.failed(Some(StatusCode::OK), reason);
        let too_large = || failed(format!("the document exceeds the limit of {} bytes", self.options.max_bytes));
        let media_type = json_media_type(&response).map_err(failed)?;
        let validators = Validators::of(response.headers());
        let coding = text(response.headers(), header::CONTENT_ENCODING).unwrap_or_default();
        let mut body = Body::new(coding, self.options.max_bytes).ok_or_else(|| {
            failed(format!("the response has the content coding {coding:?}, but only gzip was requested"))
        })?;
        if response.content_length().is_some_and(|length| length > self.options.max_bytes as u64) {
            return Err(too_large());
        }
        let unreadable = |error| match error {
            BodyError::TooLarge => too_large(),
            BodyError::Malformed(reason) => failed(format!("the document can't be decompressed: {reason}")),
        };
        let reading = |error| attempt.interrupted("reading the document", error);
        while let Some(piece) = attempt.within("reading the document", response.chunk()).await?.map_err(reading)? {
            body.take(&piece).map_err(unreadable)?;
        }
        let bytes = body.finish().map_err(unreadable)?;
        check_content(&media_type, &bytes).map_err(failed)?;
        Ok(Answer::Fetched(Fetched { url: at.as_str().to_owned(), media_type, bytes, validators, max_age }))
    }
}

/// Returns the rate limits of a fetcher.
fn rate_limits(options: &Options) -> RateLimits {
    RateLimits::new(Pace {
        at_once: options.at_once,
        at_once_per_host: options.at_once_per_host,
        interval: Duration::from_millis(100),
        burst: 20,
        patience: options.phase_timeout,
    })
}

/// True if a redirect led from a document to a page, such as one to sign in at. Some of these refuse clients other than browsers.
fn is_other_page(response: &Response, at: &Target, first: &Target) -> bool {
    let path = |target: &Target| target.url.path().trim_end_matches('/').to_owned();
    match response.status() {
        StatusCode::BAD_REQUEST | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_ACCEPTABLE => {
            path(at) != path(first)
        }
        status => status.is_success() && json_media_type(response).is_err(),
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}
