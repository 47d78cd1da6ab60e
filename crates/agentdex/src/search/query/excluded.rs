//! Wrapper for negated queries, so that tantivy can exclude any kind of query.
//!
//! tantivy 0.27 seeks documents before the first match of an excluded phrase, which a phrase query refuses in debug
//! builds. The wrapper handles this case itself.

use tantivy::{
    DocId, DocSet, Score, SegmentReader, TantivyError, Term,
    query::{EnableScoring, Explanation, Query, Scorer, Weight},
};

/// A query that is only used to exclude documents.
#[derive(Debug)]
pub(super) struct Excluded(pub Box<dyn Query>);

impl Clone for Excluded {
    fn clone(&self) -> Excluded {
        Excluded(self.0.box_clone())
    }
}

impl Query for Excluded {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let unscored = EnableScoring::Disabled { schema: scoring.schema(), searcher_opt: scoring.searcher() };
        Ok(Box::new(ExcludedWeight(self.0.weight(unscored)?)))
    }

    fn query_terms<'a>(&'a self, _visitor: &mut dyn FnMut(&'a Term, bool)) {}
}

struct ExcludedWeight(Box<dyn Weight>);

impl Weight for ExcludedWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(ExcludedScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, _reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument(format!("an exclusion has no score to explain for document {doc}")))
    }
}

/// Moves forwards only: `seek_danger` is the trait's own, which doesn't look back.
struct ExcludedScorer(Box<dyn Scorer>);

impl DocSet for ExcludedScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }
}

impl Scorer for ExcludedScorer {
    fn score(&mut self) -> Score {
        0.0
    }
}
