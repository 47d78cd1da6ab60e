//! The token issuer: instead of an API key, clients authenticate with an access token of an authorization server
//! (OpenID Connect or OAuth 2.0).
//!
//! The issuer's keys are fetched on a separate thread ([`discovery`]): at startup, when they are no longer fresh, and
//! when a token names an unknown key, in the latter case at most every 30 seconds by default. Tokens are checked with
//! the current keys ([`crate::signature::Claims`]); [`options`] maps their claims to a holder, and [`verified`]
//! caches the result.

mod discovery;
mod options;
mod verified;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agentdex_api::SignIn;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

pub use self::options::IssuerOptions;
use self::{discovery::fetch_keys, verified::Verified};
use super::{
    measures::{Metric, MetricSource},
    worker::Worker,
};
use crate::{
    Result, Timestamp,
    access::{Principal, Unauthenticated},
    fetch::Fetcher,
    signature::{Claims, TokenError, TokenRules, TrustedKeys},
};

/// Pause after a failed fetch while there are no keys.
const FIRST_RETRY: Duration = Duration::from_secs(2);
/// Lifetime of fetched keys if the server declares none, and the maximum lifetime.
const FRESH: Duration = Duration::from_secs(15 * 60);
const FRESH_AT_MOST: Duration = Duration::from_secs(60 * 60);
/// Maximum time that a token waits for keys.
const PATIENCE: Duration = Duration::from_secs(5);

/// A token issuer with its state.
pub(super) struct Issuer {
    options: IssuerOptions,
    fetcher: Fetcher,
    known: watch::Sender<Known>,
    verified: Verified,
    failures: AtomicU64,
    worker: Worker,
}

/// The state after the last fetch.
#[derive(Clone, Default)]
struct Known {
    /// Those of the last fetch that succeeded.
    keys: Arc<TrustedKeys>,
    /// Number of fetches, those that failed included.
    fetches: u64,
    /// Earliest time of the next fetch on demand.
    next: Option<Instant>,
    /// Sign-in parameters for people.
    sign_in: Option<Arc<SignIn>>,
    /// Reason for the last failure.
    failure: Option<Arc<str>>,
}

impl Issuer {
    /// Starts fetching the issuer's keys.
    ///
    /// # Errors
    /// [`crate::Error::InvalidSetting`] if a URL can't be that of an issuer.
    pub fn start(options: IssuerOptions) -> Result<Arc<Issuer>> {
        let issuer = Arc::new(Issuer {
            fetcher: discovery::fetcher(&options)?,
            options,
            known: watch::Sender::default(),
            verified: Verified::default(),
            failures: AtomicU64::new(0),
            worker: Worker::default(),
        });
        let weak = Arc::downgrade(&issuer);
        issuer.worker.start("agentdex-issuer", |wake| async move {
            loop {
                let Some(issuer) = weak.upgrade() else { return };
                let pause = issuer.fetch().await;
                drop(issuer);
                rest(&wake, pause).await;
            }
        })?;
        Ok(issuer)
    }

    /// Returns the sign-in parameters for people on the web page, or `None` until they have been fetched.
    pub fn sign_in(&self) -> Option<Arc<SignIn>> {
        self.known.borrow().sign_in.clone()
    }

    pub fn options(&self) -> &IssuerOptions {
        &self.options
    }

    /// Returns the holder of a token. Waits for the keys of the issuer if the token names an unknown key.
    ///
    /// # Errors
    /// The reason why the token is refused.
    pub async fn authenticate(&self, token: &str) -> std::result::Result<Arc<Principal>, Unauthenticated> {
        let now = Timestamp::now();
        if let Some(holder) = self.verified.holder(token, now) {
            return Ok(holder);
        }
        let mut known = self.known.subscribe();
        let before = known.borrow_and_update().clone();
        let (claims, fetches) = match self.read(token, &before, now) {
            Err(TokenError::UnknownKey) if before.next.is_none_or(|next| next <= Instant::now()) => {
                self.worker.wake();
                let fetched = known.wait_for(|known| known.fetches != before.fetches);
                let after = match tokio::time::timeout(PATIENCE, fetched).await {
                    Ok(Ok(after)) => after.clone(),
                    _ => before,
                };
                (self.read(token, &after, now).map_err(|error| self.refusal(error, &after))?, after.fetches)
            }
            read => (read.map_err(|error| self.refusal(error, &before))?, before.fetches),
        };
        let holder = Arc::new(self.options.principal(&claims).map_err(Unauthenticated::Invalid)?);
        self.verified.insert(token, holder.clone(), fetches, now);
        Ok(holder)
    }

    fn read(&self, token: &str, known: &Known, now: Timestamp) -> std::result::Result<Claims, TokenError> {
        let rules = TokenRules { issuer: &self.options.issuer, audience: &self.options.audience };
        Claims::read(token, &known.keys, rules, now)
    }

    fn refusal(&self, error: TokenError, known: &Known) -> Unauthenticated {
        match error {
            TokenError::Invalid(reason) => Unauthenticated::Invalid(reason),
            TokenError::UnknownKey if known.keys.is_empty() => Unauthenticated::Unavailable(format!(
                "the keys of {} are not available: {}",
                self.options.issuer,
                known.failure.as_deref().unwrap_or("the issuer hasn't responded yet")
            )),
            TokenError::UnknownKey => Unauthenticated::Invalid(format!(
                "it was signed with a key that is not among the keys of {}",
                self.options.issuer
            )),
        }
    }

    /// Fetches the keys, and returns when to do so again at the earliest and unasked.
    async fn fetch(&self) -> (Duration, Duration) {
        let fetched = fetch_keys(&self.options, &self.fetcher).await;
        let is_first_failure = self.known.borrow().failure.is_none();
        let shortest = self.options.min_refresh_interval;
        let has_keys = !self.known.borrow().keys.is_empty();
        let issuer = &self.options.issuer;
        let (fetched, failure, pause) = match fetched {
            Ok(fetched) => {
                tracing::debug!(issuer, keys = fetched.keys.len(), "the keys of the issuer were fetched");
                let fresh = fetched.max_age.unwrap_or(FRESH).min(FRESH_AT_MOST).max(shortest);
                (Some(fetched), None, (shortest, fresh))
            }
            Err(reason) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                if is_first_failure {
                    tracing::warn!(issuer, reason, "the keys of the token issuer can't be fetched; retrying");
                }
                let pause = if has_keys { shortest } else { FIRST_RETRY.min(shortest) };
                (None, Some(reason.into()), (pause, pause))
            }
        };
        let fetches = self.known.borrow().fetches + 1;
        self.known.send_modify(|known| {
            if failure.is_none() && known.failure.is_some() {
                tracing::info!(issuer, "the keys of the token issuer were fetched");
            }
            known.fetches = fetches;
            known.failure = failure;
            known.next = Some(Instant::now() + pause.0);
            if let Some(fetched) = fetched {
                known.keys = Arc::new(fetched.keys);
                known.sign_in = fetched.sign_in.map(Arc::new);
            }
        });
        self.verified.begin(fetches);
        pause
    }

    pub fn stop(&self) {
        self.worker.stop();
    }
}

/// Waits until the next fetch is due: not before the first duration, and then when it is asked for or the second is over.
async fn rest(wake: &Notify, (shortest, longest): (Duration, Duration)) {
    tokio::time::sleep(shortest).await;
    let _ = tokio::time::timeout(longest.saturating_sub(shortest), wake.notified()).await;
}

impl MetricSource for Issuer {
    fn metrics(&self) -> Vec<Metric> {
        let metric = |name, help, value| Metric { name, help, value };
        let keys = self.known.borrow().keys.len() as u64;
        vec![
            metric("agentdex_issuer_keys", "Known keys of the token issuer.", keys),
            metric(
                "agentdex_issuer_fetch_failures_total",
                "Failed attempts to fetch the keys of the token issuer.",
                self.failures.load(Ordering::Relaxed),
            ),
        ]
    }
}
