//! Verification that a card is signed with a trusted key: a key of the operator, or a key published by the card's
//! domain. Keys of domains are fetched with the same guards as documents.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use super::blocking::blocking;
use crate::{
    Result, Timestamp,
    fetch::{self, Fetcher, Request},
    signature::{Checking, Status, TrustedKeys, Verification, key_set_urls},
    td::Document,
};

/// Time for which the keys of a domain, or their absence, are cached, in milliseconds.
const CACHED: i64 = 5 * 60 * 1000;
/// Time for which keys are cached that don't include the signer's key, which may be new.
const CACHED_FOR_UNKNOWN_SIGNERS: i64 = 10 * 1000;
/// Time for which a failed fetch is cached, in milliseconds.
const FAILURE_CACHED: i64 = 30 * 1000;
/// The maximum number of domains in the cache.
const MAX_CACHED: usize = 256;
/// The media types of key sets.
const KEY_SETS: &str = "application/jwk-set+json, application/json;q=0.9";

pub(super) struct Trust {
    configured: Arc<TrustedKeys>,
    domains: Mutex<HashMap<String, Domain>>,
}

/// A cached domain. The holder of the lock fetches its keys; others wait.
struct Domain {
    since: Timestamp,
    answer: Arc<tokio::sync::Mutex<Option<Cached>>>,
}

struct Cached {
    at: Timestamp,
    ended: Instant,
    keys: KeySet,
}

/// The keys of a domain.
#[derive(Clone)]
enum KeySet {
    Published(Arc<TrustedKeys>),
    /// The domain publishes no keys. Contains the reason given by its server.
    Absent(String),
    /// The keys couldn't be fetched.
    Failed(String),
    /// Too much else was being fetched.
    NotFetched(String),
}

/// Result of a verification, and whether another verification could differ.
#[derive(Debug)]
pub(super) struct Assessment {
    pub verification: Verification,
    /// True if all relevant keys were available.
    pub is_certain: bool,
}

impl Trust {
    pub fn new(configured: TrustedKeys) -> Trust {
        Trust { configured: Arc::new(configured), domains: Mutex::default() }
    }

    /// Returns a copy with the same keys and an empty domain cache, so that users of one never wait for users of the
    /// other.
    pub fn separate(&self) -> Trust {
        Trust { configured: self.configured.clone(), domains: Mutex::default() }
    }

    /// Verifies a card that came from `source`.
    pub async fn check(
        &self,
        fetcher: &Fetcher,
        card: &Document,
        source: Option<&str>,
        now: Timestamp,
    ) -> Result<Assessment> {
        let checking = Checking::of(Cow::Owned(card.clone()));
        let (mut checking, mut found) = verify(checking, self.configured.clone(), now).await?;
        let mut is_certain = true;
        if matches!(found.status, Status::Valid | Status::Unsigned) {
            return Ok(Assessment { verification: found, is_certain });
        }
        for url in key_set_urls(card.value(), source) {
            for lasts in [CACHED, CACHED_FOR_UNKNOWN_SIGNERS] {
                let reason = match self.keys_of(fetcher, &url, now, lasts).await {
                    KeySet::Published(keys) => {
                        let verification;
                        (checking, verification) = verify(checking, keys, now).await?;
                        match verification.status {
                            Status::Valid => return Ok(Assessment { verification, is_certain: true }),
                            // The next may have another key of that name.
                            Status::Invalid => (found, is_certain) = (verification, true),
                            Status::Untrusted | Status::Unsigned => {}
                        }
                        continue;
                    }
                    KeySet::Absent(reason) => reason,
                    KeySet::Failed(reason) | KeySet::NotFetched(reason) => {
                        is_certain = false;
                        reason
                    }
                };
                let before = found.reason.take().unwrap_or_default();
                found.reason = Some(format!("{before}; {reason}"));
                break;
            }
        }
        Ok(Assessment { verification: found, is_certain })
    }

    /// Returns the keys published by a domain, cached for `lasts` milliseconds.
    async fn keys_of(&self, fetcher: &Fetcher, url: &str, now: Timestamp, lasts: i64) -> KeySet {
        let asked = Instant::now();
        let answer = self.domain(url, now);
        let mut answer = answer.lock().await;
        if let Some(remembered) = answer.as_ref().filter(|remembered| remembered.holds(asked, now, lasts)) {
            return remembered.keys.clone();
        }
        let keys = fetch(fetcher, url).await;
        *answer = Some(Cached { at: now, ended: Instant::now(), keys: keys.clone() });
        keys
    }

    /// The cache entry of a domain.
    fn domain(&self, url: &str, now: Timestamp) -> Arc<tokio::sync::Mutex<Option<Cached>>> {
        let mut domains = self.domains();
        if let Some(domain) = domains.get_mut(url) {
            domain.since = domain.since.max(now);
            return domain.answer.clone();
        }
        if domains.len() >= MAX_CACHED {
            let oldest = domains.iter().min_by_key(|(_, domain)| domain.since).map(|(url, _)| url.clone());
            oldest.and_then(|url| domains.remove(&url));
        }
        let domain = Domain { since: now, answer: Arc::default() };
        domains.entry(url.to_owned()).or_insert(domain).answer.clone()
    }

    fn domains(&self) -> MutexGuard<'_, HashMap<String, Domain>> {
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cached {
    /// True if it is still valid, or was fetched while the caller waited.
    fn holds(&self, asked: Instant, now: Timestamp, lasts: i64) -> bool {
        let lasts = match self.keys {
            // A caller that waited fetches again.
            KeySet::NotFetched(_) => return false,
            KeySet::Published(_) => lasts,
            KeySet::Absent(_) => CACHED,
            KeySet::Failed(_) => FAILURE_CACHED,
        };
        self.ended > asked || (0..lasts).contains(&(now.0 - self.at.0))
    }
}

/// Checks a card with some keys; most of the cost is hashing the whole card.
async fn verify(
    mut checking: Checking<'static>,
    keys: Arc<TrustedKeys>,
    now: Timestamp,
) -> Result<(Checking<'static>, Verification)> {
    let work = move || {
        let found = checking.with(&keys, now);
        (checking, found)
    };
    blocking("checking the signatures of a card", work).await
}

/// Fetches keys from an https URL. The fetcher follows redirects only to https URLs.
async fn fetch(fetcher: &Fetcher, url: &str) -> KeySet {
    match fetcher.fetch(&Request::new(url).accept(KEY_SETS)).await {
        Ok(fetched) => match TrustedKeys::from_domain(&fetched.bytes, url) {
            Ok(keys) => KeySet::Published(Arc::new(keys)),
            Err(reason) => KeySet::Failed(format!("{url}: {reason}")),
        },
        Err(error @ fetch::Error::Failed { status: Some(404 | 410), .. }) => KeySet::Absent(error.to_string()),
        Err(error @ fetch::Error::Busy { .. }) => KeySet::NotFetched(error.to_string()),
        Err(error) => KeySet::Failed(error.to_string()),
    }
}
