//! Credentials, as the caller has them and as a binding sends them.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, to be sent.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A credential for a security scheme, and where it may be sent.
///
/// ```
/// use agentdex_consumer::Credential;
///
/// let token = Credential::new("t0ken").for_origin("https://agents.example");
/// let user = Credential::pair("ada", "s3cret").for_origin("https://agents.example");
/// assert!(!format!("{token:?} {user:?}").contains("s3cret"));
/// ```
///
/// One without an origin is sent to agents that the caller names, and to the origin of their forms; never to an agent
/// that only a search found: anybody can register a description that asks for it by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub(super) secret: Secret,
    pub(super) origins: Vec<String>,
    /// True if it was given for one agent.
    pub(super) is_for_agent: bool,
}

impl Credential {
    /// A token or key; for `basic`, `user:password`; for the client credentials of OAuth 2.0, `id:secret`.
    pub fn new(secret: impl Into<String>) -> Credential {
        Credential { secret: Secret::new(secret), origins: Vec::new(), is_for_agent: false }
    }

    /// A user and a password, or the id and secret of a client.
    pub fn pair(user: &str, password: &str) -> Credential {
        Credential::new(format!("{user}:{password}"))
    }

    /// Allows it to be sent to an origin, such as `https://agents.example`, and no longer to others. Of OAuth 2.0,
    /// both the origin of the agent and that of the token endpoint must be allowed.
    pub fn for_origin(mut self, origin: impl Into<String>) -> Credential {
        self.origins.push(origin.into());
        self
    }
}

/// A resolved credential for one call, with the place where it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// The name of the security definition.
    pub scheme: String,
    /// The credential to send, and its place.
    pub grant: Grant,
}

/// A credential in the form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// A user and a password (RFC 7617).
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
        /// Where, and under which name.
        place: Place,
    },
    /// A token (RFC 6750), also one of OAuth 2.0.
    Bearer {
        /// The token.
        token: Secret,
        /// Where, and under which name.
        place: Place,
    },
    /// A key.
    ApiKey {
        /// The key.
        key: Secret,
        /// Where, and under which name.
        place: Place,
    },
}

/// The place of a credential in a request, with its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A header, or what the protocol has for it: user and password of MQTT's CONNECT.
    Header(String),
    /// A parameter of the query.
    Query(String),
    /// A cookie.
    Cookie(String),
    /// A member of the JSON body, by its name or JSON Pointer.
    Body(String),
    /// A variable of the URI template.
    Uri(String),
}

/// The text that is sent for a grant, and where.
pub(super) fn parts(grant: &Grant) -> (String, &Place) {
    let in_header = |place: &Place| matches!(place, Place::Header(name) if name.eq_ignore_ascii_case("authorization"));
    match grant {
        Grant::Basic { user, password, place } => {
            let pair = BASE64_STANDARD.encode(format!("{user}:{}", password.reveal()));
            (format!("Basic {pair}"), place)
        }
        Grant::Bearer { token, place } if in_header(place) => (format!("Bearer {}", token.reveal()), place),
        Grant::Bearer { token: secret, place } | Grant::ApiKey { key: secret, place } => {
            (secret.reveal().to_owned(), place)
        }
    }
}

/// The trace that a call belongs to (W3C Trace Context).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// `traceparent`
    pub parent: String,
    /// `tracestate`
    pub state: Option<String>,
}

impl Trace {
    /// A new trace, sampled.
    pub fn new() -> Trace {
        let (trace, span) = (uuid::Uuid::new_v4().simple(), span_id());
        Trace { parent: format!("00-{trace}-{span}-01"), state: None }
    }

    /// The same trace with a span of its own for one call. A `traceparent` that is none begins a new trace.
    pub fn child(&self) -> Trace {
        match self.parent.split('-').collect::<Vec<_>>().as_slice() {
            [version, trace, _, flags] => {
                Trace { parent: format!("{version}-{trace}-{}-{flags}", span_id()), state: self.state.clone() }
            }
            _ => Trace::new(),
        }
    }
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::new()
    }
}

fn span_id() -> String {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // An id of zeros means none.
    format!("{:016x}", high.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_is_of_the_same_trace() {
        let trace = Trace {
            parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
            state: Some("a=b".into()),
        };
        let child = trace.child();
        assert!(child.parent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && child.parent.ends_with("-01"));
        assert!(child.parent != trace.parent && child.parent.len() == trace.parent.len());
        assert_eq!(child.state, trace.state);
    }
}
