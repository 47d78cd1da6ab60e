//! `TextAccess`: the callers, among those who see an agent, allowed to read one of its versions or originals.
//!
//! It is the access of the agent when the text was stored. The access of the served text follows that of the agent.
//! All other texts keep their own access: it is narrowed with that of the agent, but never widened.

use super::{
    layout::corrupt,
    value::{Reader, decode_access, encode_access, put_bytes},
};
use crate::{
    Result,
    access::{Access, Caller, Grants, NamespaceNumber, Owner, Role, Visibility},
};

/// Maximum number of namespaces that a text is restricted to. Beyond it, the owner alone is shown the text.
const MOST_NAMESPACES: usize = 8;

/// Access to a stored text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextAccess {
    /// Owner and visibility of the text.
    pub access: Access,
    /// Namespaces to which the agent was moved since. Only members of all of them may read the text.
    pub also: Vec<NamespaceNumber>,
}

impl From<Access> for TextAccess {
    fn from(access: Access) -> TextAccess {
        TextAccess { access, also: Vec::new() }
    }
}

impl TextAccess {
    /// True if a caller with these grants may read the text, provided that it sees the agent.
    pub fn admits(&self, grants: &Grants) -> bool {
        let is_member = |number: &NamespaceNumber| grants.member_since.contains_key(number);
        grants.see(&self.access) && (grants.own(&self.access) || self.also.iter().all(is_member))
    }

    /// Returns the access after a change of the agent's access.
    pub(super) fn narrowed(mut self, by: &Access) -> TextAccess {
        match (self.access.visibility, by.visibility) {
            (Visibility::Public, _) => by.clone().into(),
            (Visibility::Private, _) | (_, Visibility::Public) => self,
            (Visibility::Namespace, Visibility::Private) => self.private(),
            (Visibility::Namespace, Visibility::Namespace) => match by.number {
                number if number == self.access.number => self,
                Some(number) if self.also.contains(&number) => self,
                Some(number) if self.also.len() < MOST_NAMESPACES => {
                    self.also.push(number);
                    self
                }
                _ => self.private(),
            },
        }
    }

    fn private(self) -> TextAccess {
        Access { visibility: Visibility::Private, ..self.access }.into()
    }

    /// True if everybody who sees an agent with this access is shown the text. `is_member` tells whether an owner is a member
    /// of a namespace now.
    pub(super) fn covers(
        &self,
        access: &Access,
        is_member: impl Fn(&Owner, NamespaceNumber) -> Result<bool>,
    ) -> Result<bool> {
        if self.access.is_public() {
            return Ok(true);
        }
        let is_shown_to_owner = match &access.owner {
            None => true,
            owner if *owner == self.access.owner => true,
            Some(owner) => self.has(owner, is_member)?,
        };
        let is_same = |number: &NamespaceNumber| Some(*number) == access.number;
        Ok(is_shown_to_owner
            && match access.visibility {
                Visibility::Public => false,
                Visibility::Private => true,
                Visibility::Namespace => {
                    self.access.visibility == Visibility::Namespace
                        && self.access.number == access.number
                        && self.also.iter().all(is_same)
                }
            })
    }

    /// True if somebody is shown the text as a member of its namespaces.
    fn has(&self, owner: &Owner, is_member: impl Fn(&Owner, NamespaceNumber) -> Result<bool>) -> Result<bool> {
        let (Visibility::Namespace, Some(number)) = (self.access.visibility, self.access.number) else {
            return Ok(false);
        };
        for number in std::iter::once(number).chain(self.also.iter().copied()) {
            if !is_member(owner, number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if a writer is shown the text, and so may publish it.
    pub(super) fn lets_publish(
        &self,
        caller: &Caller,
        is_member: impl Fn(&Owner, NamespaceNumber) -> Result<bool>,
    ) -> Result<bool> {
        match caller {
            Caller::Trusted => Ok(true),
            Caller::Anonymous => Ok(false),
            Caller::Principal(principal) if principal.role == Role::Admin => Ok(true),
            Caller::Principal(principal) => {
                let owner = &principal.owner;
                let is_own = self.access.is_public() || self.access.owner.as_ref() == Some(owner);
                Ok(is_own || self.has(owner, is_member)?)
            }
        }
    }

    /// Returns the widest access of the agent with which this text may be served.
    pub(super) fn within(&self, access: &Access) -> Access {
        let is_in_reach = access.is_public() || access.number == self.access.number;
        match self.access.visibility {
            Visibility::Public => access.clone(),
            Visibility::Namespace
                if self.also.is_empty() && is_in_reach && access.visibility != Visibility::Private =>
            {
                Access { owner: access.owner.clone(), ..self.access.clone() }
            }
            _ => Access { visibility: Visibility::Private, ..access.clone() },
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, &encode_access(&self.access));
        bytes.extend(self.also.iter().flat_map(|number| number.0.to_be_bytes()));
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<TextAccess> {
        let mut reader = Reader(bytes);
        let access = decode_access(reader.block()?)?;
        let mut also = Vec::new();
        while !reader.0.is_empty() {
            also.push(NamespaceNumber(reader.u64()?));
        }
        if also.len() > MOST_NAMESPACES {
            return Err(corrupt());
        }
        Ok(TextAccess { access, also })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Seq;

    fn access(owner: &str, visibility: Visibility, number: u64) -> Access {
        let namespace = (visibility == Visibility::Namespace).then(|| "team".parse().unwrap());
        let number = namespace.as_ref().map(|_| NamespaceNumber(number));
        Access { owner: Some(owner.parse().unwrap()), visibility, namespace, number }
    }

    fn public() -> Access {
        access("alice", Visibility::Public, 0)
    }

    fn private() -> Access {
        access("alice", Visibility::Private, 0)
    }

    fn shown(number: u64) -> Access {
        access("alice", Visibility::Namespace, number)
    }

    fn grants(owner: &str, namespaces: &[u64]) -> Grants {
        let member_since = namespaces.iter().map(|number| (NamespaceNumber(*number), Seq(1))).collect();
        Grants { owner: Some(owner.parse().unwrap()), member_since, ..Grants::default() }
    }

    fn nobody(_: &Owner, _: NamespaceNumber) -> Result<bool> {
        Ok(false)
    }

    #[test]
    fn narrower_access_narrows_and_a_wider_one_leaves() {
        let after = |start: Access, then: &[Access]| {
            then.iter().fold(TextAccess::from(start), |access, by| access.narrowed(by)).access.visibility
        };
        assert_eq!(after(private(), &[public()]), Visibility::Private);
        assert_eq!(after(public(), &[private(), public()]), Visibility::Private);
        assert_eq!(after(public(), &[shown(1), public()]), Visibility::Namespace);
        assert_eq!(after(shown(1), &[public(), private(), shown(1)]), Visibility::Private);
    }

    #[test]
    fn text_of_an_agent_that_was_in_two_namespaces_is_for_members_of_both() {
        let moved = TextAccess::from(shown(1)).narrowed(&shown(2)).narrowed(&shown(1));
        let admitted = [&[1][..], &[2], &[1, 2], &[]].map(|namespaces| moved.admits(&grants("bob", namespaces)));
        assert_eq!(admitted, [false, false, true, false]);
        assert!(moved.admits(&grants("alice", &[])));
        assert!(!moved.covers(&shown(1), nobody).unwrap());
        assert_eq!(TextAccess::decode(&moved.encode()).unwrap(), moved);
        let many = (2..20).fold(TextAccess::from(shown(1)), |access, number| access.narrowed(&shown(number)));
        assert_eq!(many, TextAccess::from(Access { visibility: Visibility::Private, ..shown(1) }));
    }

    #[test]
    fn new_owner_is_shown_what_was_public_or_shown_to_its_namespaces() {
        let bobs = access("bob", Visibility::Private, 0);
        assert!(TextAccess::from(public()).covers(&bobs, nobody).unwrap());
        assert!(!TextAccess::from(private()).covers(&bobs, nobody).unwrap());
        assert!(TextAccess::from(shown(1)).covers(&bobs, |_, number| Ok(number.0 == 1)).unwrap());
        assert!(!TextAccess::from(shown(1)).covers(&bobs, nobody).unwrap());
        assert_eq!(TextAccess::from(public()).narrowed(&bobs).access, bobs);
    }

    #[test]
    fn widest_access_to_serve_a_text_with_is_within_its_own() {
        for own in [public(), shown(1), private()] {
            for of_agent in [public(), shown(1), shown(2), private()] {
                let own = TextAccess::from(own.clone());
                let within = own.within(&of_agent);
                assert!(own.covers(&within, nobody).unwrap(), "{own:?} {within:?}");
                assert!(TextAccess::from(of_agent.clone()).covers(&within, nobody).unwrap(), "{of_agent:?} {within:?}");
            }
        }
        assert_eq!(TextAccess::from(shown(1)).within(&public()), shown(1));
    }
}
