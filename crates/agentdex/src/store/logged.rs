//! An entry of the log as its readers get it: a change, or who became a member of a namespace and who no longer is.

use std::sync::Arc;

use super::logged_change::LoggedChange;
use crate::{
    access::{NamespaceNumber, Owner},
    change::{Seq, Timestamp},
};

/// An entry of the log.
#[derive(Debug, Clone)]
pub enum Logged {
    /// A Thing is another one.
    Change(Arc<LoggedChange>),
    /// A namespace has other members.
    Membership(Arc<Membership>),
    /// A record got a text that isn't served: no reader gets that.
    Declaration(Silent),
}

/// An entry that no reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    /// The position in the log.
    pub seq: Seq,
    /// The position of the entry before it.
    pub previous: Seq,
    /// When it was committed.
    pub at: Timestamp,
}

/// Owners that have become members of a namespace, and that no longer are, by one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The position in the log.
    pub seq: Seq,
    /// The position of the entry before it.
    pub previous: Seq,
    /// When it was committed.
    pub at: Timestamp,
    /// The owner who did it; none without authentication.
    pub actor: Option<String>,
    /// The namespace.
    pub number: NamespaceNumber,
    /// Those that are members from here on.
    pub joined: Vec<Owner>,
    /// Those that are no longer.
    pub left: Vec<Owner>,
}

impl Membership {
    /// True if it is about an owner.
    pub fn concerns(&self, owner: &Owner) -> bool {
        self.joined.contains(owner) || self.left.contains(owner)
    }

    fn weight(&self) -> usize {
        let names = self.joined.iter().chain(&self.left).map(|owner| owner.as_str().len() + size_of::<Owner>());
        size_of::<Membership>() + names.sum::<usize>()
    }
}

impl Logged {
    /// The position in the log.
    pub fn seq(&self) -> Seq {
        match self {
            Logged::Change(change) => change.seq,
            Logged::Membership(membership) => membership.seq,
            Logged::Declaration(silent) => silent.seq,
        }
    }

    /// When it was committed.
    pub fn at(&self) -> Timestamp {
        match self {
            Logged::Change(change) => change.at,
            Logged::Membership(membership) => membership.at,
            Logged::Declaration(silent) => silent.at,
        }
    }

    /// The change, where it is one.
    pub fn change(&self) -> Option<&Arc<LoggedChange>> {
        match self {
            Logged::Change(change) => Some(change),
            Logged::Membership(_) | Logged::Declaration(_) => None,
        }
    }

    /// True if it is the first entry after a position.
    pub fn follows(&self, position: Seq) -> bool {
        match self {
            Logged::Change(change) => change.follows(position),
            Logged::Membership(membership) => membership.previous <= position && position < membership.seq,
            Logged::Declaration(silent) => silent.previous <= position && position < silent.seq,
        }
    }

    /// About how many bytes it takes without its renditions.
    pub fn weight(&self) -> usize {
        match self {
            Logged::Change(change) => change.weight(),
            Logged::Membership(membership) => membership.weight(),
            Logged::Declaration(_) => size_of::<Silent>(),
        }
    }
}
