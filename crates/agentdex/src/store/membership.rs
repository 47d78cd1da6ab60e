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

/// Maximum number of namespaces that are not given up.
const MAX_NAMESPACES: usize = 10_000;

impl Applier<'_> {
    /// Claims a namespace, changes its members, or gives it up. The notes of the author get who has joined and left.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the namespace was given up; [`Error::Contended`] if a new namespace has a name that is
    /// claimed, or if an existing one has another owner; [`Error::LimitExceeded`] for more than 10,000 namespaces.
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
            None if self.number_claimed() >= MAX_NAMESPACES => {
                return Err(Error::LimitExceeded { what: "number of namespaces", maximum: MAX_NAMESPACES as u64 });
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        change::Timestamp,
        store::{Author, Options, Store, Ticket},
    };

    #[test]
    fn claims_at_once_do_not_exceed_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::default()).unwrap();
        let owner: crate::access::Owner = "team".parse().unwrap();
        let record = |name: usize| NamespaceRecord {
            name: format!("n{name}").parse().unwrap(),
            owner: Some(owner.clone()),
            created: Timestamp(0),
            proof: None,
            given_up: None,
            members: Default::default(),
        };
        let claim = |name: usize| {
            let members = Some([owner.clone()].into());
            store.write_namespace(Author::default(), NamespaceWrite { number: None, record: record(name), members })
        };
        let wait = |tickets: Vec<Ticket>| tickets.into_iter().map(Ticket::wait).collect::<Vec<_>>();
        assert!(wait((0..MAX_NAMESPACES - 2).map(claim).collect()).iter().all(Result::is_ok));
        let outcomes = wait((0..6).map(|number| claim(MAX_NAMESPACES + number)).collect());
        let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::LimitExceeded { .. }))).count();
        assert_eq!((store.namespaces().len(), refused), (MAX_NAMESPACES, 4));
        // A claim in the round that gives another namespace up.
        let (number, known) = store.find_namespace(&record(0).name).unwrap();
        let given_up = NamespaceWrite { number: Some(number), record: NamespaceRecord::clone(&known), members: None };
        let tickets = vec![store.write_namespace(Author::default(), given_up), claim(MAX_NAMESPACES + 9)];
        assert!(wait(tickets).iter().all(Result::is_ok));
        assert!(matches!(claim(0).wait(), Err(Error::LimitExceeded { .. })));
        store.close();
    }
}
