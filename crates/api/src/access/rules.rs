//! The decision whether a caller may perform an action.

use super::{Caller, Role};

/// The role that an action requires, and whether the action changes anything. Higher roles include lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// No role is required.
    Nothing,
    /// The action requires this role, and changes nothing.
    Read(Role),
    /// The action requires this role, and changes something, so a read-only server refuses it.
    Write(Role),
}

/// The rules for all callers of a server. By default, everyone who can reach the server can use it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// True if callers must authenticate.
    pub authentication: bool,
    /// True if callers without credentials have the role `read`.
    pub public_read: bool,
    /// True if no caller can change anything: agents, queries, namespaces, or keys.
    pub read_only: bool,
}

/// The reason why an action was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The caller must authenticate.
    Unauthenticated,
    /// The caller needs this role.
    Forbidden(Role),
    /// The server is read-only.
    ReadOnly,
}

impl Rules {
    /// Decides whether a caller is allowed an action.
    ///
    /// ```
    /// use agentdex_api::access::{Caller, Need, Refusal, Role, Rules};
    ///
    /// let rules = Rules { authentication: true, public_read: true, ..Rules::default() };
    /// assert_eq!(rules.decide(&Caller::Anonymous, Need::Read(Role::Read)), Ok(()));
    /// let refused = rules.decide(&Caller::Anonymous, Need::Write(Role::Register));
    /// assert_eq!(refused, Err(Refusal::Unauthenticated));
    /// ```
    ///
    /// # Errors
    /// The reason why the action is refused.
    pub fn decide(&self, caller: &Caller, need: Need) -> Result<(), Refusal> {
        let (needed, writes) = match need {
            Need::Nothing => return Ok(()),
            Need::Read(role) => (role, false),
            Need::Write(role) => (role, true),
        };
        match caller {
            Caller::Trusted => {}
            Caller::Anonymous if self.public_read && needed == Role::Read => {}
            Caller::Anonymous => return Err(Refusal::Unauthenticated),
            Caller::Principal(principal) if principal.role >= needed => {}
            Caller::Principal(_) => return Err(Refusal::Forbidden(needed)),
        }
        if self.read_only && writes { Err(Refusal::ReadOnly) } else { Ok(()) }
    }

    /// Returns the caller of requests without credentials.
    pub fn without_credentials(&self) -> Caller {
        if self.authentication { Caller::Anonymous } else { Caller::Trusted }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::access::Principal;

    fn principal(role: Role) -> Caller {
        let owner = "team".parse().unwrap();
        Caller::Principal(Arc::new(Principal { owner, role, key: "0123".into(), expires: None }))
    }

    #[test]
    fn a_role_may_do_what_lesser_roles_may() {
        let rules = Rules { authentication: true, ..Rules::default() };
        for (has, role) in Role::ALL.into_iter().enumerate() {
            for (needs, needed) in Role::ALL.into_iter().enumerate() {
                let expected = if has >= needs { Ok(()) } else { Err(Refusal::Forbidden(needed)) };
                for need in [Need::Read(needed), Need::Write(needed)] {
                    assert_eq!(rules.decide(&principal(role), need), expected);
                }
            }
            assert_eq!(rules.decide(&Caller::Anonymous, Need::Read(role)), Err(Refusal::Unauthenticated));
        }
        assert_eq!(rules.decide(&Caller::Anonymous, Need::Nothing), Ok(()));
    }

    #[test]
    fn public_read_lets_nobody_write() {
        let rules = Rules { authentication: true, public_read: true, ..Rules::default() };
        let allowed = Role::ALL.map(|role| rules.decide(&Caller::Anonymous, Need::Read(role)).is_ok());
        assert_eq!(allowed, [true, false, false]);
    }

    #[test]
    fn read_only_holds_for_admins_and_without_authentication() {
        let rules = Rules { read_only: true, ..Rules::default() };
        for caller in [principal(Role::Admin), Caller::Trusted] {
            for role in Role::ALL {
                assert_eq!(rules.decide(&caller, Need::Read(role)), Ok(()));
                assert_eq!(rules.decide(&caller, Need::Write(role)), Err(Refusal::ReadOnly));
            }
        }
        // Who may not write anyway isn't told more.
        let refused = rules.decide(&principal(Role::Read), Need::Write(Role::Register));
        assert_eq!(refused, Err(Refusal::Forbidden(Role::Register)));
    }
}
