//! `Database`: sled, without its endless flushes.
//!
//! sled 0.34 first reserves the place of a page in its log, and then writes a page that is too large for the log to a file
//! of its own. If that file can't be written (too many open files, no disk space), sled returns an error, but never
//! releases the place. From then on, each flush of the database waits forever. While it waits, no other database of the
//! process can be written to, since sled has a common lock for all batches. Dropping the database flushes it as well.
//!
//! Therefore, a database with such an error is neither written to nor flushed any more, and stays open until the process
//! ends. Reads go on. They can cause the error, too, since sled splits and merges pages as it reads them.

use std::{
    io::{self, ErrorKind},
    mem,
    ops::RangeBounds,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use sled::{Batch, IVec};

/// The folder of large pages.
pub(super) const BLOBS: &str = "blobs";

/// An open database. Clones share it.
#[derive(Clone)]
pub(super) struct Database(Arc<Shared>);

struct Shared {
    db: sled::Db,
    /// The folder of large pages.
    blobs: PathBuf,
    /// Error after which a place in the log may be reserved forever.
    failure: OnceLock<(ErrorKind, String)>,
}

/// Kind of a failed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Read,
    Write,
}

impl Database {
    /// Opens or creates a database, whose path is `folder`.
    pub fn open(config: &sled::Config, folder: &Path) -> sled::Result<Database> {
        let db = config.open()?;
        Ok(Database(Arc::new(Shared { db, blobs: folder.join(BLOBS), failure: OnceLock::new() })))
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> sled::Result<Option<IVec>> {
        self.noted(Attempt::Read, self.0.db.get(key))
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter { database: self, pairs: self.0.db.iter() }
    }

    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter<'_> {
        Iter { database: self, pairs: self.0.db.range(range) }
    }

    pub fn scan_prefix(&self, prefix: impl AsRef<[u8]>) -> Iter<'_> {
        Iter { database: self, pairs: self.0.db.scan_prefix(prefix) }
    }

    #[cfg(test)]
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl Into<IVec>) -> sled::Result<Option<IVec>> {
        self.0.db.insert(key, value)
    }

    /// True if another program has used the database, or if it contains a key.
    pub fn is_used(&self) -> bool {
        self.0.db.tree_names().len() > 1 || self.iter().next().is_some()
    }

    pub fn size_on_disk(&self) -> sled::Result<u64> {
        self.0.db.size_on_disk()
    }

    pub fn apply_batch(&self, batch: Batch) -> sled::Result<()> {
        self.check()?;
        self.noted(Attempt::Write, self.0.db.apply_batch(batch))
    }

    pub fn flush(&self) -> sled::Result<()> {
        self.check()?;
        self.0.db.flush().map(drop)
    }

    /// True if the database can't be closed before the process ends.
    pub fn is_stuck(&self) -> bool {
        self.0.failure.get().is_some()
    }

    /// Fails if a flush would never end.
    fn check(&self) -> sled::Result<()> {
        let Some((kind, reason)) = self.0.failure.get() else { return Ok(()) };
        Err(sled::Error::Io(io::Error::new(*kind, format!("a large page could not be written earlier ({reason})"))))
    }

    fn noted<T>(&self, attempt: Attempt, result: sled::Result<T>) -> sled::Result<T> {
        if let Err(sled::Error::Io(error)) = &result
            && self.is_of_large_page(attempt, error)
        {
            // The first reason stays. As long as there is a clone, the database isn't dropped.
            if self.0.failure.set((error.kind(), error.to_string())).is_ok() {
                mem::forget(self.0.db.clone());
            }
        }
        result
    }

    /// True if an error may be that of writing a large page.
    fn is_of_large_page(&self, attempt: Attempt, error: &io::Error) -> bool {
        match error.kind() {
            // A damaged page.
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => false,
            ErrorKind::NotFound => !self.0.blobs.is_dir(),
            // A sector of the disk that can't be read.
            _ if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => attempt == Attempt::Write,
            _ => true,
        }
    }
}

/// Pairs of a database, ascending by key.
pub(super) struct Iter<'d> {
    database: &'d Database,
    pairs: sled::Iter,
}

impl Iterator for Iter<'_> {
    type Item = sled::Result<(IVec, IVec)>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.database.noted(Attempt::Read, self.pairs.next()?))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        Some(self.database.noted(Attempt::Read, self.pairs.next_back()?))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc, thread, time::Duration};

    use super::*;

    /// Maximum duration of what used to wait forever.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn open(directory: &Path) -> Database {
        let folder = directory.join("store");
        Database::open(&sled::Config::new().path(&folder).flush_every_ms(None), &folder).unwrap()
    }

    /// A number of pairs of 30 KB. sled's pages have up to 16, and are large from 128 KB.
    fn batch(pairs: u8) -> Batch {
        let mut batch = Batch::default();
        (0..pairs).for_each(|number| batch.insert(&[number], vec![number; 30_000]));
        batch
    }

    /// Opens a database with a number of pairs, removes its folder of large pages, and returns whether an attempt fails.
    /// Checks that the database can be closed afterwards, and that another database can still be written to.
    fn fails(pairs: u8, attempt: impl FnOnce(&Database) -> bool + Send + 'static) -> bool {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
            let [database, other] = [0, 1].map(|number| open(directories[number].path()));
            database.apply_batch(batch(pairs)).unwrap();
            database.flush().unwrap();
            fs::remove_dir_all(directories[0].path().join("store").join(BLOBS)).unwrap();
            let fails = attempt(&database);
            assert_eq!(database.is_stuck(), fails);
            if fails {
                assert!(database.flush().unwrap_err().to_string().contains("could not be written earlier"));
                assert!(database.apply_batch(batch(1)).is_err());
            }
            drop(database);
            other.apply_batch(batch(1)).unwrap();
            other.flush().unwrap();
            done.send(fails).unwrap();
        });
        is_done.recv_timeout(PATIENCE).expect("it ends")
    }

    #[test]
    fn database_closes_after_a_write_of_a_large_page_failed() {
        assert!(fails(3, |database| database.apply_batch(batch(40)).is_err()));
    }

    #[test]
    fn database_closes_after_a_read_failed_that_splits_a_page() {
        assert!(fails(17, |database| database.get([0]).is_err()));
    }

    #[test]
    fn damaged_page_does_not_keep_a_database_from_writes() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(directory.path());
        let is_of_large_page = |attempt, error: io::Error| database.is_of_large_page(attempt, &error);
        for attempt in [Attempt::Read, Attempt::Write] {
            for kind in [ErrorKind::InvalidData, ErrorKind::UnexpectedEof, ErrorKind::NotFound] {
                assert!(!is_of_large_page(attempt, kind.into()), "{kind:?}");
            }
            for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::AlreadyExists] {
                assert!(is_of_large_page(attempt, kind.into()), "{kind:?}");
            }
            let disk = io::Error::from(rustix::io::Errno::IO);
            assert_eq!(is_of_large_page(attempt, disk), attempt == Attempt::Write);
            assert!(is_of_large_page(attempt, rustix::io::Errno::MFILE.into()));
        }
        fs::remove_dir_all(directory.path().join("store").join(BLOBS)).unwrap();
        assert!(is_of_large_page(Attempt::Read, ErrorKind::NotFound.into()));
    }
}
