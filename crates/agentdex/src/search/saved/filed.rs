//! Queries, filed under the terms of which a description must have one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tantivy::{Term, schema::Field};

use super::{Document, SavedQuery, trigger::Trigger};
use crate::{
    Result,
    search::{Filters, query::Clause, text::Language},
};

/// Maximum number of different filters and restrictions whose answers are remembered for a description.
const MOST_ANSWERS: usize = 64;

/// Numbers of queries by term.
type Filed = HashMap<Term, Vec<u32>>;

/// Queries by number.
#[derive(Debug, Default)]
pub struct QueryIndex {
    queries: HashMap<u32, Arc<SavedQuery>>,
    by_term: Filed,
    /// By the beginning of a term of a field of words, which are short; beginnings by their length.
    by_beginning: HashMap<Field, BTreeMap<usize, Filed>>,
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

    /// True if there is a query that matches no document without vectors.
    pub fn needs_vectors(&self) -> bool {
        !self.by_meaning.is_empty()
    }

    /// Takes a query out.
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

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// The numbers of the queries that match a description, ascending, and how many had to be asked.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn matching(&mut self, document: &Document) -> Result<(Vec<u32>, usize)> {
        self.file_in(document.languages());
        let mut filed = self.always.clone();
        for mut term in document.terms() {
            filed.extend(self.by_term.get(&term).into_iter().flatten());
            let Some(of_field) = self.by_beginning.get(&term.field()) else { continue };
            // From the longest to the shortest, so that the term can be cut again and again.
            for (length, beginnings) in of_field.range(..=term.len_bytes()).rev() {
                term.truncate_value_bytes(*length);
                filed.extend(beginnings.get(&term).into_iter().flatten());
            }
        }
        let mut asking = Asking { document, answers: Vec::new(), asked: 0 };
        let mut matching = BTreeSet::new();
        for number in &filed {
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

fn take_out(filed: &mut Filed, term: &Term, number: u32) {
    if let Some(numbers) = filed.get_mut(term) {
        numbers.retain(|other| *other != number);
        if numbers.is_empty() {
            filed.remove(term);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{convert::Format, search::Entry};

    #[test]
    fn a_description_is_indexed_where_its_terms_do_not_suffice() {
        let text = r#"{"title": "Weather agent", "description": "Forecasts for cities"}"#;
        let terms = Format::search_terms();
        let entry = Entry { id: "urn:a", text, format: None, terms, access: None, moments: None };
        let asked_about = |queries: &[&str]| {
            let mut filed = QueryIndex::default();
            for (number, query) in (0..).zip(queries) {
                filed.insert(number, Arc::new(SavedQuery::new(Some(query), Filters::default()).unwrap()));
            }
            let document = Document::new(entry).unwrap();
            let (matching, asked) = filed.matching(&document).unwrap();
            (matching, asked, document.is_indexed())
        };
        let plain =
            asked_about(&["weather hotel", "hotel", "+forecast rain", "rain fore*", "cities*", "+hotel weather"]);
        assert_eq!(plain, (vec![0, 2, 3, 4], 0, false));
        assert_eq!(asked_about(&["fore*", "\"weather agent\"", "+forecast -rain"]), (vec![0, 1, 2], 2, true));
    }
}
