//! Search for the best documents of a segment without scoring all documents.
//!
//! Segments are sorted by id, so documents of a segment are in order of ids: a later document with the same score as
//! the worst candidate can be ignored, and block-max pruning stays exact.
//!
//! The scores of three or more terms are added in an order that depends on the path through the postings, so the last
//! bits may differ between equal documents. Therefore scores are compared and returned in much coarser steps
//! ([`quantized`]).

use std::{cmp::Ordering, collections::BinaryHeap};

use tantivy::{DocAddress, DocId, Score, query::Weight};

use super::hidden::Visible;

/// Number of insignificant low bits of a score. The remaining steps are about 1/4000.
const UNCERTAIN_BITS: u32 = 12;

/// Score of a fully requested title, if meaning is used.
pub(super) const TITLE_SCORE: Score = 10.0;

/// A score without its last bits.
pub(super) fn quantized(score: Score) -> Score {
    Score::from_bits(score.to_bits() & !((1 << UNCERTAIN_BITS) - 1))
}

/// Returns the highest score equivalent to this score.
fn highest_equal(score: Score) -> Score {
    Score::from_bits(score.to_bits() | ((1 << UNCERTAIN_BITS) - 1))
}

/// A document that may be among the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub score: Score,
    pub segment: u32,
    pub doc: DocId,
}

impl Candidate {
    /// Orders better candidates before worse candidates; equal candidates by their order in the index.
    pub fn order(&self, other: &Candidate) -> Ordering {
        other.score.total_cmp(&self.score).then(self.segment.cmp(&other.segment)).then(self.doc.cmp(&other.doc))
    }
}

/// A document of the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub address: DocAddress,
    /// Total score, by which the result is ordered.
    pub score: Score,
    /// BM25 score of the words.
    pub bm25: Score,
    /// Share of the BM25 score that counts: less than 1 if the meaning differs.
    pub words_share: f32,
    /// Cosine similarity to the request, if meaning is used.
    pub cosine: Option<f32>,
    /// Score added by a cosine of 1.
    pub meaning_boost: Score,
    /// Share of the title's words that the request contains, or 0 if titles don't count.
    pub title: f32,
}

impl Ranked {
    /// Creates a match by words.
    pub fn by_words(score: Score, address: DocAddress) -> Ranked {
        Ranked { address, score, bm25: score, words_share: 1.0, cosine: None, meaning_boost: 0.0, title: 0.0 }
    }
}

/// Search for the best documents of a segment.
pub(super) struct Ranking<'a> {
    pub weight: &'a dyn Weight,
    pub segment: Visible<'a>,
    pub ord: u32,
    pub wanted: usize,
}

impl Ranking<'_> {
    /// Returns the best `wanted` documents that score more than `floor`.
    pub fn candidates(&self, floor: Score) -> tantivy::Result<Vec<Candidate>> {
        let mut best = Best::new(self.wanted, floor);
        self.weight.for_each_pruning(floor, self.segment.reader, &mut |doc, score| {
            if self.segment.has(doc) {
                best.add(doc, score);
            }
            best.threshold
        })?;
        Ok(best.candidates(self.ord))
    }

    /// Returns the best `wanted` documents and the total number of matches, for queries that can't be pruned anyway.
    pub fn candidates_and_count(
        &self,
        floor: Score,
        mut each: impl FnMut(DocId),
    ) -> tantivy::Result<(Vec<Candidate>, u64)> {
        let mut best = Best::new(self.wanted, floor);
        let mut count = 0;
        self.weight.for_each(self.segment.reader, &mut |doc, score| {
            if self.segment.has(doc) {
                count += 1;
                each(doc);
                if score > best.threshold {
                    best.add(doc, score);
                }
            }
        })?;
        Ok((best.candidates(self.ord), count))
    }
}

/// The best documents of a segment so far.
struct Best {
    wanted: usize,
    documents: BinaryHeap<Worst>,
    /// Only higher scores count.
    threshold: Score,
}

impl Best {
    fn new(wanted: usize, floor: Score) -> Best {
        Best { wanted, documents: BinaryHeap::with_capacity(wanted.min(1024) + 1), threshold: floor }
    }

    fn add(&mut self, doc: DocId, score: Score) {
        self.documents.push(Worst { score: quantized(score), doc });
        if self.documents.len() > self.wanted {
            self.documents.pop();
        }
        if self.documents.len() == self.wanted
            && let Some(worst) = self.documents.peek()
        {
            self.threshold = self.threshold.max(highest_equal(worst.score));
        }
    }

    fn candidates(self, segment: u32) -> Vec<Candidate> {
        let candidate = |Worst { score, doc }| Candidate { score, segment, doc };
        self.documents.into_iter().map(candidate).collect()
    }
}

/// A document; the greatest is the worst.
#[derive(PartialEq)]
struct Worst {
    score: Score,
    doc: DocId,
}

impl Eq for Worst {}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.doc.cmp(&other.doc))
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_scores_that_differ_in_their_last_bits_the_first_document_counts() {
        let mut best = Best::new(2, Score::MIN);
        let score = 20.0_f32;
        [(0, score), (1, score.next_up()), (2, score.next_up().next_up()), (3, 10.0)]
            .into_iter()
            .filter(|&(_, score)| score > 0.0)
            .for_each(|(doc, score)| best.add(doc, score));
        let mut found: Vec<DocId> = best.candidates(0).into_iter().map(|candidate| candidate.doc).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1]);
        assert!(quantized(20.0) < quantized(20.1));
    }
}
