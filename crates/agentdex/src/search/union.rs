//! A query for any of several terms, with lookups shared by counting and scoring.

use tantivy::{
    Score, Searcher, SegmentReader, Term,
    postings::TermInfo,
    query::{Bm25StatisticsProvider, EnableScoring},
    schema::Field,
};

use super::{cached::Cached, documents::Documents, hidden::Hidden};

/// Terms of a union, with their postings in each segment.
pub(super) struct Union<'a> {
    searcher: &'a Searcher,
    terms: &'a [(Term, Score)],
    /// By segment, by term.
    found: Vec<Vec<Option<TermInfo>>>,
}

impl<'a> Union<'a> {
    pub fn new(searcher: &'a Searcher, terms: &'a [(Term, Score)]) -> tantivy::Result<Union<'a>> {
        let mut found = Vec::with_capacity(searcher.segment_readers().len());
        for segment in searcher.segment_readers() {
            let of_term = |(term, _): &(Term, Score)| -> tantivy::Result<Option<TermInfo>> {
                Ok(segment.inverted_index(term.field())?.get_term_info(term)?)
            };
            found.push(terms.iter().map(of_term).collect::<tantivy::Result<Vec<_>>>()?);
        }
        Ok(Union { searcher, terms, found })
    }

    /// Counts the documents that contain any of the terms.
    pub fn count(&self, cached: &Cached, hidden: &Hidden) -> tantivy::Result<u64> {
        let counts = self.segments().map(|(segment, found)| cached.count(hidden.visible(segment), self.present(found)));
        counts.sum()
    }

    /// Returns the documents that contain any of the terms, by segment.
    pub fn documents(&self, cached: &Cached, hidden: &Hidden) -> tantivy::Result<Vec<Documents>> {
        let of_segment = |(segment, found)| cached.union(hidden.visible(segment), self.present(found));
        self.segments().map(of_segment).collect()
    }

    fn segments(&self) -> impl Iterator<Item = (&SegmentReader, &[Option<TermInfo>])> {
        self.searcher.segment_readers().iter().zip(self.found.iter().map(Vec::as_slice))
    }

    fn present<'t>(&'t self, found: &'t [Option<TermInfo>]) -> impl Iterator<Item = (&'t Term, &'t TermInfo)> {
        self.terms.iter().zip(found).filter_map(|((term, _), info)| Some((term, info.as_ref()?)))
    }

    /// Enables tantivy's scoring without looking up the terms again.
    pub fn scoring(&self) -> EnableScoring<'_> {
        EnableScoring::enabled_from_statistics_provider(self, self.searcher)
    }
}

impl Bm25StatisticsProvider for Union<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.searcher.total_num_docs()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let Some(at) = self.terms.iter().position(|(own, _)| own == term) else { return self.searcher.doc_freq(term) };
        let of_segment = |found: &Vec<Option<TermInfo>>| found.get(at)?.as_ref().map(|info| u64::from(info.doc_freq));
        Ok(self.found.iter().filter_map(of_segment).sum())
    }
}
