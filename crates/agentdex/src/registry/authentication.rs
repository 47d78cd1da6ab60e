//! Authentication of credentials, and the end of their validity.

use std::{sync::Arc, time::Duration};

use super::Registry;
use crate::access::{Caller, Token, Unauthenticated};
use crate::{Timestamp, access::Principal};

/// The longest wait for a moment: the clock may be set.
const LONGEST_REST: Duration = Duration::from_secs(10);

impl Registry {
    /// Returns the caller identified by a credential: an API key of this registry or, if an issuer is configured, a
    /// token from the issuer. If the token is signed with an unknown key, waits up to five seconds for the issuer's
    /// keys.
    ///
    /// # Errors
    /// The reason why the credential is not accepted.
    pub async fn authenticate(&self, credential: &str) -> Result<Caller, Unauthenticated> {
        if let Some(caller) = self.keys().authenticate(credential) {
            return Ok(caller);
        }
        let is_key = Token::parse(credential).is_some();
        if !is_key && let Some(holder) = self.0.network.authenticate(credential).await {
            return holder.map(Caller::Principal);
        }
        Err(Unauthenticated::Invalid(match is_key {
            true => "it is unknown to this registry, expired, or revoked".to_owned(),
            false => "it is not an API key; API keys start with adx_".to_owned(),
        }))
    }

    /// True if the caller's credential is still valid: not expired and not revoked.
    #[doc(hidden)]
    pub fn is_valid(&self, caller: &Caller) -> bool {
        let is_known = |principal: &Arc<Principal>| !is_key(principal) || self.keys().has(&principal.key);
        caller.is_valid_at(Timestamp::now()) && caller.principal().is_none_or(is_known)
    }

    /// Resolves when the caller's credential is no longer valid.
    #[doc(hidden)]
    pub async fn until_invalid(&self, caller: &Caller) {
        let Some(principal) = caller.principal() else { return std::future::pending().await };
        let mut revoked = self.keys().revoked();
        while self.is_valid(caller) {
            let left = principal.expires.map(|expires| expires.0.saturating_sub(Timestamp::now().0));
            let left = left.map(|left| Duration::from_millis(u64::try_from(left).unwrap_or_default()));
            let rest = left.unwrap_or(LONGEST_REST).min(LONGEST_REST);
            match is_key(principal) {
                // The registry has the other end.
                true => drop(tokio::time::timeout(rest, revoked.changed()).await),
                false => tokio::time::sleep(rest).await,
            }
        }
    }
}

/// True if the principal authenticated with an API key. Names of other credentials contain a colon.
fn is_key(principal: &Principal) -> bool {
    !principal.key.is_empty() && !principal.key.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{NewKey, Role};

    #[test]
    fn credentials_end_when_they_expire_or_are_revoked() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let owner = || "team".parse().unwrap();
        let in_a_moment = Timestamp(Timestamp::now().0 + 50);
        let holder = Principal { owner: owner(), role: Role::Read, key: "token:a".into(), expires: Some(in_a_moment) };
        let holder = Caller::Principal(Arc::new(holder));
        assert!(registry.is_valid(&holder));
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime().block_on(registry.until_invalid(&holder));
        assert!(Timestamp::now() >= in_a_moment && !registry.is_valid(&holder));

        let (key, text) = registry.keys().create(NewKey { role: Role::Read, owner: owner(), ttl: None }).unwrap();
        let caller = pollster::block_on(registry.authenticate(&text)).unwrap();
        let waiting = {
            let (registry, caller) = (registry.clone(), caller.clone());
            let runtime = runtime();
            std::thread::spawn(move || runtime.block_on(registry.until_invalid(&caller)))
        };
        assert!(registry.is_valid(&caller));
        registry.keys().revoke(&key.id).unwrap();
        waiting.join().unwrap();
        assert!(!registry.is_valid(&caller) && registry.is_valid(&Caller::Trusted));
        assert!(matches!(pollster::block_on(registry.authenticate(&text)), Err(Unauthenticated::Invalid(_))));
        registry.close();
    }
}
