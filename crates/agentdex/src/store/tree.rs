//! `Tree`: the sled tree as readers see it, which is nothing that a crash could take back.
//!
//! sled shows a batch as soon as it is applied, before it is flushed. So a commit first records here
//! what the keys that it is about to overwrite held before, and readers read the tree first and these
//! values second: where there is one, it is what counts. They go once the flush is through; after a
//! failed flush they stay. Without them a follower could take in a record that a crash undoes, and
//! keep it for ever under a position that says all is well.
//!
//! Log and history need none of this: they are read no further than the durable seq.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use sled::IVec;

use super::held::Held;
use crate::{Error, Result};

/// What keys held before a batch that isn't durable yet; none where there was nothing.
pub(super) type Before = BTreeMap<IVec, Option<IVec>>;

/// How long a close waits for those who read.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// Keys and values, and where it was stopped.
pub(super) type Scan = (Vec<(IVec, IVec)>, Option<IVec>);

/// What the tree lies in, and that this process has it open. It is closed in this order.
pub(super) struct Open {
    db: sled::Db,
    _held: Held,
}

impl std::ops::Deref for Open {
    type Target = sled::Db;

    fn deref(&self) -> &sled::Db {
        &self.db
    }
}

/// The tree, with the values that are hidden in it.
pub(super) struct Tree {
    db: RwLock<Option<Arc<Open>>>,
    undurable: RwLock<Before>,
    /// How many groups have become durable: readers of two keys see whether they read one state.
    generation: AtomicU64,
}

impl Tree {
    pub fn new(db: sled::Db, held: Held) -> Tree {
        let db = RwLock::new(Some(Arc::new(Open { db, _held: held })));
        Tree { db, undurable: RwLock::default(), generation: AtomicU64::new(0) }
    }

    /// The tree itself, for a short time: what holds it holds up [`Tree::close`].
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] once it is closed.
    pub fn db(&self) -> Result<Arc<Open>> {
        read(&self.db).clone().ok_or(Error::ShuttingDown)
    }

    /// Releases the directory. Blocks until those who are reading have read.
    pub fn close(&self) {
        let Some(mut open) = write(&self.db).take() else { return };
        let started = Instant::now();
        while let Err(shared) = Arc::try_unwrap(open) {
            if started.elapsed() > CLOSE_PATIENCE {
                tracing::warn!("the store is still being read: its directory is released once that is done");
                return;
            }
            open = shared;
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The durable value of a record, original, metadata or expiry; that of a log entry, if its seq is durable.
    pub fn get(&self, key: &[u8]) -> Result<Option<IVec>> {
        let started = Instant::now();
        let db = self.db()?;
        let found = db.get(key).map_err(reading)?;
        count_towards_cache(&db, key, started)?;
        let undurable = read(&self.undurable);
        match undurable.get(key) {
            Some(before) => Ok(before.clone()),
            None => Ok(found),
        }
    }

    /// The keys of a range (of such keys as [`Tree::get`] takes) with their durable values, ascending, up to the one
    /// that `full` says yes to; and that one's key, or none where the range was exhausted.
    pub fn scan(&self, start: &[u8], end: &[u8], mut full: impl FnMut(&IVec) -> bool) -> Result<Scan> {
        let mut found = BTreeMap::new();
        let mut stopped_at = None;
        let db = self.db()?;
        let mut pairs = db.range(start..end);
        loop {
            let started = Instant::now();
            let Some(pair) = pairs.next() else { break };
            let (key, value) = pair.map_err(reading)?;
            count_towards_cache(&db, &key, started)?;
            stopped_at = full(&value).then(|| key.clone());
            found.insert(key, value);
            if stopped_at.is_some() {
                break;
            }
        }
        let last = stopped_at.clone().unwrap_or_else(|| IVec::from(end));
        for (key, before) in read(&self.undurable).range(IVec::from(start)..=last) {
            match before {
                Some(value) => found.insert(key.clone(), value.clone()),
                None => found.remove(key),
            };
        }
        Ok((found.into_iter().collect(), stopped_at))
    }

    /// The number of keys of a range, at most `limit`, and the last of them.
    pub fn count(&self, start: &[u8], end: &[u8], limit: usize) -> Result<(usize, Option<IVec>)> {
        let db = self.db()?;
        let (mut keys, mut count, mut last) = (db.range(start..end).keys(), 0, None);
        while count < limit {
            let started = Instant::now();
            let Some(key) = keys.next().transpose().map_err(reading)? else { break };
            count_towards_cache(&db, &key, started)?;
            (count, last) = (count + 1, Some(key));
        }
        Ok((count, last))
    }

    /// How many groups have become durable.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Records what a batch is about to overwrite.
    pub fn hide(&self, before: Before) {
        *write(&self.undurable) = before;
    }

    /// Shows a batch that has become durable; `also` is visible with it.
    pub fn show(&self, also: impl FnOnce()) {
        let mut undurable = write(&self.undurable);
        self.generation.fetch_add(1, Ordering::AcqRel);
        also();
        undurable.clear();
    }
}

/// Makes sled count a page towards its cache that it has just read from disk, if it has.
///
/// sled checks the size of its cache only when 64 accesses to a 256th of the pages have come
/// together, so some 16,000 pages that are read once each are held beside the cache: hundreds of
/// MB. More accesses to such a page make that so much less. A read from disk shows in its time.
fn count_towards_cache(db: &sled::Db, key: &[u8], started: Instant) -> Result<()> {
    const FROM_MEMORY: Duration = Duration::from_micros(8);
    const ACCESSES: usize = 15;
    if started.elapsed() > FROM_MEMORY {
        for _ in 0..ACCESSES {
            db.get(key).map_err(reading)?;
        }
    }
    Ok(())
}

/// Locks are held for a few instructions that can't panic half-way, so a poisoned one is sound.
pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// A read of the tree that failed.
pub(super) fn reading(source: sled::Error) -> Error {
    Error::Store { doing: "reading", source: source.into() }
}
