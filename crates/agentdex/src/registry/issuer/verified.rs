//! Cache of verified tokens, since clients send the same token with each request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{Timestamp, access::Principal, signature::digest};

/// Maximum number of cached tokens.
const MAX_TOKENS: usize = 10_000;

/// Hash that identifies a token. The token itself is not stored.
type Hash = String;

/// Holders of verified tokens.
#[derive(Default)]
pub(super) struct Verified(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Generation of the keys used for the verification.
    generation: u64,
    holders: HashMap<Hash, Arc<Principal>>,
}

impl Verified {
    /// Returns the holder of a token that was already verified and is still valid.
    pub fn holder(&self, token: &str, now: Timestamp) -> Option<Arc<Principal>> {
        let holder = self.lock().holders.get(&hash(token)).cloned();
        holder.filter(|holder| is_valid(holder, now))
    }

    /// Caches the holder of a verified token, unless keys of a newer generation have been fetched. If the cache is
    /// full, removes expired tokens or, if that isn't enough, all tokens.
    pub fn insert(&self, token: &str, holder: Arc<Principal>, generation: u64, now: Timestamp) {
        let mut known = self.lock();
        if known.generation != generation {
            return;
        }
        if known.holders.len() >= MAX_TOKENS {
            known.holders.retain(|_, holder| is_valid(holder, now));
            if known.holders.len() >= MAX_TOKENS {
                known.holders.clear();
            }
        }
        known.holders.insert(hash(token), holder);
    }

    /// Clears the cache for a new generation of keys.
    pub fn begin(&self, generation: u64) {
        *self.lock() = Known { generation, holders: HashMap::new() };
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_valid(holder: &Principal, now: Timestamp) -> bool {
    holder.expires.is_none_or(|expires| now < expires)
}

fn hash(token: &str) -> Hash {
    digest(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    #[test]
    fn tokens_are_forgotten_when_they_expire_or_there_are_too_many() {
        let verified = Verified::default();
        let holder = |expires| {
            let (owner, key) = ("team".parse().unwrap(), String::new());
            Arc::new(Principal { owner, role: Role::Read, key, expires: Some(Timestamp(expires)) })
        };
        for number in 0..MAX_TOKENS {
            verified.insert(&number.to_string(), holder(if number == 7 { 200 } else { 100 }), 0, Timestamp(0));
        }
        assert!(verified.holder("8", Timestamp(99)).is_some());
        assert!(verified.holder("8", Timestamp(100)).is_none());
        verified.insert("new", holder(200), 0, Timestamp(100));
        assert!(verified.holder("7", Timestamp(100)).is_some());
        assert_eq!(verified.lock().holders.len(), 2);
        verified.begin(1);
        assert!(verified.holder("new", Timestamp(100)).is_none());
        // It was verified with keys that are no longer those of the issuer.
        verified.insert("late", holder(200), 0, Timestamp(100));
        assert!(verified.holder("late", Timestamp(100)).is_none());
    }
}
