//! Who asks.

use std::sync::Arc;

use super::{Owner, Role};

/// Somebody who has proved who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// In whose name it acts.
    pub owner: Owner,
    /// What it may do.
    pub role: Role,
    /// The id of the API key that it proved itself with.
    pub key: String,
}

/// Who asks for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Somebody who may do everything: clients of a server without authentication.
    Trusted,
    /// Somebody without credentials.
    Anonymous,
    /// Somebody with valid credentials.
    Principal(Arc<Principal>),
}

impl Caller {
    /// Its owner, where it has proved one.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Caller::Principal(principal) => Some(&principal.owner),
            Caller::Trusted | Caller::Anonymous => None,
        }
    }
}
