//! Namespaces of a registry, with their owners and members.

use std::collections::{BTreeMap, BTreeSet};

use agentdex_api::ClaimedNamespace;

use crate::{
    Error, Result,
    access::{Namespace, NamespaceNumber, Owner},
    store::{AuditChain, AuditEntry, AuditedState, Author, NamespaceRecord, NamespaceWrite, Store},
};

/// Maximum number of members per namespace.
const MAX_MEMBERS: usize = 1_000;
/// Maximum number of attempts to write a namespace that others claim and release meanwhile.
const WRITE_ATTEMPTS: u32 = 8;

/// Returns the refusal of a claim by anybody but its owner.
pub(super) fn is_taken(namespace: &ClaimedNamespace) -> Error {
    Error::AccessRefused {
        message: format!(
            "the namespace {:?} belongs to another owner; ask the owner to add you, or choose another name",
            namespace.name.as_str()
        ),
    }
}

/// Proof that the site of a domain names an owner for the namespace of that domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainProof {
    pub(super) name: Namespace,
    pub(super) owner: Owner,
    /// URL of the statement that names the owner.
    pub(super) url: String,
}

/// Namespaces of a registry.
pub struct Namespaces {
    store: Store,
}

impl Namespaces {
    pub(super) fn new(store: &Store) -> Namespaces {
        Namespaces { store: store.clone() }
    }

    /// Returns the namespace with the given name, or `None` if the name isn't claimed.
    pub fn find(&self, name: &Namespace) -> Option<ClaimedNamespace> {
        self.find_numbered(name).map(|(_, namespace)| namespace)
    }

    /// Returns the namespace with the given name and its number.
    pub(super) fn find_numbered(&self, name: &Namespace) -> Option<(NamespaceNumber, ClaimedNamespace)> {
        let (number, record) = self.store.find_namespace(name)?;
        Some((number, claimed(&record)?))
    }

    /// Returns all namespaces, ordered by name.
    pub fn list(&self) -> Vec<ClaimedNamespace> {
        self.list_numbered().into_iter().map(|(_, namespace)| namespace).collect()
    }

    /// Returns all namespaces with their numbers.
    pub(super) fn list_numbered(&self) -> Vec<(NamespaceNumber, ClaimedNamespace)> {
        let all = self.store.namespaces().into_iter();
        all.filter_map(|(number, record)| Some((number, claimed(&record)?))).collect()
    }

    /// Claims a namespace, or replaces its members. Returns true if the namespace is new. Blocks until the write is
    /// durable.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] if another owner has claimed it, [`Error::Contended`] if others repeatedly claim and
    /// release it, [`Error::LimitExceeded`] for more than 10,000 namespaces or 1,000 members, [`Error::WritesClosed`],
    /// [`Error::DiskFull`], [`Error::ShuttingDown`].
    pub fn put(&self, namespace: ClaimedNamespace) -> Result<bool> {
        self.put_as(Author::default(), namespace, |_| None)
    }

    /// Puts a namespace on behalf of an author. `note` sets the author of the audit entry.
    pub(super) fn put_as(
        &self,
        author: Author,
        namespace: ClaimedNamespace,
        note: impl Fn(AuditEntry) -> Option<AuditEntry>,
    ) -> Result<bool> {
        at_current(&namespace.name, || self.try_put(&author, &namespace, &note))
    }

    fn try_put(
        &self,
        author: &Author,
        namespace: &ClaimedNamespace,
        note: impl Fn(AuditEntry) -> Option<AuditEntry>,
    ) -> Result<bool> {
        let known = self.find_numbered(&namespace.name);
        if let Some((_, taken)) = known.as_ref().filter(|(_, taken)| taken.owner != namespace.owner) {
            return Err(is_taken(taken));
        }
        if namespace.members.len() > MAX_MEMBERS {
            return Err(Error::LimitExceeded { what: "number of members of a namespace", maximum: MAX_MEMBERS as u64 });
        }
        let number = known.as_ref().map(|(number, _)| *number);
        let ClaimedNamespace { name, owner, mut members, created, proof } = namespace.clone();
        members.insert(owner.clone());
        let mut author = author.clone();
        author.notes.extend(note(entry("PUT", &name, number.map(|_| &owner), Some(&owner))));
        let record =
            NamespaceRecord { name, owner: Some(owner), created, proof, given_up: None, members: BTreeMap::new() };
        self.store.write_namespace(author, NamespaceWrite { number, record, members: Some(members) }).wait()?;
        Ok(number.is_none())
    }

    /// Releases a namespace, and returns false if it isn't claimed. Its Things with the visibility `namespace` are
    /// then visible to their owners and admins only. This doesn't change if the name is claimed again, since a new claim
    /// creates a different namespace. Blocks until the removal is durable.
    ///
    /// # Errors
    /// [`Error::Contended`] if others repeatedly claim and release the namespace, [`Error::WritesClosed`],
    /// [`Error::DiskFull`], [`Error::ShuttingDown`].
    pub fn remove(&self, name: &Namespace) -> Result<bool> {
        let Some(namespace) = self.find(name) else { return Ok(false) };
        self.remove_as(Author::default(), &namespace, |_| None)
    }

    /// Removes a namespace on behalf of an author, unless it has another owner meanwhile. `note` sets the author of the
    /// audit entry.
    pub(super) fn remove_as(
        &self,
        author: Author,
        ClaimedNamespace { name, owner, .. }: &ClaimedNamespace,
        note: impl Fn(AuditEntry) -> Option<AuditEntry>,
    ) -> Result<bool> {
        at_current(name, || {
            let known = self.store.find_namespace(name);
            let Some((number, record)) = known.filter(|(_, record)| record.owner.as_ref() == Some(owner)) else {
                return Ok(false);
            };
            let mut author = author.clone();
            author.notes.extend(note(entry("DELETE", name, Some(owner), None)));
            let record = NamespaceRecord::clone(&record);
            self.store
                .write_namespace(author, NamespaceWrite { number: Some(number), record, members: None })
                .wait()?;
            Ok(true)
        })
    }
}

/// Writes a namespace, again if its name has got another meaning between reading and writing.
fn at_current(name: &Namespace, write: impl Fn() -> Result<bool>) -> Result<bool> {
    for _ in 0..WRITE_ATTEMPTS {
        match write() {
            Err(Error::Contended { .. } | Error::NotFound { .. }) => {}
            written => return written,
        }
    }
    Err(Error::Contended { id: name.to_string(), attempts: WRITE_ATTEMPTS })
}

/// Creates the audit entry about a namespace, with its previous and new owner. The store adds who has joined and left.
fn entry(action: &str, name: &Namespace, before: Option<&Owner>, after: Option<&Owner>) -> AuditEntry {
    let state = |owner: &Owner| AuditedState { owner: Some(owner.clone()), ..AuditedState::default() };
    AuditEntry {
        action: action.to_owned(),
        target: format!("/namespaces/{name}"),
        from: before.map(state),
        to: after.map(state),
        chain: Some(AuditChain::Decisions),
        ..AuditEntry::default()
    }
}

/// Converts a namespace for listing, or returns `None` if it is unclaimed.
fn claimed(record: &NamespaceRecord) -> Option<ClaimedNamespace> {
    let owner = record.owner.clone()?;
    let members: BTreeSet<Owner> = record.present().filter(|member| **member != owner).cloned().collect();
    Some(ClaimedNamespace {
        name: record.name.clone(),
        owner,
        members,
        created: record.created,
        proof: record.proof.clone(),
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::change::Timestamp;

    fn namespace(owner: &str, members: &[&str]) -> ClaimedNamespace {
        let (name, owner) = ("crew".parse().unwrap(), owner.parse().unwrap());
        let members = members.iter().map(|member| member.parse().unwrap()).collect();
        ClaimedNamespace { name, owner, members, created: Timestamp(0), proof: None }
    }

    fn open(directory: &std::path::Path) -> Namespaces {
        Namespaces::new(&Store::open(directory, Default::default()).unwrap())
    }

    #[test]
    fn of_owners_who_claim_a_name_at_once_one_gets_it() {
        let directory = tempfile::tempdir().unwrap();
        let namespaces = open(directory.path());
        for _ in 0..8 {
            let claims: Vec<Result<bool>> = thread::scope(|scope| {
                let claim = |number| namespaces.put(namespace(&format!("owner{number}"), &[]));
                let claims: Vec<_> = (0..16).map(|number| scope.spawn(move || claim(number))).collect();
                claims.into_iter().map(|claim| claim.join().unwrap()).collect()
            });
            assert_eq!(claims.iter().filter(|claim| matches!(claim, Ok(true))).count(), 1);
            let refused = claims.iter().filter(|claim| matches!(claim, Err(Error::AccessRefused { .. })));
            assert_eq!(refused.count(), 15);
            assert!(namespaces.remove(&"crew".parse().unwrap()).unwrap());
        }
        namespaces.store.close();
    }

    #[test]
    fn namespace_that_has_another_owner_meanwhile_is_not_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let namespaces = open(directory.path());
        let of_alice = namespace("alice", &[]);
        namespaces.put(of_alice.clone()).unwrap();
        assert!(namespaces.remove(&of_alice.name).unwrap());
        namespaces.put(namespace("bob", &[])).unwrap();
        assert!(!namespaces.remove_as(Author::default(), &of_alice, |_| None).unwrap());
        assert_eq!(namespaces.list().len(), 1);
        namespaces.store.close();
    }

    #[test]
    fn audit_entries_have_who_joined_and_left() {
        let directory = tempfile::tempdir().unwrap();
        let namespaces = open(directory.path());
        for members in [&["bob", "carol"][..], &["carol", "dave"], &["carol", "dave"]] {
            namespaces.put_as(Author::default(), namespace("alice", members), Some).unwrap();
        }
        let claimed = namespaces.find(&"crew".parse().unwrap()).unwrap();
        namespaces.remove_as(Author::default(), &claimed, Some).unwrap();
        let names = |owners: &[Owner]| owners.iter().map(Owner::as_str).collect::<Vec<_>>().join(" ");
        let entries = namespaces.store.audited(0, 9).unwrap().entries;
        let changes: Vec<_> = entries.iter().map(|entry| (names(&entry.joined), names(&entry.left))).collect();
        let expected = [("alice bob carol", ""), ("dave", "bob"), ("", ""), ("", "alice carol dave")];
        assert_eq!(changes, expected.map(|(joined, left)| (joined.to_owned(), left.to_owned())));
        namespaces.store.close();
    }
}
