//! `View`: a set of Things visible to every recipient of a number computed from them.

use serde::{Deserialize, Serialize};

use crate::access::{Access, NamespaceNumber, Owner, Visibility};

/// A part of the registry visible to a group of callers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum View {
    /// Public Things.
    Public,
    /// Things visible to the members of a namespace as such, and public Things.
    Namespace(NamespaceNumber),
    /// Things visible to an owner.
    Owner(Owner),
    /// All Things.
    Everything,
}

impl View {
    /// Returns the common view of all callers admitted by the given access.
    pub fn of_those_admitted_by(access: &Access) -> View {
        match (access.visibility, access.number, &access.owner) {
            (Visibility::Private, _, Some(owner)) => View::Owner(owner.clone()),
            (Visibility::Namespace, Some(number), _) => View::Namespace(number),
            _ => View::Public,
        }
    }

    /// True if all callers admitted by the given access see everything in this view.
    pub fn is_seen_by_those_admitted_by(&self, access: &Access) -> bool {
        match self {
            View::Public => true,
            // Only its members share something with a namespace.
            View::Namespace(_) if access.visibility == Visibility::Private => access.owner.is_some(),
            _ => *self == View::of_those_admitted_by(access),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_suits_those_who_see_as_much() {
        let access = |visibility, number: Option<u64>| Access {
            owner: Some("us".parse().unwrap()),
            visibility,
            number: number.map(NamespaceNumber),
            namespace: number.map(|_| "team".parse().unwrap()),
        };
        let private = access(Visibility::Private, None);
        let (team, others) = (access(Visibility::Namespace, Some(1)), access(Visibility::Namespace, Some(2)));
        let public = access(Visibility::Public, None);
        let suits = |from: &Access| {
            let view = View::of_those_admitted_by(from);
            [&private, &team, &others, &public].map(|access| view.is_seen_by_those_admitted_by(access))
        };
        assert_eq!(suits(&private), [true, false, false, false]);
        assert_eq!(suits(&team), [true, true, false, false]);
        assert_eq!(suits(&public), [true; 4]);
        let of_nobody = Access { visibility: Visibility::Private, ..Access::default() };
        assert_eq!(View::of_those_admitted_by(&of_nobody), View::Public);
    }
}
