//! The caller of a request.

use std::sync::Arc;

use super::{Owner, Role};
use crate::Timestamp;

/// Somebody who has proved who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// In whose name it acts.
    pub owner: Owner,
    /// Its role.
    pub role: Role,
    /// The credential that it proved itself with: the id of an API key, `certificate:` with the SHA-256 of a certificate, or
    /// `token:` with the issuer and subject of a token.
    pub key: String,
    /// The moment when that stops to be valid; none: when it is revoked.
    pub expires: Option<Timestamp>,
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Somebody who may do everything: clients of a server without authentication.
    Trusted,
    /// Somebody without credentials.
    Anonymous,
    /// Somebody with valid credentials.
    Principal(Arc<Principal>),
}

/// The reason why a credential stands for nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unauthenticated {
    /// It isn't valid; why, as a sentence about it.
    Invalid(String),
    /// The keys that it has to be checked with aren't there at present; the reason.
    Unavailable(String),
}

impl Caller {
    /// True if the credential that it proved itself with, if it did, hasn't expired.
    pub fn is_valid_at(&self, moment: Timestamp) -> bool {
        match self {
            Caller::Principal(principal) => principal.expires.is_none_or(|expires| moment < expires),
            Caller::Trusted | Caller::Anonymous => true,
        }
    }

    /// The owner that it is, where it has proved that.
    pub fn principal(&self) -> Option<&Arc<Principal>> {
        match self {
            Caller::Principal(principal) => Some(principal),
            Caller::Trusted | Caller::Anonymous => None,
        }
    }

    /// Its owner, where it has proved one.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Caller::Principal(principal) => Some(&principal.owner),
            Caller::Trusted | Caller::Anonymous => None,
        }
    }
}
