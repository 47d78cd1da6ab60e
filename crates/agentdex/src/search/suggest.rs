//! Words of the index with a similar spelling, as corrections of unknown words and as completions of prefixes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    io,
};

use tantivy::{
    DocSet, Searcher, SegmentReader, TERMINATED, TantivyError, Term,
    query::FuzzyTermQuery,
    schema::{Field, IndexRecordOption},
};

use agentdex_api::Correction;

use super::{
    hidden::Hidden,
    summary::Summary,
    text::{self, normalized},
};

/// Maximum number of replacements for a word.
const MOST_ALIKE: usize = 8;
/// Shorter words are like too many others.
const SHORTEST_CORRECTED: usize = 5;
/// Minimum length of words for which two edits are allowed if no word is a single edit away.
const LONG_WORD: usize = 9;
/// Longer words aren't corrected.
const LONGEST_CORRECTED: usize = 32;
/// Maximum number of suggestions in a response, and of words for each corrected word.
const MOST_SUGGESTIONS: usize = 5;

/// Terms of a field that begin so, at most `limit`.
pub(super) fn terms_with_prefix(
    searcher: &Searcher,
    hidden: &Hidden,
    field: Field,
    prefix: &str,
    limit: usize,
) -> tantivy::Result<Vec<String>> {
    let mut terms: Vec<String> = Vec::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        let mut stream = index.terms().range().ge(prefix).into_stream()?;
        let mut found = 0;
        while found < limit && stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
            if !is_visible(segment, hidden, field, stream.key())? {
                continue;
            }
            found += 1;
            terms.extend(std::str::from_utf8(stream.key()).map(str::to_owned));
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms.truncate(limit);
    Ok(terms)
}

/// A word of a field with a spelling similar to that of a query's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alike {
    pub stem: String,
    /// Edit distance.
    pub distance: u8,
}

/// A word of a query that occurs in no description, with its replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Corrected {
    /// Word as written in the query.
    pub written: String,
    /// Stems of similar words, best match first.
    pub stems: Vec<String>,
}

/// Returns words of a field that are similar to a word not found in any of its forms, nearest and then most frequent
/// first. `written` is the word in lower case: edits are counted in its letters rather than in those of its stem.
pub(super) fn terms_alike(
    searcher: &Searcher,
    hidden: &Hidden,
    field: Field,
    forms: &[String],
    written: &str,
) -> tantivy::Result<Vec<Alike>> {
    let letters = written.chars().count();
    // What has digits is a number or a version of something, and not misspelled.
    if !(SHORTEST_CORRECTED..=LONGEST_CORRECTED).contains(&letters) || !written.chars().all(char::is_alphabetic) {
        return Ok(Vec::new());
    }
    for form in forms {
        if is_known(searcher, hidden, field, form)? {
            return Ok(Vec::new());
        }
    }
    let Some(stem) = forms.first() else { return Ok(Vec::new()) };
    let near = match written.bytes().all(|byte| byte.is_ascii_lowercase()) {
        true => stems_of_edited(searcher, hidden, field, written)?,
        false => terms_within(searcher, hidden, field, stem, 1)?,
    };
    if !near.is_empty() || letters < LONG_WORD {
        return Ok(near);
    }
    terms_within(searcher, hidden, field, stem, 2)
}

/// Returns terms of a field that are stems of a word with a single edit: an inserted, deleted, or replaced letter, or
/// two letters exchanged.
fn stems_of_edited(searcher: &Searcher, hidden: &Hidden, field: Field, word: &str) -> tantivy::Result<Vec<Alike>> {
    let mut edited = HashSet::new();
    for (at, _) in word.char_indices().chain([(word.len(), ' ')]) {
        let (before, after) = word.split_at(at);
        let rest = after.get(1..).unwrap_or_default();
        edited.extend(('a'..='z').map(|letter| format!("{before}{letter}{after}")));
        if let Some(first) = after.get(..1) {
            edited.insert(format!("{before}{rest}"));
            edited.extend(('a'..='z').map(|letter| format!("{before}{letter}{rest}")));
            if let Some(second) = rest.get(..1) {
                edited.insert(format!("{before}{second}{first}{}", rest.get(1..).unwrap_or_default()));
            }
        }
    }
    let mut stemmer = text::stemmer();
    let mut stems = BTreeSet::new();
    for word in edited {
        stems.extend(stemmer.token_stream(&word).next().map(|token| token.text.clone()));
    }
    let mut frequencies = BTreeMap::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        for stem in &stems {
            if let Some(info) = index.terms().get(stem)?
                && is_visible(segment, hidden, field, stem.as_bytes())?
            {
                *frequencies.entry(stem.clone()).or_default() += u64::from(info.doc_freq);
            }
        }
    }
    Ok(most_frequent(frequencies, 1))
}

/// The most frequent terms, at a distance.
fn most_frequent(frequencies: BTreeMap<String, u64>, distance: u8) -> Vec<Alike> {
    let mut terms: Vec<(String, u64)> = frequencies.into_iter().collect();
    terms.sort_by(|(term, count), (other, other_count)| other_count.cmp(count).then_with(|| term.cmp(other)));
    terms.truncate(MOST_ALIKE);
    terms.into_iter().map(|(stem, _)| Alike { stem, distance }).collect()
}

/// True if a segment has a term in a document that is found. A document that is hidden from somebody suggests no words.
pub(super) fn is_visible(segment: &SegmentReader, hidden: &Hidden, field: Field, term: &[u8]) -> tantivy::Result<bool> {
    let index = segment.inverted_index(field)?;
    let Some(info) = index.terms().get(term)? else { return Ok(false) };
    let visible = hidden.visible(segment);
    // What was deleted counts until segments are merged, and may have been made private.
    if visible.is_whole() && !segment.has_deletes() {
        return Ok(info.doc_freq > 0);
    }
    let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
    while postings.doc() != TERMINATED && !visible.has(postings.doc()) {
        postings.advance();
    }
    Ok(postings.doc() != TERMINATED)
}

/// True if a visible document has a term.
pub(super) fn is_known(searcher: &Searcher, hidden: &Hidden, field: Field, term: &str) -> tantivy::Result<bool> {
    for segment in searcher.segment_readers() {
        if is_visible(segment, hidden, field, term.as_bytes())? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn terms_within(
    searcher: &Searcher,
    hidden: &Hidden,
    field: Field,
    term: &str,
    distance: u8,
) -> tantivy::Result<Vec<Alike>> {
    let mut frequencies: BTreeMap<String, u64> = BTreeMap::new();
    let query = FuzzyTermQuery::new(Term::from_field_text(field, term), distance, true);
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        let mut stream = index.terms().search(query.automaton()?).into_stream()?;
        while stream.advance() {
            if !is_visible(segment, hidden, field, stream.key())? {
                continue;
            }
            let found =
                std::str::from_utf8(stream.key()).map_err(|error| TantivyError::from(io::Error::other(error)))?;
            *frequencies.entry(found.to_owned()).or_default() += u64::from(stream.value().doc_freq);
        }
    }
    Ok(most_frequent(frequencies, distance))
}

/// Returns the corrections as spelled in the hits, most frequent first, or as stems if they occur in no hit.
pub(super) fn as_written<'s>(
    summaries: impl Iterator<Item = &'s Summary<'s>>,
    corrections: &[Corrected],
) -> Vec<Correction> {
    let mut counts: HashMap<&str, BTreeMap<String, usize>> = corrections
        .iter()
        .flat_map(|corrected| &corrected.stems)
        .map(|stem| (stem.as_str(), BTreeMap::new()))
        .collect();
    let mut analyzer = text::prose();
    for text in summaries.filter(|_| !corrections.is_empty()).flat_map(Summary::texts) {
        analyzer.token_stream(text).process(&mut |token| {
            if let Some(counts) = counts.get_mut(token.text.as_str()) {
                let written = text.get(token.offset_from..token.offset_to).unwrap_or_default();
                *counts.entry(normalized(written)).or_default() += 1;
            }
        });
    }
    let of_word = |corrected: &Corrected| {
        let shown = corrected.stems.iter().filter_map(|stem| counts.get(stem.as_str()));
        let mut words: Vec<(&String, &usize)> = shown.flatten().collect();
        words.sort_by(|(word, count), (other, other_count)| other_count.cmp(count).then_with(|| word.cmp(other)));
        let words: Vec<String> = words.into_iter().map(|(word, _)| word.clone()).take(MOST_SUGGESTIONS).collect();
        let read_as = if words.is_empty() { corrected.stems.clone() } else { words };
        Correction { word: corrected.written.clone(), read_as }
    };
    corrections.iter().map(of_word).collect()
}

/// The whole query with its words corrected: the best of each first.
pub(super) fn corrected(query: &str, corrections: &[Correction]) -> Vec<String> {
    let most = corrections.iter().map(|correction| correction.read_as.len()).max().unwrap_or_default();
    let nth = |at: usize| {
        corrections.iter().fold(query.to_owned(), |query, Correction { word, read_as }| {
            let Some(other) = read_as.get(at).or(read_as.first()) else { return query };
            replace_word(&query, word, other)
        })
    };
    (0..most.min(MOST_SUGGESTIONS)).map(nth).collect()
}

/// A text with a word replaced wherever it stands by itself.
fn replace_word(text: &str, word: &str, other: &str) -> String {
    let (mut replaced, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(word).filter(|_| !word.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let is_inside = |c: Option<char>| c.is_some_and(text::is_of_word);
        let is_part =
            is_inside(before.chars().next_back().or(replaced.chars().next_back())) || is_inside(after.chars().next());
        replaced.push_str(before);
        replaced.push_str(if is_part { word } else { other });
        rest = after;
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_query_stays_as_it_is() {
        let correction = |word: &str, read_as: &[&str]| Correction {
            word: word.to_owned(),
            read_as: read_as.iter().map(|&word| word.to_owned()).collect(),
        };
        let corrections = [correction("wether", &["weather", "whether"]), correction("forcast", &["forecast"])];
        assert_eq!(
            corrected("+wether \"long forcast\" tag:wethers", &corrections),
            ["+weather \"long forecast\" tag:wethers", "+whether \"long forecast\" tag:wethers"]
        );
        assert_eq!(corrected("weather", &[]), [""; 0]);
    }
}
