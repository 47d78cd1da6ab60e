//! Whether a card is signed by somebody who is trusted: by the operator's keys, else by those that the
//! card's own domain publishes, which are fetched as guardedly as everything else.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    Timestamp,
    fetch::{Fetcher, Request},
    signature::{Status, TrustedKeys, Verification, key_set_urls, verify},
    td::Document,
};

/// How many milliseconds the keys of a domain, or their absence, are remembered.
const REMEMBERED: i64 = 5 * 60 * 1000;
/// How many domains' keys are remembered.
const MAX_REMEMBERED: usize = 256;
/// What a key set may call itself.
const KEY_SETS: &str = "application/jwk-set+json, application/json;q=0.9";

pub(super) struct Trust {
    configured: TrustedKeys,
    domains: Mutex<HashMap<String, (Timestamp, KeySet)>>,
}

/// The keys of a domain, or why there are none.
type KeySet = Result<TrustedKeys, String>;

/// What a check came to, and whether asking again could come to something else.
#[derive(Debug)]
pub(super) struct Checked {
    pub verification: Verification,
    /// Whether all keys that could matter were there.
    pub is_certain: bool,
}

impl Trust {
    pub fn new(configured: TrustedKeys) -> Trust {
        Trust { configured, domains: Mutex::default() }
    }

    /// Checks a card that came from `source`.
    pub async fn check(&self, fetcher: &Fetcher, card: &Document, source: Option<&str>, now: Timestamp) -> Checked {
        let mut checked = Checked { verification: verify(card, &self.configured, now), is_certain: true };
        if checked.verification.status != Status::Untrusted {
            return checked;
        }
        for url in key_set_urls(card.value(), source) {
            match self.keys_of(fetcher, &url, now).await {
                Ok(keys) => {
                    let found = verify(card, &self.configured.clone().and(keys), now);
                    if found.status != Status::Untrusted {
                        return Checked { verification: found, is_certain: true };
                    }
                }
                Err(reason) => {
                    checked.is_certain = false;
                    let before = checked.verification.reason.take().unwrap_or_default();
                    checked.verification.reason = Some(format!("{before}; {reason}"));
                }
            }
        }
        checked
    }

    async fn keys_of(&self, fetcher: &Fetcher, url: &str, now: Timestamp) -> KeySet {
        if let Some((since, keys)) = self.remembered().get(url)
            && is_fresh(*since, now)
        {
            return keys.clone();
        }
        let keys = match fetcher.fetch(&Request::new(url).accept(KEY_SETS)).await {
            Ok(fetched) => TrustedKeys::from_domain(&fetched.bytes, url).map_err(|reason| format!("{url}: {reason}")),
            Err(error) => Err(error.to_string()),
        };
        let mut remembered = self.remembered();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.retain(|_, (since, _)| is_fresh(*since, now));
        }
        if remembered.len() < MAX_REMEMBERED {
            remembered.insert(url.to_owned(), (now, keys.clone()));
        }
        keys
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, (Timestamp, KeySet)>> {
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_fresh(since: Timestamp, now: Timestamp) -> bool {
    (0..REMEMBERED).contains(&(now.0 - since.0))
}
