//! Index of queries by the terms required in a matching description.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tantivy::{Term, schema::Field};

use super::{Document, SavedQuery, trigger::Trigger};
use crate::search::text::Language;

/// Numbers of queries by term.
type Filed = HashMap<Term, Vec<u32>>;

/// Queries by number.
#[derive(Debug, Default)]
pub struct QueryIndex {
    queries: HashMap<u32, Arc<SavedQuery>>,
    by_term: Filed,
    /// By the beginning of a term of a field of words, which are short; beginnings by their length.
    by_beginning: HashMap<Field, BTreeMap<usize, Filed>>,
    /// Languages in which queries are filed in addition: those of previous descriptions.
    languages: BTreeSet<Language>,
    /// Queries evaluated for every description.
    always: BTreeSet<u32>,
    /// Queries whose meaning is compared with every description.
    by_meaning: BTreeSet<u32>,
}

impl QueryIndex {
    /// Adds a query under an unused number.
    pub fn insert(&mut self, number: u32, query: Arc<SavedQuery>) {
        match query.trigger() {
            None => {}
            Some(Trigger::Always) => drop(self.always.insert(number)),
            Some(trigger @ Trigger::Terms { terms, beginnings, .. }) => {
                let in_languages = self.languages.iter().flat_map(|language| trigger.terms_in(*language));
                for term in terms.iter().cloned().chain(in_languages) {
                    self.by_term.entry(term).or_default().push(number);
                }
                for beginning in beginnings {
                    let of_field = self.by_beginning.entry(beginning.field()).or_default();
                    let of_length = of_field.entry(beginning.len_bytes()).or_default();
                    of_length.entry(beginning.clone()).or_default().push(number);
                }
            }
        }
        if query.is_by_meaning() {
            self.by_meaning.insert(number);
        }
        self.queries.insert(number, query);
    }

    /// True if a query matches only documents with vectors.
    pub fn needs_vectors(&self) -> bool {
        !self.by_meaning.is_empty()
    }

    /// Removes a query.
    pub fn remove(&mut self, number: u32) {
        self.always.remove(&number);
        let Some(query) = self.queries.remove(&number) else { return };
        self.by_meaning.remove(&number);
        let Some(trigger @ Trigger::Terms { terms, beginnings, .. }) = query.trigger() else { return };
        let in_languages = self.languages.iter().flat_map(|language| trigger.terms_in(*language));
        for term in terms.iter().cloned().chain(in_languages) {
            take_out(&mut self.by_term, &term, number);
        }
        for beginning in beginnings {
            let Some(of_field) = self.by_beginning.get_mut(&beginning.field()) else { continue };
            if let Some(of_length) = of_field.get_mut(&beginning.len_bytes()) {
                take_out(of_length, beginning, number);
            }
            of_field.retain(|_, of_length| !of_length.is_empty());
        }
    }

    /// Files the queries in the languages of a description that are new.
    fn file_in(&mut self, languages: impl IntoIterator<Item = Language>) {
        for language in languages {
            if self.languages.insert(language) {
                for (number, query) in &self.queries {
                    for term in query.trigger().into_iter().flat_map(|trigger| trigger.terms_in(language)) {
                        self.by_term.entry(term).or_default().push(*number);
                    }
                }
            }
        }
    }

    /// True if there are no queries.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Returns the queries that may match a description, in ascending order. No other query matches it.
    pub fn candidates(&mut self, document: &Document) -> Vec<Candidate> {
        self.file_in(document.languages().iter().copied());
        let mut filed = self.always.clone();
        for mut term in document.terms().iter() {
            filed.extend(self.by_term.get(&term).into_iter().flatten());
            let Some(of_field) = self.by_beginning.get(&term.field()) else { continue };
            // From the longest to the shortest, so that the term can be cut again and again.
            for (length, beginnings) in of_field.range(..=term.len_bytes()).rev() {
                term.truncate_value_bytes(*length);
                filed.extend(beginnings.get(&term).into_iter().flatten());
            }
        }
        let by_meaning = self.by_meaning.iter().filter(|number| !filed.contains(number));
        let mut candidates: Vec<Candidate> =
            by_meaning.map(|number| Candidate { number: *number, is_filed: false }).collect();
        candidates.extend(filed.iter().map(|number| Candidate { number: *number, is_filed: true }));
        candidates.sort_unstable_by_key(|candidate| candidate.number);
        candidates
    }

    /// True if one of a description's [candidates](QueryIndex::candidates) matches it. Adds the number of terms looked up
    /// and positions compared to `steps`.
    pub fn is_match(&self, candidate: Candidate, document: &Document, steps: &mut usize) -> bool {
        let Some(query) = self.queries.get(&candidate.number) else { return false };
        *steps += 1;
        candidate.is_filed && query.has_words(document, steps) || query.has_meaning(document, steps)
    }

    /// Returns the numbers of the queries that match a description, in ascending order, and the number of steps
    /// required.
    pub fn matching(&mut self, document: &Document) -> (Vec<u32>, usize) {
        let (mut matching, mut steps) = (self.candidates(document), 0);
        matching.retain(|candidate| self.is_match(*candidate, document, &mut steps));
        (matching.iter().map(|candidate| candidate.number).collect(), steps)
    }

    /// Returns the number of parts of a query, an upper bound for the cost of a comparison.
    pub fn parts(&self, number: u32) -> usize {
        self.queries.get(&number).map_or(0, |query| query.parts())
    }
}

/// A query that may match a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the query.
    pub number: u32,
    /// True if the words of the query may match; else its meaning may.
    is_filed: bool,
}

fn take_out(filed: &mut Filed, term: &Term, number: u32) {
    if let Some(numbers) = filed.get_mut(term) {
        numbers.retain(|other| *other != number);
        if numbers.is_empty() {
            filed.remove(term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        convert::Format,
        search::{Entry, Filters},
    };

    #[test]
    fn only_the_words_of_queries_that_need_it_are_looked_up() {
        let text = r#"{"title": "Weather agent", "description": "Forecasts for cities"}"#;
        let terms = Format::search_terms();
        let entry = Entry { id: "urn:a", text, format: None, terms, access: None, moments: None };
        let steps_for = |queries: &[&str]| {
            let mut filed = QueryIndex::default();
            for (number, query) in (0..).zip(queries) {
                filed.insert(number, Arc::new(SavedQuery::new(Some(query), Filters::default()).unwrap()));
            }
            filed.matching(&Document::new(entry).unwrap())
        };
        // One step for each candidate: the terms that they are filed under say everything.
        let plain = steps_for(&["weather hotel", "hotel", "+forecast rain", "rain fore*", "cities*", "+hotel weather"]);
        assert_eq!(plain, (vec![0, 2, 3, 4], 4));
        let (matching, steps) = steps_for(&["fore*", "\"weather agent\"", "+forecast -rain", "-hotel"]);
        assert_eq!(matching, [0, 1, 2, 3]);
        assert!((7..20).contains(&steps), "{steps} steps");
    }
}
