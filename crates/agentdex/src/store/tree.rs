//! `Tree`: the sled tree as visible to readers, limited to durable data.
//!
//! sled shows a batch as soon as it is applied, before it is flushed. Therefore a commit first records here the
//! values that it is about to overwrite. Readers read the tree first and these values second; a recorded value takes
//! precedence. The values are dropped when the flush succeeds, and kept if it fails. Otherwise a follower could apply
//! a record that a crash undoes, and never notice.
//!
//! Log and history don't need this, since they are only read up to the durable end.

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

use super::{
    damage::{Damage, Gap},
    database::{Database, Iter},
    held::Held,
    layout, panics,
};
use crate::{Error, Result};

/// Previous values of keys in a batch that is not yet durable; `None` means the key didn't exist.
pub(super) type Before = BTreeMap<IVec, Option<IVec>>;

/// Maximum length in bytes of keys for finding the end of a damaged page.
const LONGEST_KEY: usize = 2048;
/// Suffix greater than any key after the last key of a page.
const HIGHEST: [u8; 16] = [u8::MAX; 16];

/// Maximum time that a close waits for readers.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// Keys and values, with the key at which the scan stopped.
pub(super) type Scan = (Vec<(IVec, IVec)>, Option<IVec>);

/// The open database, and the claim that this process has its directory open. They are closed in this order.
pub(super) struct Open {
    db: Database,
    held: Held,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.db.is_stuck() {
            self.held.keep();
        }
    }
}

impl std::ops::Deref for Open {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.db
    }
}

/// The tree, with the values that are hidden in it.
pub(super) struct Tree {
    db: RwLock<Option<Arc<Open>>>,
    undurable: RwLock<Before>,
    /// Number of durable batches. If it is the same before and after some reads, they saw a consistent state.
    generation: AtomicU64,
    /// Unreadable parts of the tree.
    pub damage: Damage,
}

impl Tree {
    pub fn new(db: Database, held: Held) -> Tree {
        let db = RwLock::new(Some(Arc::new(Open { db, held })));
        Tree { db, undurable: RwLock::default(), generation: AtomicU64::new(0), damage: Damage::default() }
    }

    /// Returns the tree, to be held only briefly: [`Tree::close`] waits for all holders.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] after the tree was closed.
    pub fn db(&self) -> Result<Arc<Open>> {
        read(&self.db).clone().ok_or(Error::ShuttingDown)
    }

    /// Releases the directory. Blocks until current readers have finished.
    pub fn close(&self) {
        let Some(mut open) = write(&self.db).take() else { return };
        let started = Instant::now();
        while let Err(shared) = Arc::try_unwrap(open) {
            if started.elapsed() > CLOSE_PATIENCE {
                tracing::warn!("the store is still being read; its directory is released afterwards");
                return;
            }
            open = shared;
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the durable value of a record, original, metadata, or expiry, or the value of a log entry at a durable
    /// position.
    pub fn get(&self, key: &[u8]) -> Result<Option<IVec>> {
        let started = Instant::now();
        let db = self.db()?;
        if self.damage.end_of_gap(key).is_some() {
            return Err(layout::unreadable("its page is damaged".into()));
        }
        let found = guarded(|| db.get(key))?;
        count_towards_cache(&db, key, started)?;
        let undurable = read(&self.undurable);
        match undurable.get(key) {
            Some(before) => Ok(before.clone()),
            None => Ok(found),
        }
    }

    /// Returns durable entries of a key range (of keys as for [`Tree::get`]) in ascending order, until `full` returns
    /// true. Also returns the key at which it stopped, or `None` at the end of the range.
    pub fn scan(&self, start: &[u8], end: &[u8], mut full: impl FnMut(&IVec) -> bool) -> Result<Scan> {
        let mut found = BTreeMap::new();
        let mut stopped_at = None;
        let db = self.db()?;
        for pair in self.pairs(&db, start, end) {
            let (key, value) = pair?;
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

    /// Counts up to `limit` keys of a range. Also returns the last counted key.
    pub fn count(&self, start: &[u8], end: &[u8], limit: usize) -> Result<(usize, Option<IVec>)> {
        let db = self.db()?;
        let (mut count, mut last) = (0, None);
        for pair in self.pairs(&db, start, end).take(limit) {
            (count, last) = (count + 1, Some(pair?.0));
        }
        Ok((count, last))
    }

    /// Returns the entries of a key range in the tree, durable or not, in ascending order. Unreadable pages are
    /// reported and skipped.
    pub fn pairs<'t>(&'t self, db: &'t Database, start: &[u8], end: &[u8]) -> Pairs<'t> {
        let (start, end) = (IVec::from(start), IVec::from(end));
        let pairs = db.range(start.clone()..end.clone());
        Pairs { damage: &self.damage, db, pairs, next: start, end, passes_over: true }
    }

    /// Like [`Tree::pairs`], but returns errors for unreadable pages.
    pub fn all_pairs<'t>(&'t self, db: &'t Database, start: &[u8], end: &[u8]) -> Pairs<'t> {
        Pairs { passes_over: false, ..self.pairs(db, start, end) }
    }

    /// Returns the number of batches that have become durable.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Records the values that a batch is about to overwrite.
    pub fn hide(&self, before: Before) {
        *write(&self.undurable) = before;
    }

    /// Makes a durable batch visible, atomically with the effect of `also`.
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
fn count_towards_cache(db: &Database, key: &[u8], started: Instant) -> Result<()> {
    const FROM_MEMORY: Duration = Duration::from_micros(8);
    const ACCESSES: usize = 15;
    if started.elapsed() > FROM_MEMORY {
        for _ in 0..ACCESSES {
            guarded(|| db.get(key))?;
        }
    }
    Ok(())
}

/// Locks for reading. Locks are held for a few instructions that can't panic halfway, so a poisoned lock is sound.
pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// See [`Tree::pairs`].
pub(super) struct Pairs<'t> {
    damage: &'t Damage,
    db: &'t Database,
    pairs: Iter<'t>,
    /// Key from which the next pair is searched.
    next: IVec,
    end: IVec,
    /// True to skip unreadable pages, false to end with an error.
    passes_over: bool,
}

impl Pairs<'_> {
    /// Goes on after the page that the next key would be on.
    fn pass_over(&mut self, reason: &Error) {
        let is_readable = |key: &[u8]| self.damage.search(|| guarded(|| self.db.get(key)).is_ok());
        let end = first_readable(&self.next, &self.end, is_readable);
        self.damage.report_gap(Gap(self.next.clone(), end.clone()), &reason.to_string());
        self.go_on(end);
    }

    fn go_on(&mut self, from: IVec) {
        self.next = from.min(self.end.clone());
        self.pairs = self.db.range(self.next.clone()..self.end.clone());
    }
}

impl Iterator for Pairs<'_> {
    type Item = Result<(IVec, IVec)>;

    fn next(&mut self) -> Option<Result<(IVec, IVec)>> {
        while self.next < self.end {
            if self.passes_over
                && let Some(end) = self.damage.end_of_gap(&self.next)
            {
                self.go_on(end);
                continue;
            }
            let started = Instant::now();
            match guarded(|| self.pairs.next().transpose()) {
                Ok(None) => self.next = self.end.clone(),
                Ok(Some((key, value))) => {
                    if let Err(error) = count_towards_cache(self.db, &key, started) {
                        return Some(Err(error));
                    }
                    self.next = layout::key_after(&key);
                    return Some(Ok((key, value)));
                }
                Err(error) if self.passes_over && layout::is_corrupt(&error) => self.pass_over(&error),
                Err(error) => {
                    self.next = self.end.clone();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Returns the first key after the unreadable page of a key, up to `end`. Nothing marks the end of a page, so it is
/// searched byte by byte until `is_readable` returns `None`.
fn first_readable(key: &[u8], end: &IVec, is_readable: impl Fn(&[u8]) -> Option<bool>) -> IVec {
    let try_key = |candidate: &[u8]| match candidate {
        _ if candidate >= &**end => Some(true),
        _ if candidate <= key => Some(false),
        _ => is_readable(candidate),
    };
    // All that begins with this can't be read, up to the first key that can.
    let (mut unreadable, mut first) = (Vec::new(), end.clone());
    while unreadable.len() < LONGEST_KEY {
        let longer = [&unreadable[..], &HIGHEST].concat();
        if try_key(&longer) != Some(true) {
            return first;
        }
        // The first byte with which it can.
        let (mut low, mut high) = (0, 256_u16);
        while low < high {
            let middle = (low + high) / 2;
            unreadable.push(middle as u8);
            let Some(is_readable) = try_key(&unreadable) else { return first };
            match is_readable {
                true => {
                    first = IVec::from(&unreadable[..]);
                    high = middle;
                }
                false => low = middle + 1,
            }
            unreadable.pop();
        }
        match low {
            0 => return first,
            _ => unreadable.push((low - 1) as u8),
        }
    }
    first
}

/// A read of the tree, whose panics are errors.
pub(super) fn guarded<T>(read: impl FnOnce() -> sled::Result<T>) -> Result<T> {
    match panics::caught(read) {
        Ok(read) => read.map_err(reading),
        Err(panic) => Err(layout::unreadable(panic.into())),
    }
}

/// Creates the error for a failed read of the tree.
pub(super) fn reading(source: sled::Error) -> Error {
    match is_damage(&source) {
        true => layout::unreadable(source.into()),
        false => Error::Store { doing: "reading", source: source.into() },
    }
}

/// True if the error is about the content of files, rather than about a full disk, missing permissions, or too many
/// open files.
fn is_damage(error: &sled::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    match error {
        sled::Error::Corruption { .. } | sled::Error::ReportableBug(_) => true,
        sled::Error::Io(error) => matches!(error.kind(), InvalidData | NotFound | UnexpectedEof),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The end that is found of a gap up to `hi`, and the number of tries in the gap.
    fn search(key: &str, hi: &[u8], end: &[u8], most: usize) -> (IVec, usize) {
        let tries = Cell::new(0);
        let is_readable = |key: &[u8]| {
            tries.set(tries.get() + usize::from(key < hi));
            (tries.get() <= most).then_some(key >= hi)
        };
        (first_readable(key.as_bytes(), &end.into(), is_readable), tries.get())
    }

    #[test]
    fn the_end_of_a_page_is_found_with_few_tries_in_it() {
        for hi in ["r/urn:000171", "r/urn:0002", "r/zzz"] {
            let (end, tries) = search("r/urn:000023", hi.as_bytes(), b"r0", usize::MAX);
            assert_eq!(end, IVec::from(hi));
            assert!(tries <= 8 * hi.len(), "{tries}");
        }
        assert_eq!(search("r/urn:000023", b"s", b"r0", usize::MAX), (IVec::from(b"r0"), 1));
    }

    #[test]
    fn a_search_that_is_given_up_has_an_end_that_can_be_read() {
        for most in 0..40 {
            let (end, _) = search("r/urn:000023", b"r/urn:000171", b"r0", most);
            assert!((&b"r/urn:000171"[..]..=&b"r0"[..]).contains(&&*end), "{end:?}");
        }
    }
}
