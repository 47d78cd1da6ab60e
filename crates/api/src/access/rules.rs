//! The decision whether a caller may do something.

use super::{Caller, Role};

/// The role that an action needs, and whether the action changes anything. A role may do what lesser roles may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// No role at all.
    Nothing,
    /// This role; the action changes nothing.
    Read(Role),
    /// This role; the action changes something, which a server that is read-only refuses.
    Write(Role),
}

/// The rules for all callers of a server. The default is a server that everybody may use who reaches it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// True if callers have to prove who they are.
    pub authentication: bool,
    /// True if callers without credentials have the role `read`.
    pub public_read: bool,
    /// True if nobody may change anything: agents, queries, namespaces, keys.
    pub read_only: bool,
}

/// The reason why a caller may not do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has to prove who it is.
    Unauthenticated,
    /// It needs this role.
    Forbidden(Role),
    /// Nobody may.
    ReadOnly,
}

impl Rules {
    /// Decides if a caller may do what needs this.
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
    /// The reason why it may not.
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

    /// The caller that somebody without credentials is.
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
