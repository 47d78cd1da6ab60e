//! Restricted Things, all held in memory. Checking whether a caller sees a Thing takes a single table lookup, or
//! nothing if there are no restricted Things.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    layout,
    tree::{Tree, reading},
    value::StoredRecord,
};
use crate::{
    Result,
    access::{Access, Grants, NamespaceNumber, Visibility},
};

/// Access to restricted Things, by id.
#[derive(Debug, Default)]
pub(super) struct Restricted {
    /// Number of Things in `known`. While it is 0, as in most stores, checking access takes no lock.
    count: AtomicUsize,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<Box<str>, Access>,
    /// Number of Things that share an access.
    by_access: HashMap<Access, u64>,
}

impl Known {
    fn put(&mut self, id: &str, access: &Access) {
        self.remove(id);
        *self.by_access.entry(access.clone()).or_default() += 1;
        self.by_id.insert(id.into(), access.clone());
    }

    fn remove(&mut self, id: &str) {
        let Some(access) = self.by_id.remove(id) else { return };
        if let Some(count) = self.by_access.get_mut(&access) {
            *count -= 1;
            if *count == 0 {
                self.by_access.remove(&access);
            }
        }
    }
}

impl Restricted {
    /// Loads the restricted Things from the records of a store, the only source for their access.
    pub fn load(tree: &Tree) -> Result<Restricted> {
        let (db, mut known) = (tree.db()?, Known::default());
        for pair in db.scan_prefix(layout::RECORDS) {
            let (key, record) = pair.map_err(reading)?;
            // Of a record that is damaged nobody knows who may see it.
            let nobody = Access { visibility: Visibility::Private, ..Access::default() };
            let access = StoredRecord::decode(&record).and_then(|record| record.access()).unwrap_or(nobody);
            if !access.is_public() {
                known.put(&layout::name_of(&key, layout::RECORDS)?, &access);
            }
        }
        Ok(Restricted { count: AtomicUsize::new(known.by_id.len()), known: RwLock::new(known) })
    }

    /// True if all Things are public.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// True if a caller with these grants sees the Thing.
    pub fn is_seen(&self, id: &str, by: &Grants) -> bool {
        self.is_empty() || self.read().by_id.get(id).is_none_or(|access| by.see(access))
    }

    /// Returns the access to a Thing, or `None` if it is public.
    pub fn access(&self, id: &str) -> Option<Access> {
        if self.is_empty() { None } else { self.read().by_id.get(id).cloned() }
    }

    /// Returns the number of restricted Things.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Returns the ids of restricted Things.
    pub fn ids(&self) -> Vec<String> {
        self.read().by_id.keys().map(ToString::to_string).collect()
    }

    /// Returns the number of Things hidden from a caller with these grants, including expired Things.
    pub fn unseen(&self, by: &Grants) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.read().by_access.iter().filter(|(access, _)| !by.see(access)).map(|(_, count)| count).sum()
    }

    /// Returns the ids of Things hidden from a caller with these grants.
    pub fn unseen_ids(&self, by: &Grants) -> Vec<String> {
        let known = self.read();
        let unseen = known.by_id.iter().filter(|(_, access)| !by.see(access));
        unseen.map(|(id, _)| id.to_string()).collect()
    }

    /// Returns the ids of Things visible to the members of a namespace.
    pub fn ids_in(&self, number: NamespaceNumber) -> Vec<String> {
        let is_in = |access: &Access| access.visibility == Visibility::Namespace && access.number == Some(number);
        let known = self.read();
        let mut ids: Vec<String> =
            known.by_id.iter().filter(|(_, access)| is_in(access)).map(|(id, _)| id.to_string()).collect();
        ids.sort_unstable();
        ids
    }

    /// True if the namespace contains a restricted Thing.
    pub fn has_namespace(&self, number: NamespaceNumber) -> bool {
        self.read().by_access.keys().any(|access| access.number == Some(number))
    }

    /// Adds the restrictions of a commit, before the commit is visible to readers.
    pub fn publish_narrower(&self, changes: &[(String, Access)]) {
        self.publish(changes, |known, id, access| {
            if !access.is_public() {
                known.put(id, access);
            }
        });
    }

    /// Removes the restrictions lifted by a commit, after the commit is visible to readers.
    pub fn publish_wider(&self, changes: &[(String, Access)]) {
        self.publish(changes, |known, id, access| {
            if access.is_public() {
                known.remove(id);
            }
        });
    }

    fn publish(&self, changes: &[(String, Access)], take_in: impl Fn(&mut Known, &str, &Access)) {
        if changes.is_empty() {
            return;
        }
        // What a commit did to one Thing at last counts.
        let last: HashMap<&str, &Access> = changes.iter().map(|(id, access)| (id.as_str(), access)).collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        last.into_iter().for_each(|(id, access)| take_in(&mut known, id, access));
        self.count.store(known.by_id.len(), Ordering::Release);
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Visibility;

    fn access(owner: &str, visibility: Visibility) -> Access {
        Access { owner: Some(owner.parse().unwrap()), visibility, ..Access::default() }
    }

    #[test]
    fn what_is_unseen_is_counted_as_it_comes_and_goes() {
        let restricted = Restricted::default();
        let (ours, nobody) = (Grants { owner: Some("us".parse().unwrap()), ..Grants::default() }, Grants::default());
        let change = |changes: &[(String, Access)]| {
            restricted.publish_narrower(changes);
            restricted.publish_wider(changes);
        };
        let private = |id: &str, owner: &str| (id.to_owned(), access(owner, Visibility::Private));
        change(&[private("a", "us"), private("b", "them"), private("c", "them")]);
        assert_eq!((restricted.unseen(&ours), restricted.unseen(&nobody)), (2, 3));
        assert!(
            restricted.is_seen("a", &ours) && !restricted.is_seen("a", &nobody) && restricted.is_seen("d", &nobody)
        );
        change(&[private("b", "us"), ("c".to_owned(), Access::default())]);
        assert_eq!((restricted.unseen(&ours), restricted.unseen(&nobody)), (0, 2));
        // Of several changes in one commit the last one counts.
        change(&[("a".to_owned(), Access::default()), private("a", "them"), ("b".to_owned(), Access::default())]);
        assert_eq!((restricted.unseen(&ours), restricted.unseen(&nobody)), (1, 1));
        change(&[("a".to_owned(), Access::default())]);
        assert!(restricted.is_empty() && restricted.unseen_ids(&nobody).is_empty());
    }
}
