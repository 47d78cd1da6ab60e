//! The `registration` member (WoT Discovery, section 7.3.1): requests of clients, and information of the registry. It
//! is not a part of the stored form.

use serde::Serialize;
use serde_json::{Map, Value};

use super::report::Violation;
use crate::Timestamp;

/// Expiry that a client requests in the `registration` member of a document or patch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RegistrationRequest {
    /// Time to live in seconds.
    pub ttl: Option<u64>,
    /// Time of expiry; ignored if `ttl` is set.
    pub expires: Option<Timestamp>,
}

impl RegistrationRequest {
    /// Reads the member. `created`, `modified`, and `retrieved`, which only the registry sets, are ignored.
    pub(super) fn read(registration: &Value, violations: &mut Vec<Violation>) -> RegistrationRequest {
        let Value::Object(members) = registration else {
            let message = "`registration` must be an object with `ttl` (seconds) or `expires` (RFC 3339)";
            violations.push(Violation::new("/registration", "registration", message));
            return RegistrationRequest::default();
        };
        RegistrationRequest { ttl: read_ttl(members, violations), expires: read_expires(members, violations) }
    }
}

fn read_ttl(members: &Map<String, Value>, violations: &mut Vec<Violation>) -> Option<u64> {
    let ttl = members.get("ttl")?;
    // A fraction is rounded up: a client never has to renew earlier than it said.
    let seconds = ttl.as_u64().or_else(|| ttl.as_f64().filter(|seconds| *seconds >= 0.0).map(|s| s.ceil() as u64));
    let seconds = seconds.filter(|seconds| *seconds > 0);
    if seconds.is_none() {
        let message = format!("`{ttl}` is not a time to live: expected a number of seconds above 0, such as 3600");
        violations.push(Violation::new("/registration/ttl", "registration-ttl", message));
    }
    seconds
}

fn read_expires(members: &Map<String, Value>, violations: &mut Vec<Violation>) -> Option<Timestamp> {
    let expires = members.get("expires")?;
    let moment = expires.as_str().and_then(Timestamp::parse_rfc3339);
    if moment.is_none() {
        let message = format!(
            "`{expires}` is not a time of expiry: expected RFC 3339 with an offset, such as 2030-01-01T00:00:00Z"
        );
        violations.push(Violation::new("/registration/expires", "registration-expires", message));
    }
    moment
}

/// The `registration` member of an enriched Thing Description (WoT Discovery, section 7.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Registration {
    /// Time at which the Thing was created.
    pub created: Timestamp,
    /// Time at which the Thing's description was last changed.
    pub modified: Timestamp,
    /// Time at which the Thing expires, or `None` if it doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Time to live in seconds, as requested by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Time at which the description was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<Timestamp>,
}
