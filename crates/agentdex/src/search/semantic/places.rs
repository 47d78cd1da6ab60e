//! Slots of vectors by document and segment of an index.
//!
//! Index and vectors follow the log independently. A document without a slot is looked up again when slots are added,
//! and all documents when slots have moved.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tantivy::{DocId, SegmentReader, columnar::StrColumn, index::SegmentId};

use super::vectors::{SlotNumber, Vectors};

/// A document without vectors.
const NONE: SlotNumber = SlotNumber::MAX;
/// Maximum number of cached segments; an index has fewer.
const MOST_SEGMENTS: usize = 64;

/// Cache of the slots of documents.
#[derive(Default)]
pub(in crate::search) struct Places(Mutex<HashMap<SegmentId, Arc<Segment>>>);

/// The slots of a segment's documents.
#[derive(Clone)]
pub(in crate::search) struct Segment {
    slots: Vec<SlotNumber>,
    /// Documents without a slot.
    missing: Vec<DocId>,
    moves: u64,
    /// Number of slots at the last lookup.
    known: usize,
}

impl Segment {
    /// Returns the slot with the vectors of a document, or `None` if the document has no vectors.
    pub fn slot(&self, doc: DocId) -> Option<SlotNumber> {
        self.slots.get(doc as usize).copied().filter(|slot| *slot != NONE)
    }

    /// Returns the documents that have vectors, each with its slot.
    pub fn documents(&self) -> impl Iterator<Item = (DocId, SlotNumber)> {
        (0..).zip(&self.slots).filter(|(_, slot)| **slot != NONE).map(|(doc, slot)| (doc, *slot))
    }
}

impl Places {
    /// Looks up the slots of a segment's documents. The column of their ids is opened only if required.
    pub fn of(
        &self,
        segment: &SegmentReader,
        ids: impl Fn(&SegmentReader) -> tantivy::Result<Option<StrColumn>>,
        vectors: &Vectors,
    ) -> tantivy::Result<Arc<Segment>> {
        let known = self.lock().get(&segment.segment_id()).cloned();
        let known = known.filter(|known| known.moves == vectors.moves());
        if let Some(known) = known.as_ref().filter(|known| known.missing.is_empty() || known.known == vectors.slots()) {
            return Ok(known.clone());
        }
        let mut found = match known {
            Some(known) => Segment::clone(&known),
            None => Segment {
                slots: vec![NONE; segment.max_doc() as usize],
                missing: (0..segment.max_doc()).filter(|&doc| !segment.is_deleted(doc)).collect(),
                moves: vectors.moves(),
                known: 0,
            },
        };
        found.look_up(ids(segment)?, vectors)?;
        let found = Arc::new(found);
        let mut places = self.lock();
        if places.len() >= MOST_SEGMENTS {
            places.clear();
        }
        places.insert(segment.segment_id(), found.clone());
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SegmentId, Arc<Segment>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Segment {
    fn look_up(&mut self, ids: Option<StrColumn>, vectors: &Vectors) -> tantivy::Result<()> {
        self.known = vectors.slots();
        let Some(column) = ids else { return Ok(()) };
        // Documents are in the order of their ids, and each has one.
        let with_ord = |doc: DocId| Some((doc, column.term_ords(doc).next()?));
        let (docs, ords): (Vec<DocId>, Vec<u64>) = self.missing.drain(..).filter_map(with_ord).unzip();
        let mut docs = docs.into_iter();
        column.dictionary().sorted_ords_to_term_cb(&ords, |id| {
            let Some(doc) = docs.next() else { return };
            let slot = std::str::from_utf8(id).ok().and_then(|id| vectors.slot(id));
            match (slot, self.slots.get_mut(doc as usize)) {
                (Some(slot), Some(place)) => *place = slot,
                _ => self.missing.push(doc),
            }
        })?;
        Ok(())
    }
}
