//! Roles of callers who were authenticated by another authority, with a client certificate or a token.

use std::str::FromStr;

use super::Role;

/// Mapping from names to roles. The entry `ROLE` applies to everyone, and `NAME=ROLE` to callers with that name. If
/// several entries apply to a caller, the highest role counts. Without entries, everyone has the role `read`.
///
/// ```
/// use agentdex_api::access::{Role, RoleMapping};
///
/// let mapping = RoleMapping::parse(["register", "ops.example.org=admin"]).unwrap();
/// assert_eq!(mapping.role_of(["weather.example.org"]), Some(Role::Register));
/// assert_eq!(mapping.role_of(["ops.example.org"]), Some(Role::Admin));
/// let only = RoleMapping::parse(["ops.example.org=admin"]).unwrap();
/// assert_eq!(only.role_of(["weather.example.org"]), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleMapping {
    everybody: Option<Role>,
    named: Vec<(String, Role)>,
}

impl Default for RoleMapping {
    fn default() -> RoleMapping {
        RoleMapping { everybody: Some(Role::Read), named: Vec::new() }
    }
}

impl RoleMapping {
    /// Creates a mapping from the names of roles to these roles: the name `admin` grants the role `admin`.
    pub fn by_role_name() -> RoleMapping {
        RoleMapping { everybody: None, named: Role::ALL.map(|role| (role.as_str().to_owned(), role)).into() }
    }

    /// Parses entries.
    ///
    /// # Errors
    /// The first invalid entry, with the reason.
    pub fn parse<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> Result<RoleMapping, String> {
        let mut mapping = RoleMapping { everybody: None, named: Vec::new() };
        for entry in entries {
            // A URI may have a `=` in it, a role doesn't.
            match entry.as_ref().rsplit_once('=') {
                None => mapping.everybody = mapping.everybody.max(Some(Role::from_str(entry.as_ref())?)),
                Some(("", _)) => return Err(format!("{:?} has no name before the `=`; use NAME=ROLE", entry.as_ref())),
                Some((name, role)) => mapping.named.push((name.to_owned(), Role::from_str(role)?)),
            }
        }
        Ok(if mapping.is_empty() { RoleMapping::default() } else { mapping })
    }

    /// Returns the role of a caller with these names, or `None` if no entry applies.
    pub fn role_of<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<Role> {
        let of_name = |name: &str| self.named.iter().filter(|(known, _)| known == name).map(|(_, role)| *role).max();
        names.into_iter().filter_map(of_name).max().max(self.everybody)
    }

    /// Returns the names that grant a role.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    fn is_empty(&self) -> bool {
        self.everybody.is_none() && self.named.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_that_may_most_counts() {
        let mapping = RoleMapping::parse(["read", "a=register", "b=admin", "spiffe://x/y?z=1=admin"]).unwrap();
        assert_eq!(mapping.role_of(["c"]), Some(Role::Read));
        assert_eq!(mapping.role_of(["a", "b"]), Some(Role::Admin));
        assert_eq!(mapping.role_of(["a"]), Some(Role::Register));
        assert_eq!(mapping.role_of(["spiffe://x/y?z=1"]), Some(Role::Admin));
        assert_eq!(mapping.role_of([]), Some(Role::Read));
        // Nobody has less by being named.
        assert_eq!(RoleMapping::parse(["admin", "a=read"]).unwrap().role_of(["a"]), Some(Role::Admin));
    }

    #[test]
    fn without_entries_everybody_reads() {
        assert_eq!(RoleMapping::parse::<&str>([]).unwrap().role_of([]), Some(Role::Read));
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for entry in ["", "root", "a=", "a=root", "=admin"] {
            assert!(RoleMapping::parse([entry]).is_err(), "{entry:?}");
        }
    }
}
