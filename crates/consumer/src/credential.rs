//! Credentials, as configured by the caller and as sent by a binding.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};

/// A secret text, hidden in `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A credential for a security scheme, with its allowed origins.
///
/// ```
/// use agentdex_consumer::Credential;
///
/// let token = Credential::new("t0ken").for_origin("https://agents.example");
/// let user = Credential::pair("ada", "s3cret").for_origin("https://agents.example");
/// assert!(!format!("{token:?} {user:?}").contains("s3cret"));
/// ```
///
/// A credential without an origin is sent only to agents named by the caller, and to agents for which it was set with
/// [`Agent::update`](super::Agent::update). It is sent only to the origins of their forms and token endpoints. Other
/// agents found by a search don't receive it, since anyone can register a description that requests a credential by
/// name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub(super) secret: Secret,
    pub(super) origins: Vec<String>,
    /// True if the credential was given for a specific agent.
    pub(super) is_for_agent: bool,
}

impl Credential {
    /// Creates a credential from a token or key, from `user:password` for the scheme `basic`, or from `id:secret` for
    /// OAuth 2.0 client credentials.
    pub fn new(secret: impl Into<String>) -> Credential {
        Credential { secret: Secret::new(secret), origins: Vec::new(), is_for_agent: false }
    }

    /// Creates a credential from a user and a password, or from the id and secret of an OAuth 2.0 client.
    pub fn pair(user: &str, password: &str) -> Credential {
        Credential::new(format!("{user}:{password}"))
    }

    /// Adds an allowed origin, such as `https://agents.example`. A credential with allowed origins is sent to no
    /// other origin. OAuth 2.0 client credentials need both the origin of the agent and the origin of the token
    /// endpoint.
    pub fn for_origin(mut self, origin: impl Into<String>) -> Credential {
        self.origins.push(origin.into());
        self
    }
}

/// A resolved credential for a call, with its place in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// Name of the security definition.
    pub scheme: String,
    /// Credential to send, with its place.
    pub grant: Grant,
}

/// A credential in the form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// User and password (RFC 7617).
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: Secret,
        /// Location and name in the request.
        place: Place,
    },
    /// Bearer token (RFC 6750), including OAuth 2.0 access tokens.
    Bearer {
        /// Token to send.
        token: Secret,
        /// Location and name in the request.
        place: Place,
    },
    /// API key.
    ApiKey {
        /// Key to send.
        key: Secret,
        /// Location and name in the request.
        place: Place,
    },
}

/// Location of a credential in a request, with its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A header, or its counterpart in other protocols, such as the user name and password of an MQTT CONNECT packet.
    Header(String),
    /// A query parameter.
    Query(String),
    /// A cookie.
    Cookie(String),
    /// A member of the JSON body, by its name or JSON Pointer.
    Body(String),
    /// A variable of the URI template.
    Uri(String),
}

/// Returns the text to send for a grant, and its place.
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

/// Trace context of a call (W3C Trace Context).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Value of the header `traceparent`.
    pub parent: String,
    /// Value of the header `tracestate`.
    pub state: Option<String>,
}

impl Trace {
    /// Starts a new, sampled trace.
    pub fn new() -> Trace {
        let (trace, span) = (uuid::Uuid::new_v4().simple(), span_id());
        Trace { parent: format!("00-{trace}-{span}-01"), state: None }
    }

    /// Returns the same trace with a new span for a call. Starts a new trace if `parent` doesn't consist of four
    /// fields, as a `traceparent` does.
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
