//! Writes of namespaces, and checks whether an author may make a record visible to the members of a namespace.

use super::{
    applier::Applier,
    layout,
    namespaces::{NamespaceRecord, NamespaceWrite},
    value::{Content, MembershipEntry},
};
use crate::{
    Error, Result,
    access::{Access, Caller, Namespace, NamespaceNumber, Role, Visibility},
};

impl Applier<'_> {
    /// Claims a namespace, changes its members, or gives it up. The notes of the author get who has joined and left.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the namespace was given up; [`Error::Contended`] if a new namespace has a name that is
    /// claimed, or if an existing one has another owner.
    pub(super) fn write_namespace(&mut self, write: NamespaceWrite) -> Result<()> {
        let NamespaceWrite { number, mut record, members } = write;
        let contended = |name: &Namespace| Error::Contended { id: name.to_string(), attempts: 1 };
        let seq = self.next_seq();
        let number = match number {
            Some(number) => {
                let known = self.namespace(number)?.filter(|known| known.given_up.is_none());
                let known = known.ok_or_else(|| Error::NotFound { id: record.name.to_string() })?;
                if known.owner != record.owner {
                    return Err(contended(&record.name));
                }
                record.members = known.members;
                number
            }
            None if self.claimed(&record.name).is_some() => return Err(contended(&record.name)),
            None => {
                self.state.namespaces += 1;
                NamespaceNumber(self.state.namespaces)
            }
        };
        record.given_up = members.is_none().then_some(seq);
        let (joined, left) = record.set_members(&members.unwrap_or_default(), seq);
        self.set(layout::namespace_key(number), Some(record.encode()));
        self.effects.namespaces.push((number, Some(record)));
        for note in &mut self.author.notes {
            (note.joined, note.left) = (joined.clone(), left.clone());
        }
        if !joined.is_empty() || !left.is_empty() {
            let actor = self.author.caller.owner().map(ToString::to_string);
            self.append(Content::Membership(MembershipEntry { number, joined, left }), actor);
        }
        Ok(())
    }

    pub(super) fn namespace(&self, number: NamespaceNumber) -> Result<Option<NamespaceRecord>> {
        let stored = self.overlay.get_open(&layout::namespace_key(number))?;
        stored.map(|stored| NamespaceRecord::decode(&stored)).transpose()
    }

    /// Fails if the author is not a member of the namespace to which a Thing would be visible.
    pub(super) fn check_member(&self, id: &str, access: &Access) -> Result<()> {
        let (Caller::Principal(principal), Visibility::Namespace) = (&self.author.caller, access.visibility) else {
            return Ok(());
        };
        let (Some(name), false) = (&access.namespace, principal.role == Role::Admin) else { return Ok(()) };
        let known = access.number.map(|number| self.namespace(number)).transpose()?.flatten();
        if known.as_ref().is_some_and(|known| known.has(&principal.owner)) {
            return Ok(());
        }
        let is_given_up = known.is_none_or(|known| known.given_up.is_some());
        Err(Error::NotMember { id: id.to_owned(), namespace: name.clone(), is_given_up })
    }
}
