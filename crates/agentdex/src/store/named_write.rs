//! Named values: saved queries and API keys. Whether such a value may be written is decided in the commit, so of two
//! writes that expect a name to be free one wins.

use sled::IVec;

use super::{layout, sum::Digest};
use crate::{Error, Result, access::Owner};

/// The longest name of a follower, a session or a query.
pub(super) const MAX_NAME_BYTES: usize = 4 * 1024;

/// The largest session or query.
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// Named values that are stored as they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Session,
    Query,
    Key,
}

impl Kind {
    pub fn prefix(self) -> &'static [u8] {
        match self {
            Kind::Session => layout::SESSIONS,
            Kind::Query => layout::QUERIES,
            Kind::Key => layout::KEYS,
        }
    }

    pub fn key(self, name: &str) -> IVec {
        layout::join(&[self.prefix(), name.as_bytes()])
    }
}

/// A write of a named value.
#[derive(Debug, Clone)]
pub(super) struct NamedWrite {
    pub kind: Kind,
    pub name: String,
    /// New value, or `None` to remove it.
    pub value: Option<Vec<u8>>,
    pub expects: Expects,
}

/// Precondition on a named value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expects {
    /// There may be a value or not.
    Any,
    /// There is no value.
    Absent,
    /// There is a value.
    Present,
    /// There is a value with this digest.
    Value(Digest),
}

impl Expects {
    /// Expects a value.
    pub fn value(value: &[u8]) -> Expects {
        Expects::Value(Digest::of(value))
    }

    /// True if the precondition holds.
    pub(super) fn holds(self, found: Option<&[u8]>) -> bool {
        match self {
            Expects::Any => true,
            Expects::Absent => found.is_none(),
            Expects::Present => found.is_some(),
            Expects::Value(digest) => found.is_some_and(|found| Digest::of(found) == digest),
        }
    }
}

impl NamedWrite {
    /// Creates a write.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`]
    pub fn new(kind: Kind, name: &str, value: Option<Vec<u8>>, expects: Expects) -> Result<NamedWrite> {
        check_value(kind, name, value.as_deref())?;
        Ok(NamedWrite { kind, name: name.to_owned(), value, expects })
    }
}

/// Checks the size of a named value.
///
/// # Errors
/// [`Error::LimitExceeded`]
pub(super) fn check_value(kind: Kind, name: &str, value: Option<&[u8]>) -> Result<()> {
    let (of_name, of_value) = match kind {
        Kind::Session => ("length of the name of a session in bytes", "size of a session in bytes"),
        Kind::Query => ("length of the name of a query in bytes", "size of a query in bytes"),
        Kind::Key => ("length of the id of a key in bytes", "size of a key in bytes"),
    };
    check_length(of_name, name.len(), MAX_NAME_BYTES)?;
    check_length(of_value, value.map_or(0, <[u8]>::len), MAX_VALUE_BYTES)
}

/// Fails if a length exceeds its limit.
pub(super) fn check_length(what: &'static str, actual: usize, maximum: usize) -> Result<()> {
    if actual > maximum {
        return Err(Error::LimitExceeded { what, maximum: maximum as u64 });
    }
    Ok(())
}

/// Returns the owner and the name in the end of the key of a saved query.
pub(super) fn query_of_key(key: &str) -> Result<(Option<Owner>, &str)> {
    let Some((owner, name)) = key.split_once('\0') else { return Ok((None, key)) };
    Ok((Some(owner.parse().map_err(|_| layout::corrupt())?), name))
}

/// The end of the key of a saved query.
pub(super) fn query_key(owner: Option<&Owner>, name: &str) -> String {
    owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}\0{name}"))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{
        access::Owner,
        change::Timestamp,
        store::{Author, NamespaceRecord, NamespaceWrite, Options, Store, write::Transaction},
    };

    #[test]
    fn of_writes_of_one_round_that_expect_absence_one_wins() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::default()).unwrap();
        let write = |number: u8| {
            let named = NamedWrite::new(Kind::Query, "q", Some(vec![number]), Expects::Absent).unwrap();
            store.handle.committer.submit(Transaction { named: Some(named), ..Transaction::noting(None) })
        };
        let tickets: Vec<_> = (0..=255).map(write).collect();
        let outcomes: Vec<_> = tickets.into_iter().map(crate::store::Ticket::wait).collect();
        let won: Vec<usize> = (0..256).filter(|number| outcomes[*number].is_ok()).collect();
        assert_eq!(won, [0]);
        assert!(outcomes[1..].iter().all(|outcome| matches!(outcome, Err(Error::Contended { .. }))));
        assert_eq!(store.local().queries().unwrap()[0].query, [0]);
        let again = store.local().put_query_if(None, "q", vec![1], Expects::Absent);
        assert!(matches!(again, Err(Error::Contended { .. })));
        store.local().put_query_if(None, "q", vec![2], Expects::Present).unwrap();
        assert!(store.local().put_query_if(None, "q", vec![4], Expects::value(&[3])).is_err());
        store.local().put_query_if(None, "q", vec![4], Expects::value(&[2])).unwrap();
        store.local().remove_query(None, "q").unwrap();
        assert!(store.local().put_query_if(None, "q", vec![3], Expects::Present).is_err());
        assert!(store.local().queries().unwrap().is_empty());
        store.close();
    }

    #[test]
    fn a_use_that_is_recorded_does_not_bring_a_revoked_key_back() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::default()).unwrap();
        thread::scope(|scope| {
            for round in 0..1000 {
                let id = format!("key{}", round % 8);
                store.local().put_key(&id, vec![1]).unwrap();
                let uses = scope.spawn({
                    let (store, id) = (store.clone(), id.clone());
                    move || (0..4).for_each(|_| store.local().use_key(&id, vec![2]).unwrap())
                });
                store.local().remove_key(&id).unwrap();
                uses.join().unwrap();
                // With the uses that are pending.
                store.submit(Vec::new()).wait().unwrap();
                let db = store.view.tree.db().unwrap();
                assert_eq!(db.get(Kind::Key.key(&id)).unwrap(), None, "round {round}");
            }
        });
        store.close();
    }

    #[test]
    fn of_many_who_claim_a_name_at_once_one_gets_it() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::default()).unwrap();
        let owner = |number: usize| -> Owner { format!("owner{number}").parse().unwrap() };
        let claim = |number: usize| {
            let (name, owner) = ("crew".parse().unwrap(), owner(number));
            let (created, proof, given_up, members) = (Timestamp(0), None, None, Default::default());
            let record = NamespaceRecord { name, owner: Some(owner.clone()), created, proof, given_up, members };
            let members = Some([owner].into());
            store.write_namespace(Author::default(), NamespaceWrite { number: None, record, members })
        };
        // In one round, and in several.
        let mut tickets: Vec<_> = (0..16).map(claim).collect();
        tickets.extend((16..20).map(claim));
        let outcomes: Vec<_> = tickets.into_iter().map(crate::store::Ticket::wait).collect();
        let outcomes: Vec<_> = outcomes.into_iter().chain([claim(20).wait()]).collect();
        assert!(outcomes[0].is_ok());
        assert!(outcomes[1..].iter().all(|outcome| matches!(outcome, Err(Error::Contended { .. }))));
        let (number, record) = store.find_namespace(&"crew".parse().unwrap()).unwrap();
        assert_eq!((store.namespaces().len(), record.owner.clone()), (1, Some(owner(0))));
        // Another owner can't change it, and once it is given up its name is free.
        let record = NamespaceRecord::clone(&record);
        let of_another = NamespaceRecord { owner: Some(owner(1)), ..record.clone() };
        let write = |record: NamespaceRecord, members| {
            store.write_namespace(Author::default(), NamespaceWrite { number: Some(number), record, members }).wait()
        };
        assert!(matches!(write(of_another, None), Err(Error::Contended { .. })));
        write(record.clone(), None).unwrap();
        assert!(matches!(write(record, Some(Default::default())), Err(Error::NotFound { .. })));
        claim(1).wait().unwrap();
        store.close();
    }
}
