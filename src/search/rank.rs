//! Finds the best documents of a segment without looking at all of them.
//!
//! Segments are sorted by id, so that within one the order of documents is the order of ids: a later
//! document with the score of the worst kept one never counts, and block-max pruning stays exact.
//!
//! One thing needs care. The scores of three or more terms are added in an order that depends on the
//! path through the postings, so that equal documents may differ in the last bits. Candidates are
//! therefore kept a little beyond the limit, and those that score nearly alike are scored again,
//! with sums that don't depend on the order.

use std::{cell::OnceCell, cmp::Ordering, collections::BinaryHeap};

use tantivy::{
    DocId, DocSet, Score, Searcher, SegmentReader,
    query::{EnableScoring, Scorer, Weight},
};

use super::query::Compiled;

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

/// The weights of the terms of a union, made when they are needed.
pub(super) struct TermWeights<'a> {
    searcher: &'a Searcher,
    compiled: &'a Compiled,
    scoring: EnableScoring<'a>,
    weights: OnceCell<Vec<Box<dyn Weight>>>,
}

impl<'a> TermWeights<'a> {
    pub fn new(searcher: &'a Searcher, compiled: &'a Compiled, scoring: EnableScoring<'a>) -> TermWeights<'a> {
        TermWeights { searcher, compiled, scoring, weights: OnceCell::new() }
    }

    /// Whether scores have to be settled at all.
    pub fn matter(&self) -> bool {
        self.compiled.is_order_dependent()
    }

    /// Scores candidates of one segment, in ascending order, independently of how they were found.
    pub fn rescore(&self, ord: u32, candidates: &mut [Candidate]) -> tantivy::Result<()> {
        let segment = self.searcher.segment_reader(ord);
        let scorers = self.weights()?.iter().map(|term| term.scorer(segment, 1.0));
        let mut scorers = scorers.collect::<tantivy::Result<Vec<Box<dyn Scorer>>>>()?;
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

    fn weights(&self) -> tantivy::Result<&[Box<dyn Weight>]> {
        if self.weights.get().is_none() {
            let weights = self.compiled.term_weights(self.scoring)?;
            return Ok(self.weights.get_or_init(|| weights));
        }
        Ok(self.weights.get().map(Vec::as_slice).unwrap_or_default())
    }
}

/// A segment that is searched.
pub(super) struct Ranking<'a> {
    pub weight: &'a dyn Weight,
    pub terms: &'a TermWeights<'a>,
    pub segment: &'a SegmentReader,
    pub ord: u32,
    pub wanted: usize,
}

impl Ranking<'_> {
    /// The candidates that score more than `floor`, among them the best `wanted` ones.
    pub fn candidates(&self, floor: Score) -> tantivy::Result<Vec<Candidate>> {
        let mut pool = Pool::new(self, floor);
        self.weight.for_each_pruning(floor, self.segment, &mut |doc, score| {
            if !self.segment.is_deleted(doc) {
                pool.add(doc, score);
            }
            pool.threshold
        })?;
        pool.finish()
    }

    /// The same, and the number of all that match, for queries that aren't pruned anyway.
    pub fn candidates_and_count(
        &self,
        floor: Score,
        mut each: impl FnMut(DocId),
    ) -> tantivy::Result<(Vec<Candidate>, u64)> {
        let mut pool = Pool::new(self, floor);
        let mut count = 0;
        self.weight.for_each(self.segment, &mut |doc, score| {
            if !self.segment.is_deleted(doc) {
                count += 1;
                each(doc);
                if score > pool.threshold {
                    pool.add(doc, score);
                }
            }
        })?;
        Ok((pool.finish()?, count))
    }

    /// The score above which a document may still be one of the best.
    pub fn below(&self, worst: Score) -> Score {
        if self.terms.matter() { worst - NEARLY * worst.abs() } else { worst }
    }
}

/// The candidates of a segment so far.
struct Pool<'a> {
    ranking: &'a Ranking<'a>,
    candidates: Vec<Candidate>,
    best: BinaryHeap<Worst>,
    floor: Score,
    threshold: Score,
    shrunk: tantivy::Result<()>,
}

impl<'a> Pool<'a> {
    fn new(ranking: &'a Ranking<'a>, floor: Score) -> Pool<'a> {
        let best = BinaryHeap::with_capacity(ranking.wanted.min(1024) + 1);
        Pool { ranking, candidates: Vec::new(), best, floor, threshold: floor, shrunk: Ok(()) }
    }

    fn add(&mut self, doc: DocId, score: Score) {
        let wanted = self.ranking.wanted;
        self.candidates.push(Candidate { score, segment: self.ranking.ord, doc });
        self.best.push(Worst(score));
        if self.best.len() > wanted {
            self.best.pop();
        }
        if self.best.len() == wanted {
            let worst = self.best.peek().map_or(self.floor, |worst| self.ranking.below(worst.0));
            self.threshold = self.floor.max(worst);
        }
        if self.candidates.len() > 2 * wanted + MOST_SPARE && self.shrunk.is_ok() {
            self.shrunk = self.shrink();
        }
    }

    /// Leaves the wanted ones, even where too many score nearly alike.
    fn shrink(&mut self) -> tantivy::Result<()> {
        self.candidates.retain(|candidate| candidate.score >= self.threshold);
        if self.candidates.len() > 2 * self.ranking.wanted {
            self.ranking.terms.rescore(self.ranking.ord, &mut self.candidates)?;
            self.candidates.sort_unstable_by(Candidate::order);
            self.candidates.truncate(self.ranking.wanted);
            self.candidates.sort_unstable_by_key(|candidate| candidate.doc);
        }
        Ok(())
    }

    fn finish(self) -> tantivy::Result<Vec<Candidate>> {
        self.shrunk?;
        let mut candidates = self.candidates;
        candidates.retain(|candidate| candidate.score >= self.threshold);
        Ok(candidates)
    }
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
