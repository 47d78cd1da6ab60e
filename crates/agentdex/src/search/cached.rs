//! Per-segment caches shared by searches, so that exact totals and sort orders are cheap.
//!
//! Ranking skips most documents of frequent terms, so counting them individually would cost more than the search
//! itself. Therefore the documents of frequent terms are cached as bit sets per segment (segments never change); the
//! union of such terms takes a few instructions per 64 documents. The columns of ids, which break ties, are kept
//! open.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tantivy::{
    SegmentReader, Term,
    columnar::StrColumn,
    index::{InvertedIndexReader, SegmentId},
    postings::TermInfo,
    schema::IndexRecordOption,
};

use super::{documents::Documents, facets::Columns, hidden::Visible, schema};

/// Maximum size of the cached bit sets in bytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of cached columns, about one per segment.
const MOST_COLUMNS: usize = 64;
/// A term is frequent if one of so many documents has it.
const FREQUENT: u32 = 64;

/// Bit set with a bit for each document.
type Bits = Arc<[u64]>;

/// The caches of all segments.
#[derive(Default)]
pub(super) struct Cached {
    sets: Mutex<Sets>,
    ids: Mutex<HashMap<SegmentId, Option<StrColumn>>>,
    /// Columns for counting facets.
    pub facets: Columns,
    /// Slots of the documents' vectors.
    pub places: super::semantic::Places,
}

/// Recently used sets of documents.
#[derive(Default)]
struct Sets {
    bits: HashMap<Key, (Bits, u64)>,
    bytes: usize,
    clock: u64,
}

/// Key of a cached set of documents.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Documents of a segment that contain a term.
    Term(SegmentId, Term),
    /// Documents of a segment that are not deleted, as of a deletion.
    Alive(SegmentId, Option<u64>),
}

impl Cached {
    /// Returns the documents of a segment that contain any of the given terms.
    pub fn union<'t>(
        &self,
        visible: Visible<'_>,
        present: impl Iterator<Item = (&'t Term, &'t TermInfo)>,
    ) -> tantivy::Result<Documents> {
        let segment = visible.reader;
        let mut union = Documents::none_of(segment.max_doc());
        for (term, info) in present {
            let index = segment.inverted_index(term.field())?;
            if info.doc_freq >= segment.max_doc() / FREQUENT {
                let key = Key::Term(segment.segment_id(), term.clone());
                let bits = self.documents(key, || bits_of_term(segment, &index, info))?;
                union.add_all(&bits);
            } else {
                for_each_doc(&index, info, |doc| union.add(doc))?;
            }
        }
        if segment.has_deletes() {
            let key = Key::Alive(segment.segment_id(), segment.delete_opstamp());
            let alive = self.documents(key, || Ok(bits_of_alive(segment)))?;
            union.retain(&alive);
        }
        visible.restrict(&mut union);
        Ok(union)
    }

    /// Returns the documents of a segment that contain a term, including deleted documents.
    pub fn documents_with(&self, segment: &SegmentReader, term: &Term) -> tantivy::Result<Documents> {
        let mut documents = Documents::none_of(segment.max_doc());
        let index = segment.inverted_index(term.field())?;
        let Some(info) = index.get_term_info(term)? else { return Ok(documents) };
        let key = Key::Term(segment.segment_id(), term.clone());
        documents.add_all(&self.documents(key, || bits_of_term(segment, &index, &info))?);
        Ok(documents)
    }

    /// Counts the visible documents of a segment that contain at least one of the terms. `present` lists the terms
    /// found in the segment.
    pub fn count<'t>(
        &self,
        visible: Visible<'_>,
        present: impl Iterator<Item = (&'t Term, &'t TermInfo)>,
    ) -> tantivy::Result<u64> {
        let present: Vec<_> = present.collect();
        match present.as_slice() {
            [] => Ok(0),
            [(_, info)] if visible.is_whole() && !visible.reader.has_deletes() => Ok(u64::from(info.doc_freq)),
            _ => Ok(self.union(visible, present.into_iter())?.len()),
        }
    }

    /// Returns the column of ids of a segment.
    pub fn ids(&self, segment: &SegmentReader) -> tantivy::Result<Option<StrColumn>> {
        let mut columns = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(column) = columns.get(&segment.segment_id()) {
            return Ok(column.clone());
        }
        if columns.len() >= MOST_COLUMNS {
            columns.clear();
        }
        let column = segment.fast_fields().str(schema::ID)?;
        columns.insert(segment.segment_id(), column.clone());
        Ok(column)
    }

    fn documents(&self, key: Key, make: impl FnOnce() -> tantivy::Result<Vec<u64>>) -> tantivy::Result<Bits> {
        if let Some(bits) = self.lock().find(&key) {
            return Ok(bits);
        }
        let bits: Bits = make()?.into();
        self.lock().insert(key, bits.clone());
        Ok(bits)
    }

    fn lock(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sets {
    fn find(&mut self, key: &Key) -> Option<Bits> {
        self.clock += 1;
        let (bits, used) = self.bits.get_mut(key)?;
        *used = self.clock;
        Some(bits.clone())
    }

    fn insert(&mut self, key: Key, bits: Bits) {
        self.bytes += size_of_val(bits.as_ref());
        self.bits.insert(key, (bits, self.clock));
        if self.bytes > MOST_BYTES {
            self.drop_older_half();
        }
    }

    /// Drops the least recently used half, including sets of merged segments.
    fn drop_older_half(&mut self) {
        let mut used: Vec<u64> = self.bits.values().map(|&(_, used)| used).collect();
        let middle = used.len() / 2;
        let oldest = *used.select_nth_unstable(middle).1;
        self.bits.retain(|_, (_, used)| *used > oldest);
        self.bytes = self.bits.values().map(|(bits, _)| size_of_val(bits.as_ref())).sum();
    }
}

fn bits_of_term(segment: &SegmentReader, index: &InvertedIndexReader, info: &TermInfo) -> tantivy::Result<Vec<u64>> {
    let mut documents = Documents::none_of(segment.max_doc());
    for_each_doc(index, info, |doc| documents.add(doc))?;
    Ok(documents.into_bits())
}

fn bits_of_alive(segment: &SegmentReader) -> Vec<u64> {
    let mut documents = Documents::none_of(segment.max_doc());
    segment.doc_ids_alive().for_each(|doc| documents.add(doc));
    documents.into_bits()
}

fn for_each_doc(index: &InvertedIndexReader, info: &TermInfo, mut each: impl FnMut(u32)) -> tantivy::Result<()> {
    let mut postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    while !postings.docs().is_empty() {
        postings.docs().iter().for_each(|&doc| each(doc));
        postings.advance();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cached_stays_within_its_bound() {
        let cached = Cached::default();
        let key = |number| Key::Alive(SegmentId::generate_random(), Some(number));
        for number in 0..300 {
            assert!(cached.documents(key(number), || Ok(vec![1; 16 * 1024])).is_ok());
        }
        let sets = cached.lock();
        assert!(sets.bytes <= MOST_BYTES && !sets.bits.is_empty());
        assert_eq!(sets.bytes, sets.bits.len() * 16 * 1024 * 8);
    }
}
