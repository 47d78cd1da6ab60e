//! Possible languages of a query's words: languages declared by indexed descriptions, and languages of the built-in
//! table.

use std::collections::BTreeSet;

use tantivy::{Searcher, tokenizer::TextAnalyzer};

use super::{Clause, Pattern, tokens};
use crate::search::{
    schema::{ExactField, Fields},
    text::{self, Language},
};

/// Up to so many tags are read; of more, those of the known languages are looked up.
const MOST_TAGS: usize = 64;
/// Minimum number of stop words of a language in a request that is in this language.
const FEWEST_STOP_WORDS: usize = 2;

/// The languages of an index, as far as they matter to a query.
pub(super) struct Languages {
    /// Languages declared by descriptions.
    present: Vec<Language>,
    /// Probable languages of the query, independent of descriptions.
    spoken: Vec<Language>,
}

impl Languages {
    /// Determines the languages of an index for a query.
    pub fn of(searcher: &Searcher, fields: &Fields, clauses: &[Clause]) -> tantivy::Result<Languages> {
        let present = languages_of(searcher, fields)?;
        let spoken = spoken(&present, clauses);
        Ok(Languages { present, spoken })
    }

    /// Returns the indexed forms of a word, such as its stem, in each language declared by descriptions. Languages in
    /// which the word is a stop word are skipped.
    pub fn forms<'l>(&'l self, written: &'l str) -> impl Iterator<Item = String> + use<'l> {
        self.present.iter().filter_map(move |language| language.form_of(written))
    }

    /// True if the query seems to be in a language that the built-in table of word vectors doesn't know.
    pub fn is_other_spoken(&self) -> bool {
        !self.spoken.is_empty() && !self.spoken.iter().any(|language| language.is_in_table())
    }

    /// True if a word is a stop word of the language that the query seems to be in.
    pub fn is_stop_word(&self, written: &str) -> bool {
        self.spoken.iter().any(|language| language.is_stop_word(written))
    }
}

/// Returns the languages other than English declared by descriptions in an index.
fn languages_of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Vec<Language>> {
    let mut present = Vec::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(fields.exact(ExactField::Language))?;
        let terms = index.terms();
        if terms.num_terms() <= MOST_TAGS {
            let mut tags = terms.stream()?;
            while tags.advance() {
                present.extend(std::str::from_utf8(tags.key()).ok().and_then(Language::of_tag));
            }
            continue;
        }
        for language in Language::all() {
            for tag in language.tags() {
                present.extend(terms.term_ord(tag)?.map(|_| language));
            }
        }
    }
    present.sort_unstable();
    present.dedup();
    Ok(present)
}

/// Returns the languages other than English among the sorted tags of a description.
pub(in crate::search) fn present_languages<'t>(tags: &[impl AsRef<str> + 't]) -> Vec<Language> {
    let mut present: Vec<Language> = if tags.len() <= MOST_TAGS {
        tags.iter().filter_map(|tag| Language::of_tag(tag.as_ref())).collect()
    } else {
        let has = |tag: &str| tags.binary_search_by(|other| other.as_ref().cmp(tag)).is_ok();
        Language::all().filter(|language| language.tags().any(has)).collect()
    };
    present.sort_unstable();
    present.dedup();
    present
}

/// Returns the languages with several stop words in the query, and more than English.
fn spoken(present: &[Language], clauses: &[Clause]) -> Vec<Language> {
    let words: Vec<&str> = clauses
        .iter()
        .filter_map(|clause| match &clause.pattern {
            Pattern::Word(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    // Most queries are too short to tell.
    if words.len() < FEWEST_STOP_WORDS {
        return Vec::new();
    }
    let (mut names, mut prose) = (text::names(), text::prose());
    let english: usize = words.iter().map(|word| words_in(&mut names, word) - words_in(&mut prose, word)).sum();
    let written: Vec<String> =
        words.iter().flat_map(|word| tokens(&mut names, word)).map(|token| token.written).collect();
    let known: BTreeSet<Language> =
        present.iter().copied().chain(Language::all().filter(|language| language.is_in_table())).collect();
    let count = |language: Language| written.iter().filter(|word| language.is_stop_word(word)).count();
    let counts: Vec<(Language, usize)> = known.into_iter().map(|language| (language, count(language))).collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or_default();
    if most < FEWEST_STOP_WORDS || most <= english {
        return Vec::new();
    }
    counts.into_iter().filter(|(_, count)| *count == most).map(|(language, _)| language).collect()
}

fn words_in(analyzer: &mut TextAnalyzer, text: &str) -> usize {
    let mut count = 0;
    analyzer.token_stream(text).process(&mut |_| count += 1);
    count
}
