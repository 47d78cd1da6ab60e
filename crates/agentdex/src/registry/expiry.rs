//! Expiry of a Thing: the requested time to live, within the limits of the registry.

use serde_json::Value;

use super::Registry;
use crate::{
    change::Timestamp,
    store::Expiry,
    td::{Document, RegistrationRequest, Violation},
};

impl Registry {
    /// When a Thing expires that asks for `request` and had `before`.
    pub(super) fn expiry(&self, request: RegistrationRequest, before: Option<Expiry>) -> (Expiry, Option<Violation>) {
        let options = self.options();
        let now = Timestamp::now();
        let asked = match (request.ttl, request.expires) {
            (Some(ttl), _) => Expiry { ttl: Some(ttl), expires: None },
            (None, Some(expires)) => Expiry { ttl: None, expires: Some(expires) },
            (None, None) => before.unwrap_or(Expiry { ttl: options.default_ttl, expires: None }),
        };
        let Some(ttl) = asked.ttl else {
            let expired = request.expires.filter(|expires| *expires <= now).map(expired_on_arrival);
            let (expiry, warning) = self.cap_expires(asked, now);
            return (expiry, expired.or(warning));
        };
        let granted = self.granted_ttl(ttl);
        let expires = Some(now.plus_seconds(granted));
        (Expiry { ttl: Some(granted), expires }, ttl_out_of_range(ttl, granted))
    }

    /// Returns the granted time to live in seconds, given the requested one.
    pub(super) fn granted_ttl(&self, asked: u64) -> u64 {
        let options = self.options();
        asked.max(options.min_ttl.unwrap_or(0)).min(options.max_ttl.unwrap_or(u64::MAX))
    }

    /// Limits an absolute or missing expiry to the maximum time to live.
    fn cap_expires(&self, asked: Expiry, now: Timestamp) -> (Expiry, Option<Violation>) {
        let Some(latest) = self.options().max_ttl.map(|max_ttl| now.plus_seconds(max_ttl)) else {
            return (asked, None);
        };
        if asked.expires.is_some_and(|expires| expires <= latest) {
            return (asked, None);
        }
        let warning = asked.expires.map(|expires| Violation {
            pointer: "/registration/expires".into(),
            rule: "ttl-out-of-range".into(),
            message: format!("{expires} is later than this registry allows; {latest} is used"),
        });
        (Expiry { ttl: None, expires: Some(latest) }, warning)
    }
}

/// Returns the warning about a registration with a past expiry.
fn expired_on_arrival(expires: Timestamp) -> Violation {
    let message = format!("{expires} is in the past, so the Thing is removed at once");
    Violation::new("/registration/expires", "expired", message)
}

/// Returns a warning if the granted time to live differs from the requested one.
pub(super) fn ttl_out_of_range(asked: u64, granted: u64) -> Option<Violation> {
    let message = format!("a ttl of {asked} s is outside the range that this registry allows; {granted} s is used");
    (granted != asked).then(|| Violation::new("/registration/ttl", "ttl-out-of-range", message))
}

/// True if a merge patch takes the time to live or the expiry away: a null is a removal (RFC 7396).
pub(super) fn forgets_expiry(patch: &Document) -> bool {
    let registration = patch.value().get("registration");
    let is_null = |name| registration.and_then(|registration| registration.get(name)).is_some_and(Value::is_null);
    registration.is_some_and(Value::is_null) || is_null("ttl") || is_null("expires")
}
