//! Queries, filed under the terms of which a description must have one.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use tantivy::Term;

use super::{Document, SavedQuery, trigger::Trigger};
use crate::{
    Result,
    search::{Filters, query::Clause, text::Language},
};

/// Maximum number of different filters and restrictions whose answers are remembered for a description.
const MOST_ANSWERS: usize = 64;

/// Queries by number.
#[derive(Debug, Default)]
pub struct QueryIndex {
    queries: HashMap<u32, Arc<SavedQuery>>,
    by_term: HashMap<Term, Vec<u32>>,
    /// The languages that queries are also filed in: those of descriptions that came so far.
    languages: BTreeSet<Language>,
    /// Those that are asked about every description.
    always: BTreeSet<u32>,
    /// Those whose meaning is compared with every description.
    by_meaning: BTreeSet<u32>,
}

impl QueryIndex {
    /// Adds a query under a number that none has.
    pub fn insert(&mut self, number: u32, query: Arc<SavedQuery>) {
        match query.trigger() {
            None => {}
            Some(Trigger::Always) => drop(self.always.insert(number)),
            Some(trigger @ Trigger::Terms { terms, .. }) => {
                let in_languages = self.languages.iter().flat_map(|language| trigger.terms_in(*language));
                for term in terms.iter().cloned().chain(in_languages) {
                    self.by_term.entry(term).or_default().push(number);
                }
            }
        }
        if query.is_by_meaning() {
            self.by_meaning.insert(number);
        }
        self.queries.insert(number, query);
    }

    /// Whether there is a query that matches no document without vectors.
    pub fn needs_vectors(&self) -> bool {
        !self.by_meaning.is_empty()
    }

    /// Takes a query out.
    pub fn remove(&mut self, number: u32) {
        self.always.remove(&number);
        let Some(query) = self.queries.remove(&number) else { return };
        self.by_meaning.remove(&number);
        let Some(trigger @ Trigger::Terms { terms, .. }) = query.trigger() else { return };
        let in_languages = self.languages.iter().flat_map(|language| trigger.terms_in(*language));
        for term in terms.iter().cloned().chain(in_languages) {
            if let Some(numbers) = self.by_term.get_mut(&term) {
                numbers.retain(|other| *other != number);
                if numbers.is_empty() {
                    self.by_term.remove(&term);
                }
            }
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// The numbers of the queries that match a description, ascending, and how many had to be asked.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn matching(&mut self, document: &Document) -> Result<(Vec<u32>, usize)> {
        self.file_in(document.languages()?);
        let mut filed: BTreeSet<u32> = BTreeSet::new();
        document.for_each_term(|term| filed.extend(self.by_term.get(term).into_iter().flatten()))?;
        let mut asking = Asking { document, answers: Vec::new(), asked: 0 };
        let mut matching = BTreeSet::new();
        for number in filed.union(&self.always) {
            let Some(query) = self.queries.get(number) else { continue };
            if asking.has_words_of(query)? {
                matching.insert(*number);
            }
        }
        for number in &self.by_meaning {
            let Some(query) = self.queries.get(number) else { continue };
            let Some(by_meaning) = query.meaning.as_ref().filter(|_| !matching.contains(number)) else { continue };
            if document.is_near(query) && asking.satisfies(&by_meaning.restriction, &query.filters)? {
                matching.insert(*number);
            }
        }
        Ok((matching.into_iter().collect(), asking.asked))
    }
}

/// The questions about one description. Filters and what restricts are often those of many queries: each is asked once.
struct Asking<'a> {
    document: &'a Document,
    answers: Vec<(&'a [Clause], &'a Filters, bool)>,
    asked: usize,
}

impl<'a> Asking<'a> {
    /// True if a query that is filed under one of the description's terms matches it by words.
    fn has_words_of(&mut self, query: &'a SavedQuery) -> Result<bool> {
        if matches!(query.trigger(), Some(Trigger::Terms { suffices: true, .. })) {
            return Ok(true);
        }
        if !self.satisfies(&[], &query.filters)? {
            return Ok(false);
        }
        self.asked += 1;
        self.document.has_words_of(query)
    }

    /// True if the description satisfies clauses and filters.
    fn satisfies(&mut self, clauses: &'a [Clause], filters: &'a Filters) -> Result<bool> {
        if clauses.is_empty() && filters.is_empty() {
            return Ok(true);
        }
        if let Some((.., answer)) = self.answers.iter().find(|known| (known.0, known.1) == (clauses, filters)) {
            return Ok(*answer);
        }
        self.asked += 1;
        let answer = self.document.satisfies(clauses, filters)?;
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push((clauses, filters, answer));
        }
        Ok(answer)
    }
}
