//! Index terms for visibility. A restricted Thing has the term `!` and a term for each owner or namespace allowed to
//! see it.

use crate::access::{Access, Grants, NamespaceNumber, Owner, Visibility};

/// Term of every Thing that isn't public.
pub(super) const RESTRICTED: &str = "!";

/// The terms of a Thing with this access.
pub(super) fn terms_of(access: &Access) -> Vec<String> {
    if access.is_public() {
        return Vec::new();
    }
    let owner = access.owner.as_ref().map(of_owner);
    let in_namespace = access.number.filter(|_| access.visibility == Visibility::Namespace);
    [RESTRICTED.to_owned()].into_iter().chain(owner).chain(in_namespace.map(of_namespace)).collect()
}

fn of_owner(owner: &Owner) -> String {
    format!("o:{owner}")
}

fn of_namespace(number: NamespaceNumber) -> String {
    format!("n:{}", number.0)
}

/// Returns the terms of restricted Things visible to a caller with these grants.
pub(super) fn terms_seen(grants: &Grants) -> impl Iterator<Item = String> + use<'_> {
    grants.owner.iter().map(of_owner).chain(grants.member_since.keys().copied().map(of_namespace))
}
