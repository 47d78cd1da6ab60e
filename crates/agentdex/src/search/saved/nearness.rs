//! Similarity required for a description to match a semantic query.

use std::collections::HashSet;

use crate::search::{
    query::Wording,
    semantic::{Meaning, Quantized, Question},
};

/// The vectors of a query, and the least likeness that matches.
#[derive(Debug)]
pub(super) struct Nearness {
    question: Question,
    threshold: f32,
}

impl Nearness {
    /// Creates the condition of a query. Returns `None` if no word of the query is meaningful.
    pub fn new(wording: &Wording, threshold: f32, meaning: &Meaning) -> Option<Nearness> {
        let question = meaning.question(&wording.whole, &wording.sentences)?;
        Some(Nearness { question, threshold })
    }

    /// Returns the ids of Things that are similar enough.
    pub fn things(&self, meaning: &Meaning) -> HashSet<Box<str>> {
        meaning.at_least(&self.question, self.threshold)
    }

    /// True if a Thing with these vectors is similar enough.
    pub fn has(&self, vectors: &[Quantized]) -> bool {
        self.question.likeness_of(vectors) >= self.threshold
    }
}
