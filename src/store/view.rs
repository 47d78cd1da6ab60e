//! What readers share with the committer, and the rule that they see nothing that a crash could
//! take back.
//!
//! sled shows a batch as soon as it is applied, before it is flushed. So the committer first notes
//! here what the keys that it is about to overwrite held before, and readers read the tree first and
//! the notes second: where there is a note, it is what counts. The notes go once the flush is
//! through; after a failed flush they stay. Without them a follower could take in a record that a
//! crash undoes, and keep it for ever under a position that says all is well.
//!
//! Records, originals, notes and expiries are noted. Log and history need no notes: they are read no further
//! than the durable seq.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sled::IVec;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    expiry::Grace,
    options::Options,
    positions::Positions,
    recent::{Loaded, Recent},
    sessions::Sessions,
    value::State,
};
use crate::{
    Error, Result,
    change::{Epoch, Seq},
};

/// What keys held before a batch that isn't durable yet; none where there was nothing.
pub(super) type Before = BTreeMap<IVec, Option<IVec>>;

/// Keys and values, and where it was stopped.
pub(super) type Scan = (Vec<(IVec, IVec)>, Option<IVec>);

/// The tree, and what goes with it in memory.
pub(super) struct View {
    pub tree: sled::Db,
    pub epoch: Epoch,
    pub registry_id: Uuid,
    pub options: Options,
    pub grace: Grace,
    /// The end of the log.
    pub durable: watch::Sender<Seq>,
    /// The latest changes.
    pub recent: RwLock<Recent>,
    /// Older ones that somebody has read.
    pub loaded: Mutex<Loaded>,
    pub positions: Mutex<Positions>,
    pub sessions: Mutex<Sessions>,
    /// Why the store takes no writes.
    pub closed: OnceLock<String>,
    undurable: RwLock<Before>,
    /// How many groups have become durable: readers of two keys see whether they read one state.
    generation: AtomicU64,
    records: AtomicU64,
    oldest: AtomicU64,
}

impl View {
    pub fn new(
        tree: sled::Db,
        (epoch, registry_id): (Epoch, Uuid),
        options: Options,
        state: State,
        oldest: Seq,
        positions: Positions,
        grace: Grace,
    ) -> View {
        View {
            tree,
            epoch,
            registry_id,
            options,
            grace,
            durable: watch::Sender::new(state.last),
            recent: RwLock::new(Recent::new()),
            loaded: Mutex::new(Loaded::new()),
            positions: Mutex::new(positions),
            sessions: Mutex::default(),
            closed: OnceLock::new(),
            undurable: RwLock::default(),
            generation: AtomicU64::new(0),
            records: AtomicU64::new(state.records),
            oldest: AtomicU64::new(oldest.0),
        }
    }

    /// The durable value of a record, original or expiry; that of a log entry, if its seq is durable.
    pub fn get(&self, key: &[u8]) -> Result<Option<IVec>> {
        let started = Instant::now();
        let found = self.tree.get(key).map_err(reading)?;
        self.count_towards_cache(key, started)?;
        let undurable = read(&self.undurable);
        match undurable.get(key) {
            Some(before) => Ok(before.clone()),
            None => Ok(found),
        }
    }

    /// The keys of a range (of such keys as [`View::get`] takes) with their durable values, ascending, up to the one that
    /// `full` says yes to; and that one's key, or none where the range was exhausted.
    pub fn scan(&self, start: &[u8], end: &[u8], mut full: impl FnMut(&IVec) -> bool) -> Result<Scan> {
        let mut found = BTreeMap::new();
        let mut stopped_at = None;
        let mut pairs = self.tree.range(start..end);
        loop {
            let started = Instant::now();
            let Some(pair) = pairs.next() else { break };
            let (key, value) = pair.map_err(reading)?;
            self.count_towards_cache(&key, started)?;
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

    /// Makes sled count a page towards its cache that it has just read from disk, if it has.
    ///
    /// sled looks at the size of its cache only when 64 accesses to a 256th of the pages have come
    /// together, so some 16,000 pages that are read once each are held beside the cache: hundreds of
    /// MB. More accesses to such a page make that so much less. A read from disk shows in its time.
    fn count_towards_cache(&self, key: &[u8], started: Instant) -> Result<()> {
        const FROM_MEMORY: Duration = Duration::from_micros(8);
        const ACCESSES: usize = 15;
        if started.elapsed() > FROM_MEMORY {
            for _ in 0..ACCESSES {
                self.tree.get(key).map_err(reading)?;
            }
        }
        Ok(())
    }

    /// How many groups have become durable.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Records, expired ones included.
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Acquire)
    }

    /// The oldest change that the log has.
    pub fn oldest(&self) -> Seq {
        Seq(self.oldest.load(Ordering::Acquire))
    }

    /// Says that changes before this one are about to go.
    pub fn forget_before(&self, oldest: Seq) {
        self.oldest.store(oldest.0, Ordering::Release);
    }

    /// Notes what a batch is about to overwrite.
    pub fn hide(&self, before: Before) {
        *write(&self.undurable) = before;
    }

    /// Makes a batch visible that has become durable.
    pub fn publish(&self, state: State) {
        let mut undurable = write(&self.undurable);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.records.store(state.records, Ordering::Release);
        undurable.clear();
        drop(undurable);
        self.durable.send_if_modified(|seq| std::mem::replace(seq, state.last) != state.last);
    }

    /// Takes no writes from now on.
    pub fn close(&self, reason: String) {
        tracing::error!(reason, "the store is closed to writes");
        // The first reason stays.
        let _ = self.closed.set(reason);
    }

    /// Fails if the store takes no writes.
    pub fn check_open_to_writes(&self) -> Result<()> {
        match self.closed.get() {
            Some(reason) => Err(Error::WritesClosed { reason: reason.clone() }),
            None => Ok(()),
        }
    }
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
