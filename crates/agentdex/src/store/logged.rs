//! An entry of the log as seen by its readers: a change of a Thing or of the members of a namespace.

use std::sync::Arc;

use super::logged_change::LoggedChange;
use crate::{
    access::{NamespaceNumber, Owner},
    change::{Seq, Timestamp},
};

/// An entry of the log.
#[derive(Debug, Clone)]
pub enum Logged {
    /// A change of a Thing.
    Change(Arc<LoggedChange>),
    /// A change of the members of a namespace.
    Membership(Arc<Membership>),
    /// A description was stored without being served, for example in an older version. Not shown to readers.
    Declaration(Silent),
}

/// An entry not shown to readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    /// Position in the log.
    pub seq: Seq,
    /// Position of the previous entry.
    pub previous: Seq,
    /// Time of the commit.
    pub at: Timestamp,
}

/// A change of the members of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Position in the log.
    pub seq: Seq,
    /// Position of the previous entry.
    pub previous: Seq,
    /// Time of the commit.
    pub at: Timestamp,
    /// Owner who made the change; `None` without authentication.
    pub actor: Option<String>,
    /// Number of the namespace.
    pub number: NamespaceNumber,
    /// New members.
    pub joined: Vec<Owner>,
    /// Former members.
    pub left: Vec<Owner>,
}

impl Membership {
    /// True if the owner has joined or left.
    pub fn concerns(&self, owner: &Owner) -> bool {
        self.joined.contains(owner) || self.left.contains(owner)
    }

    fn weight(&self) -> usize {
        let names = self.joined.iter().chain(&self.left).map(|owner| owner.as_str().len() + size_of::<Owner>());
        size_of::<Membership>() + names.sum::<usize>()
    }
}

impl Logged {
    /// Returns the position in the log.
    pub fn seq(&self) -> Seq {
        match self {
            Logged::Change(change) => change.seq,
            Logged::Membership(membership) => membership.seq,
            Logged::Declaration(silent) => silent.seq,
        }
    }

    /// Returns the time of the commit.
    pub fn at(&self) -> Timestamp {
        match self {
            Logged::Change(change) => change.at,
            Logged::Membership(membership) => membership.at,
            Logged::Declaration(silent) => silent.at,
        }
    }

    /// Returns the change, if the entry is a change of a Thing.
    pub fn change(&self) -> Option<&Arc<LoggedChange>> {
        match self {
            Logged::Change(change) => Some(change),
            Logged::Membership(_) | Logged::Declaration(_) => None,
        }
    }

    /// True if this is the next entry after a position.
    pub fn follows(&self, position: Seq) -> bool {
        match self {
            Logged::Change(change) => change.follows(position),
            Logged::Membership(membership) => membership.previous <= position && position < membership.seq,
            Logged::Declaration(silent) => silent.previous <= position && position < silent.seq,
        }
    }

    /// Returns the approximate size in bytes, without cached encoded forms.
    pub fn weight(&self) -> usize {
        match self {
            Logged::Change(change) => change.weight(),
            Logged::Membership(membership) => membership.weight(),
            Logged::Declaration(_) => size_of::<Silent>(),
        }
    }
}
