//! Things hidden from all searches: they have expired or were removed since the index was committed.
//!
//! Each id is looked up only once per segment, regardless of the number of searches.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use tantivy::{
    DocId, Searcher, SegmentReader, Term,
    index::SegmentId,
    schema::{Field, IndexRecordOption},
};

use super::{documents::Documents, failure::index_error};
use crate::Result;

/// Hidden documents, by segment.
#[derive(Clone, Default)]
pub struct Hidden(Arc<HashMap<SegmentId, Documents>>);

impl Hidden {
    /// Hides more documents of a segment.
    pub(super) fn add(&mut self, segment: SegmentId, documents: Documents) {
        let all = Arc::make_mut(&mut self.0);
        match all.entry(segment) {
            Entry::Occupied(mut known) => known.get_mut().join(&documents),
            Entry::Vacant(place) => drop(place.insert(documents)),
        }
    }

    /// Returns the visible documents of a segment.
    pub(super) fn visible<'a>(&'a self, reader: &'a SegmentReader) -> Visible<'a> {
        Visible { reader, hidden: self.0.get(&reader.segment_id()) }
    }
}

/// Visible documents of a segment.
#[derive(Clone, Copy)]
pub(super) struct Visible<'a> {
    pub reader: &'a SegmentReader,
    hidden: Option<&'a Documents>,
}

impl Visible<'_> {
    /// True if a document is visible.
    pub fn has(&self, doc: DocId) -> bool {
        !self.reader.is_deleted(doc) && !self.hidden.is_some_and(|hidden| hidden.contains(doc))
    }

    /// True if no document is hidden.
    pub fn is_whole(&self) -> bool {
        self.hidden.is_none()
    }

    /// Removes hidden documents from a set.
    pub fn restrict(&self, documents: &mut Documents) {
        if let Some(hidden) = self.hidden {
            documents.remove_all(hidden);
        }
    }
}

/// Hidden ids, with their documents in the segments of an index.
#[derive(Default)]
pub struct HiddenIds {
    ids: HashSet<Box<str>>,
    segments: HashSet<SegmentId>,
    documents: Hidden,
}

impl HiddenIds {
    /// Clears the ids, for use with a later state of the same index. Documents already found remain hidden, since the
    /// later state has deleted them in the segments common to both states.
    pub fn clear(&mut self) {
        self.ids.clear();
    }

    /// See [`super::Snapshot::hide`].
    pub(super) fn hide<'i>(
        &mut self,
        searcher: &Searcher,
        id: Field,
        ids: impl IntoIterator<Item = &'i str>,
    ) -> Result<Hidden> {
        let new: Vec<Box<str>> = ids.into_iter().filter(|id| !self.ids.contains(*id)).map(Box::from).collect();
        let segments = searcher.segment_readers();
        let is_known = segments.iter().all(|segment| self.segments.contains(&segment.segment_id()));
        if is_known && new.is_empty() {
            return Ok(self.documents.clone());
        }
        let documents = Arc::make_mut(&mut self.documents.0);
        let current: HashSet<SegmentId> = segments.iter().map(SegmentReader::segment_id).collect();
        documents.retain(|segment, _| current.contains(segment));
        for segment in segments {
            let of_segment = |text: &str| -> tantivy::Result<Option<DocId>> {
                let term = Term::from_field_text(id, text);
                let postings = segment.inverted_index(term.field())?.read_postings(&term, IndexRecordOption::Basic)?;
                Ok(postings.and_then(|postings| living(segment, postings)))
            };
            let known = self.segments.contains(&segment.segment_id());
            for id in self.ids.iter().filter(|_| !known).chain(&new) {
                if let Some(doc) = of_segment(id).map_err(index_error("looking up hidden descriptions"))? {
                    let hidden = documents.entry(segment.segment_id());
                    hidden.or_insert_with(|| Documents::none_of(segment.max_doc())).add(doc);
                }
            }
        }
        self.segments = current;
        self.ids.extend(new);
        Ok(self.documents.clone())
    }
}

/// Returns the only document that isn't deleted.
fn living(segment: &SegmentReader, mut postings: impl tantivy::DocSet) -> Option<DocId> {
    let mut doc = postings.doc();
    while doc != tantivy::TERMINATED && segment.is_deleted(doc) {
        doc = postings.advance();
    }
    (doc != tantivy::TERMINATED).then_some(doc)
}
