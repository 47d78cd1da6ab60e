//! Ids possibly contained in an index.
//!
//! A deletion is applied to every segment, and again with every merge. Most Things are new and replace nothing, so an
//! id that isn't in the index need not be deleted.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

use tantivy::{Searcher, schema::Field};

/// Hashes that aren't needed any more and are held all the same.
const MOST_SPARE: usize = 100_000;

/// Hashes of ids. An id without an entry is not in the index; the reverse doesn't hold.
#[derive(Default)]
pub(super) struct KnownIds {
    /// Hashes, or `None` before the index was read.
    hashes: Option<HashSet<u64>>,
    hasher: RandomState,
}

impl KnownIds {
    /// Adds an id. Returns true if the index may already contain it. `searcher` returns a searcher of the committed
    /// state.
    pub fn add(&mut self, id: &str, searcher: impl FnOnce() -> Searcher, field: Field) -> tantivy::Result<bool> {
        let hash = self.hasher.hash_one(id);
        Ok(!self.read(searcher, field)?.insert(hash))
    }

    /// True if the index may contain an id.
    pub fn has(&mut self, id: &str, searcher: impl FnOnce() -> Searcher, field: Field) -> tantivy::Result<bool> {
        let hash = self.hasher.hash_one(id);
        Ok(self.read(searcher, field)?.contains(&hash))
    }

    /// Drops deleted ids once there are many. Call it right after a commit.
    pub fn forget_deleted(&mut self, searcher: &Searcher) {
        let most = 2 * usize::try_from(searcher.num_docs()).unwrap_or(usize::MAX / 2) + MOST_SPARE;
        if self.hashes.as_ref().is_some_and(|hashes| hashes.len() > most) {
            self.hashes = None;
        }
    }

    fn read(&mut self, searcher: impl FnOnce() -> Searcher, field: Field) -> tantivy::Result<&mut HashSet<u64>> {
        let hashes = match self.hashes.take() {
            Some(hashes) => hashes,
            None => self.hashes_of(&searcher(), field)?,
        };
        Ok(self.hashes.insert(hashes))
    }

    fn hashes_of(&self, searcher: &Searcher, field: Field) -> tantivy::Result<HashSet<u64>> {
        let mut hashes = HashSet::new();
        for segment in searcher.segment_readers() {
            let index = segment.inverted_index(field)?;
            let mut ids = index.terms().stream()?;
            while ids.advance() {
                if let Ok(id) = std::str::from_utf8(ids.key()) {
                    hashes.insert(self.hasher.hash_one(id));
                }
            }
        }
        Ok(hashes)
    }
}
