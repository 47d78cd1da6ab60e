//! The caller of a request.

use std::sync::Arc;

use super::{Owner, Role};
use crate::Timestamp;

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Owner of the agents that the caller registers.
    pub owner: Owner,
    /// Role of the caller.
    pub role: Role,
    /// The credential that authenticates the caller: the id of an API key, `certificate:` with the SHA-256 of a
    /// certificate, or `token:` with the issuer and subject of a token.
    pub key: String,
    /// The time at which the credential expires, or `None` if it is valid until it is revoked.
    pub expires: Option<Timestamp>,
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A caller with all permissions: a client of a server without authentication.
    Trusted,
    /// A caller without credentials.
    Anonymous,
    /// A caller with valid credentials.
    Principal(Arc<Principal>),
}

/// The reason why a credential was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unauthenticated {
    /// The credential isn't valid. Contains the reason, as a sentence.
    Invalid(String),
    /// The credential can't be verified at the moment, since the required keys are unavailable. Contains the reason.
    Unavailable(String),
}

impl Caller {
    /// True unless the credential of the caller, if any, has expired.
    pub fn is_valid_at(&self, moment: Timestamp) -> bool {
        match self {
            Caller::Principal(principal) => principal.expires.is_none_or(|expires| moment < expires),
            Caller::Trusted | Caller::Anonymous => true,
        }
    }

    /// Returns the principal, or `None` for a caller without credentials.
    pub fn principal(&self) -> Option<&Arc<Principal>> {
        match self {
            Caller::Principal(principal) => Some(principal),
            Caller::Trusted | Caller::Anonymous => None,
        }
    }

    /// Returns the owner of an authenticated caller.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Caller::Principal(principal) => Some(&principal.owner),
            Caller::Trusted | Caller::Anonymous => None,
        }
    }
}
