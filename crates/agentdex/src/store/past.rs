//! Past of restricted ids: their lives, and the access during each part of a life.
//!
//! For each id, the last log entry at which the Thing was restricted is known (`v/` in the tree), so readers of all
//! other changes pay for a single table lookup, or for nothing if there are no such ids. The lives of an id are read
//! from the log on demand and kept up to date from then on.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    layout,
    tree::{Tree, reading},
    value::{self, ChangeEntry},
};
use crate::{
    Result,
    access::{Access, Visibility},
    change::{ChangeKind, Seq},
};

/// A life of an id, from its creation to its deletion, as far as the log contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Position of the creation, or `None` if the log no longer contained it when the life was read.
    pub created: Option<Seq>,
    /// Access from each position at which it changed, earliest first. The first entry is the access since the
    /// creation or, if that is not in the log, since position 0.
    pub accesses: Vec<(Seq, Access)>,
    /// Position of the deletion, or `None` while the life continues.
    pub ended: Option<Seq>,
}

impl Life {
    fn takes_in(&self, seq: Seq) -> bool {
        self.accesses.first().is_some_and(|(first, _)| *first <= seq) && self.ended.is_none_or(|ended| seq <= ended)
    }
}

/// Lives of an id, earliest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lives {
    all: Vec<Life>,
    /// Last entry applied.
    last: Seq,
}

impl Lives {
    /// Those of an id of which the log can't be read: only admins see anything of it.
    pub(super) fn unknown() -> Lives {
        Lives::default().with_present(Access { visibility: Visibility::Private, ..Access::default() })
    }

    /// Returns the life of a log entry.
    pub fn at(&self, seq: Seq) -> Option<&Life> {
        self.all.iter().find(|life| life.takes_in(seq))
    }

    /// Iterates over all lives.
    pub fn iter(&self) -> impl Iterator<Item = &Life> {
        self.all.iter()
    }

    /// Adds a current life without any entry in the log.
    pub fn with_present(mut self, access: Access) -> Lives {
        self.all.push(Life { created: None, accesses: vec![(Seq::ZERO, access)], ended: None });
        self
    }

    /// Applies the next entry about the id. An entry is not applied twice: the log may be read ahead of the entries
    /// announced by commits.
    pub(super) fn add(&mut self, seq: Seq, entry: &ChangeEntry) {
        if seq <= self.last {
            return;
        }
        self.last = seq;
        let last = self.all.last_mut().filter(|life| life.ended.is_none());
        match (entry.kind, last) {
            (ChangeKind::Created, _) => {
                let accesses = vec![(seq, entry.access_after.clone())];
                self.all.push(Life { created: Some(seq), accesses, ended: None });
            }
            (kind, Some(life)) => life.add(seq, kind, entry),
            (kind, None) => {
                let accesses = vec![(Seq::ZERO, entry.access_before.clone())];
                let mut life = Life { created: None, accesses, ended: None };
                life.add(seq, kind, entry);
                self.all.push(life);
            }
        }
    }
}

impl Life {
    fn add(&mut self, seq: Seq, kind: ChangeKind, entry: &ChangeEntry) {
        if kind == ChangeKind::Deleted {
            self.ended = Some(seq);
        } else if self.accesses.last().is_none_or(|(_, access)| *access != entry.access_after) {
            self.accesses.push((seq, entry.access_after.clone()));
        }
    }
}

/// An id that was restricted at some time.
#[derive(Debug)]
struct Known {
    last: Seq,
    /// Cached lives; `None` until requested.
    lives: Option<Arc<Lives>>,
}

/// Ids that were restricted at some time within the log.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Number of ids in `known`. While it is 0, as in most stores, [`Past::last`] takes no lock.
    count: AtomicUsize,
    known: RwLock<HashMap<Box<str>, Known>>,
}

impl Past {
    /// Loads the restricted ids of a store.
    pub fn load(tree: &Tree) -> Result<Past> {
        let (db, mut known) = (tree.db()?, HashMap::new());
        for pair in db.scan_prefix(layout::RESTRICTED) {
            let (key, value) = pair.map_err(reading)?;
            let id = layout::name_of(&key, layout::RESTRICTED)?;
            // Of what is damaged everything is looked up.
            let last = value::decode_seq(&value).unwrap_or(Seq(u64::MAX));
            known.insert(id.into_boxed_str(), Known { last, lives: None });
        }
        Ok(Past { count: AtomicUsize::new(known.len()), known: RwLock::new(known) })
    }

    /// Returns the last entry at which the Thing was restricted, or `None` if it was always public.
    pub fn last(&self, id: &str) -> Option<Seq> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.read().get(id).map(|known| known.last)
    }

    /// Returns the ids that were last restricted at or after a position.
    pub fn since(&self, seq: Seq) -> Vec<String> {
        let known = self.read();
        let mut ids: Vec<String> =
            known.iter().filter(|(_, known)| known.last >= seq).map(|(id, _)| id.to_string()).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the lives of an id, read from the log with `walk` unless they are cached.
    pub fn lives(&self, id: &str, walk: impl FnOnce() -> Result<Lives>) -> Result<Arc<Lives>> {
        if let Some(lives) = self.read().get(id).and_then(|known| known.lives.clone()) {
            return Ok(lives);
        }
        // Locked, so that no entry comes between the reading and its end.
        let mut all = self.write();
        if let Some(lives) = all.get(id).and_then(|known| known.lives.clone()) {
            return Ok(lives);
        }
        let lives = Arc::new(walk()?);
        if let Some(known) = all.get_mut(id) {
            known.lives = Some(lives.clone());
        }
        Ok(lives)
    }

    /// Adds durable changes, before they are visible to readers of the log.
    pub fn publish<'e>(&self, entries: impl Iterator<Item = (Seq, &'e ChangeEntry)>) {
        let is_restricted = |entry: &ChangeEntry| !entry.access_before.is_public() || !entry.access_after.is_public();
        let mut locked: Option<RwLockWriteGuard<'_, HashMap<Box<str>, Known>>> = None;
        for (seq, entry) in entries {
            if !is_restricted(entry) && self.count.load(Ordering::Acquire) == 0 && locked.is_none() {
                continue;
            }
            let known = locked.get_or_insert_with(|| self.write());
            if let Some(known) = known.get_mut(entry.id.as_str()) {
                if is_restricted(entry) {
                    known.last = seq;
                }
                if let Some(lives) = &mut known.lives {
                    Arc::make_mut(lives).add(seq, entry);
                }
            } else if is_restricted(entry) {
                known.insert(entry.id.as_str().into(), Known { last: seq, lives: None });
            }
        }
        if let Some(known) = locked {
            self.count.store(known.len(), Ordering::Release);
        }
    }

    /// Removes ids, each with the last entry at which it was restricted, unless a newer such entry exists.
    pub fn forget(&self, ids: &[(String, Seq)]) {
        if ids.is_empty() {
            return;
        }
        let mut known = self.write();
        for (id, seq) in ids {
            if known.get(id.as_str()).is_some_and(|known| known.last == *seq) {
                known.remove(id.as_str());
            }
        }
        self.count.store(known.len(), Ordering::Release);
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Box<str>, Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Box<str>, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{change::DeletionReason, store::value::Body};

    fn access(visibility: Visibility) -> Access {
        Access { owner: Some("us".parse().unwrap()), visibility, ..Access::default() }
    }

    fn entry(kind: ChangeKind, before: Option<Visibility>, after: Option<Visibility>) -> ChangeEntry {
        ChangeEntry {
            kind,
            end: (kind == ChangeKind::Deleted).then_some((DeletionReason::Removed, Seq::ZERO)),
            id: "urn:a".into(),
            before: Vec::new(),
            after: Vec::new(),
            access_before: before.map(access).unwrap_or_default(),
            access_after: after.map(access).unwrap_or_default(),
            body: Body::None,
        }
    }

    const PUBLIC: Option<Visibility> = Some(Visibility::Public);
    const PRIVATE: Option<Visibility> = Some(Visibility::Private);

    #[test]
    fn lives_are_told_apart() {
        let mut lives = Lives::default();
        lives.add(Seq(5), &entry(ChangeKind::Updated, PRIVATE, PRIVATE));
        lives.add(Seq(7), &entry(ChangeKind::Deleted, PRIVATE, None));
        lives.add(Seq(9), &entry(ChangeKind::Created, None, PUBLIC));
        lives.add(Seq(12), &entry(ChangeKind::Updated, PUBLIC, PUBLIC));
        lives.add(Seq(13), &entry(ChangeKind::Updated, PUBLIC, PRIVATE));
        let first =
            Life { created: None, accesses: vec![(Seq::ZERO, access(Visibility::Private))], ended: Some(Seq(7)) };
        let second = Life {
            created: Some(Seq(9)),
            accesses: vec![(Seq(9), access(Visibility::Public)), (Seq(13), access(Visibility::Private))],
            ended: None,
        };
        assert_eq!((lives.at(Seq(5)), lives.at(Seq(7))), (Some(&first), Some(&first)));
        assert_eq!((lives.at(Seq(8)), lives.at(Seq(9)), lives.at(Seq(99))), (None, Some(&second), Some(&second)));
    }

    #[test]
    fn lives_that_were_read_are_kept_up_to_date() {
        let past = Past::default();
        assert_eq!(past.last("urn:a"), None);
        past.publish([(Seq(1), &entry(ChangeKind::Created, None, PUBLIC))].into_iter());
        assert_eq!(past.last("urn:a"), None, "everybody sees it");
        past.publish([(Seq(2), &entry(ChangeKind::Updated, PUBLIC, PRIVATE))].into_iter());
        let walked = || {
            let mut lives = Lives::default();
            lives.add(Seq(1), &entry(ChangeKind::Created, None, PUBLIC));
            lives.add(Seq(2), &entry(ChangeKind::Updated, PUBLIC, PRIVATE));
            Ok(lives)
        };
        assert_eq!(past.lives("urn:a", walked).unwrap().at(Seq(2)).unwrap().accesses.len(), 2);
        past.publish([(Seq(3), &entry(ChangeKind::Updated, PRIVATE, PUBLIC))].into_iter());
        past.publish([(Seq(4), &entry(ChangeKind::Deleted, PUBLIC, None))].into_iter());
        let lives = past.lives("urn:a", || unreachable!("it was read")).unwrap();
        let life = lives.at(Seq(4)).unwrap();
        assert_eq!((life.accesses.len(), life.ended, past.last("urn:a")), (3, Some(Seq(4)), Some(Seq(3))));
        past.forget(&[("urn:a".to_owned(), Seq(2))]);
        assert_eq!(past.last("urn:a"), Some(Seq(3)), "there is a later one");
        past.forget(&[("urn:a".to_owned(), Seq(3))]);
        assert_eq!((past.last("urn:a"), past.since(Seq(0)).len()), (None, 0));
    }
}
