//! Owner, namespace and visibility of a Thing.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};

use super::{Caller, Owner, Role};
use crate::Seq;

/// The longest name of a namespace in bytes.
const MAX_BYTES: usize = 128;

/// Visibility of a Thing, which can always be seen by its owner and by admins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Visibility {
    /// Visible to everyone with the role `read`.
    #[default]
    Public,
    /// Visible to the members of its namespace.
    Namespace,
    /// Visible only to its owner and admins.
    Private,
}

impl Visibility {
    /// All values, the widest visibility first.
    pub const ALL: [Visibility; 3] = [Visibility::Public, Visibility::Namespace, Visibility::Private];

    /// Returns the name of the visibility.
    pub fn as_str(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Namespace => "namespace",
            Visibility::Private => "private",
        }
    }
}

impl FromStr for Visibility {
    type Err = String;

    fn from_str(text: &str) -> Result<Visibility, String> {
        let known = Visibility::ALL.into_iter().find(|visibility| visibility.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is not one of `public`, `namespace`, `private`"))
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a namespace, a group of Things shared by several owners.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(String);

impl Namespace {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the namespace is named after a domain, such as `example.org`, and can only be claimed by the owner of
    /// that domain.
    pub fn is_domain(&self) -> bool {
        self.0.contains('.')
    }
}

impl TryFrom<String> for Namespace {
    type Error = String;

    fn try_from(name: String) -> Result<Namespace, String> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_plain);
        if name.len() > MAX_BYTES || !name.split(['-', '.']).all(is_part) {
            let shown: String = name.chars().take(MAX_BYTES).collect();
            return Err(format!(
                "{shown:?} is not the name of a namespace; use 1 to {MAX_BYTES} lowercase ASCII letters and digits, \
                 with - and . only in between, for example weather or weather.example.org"
            ));
        }
        Ok(Namespace(name))
    }
}

impl FromStr for Namespace {
    type Err = String;

    fn from_str(name: &str) -> Result<Namespace, String> {
        name.to_owned().try_into()
    }
}

impl From<Namespace> for String {
    fn from(namespace: Namespace) -> String {
        namespace.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a namespace in its store. Numbers are never reused: if a namespace is given up and its name is claimed
/// again, the new namespace has another number, so its members can't see the Things in the former namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamespaceNumber(pub u64);

impl NamespaceNumber {
    /// Stands for a name that isn't claimed. No namespace has this number, so it has no members.
    pub const UNCLAIMED: NamespaceNumber = NamespaceNumber(0);
}

/// Owner, namespace, and visibility of a Thing. By default, a Thing has no owner and is public.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Access {
    /// The owner of the Thing; absent if the server didn't authenticate the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub owner: Option<Owner>,
    /// Visibility of the Thing.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub visibility: Visibility,
    /// The namespace of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub namespace: Option<Namespace>,
    /// The number of the namespace, which determines who can see the Thing. It isn't sent to clients.
    #[serde(skip)]
    pub number: Option<NamespaceNumber>,
}

impl Access {
    /// True if the Thing has no owner and is public.
    pub fn is_default(&self) -> bool {
        *self == Access::default()
    }

    /// True if the Thing is visible to everyone with the role `read`.
    pub fn is_public(&self) -> bool {
        self.visibility == Visibility::Public
    }

    /// True if the caller may change and remove the Thing. A Thing without an owner can only be changed by admins.
    pub fn lets_change(&self, caller: &Caller) -> bool {
        match caller {
            Caller::Trusted => true,
            Caller::Anonymous => false,
            Caller::Principal(principal) => {
                principal.role == Role::Admin || self.owner.as_ref() == Some(&principal.owner)
            }
        }
    }
}

/// A change of the access to a Thing. Absent members keep their current values, or get the default of a new Thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "schema",
    derive(utoipa::ToSchema),
    schema(example = json!({"visibility": "namespace", "namespace": "weather"}))
)]
pub struct AccessRequest {
    /// The new owner. Only admins can change the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")
    )]
    pub owner: Option<Owner>,
    /// The new visibility.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// The new namespace, of which the caller must be a member; `null` removes the Thing from its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")
    )]
    pub namespace: Option<Option<Namespace>>,
    /// The number of the new namespace, filled in by the registry.
    #[serde(skip)]
    pub number: Option<NamespaceNumber>,
    /// True to change the access to the versions that aren't served, and to the originals of edited Things, as well
    /// (query parameter `versions=all`).
    #[serde(skip)]
    pub all_versions: bool,
}

/// Tells a member that is `null` from one that is missing.
fn given<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Option<Namespace>>, D::Error> {
    Option::<Namespace>::deserialize(member).map(Some)
}

impl AccessRequest {
    /// Returns the access after the change.
    pub fn applied_to(&self, before: &Access) -> Access {
        Access {
            owner: self.owner.clone().or_else(|| before.owner.clone()),
            visibility: self.visibility.unwrap_or(before.visibility),
            namespace: self.namespace.clone().unwrap_or_else(|| before.namespace.clone()),
            number: if self.namespace.is_some() { self.number } else { before.number },
        }
    }
}

/// The Things visible to a caller in addition to public Things. Callers who see everything have no grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Grants {
    /// The owner whose Things the caller sees.
    pub owner: Option<Owner>,
    /// Namespaces of which the caller is a member, each with the log position at which the membership began.
    pub member_since: BTreeMap<NamespaceNumber, Seq>,
    /// Former memberships of the caller in namespaces, each with its first log position and the first position after
    /// it.
    pub formerly: BTreeMap<NamespaceNumber, Vec<(Seq, Seq)>>,
}

impl Grants {
    /// True if Things with this access are visible to the caller.
    pub fn see(&self, access: &Access) -> bool {
        match access.visibility {
            Visibility::Public => true,
            Visibility::Namespace => self.own(access) || self.since(access).is_some(),
            Visibility::Private => self.own(access),
        }
    }

    /// True if Things with this access belong to the caller.
    pub fn own(&self, access: &Access) -> bool {
        self.owner.is_some() && self.owner == access.owner
    }

    /// True if the caller is or was a member of a namespace.
    pub fn has_namespaces(&self) -> bool {
        !self.member_since.is_empty() || !self.formerly.is_empty()
    }

    /// Returns the log position at which the caller became a member of the namespace of Things with this access.
    pub fn since(&self, access: &Access) -> Option<Seq> {
        access.number.and_then(|number| self.member_since.get(&number).copied())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::access::Principal;

    fn access(owner: Option<&str>, visibility: Visibility, namespace: Option<&str>) -> Access {
        let number = namespace.map(|name| NamespaceNumber(name.len() as u64));
        let (owner, namespace) = (owner.map(|name| name.parse().unwrap()), namespace.map(|name| name.parse().unwrap()));
        Access { owner, visibility, namespace, number }
    }

    #[test]
    fn things_are_seen_by_those_whom_their_visibility_names() {
        let ours = Grants {
            owner: Some("us".parse().unwrap()),
            member_since: [(NamespaceNumber("shared".len() as u64), Seq::ZERO)].into(),
            ..Grants::default()
        };
        let nobody = Grants::default();
        for (owner, visibility, namespace, by_us, by_nobody) in [
            (None, Visibility::Public, None, true, true),
            (Some("us"), Visibility::Private, None, true, false),
            (Some("them"), Visibility::Private, Some("shared"), false, false),
            (Some("them"), Visibility::Namespace, Some("shared"), true, false),
            (Some("them"), Visibility::Namespace, Some("other"), false, false),
            (Some("them"), Visibility::Namespace, None, false, false),
            (None, Visibility::Private, None, false, false),
        ] {
            let access = access(owner, visibility, namespace);
            assert_eq!((ours.see(&access), nobody.see(&access)), (by_us, by_nobody), "{access:?}");
        }
    }

    #[test]
    fn owners_and_admins_change_things() {
        let principal = |owner: &str, role| {
            Caller::Principal(Arc::new(Principal {
                owner: owner.parse().unwrap(),
                role,
                key: String::new(),
                expires: None,
            }))
        };
        let (ours, nobodys) = (access(Some("us"), Visibility::Public, None), Access::default());
        assert!(
            ours.lets_change(&principal("us", Role::Register))
                && !nobodys.lets_change(&principal("us", Role::Register))
        );
        assert!(!ours.lets_change(&principal("them", Role::Register)) && !ours.lets_change(&Caller::Anonymous));
        for access in [ours, nobodys] {
            assert!(access.lets_change(&principal("them", Role::Admin)) && access.lets_change(&Caller::Trusted));
        }
    }

    #[test]
    fn names_of_namespaces_are_like_those_of_hosts() {
        for name in ["a", "weather-2", "weather.example.org"] {
            assert!(name.parse::<Namespace>().is_ok(), "{name}");
        }
        for name in ["", "A", "a b", "a/b", "-a", "a.", "a..b", "a--b", "a.-b", "ä", &"a".repeat(129)] {
            assert!(name.parse::<Namespace>().is_err(), "{name}");
        }
    }
}
