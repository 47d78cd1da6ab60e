//! Finds the best documents of a segment without looking at all of them.
//!
//! Segments are sorted by id, so that within one the order of documents is the order of ids: a later
//! document with the score of the worst kept one never counts, and block-max pruning stays exact.
//!
//! One thing needs care. The scores of three or more terms are added in an order that depends on the
//! path through the postings, so that equal documents may differ in the last bits. Candidates are
//! therefore kept a little beyond the limit, and those that score nearly alike are scored again,
//! with sums that don't depend on the order.

use std::{cmp::Ordering, collections::BinaryHeap};

use tantivy::{
    DocId, DocSet, Score, SegmentReader,
    query::{Scorer, Weight},
};

/// Scores that differ by no more than this part are compared again.
const NEARLY: Score = 4e-6;
/// How many candidates beyond twice the wanted ones are kept before they are compared again.
const MOST_SPARE: usize = 4096;

/// A document that may be one of the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub score: Score,
    pub segment: u32,
    pub doc: DocId,
}

impl Candidate {
    /// The better before the worse; of equals the first.
    pub fn order(&self, other: &Candidate) -> Ordering {
        other.score.total_cmp(&self.score).then(self.segment.cmp(&other.segment)).then(self.doc.cmp(&other.doc))
    }

    /// Whether the scores can't be told apart by their last bits.
    pub fn is_near(&self, other: &Candidate) -> bool {
        (self.score - other.score).abs() <= NEARLY * self.score.abs().max(other.score.abs())
    }
}

/// A segment that is searched.
pub(super) struct Ranking<'a> {
    pub weight: &'a dyn Weight,
    /// The weights of the terms, where the query is a union of so many that sums depend on order.
    pub terms: &'a [Box<dyn Weight>],
    pub segment: &'a SegmentReader,
    pub ord: u32,
    pub wanted: usize,
}

impl Ranking<'_> {
    /// The candidates that score more than `floor`, among them the best `wanted` ones.
    pub fn candidates(&self, floor: Score) -> tantivy::Result<Vec<Candidate>> {
        let mut pool: Vec<Candidate> = Vec::new();
        let mut best: BinaryHeap<Worst> = BinaryHeap::with_capacity(self.wanted.min(1024) + 1);
        let mut threshold = floor;
        let mut shrunk = Ok(());
        self.weight.for_each_pruning(floor, self.segment, &mut |doc, score| {
            if self.segment.is_deleted(doc) {
                return threshold;
            }
            pool.push(Candidate { score, segment: self.ord, doc });
            best.push(Worst(score));
            if best.len() > self.wanted {
                best.pop();
            }
            if best.len() == self.wanted {
                threshold = floor.max(best.peek().map_or(floor, |worst| self.below(worst.0)));
            }
            if pool.len() > 2 * self.wanted + MOST_SPARE && shrunk.is_ok() {
                shrunk = self.shrink(&mut pool, threshold);
            }
            threshold
        })?;
        shrunk?;
        pool.retain(|candidate| candidate.score >= threshold);
        Ok(pool)
    }

    /// The score above which a document may still be one of the best.
    pub fn below(&self, worst: Score) -> Score {
        if self.terms.is_empty() { worst } else { worst - NEARLY * worst.abs() }
    }

    /// Leaves the wanted ones of a pool in which too many score nearly alike.
    fn shrink(&self, pool: &mut Vec<Candidate>, threshold: Score) -> tantivy::Result<()> {
        pool.retain(|candidate| candidate.score >= threshold);
        if pool.len() > 2 * self.wanted {
            rescore(self.segment, self.terms, pool)?;
            pool.sort_unstable_by(Candidate::order);
            pool.truncate(self.wanted);
            pool.sort_unstable_by_key(|candidate| candidate.doc);
        }
        Ok(())
    }
}

/// Scores candidates of one segment, in ascending order, independently of how they were found.
pub(super) fn rescore(
    segment: &SegmentReader,
    terms: &[Box<dyn Weight>],
    candidates: &mut [Candidate],
) -> tantivy::Result<()> {
    if terms.is_empty() {
        return Ok(());
    }
    let mut scorers =
        terms.iter().map(|term| term.scorer(segment, 1.0)).collect::<tantivy::Result<Vec<Box<dyn Scorer>>>>()?;
    for candidate in candidates {
        // Sums of so few single precision numbers are exact in double precision.
        let mut sum = 0.0_f64;
        for scorer in &mut scorers {
            if scorer.doc() < candidate.doc {
                scorer.seek(candidate.doc);
            }
            if scorer.doc() == candidate.doc {
                sum += f64::from(scorer.score());
            }
        }
        candidate.score = sum as Score;
    }
    Ok(())
}

/// A score; the greatest is the lowest.
#[derive(PartialEq)]
struct Worst(Score);

impl Eq for Worst {}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
