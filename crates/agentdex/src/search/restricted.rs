//! Documents of restricted Things, as known to the registry rather than to the index: a stale or damaged index may
//! hide a Thing from callers who are allowed to see it, but never the reverse.
//!
//! Each id is looked up only once per segment, regardless of the number of searches.

use std::{collections::HashMap, sync::Arc};

use tantivy::{
    DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term,
    index::SegmentId,
    schema::{Field, IndexRecordOption},
};

use super::{documents::Documents, failure::index_error, hidden::Hidden};
use crate::{
    Result,
    access::{Access, Grants},
};

/// Accesses that no Thing has any more and are held all the same.
const MOST_SPARE: usize = 10_000;

/// Provider of the Things that aren't public.
pub trait RestrictedThings {
    /// Returns the number of restricted Things.
    fn count(&self) -> usize;
    /// Returns the ids of restricted Things.
    fn ids(&self) -> Vec<String>;
    /// Returns the access to a Thing, or `None` if it is public.
    fn access(&self, id: &str) -> Option<Access>;
}

/// Search index documents of the Things that aren't public, by index segment. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct RestrictedDocuments(Arc<Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    segments: HashMap<SegmentId, HashMap<DocId, usize>>,
    accesses: Vec<Access>,
    numbers: HashMap<Access, usize>,
}

impl Known {
    fn number(&mut self, access: Access) -> usize {
        let next = self.accesses.len();
        let number = *self.numbers.entry(access.clone()).or_insert(next);
        if number == next {
            self.accesses.push(access);
        }
        number
    }

    /// Sets the access to a Thing in a segment.
    fn put(&mut self, segment: &SegmentReader, field: Field, id: &str, access: Option<Access>) -> tantivy::Result<()> {
        let docs = docs_of(segment, field, id)?;
        if docs.is_empty() {
            return Ok(());
        }
        let number = access.map(|access| self.number(access));
        let known = self.segments.entry(segment.segment_id()).or_default();
        for doc in docs {
            match number {
                Some(number) => known.insert(doc, number),
                None => known.remove(&doc),
            };
        }
        Ok(())
    }

    /// Reads a segment, either by looking up the Things in it or by looking up its ids among the Things, depending on
    /// which are fewer.
    fn read(&mut self, segment: &SegmentReader, field: Field, things: &dyn RestrictedThings) -> tantivy::Result<()> {
        self.segments.insert(segment.segment_id(), HashMap::new());
        if things.count() < segment.max_doc() as usize {
            return things.ids().iter().try_for_each(|id| self.put(segment, field, id, things.access(id)));
        }
        let mut found = Vec::new();
        let index = segment.inverted_index(field)?;
        let mut ids = index.terms().stream()?;
        while ids.advance() {
            if let Ok(id) = std::str::from_utf8(ids.key())
                && let Some(access) = things.access(id)
            {
                found.push((id.to_owned(), access));
            }
        }
        found.into_iter().try_for_each(|(id, access)| self.put(segment, field, &id, Some(access)))
    }
}

impl RestrictedDocuments {
    /// Updates the access of changed Things (`None`: any may have changed), and reads new segments.
    pub(super) fn update(
        &mut self,
        searcher: &Searcher,
        field: Field,
        things: &dyn RestrictedThings,
        changed: Option<&[String]>,
    ) -> Result<()> {
        let segments = searcher.segment_readers();
        let is_known = segments.iter().all(|segment| self.0.segments.contains_key(&segment.segment_id()));
        if is_known && self.0.segments.len() == segments.len() && changed.is_some_and(<[String]>::is_empty) {
            return Ok(());
        }
        let known = Arc::make_mut(&mut self.0);
        let is_new = changed.is_none() || known.accesses.len() > MOST_SPARE + 2 * things.count();
        if is_new {
            *known = Known::default();
        }
        known.segments.retain(|id, _| segments.iter().any(|segment| segment.segment_id() == *id));
        let failed = index_error("looking up visibility");
        let updated =
            segments.iter().try_for_each(|segment| match known.segments.contains_key(&segment.segment_id()) {
                true => {
                    let changed = changed.unwrap_or_default();
                    changed.iter().try_for_each(|id| known.put(segment, field, id, things.access(id)))
                }
                false => known.read(segment, field, things),
            });
        if updated.is_err() {
            // What was read of a segment may be half of it.
            *known = Known::default();
        }
        updated.map_err(failed)
    }

    /// Hides the documents hidden from a caller with these grants.
    pub(super) fn hide(&self, searcher: &Searcher, grants: &Grants, hidden: &mut Hidden) {
        let is_unseen: Vec<bool> = self.0.accesses.iter().map(|access| !grants.see(access)).collect();
        for segment in searcher.segment_readers() {
            let Some(known) = self.0.segments.get(&segment.segment_id()).filter(|known| !known.is_empty()) else {
                continue;
            };
            let mut unseen = Documents::none_of(segment.max_doc());
            let docs = known.iter().filter(|(_, number)| is_unseen.get(**number).is_none_or(|is_unseen| *is_unseen));
            docs.for_each(|(doc, _)| unseen.add(*doc));
            hidden.add(segment.segment_id(), unseen);
        }
    }
}

/// Returns the undeleted documents with an id: at most one in a sound index.
fn docs_of(segment: &SegmentReader, field: Field, id: &str) -> tantivy::Result<Vec<DocId>> {
    let term = Term::from_field_text(field, id);
    let Some(mut postings) = segment.inverted_index(field)?.read_postings(&term, IndexRecordOption::Basic)? else {
        return Ok(Vec::new());
    };
    let mut docs = Vec::new();
    while postings.doc() != TERMINATED {
        if !segment.is_deleted(postings.doc()) {
            docs.push(postings.doc());
        }
        postings.advance();
    }
    Ok(docs)
}
