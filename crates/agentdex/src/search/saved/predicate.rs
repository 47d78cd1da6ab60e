//! Predicates of queries on the terms of a description.
//!
//! The result equals that of a search in an index of only this description. Predicates that need more than a few
//! lookups, such as a negation of many words, take a corresponding number of steps, which are counted.

use tantivy::schema::Field;

use super::{
    document::Document,
    terms::{PhraseWord, Terms},
};
use crate::search::{text::Language, versions::VersionTerms};

/// Steps that a word takes in a language other than English: it is stemmed.
const STEPS_OF_A_STEM: usize = 16;

/// Predicate on the terms of a description.
#[derive(Debug, Default)]
pub(super) struct Predicate {
    /// True if no description can match.
    pub is_never: bool,
    /// Optional parts; at least one must match unless there are `musts`.
    pub any: Vec<Part>,
    /// Groups of required parts; at least one part of each group must match.
    pub musts: Vec<Vec<Part>>,
    /// Groups of exact values; at least one value of each group must match.
    pub exact: Vec<Vec<Part>>,
    /// Excluded parts.
    pub nots: Vec<Part>,
}

/// Part of a predicate.
#[derive(Debug)]
pub(super) enum Part {
    /// A term.
    Term(Field, Box<str>),
    /// A word: its term in English, or the form of the word as written in a language of the description.
    Word { field: Field, term: Box<str>, written: Box<str> },
    /// Words at given distances from the first one.
    Phrase(Field, Box<[PhraseWord]>),
    /// A term with this beginning.
    Beginning(Field, Box<str>),
    /// A version in a range.
    Version(Field, VersionTerms),
}

impl Predicate {
    /// Returns the number of parts, the cost of finding that nothing matches.
    pub fn parts(&self) -> usize {
        let of_lists = |lists: &[Vec<Part>]| lists.iter().map(Vec::len).sum::<usize>();
        self.any.len() + self.nots.len() + of_lists(&self.musts) + of_lists(&self.exact)
    }

    /// True if a description matches. Adds the number of terms looked up and positions compared to `steps`.
    pub fn is_met_by(&self, document: &Document, steps: &mut usize) -> bool {
        let mut has_any = |parts: &[Part]| parts.iter().any(|part| part.is_in(document, steps));
        !self.is_never
            && self.exact.iter().all(|parts| has_any(parts))
            && self.musts.iter().all(|parts| has_any(parts))
            && (self.any.is_empty() || !self.musts.is_empty() || has_any(&self.any))
            && !has_any(&self.nots)
    }
}

impl Part {
    fn is_in(&self, document: &Document, steps: &mut usize) -> bool {
        *steps += 1;
        let terms = document.terms();
        match self {
            Part::Term(field, text) => terms.has(*field, text),
            Part::Word { field, term, written } => {
                terms.has(*field, term)
                    || document.languages().iter().any(|language| has_form(terms, *field, *language, written, steps))
            }
            Part::Phrase(field, words) => terms.has_phrase(*field, words, steps),
            Part::Beginning(field, beginning) => terms.beginning_with(*field, beginning).next().is_some(),
            Part::Version(field, versions) => {
                let mut among = terms.beginning_with(*field, versions.from()).inspect(|_| *steps += 1);
                versions.has_any(&mut among)
            }
        }
    }
}

fn has_form(terms: &Terms, field: Field, language: Language, written: &str, steps: &mut usize) -> bool {
    *steps += STEPS_OF_A_STEM;
    language.form_of(written).is_some_and(|form| terms.has(field, &form))
}
