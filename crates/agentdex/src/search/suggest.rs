//! Words of the index that are spelled like others: for queries that find nothing, and for prefixes.

use std::{
    collections::{BTreeMap, HashSet},
    io,
};

use tantivy::{
    DocSet, Searcher, SegmentReader, TERMINATED, TantivyError, Term,
    query::FuzzyTermQuery,
    schema::{Field, IndexRecordOption},
};

use super::{
    hidden::Hidden,
    summary::Summary,
    text::{self, normalized},
};

/// The most words that one word is replaced by.
const MOST_ALIKE: usize = 8;
/// Shorter words are like too many others.
const SHORTEST_FUZZY: usize = 4;
/// From this length on two letters may differ, where no word differs in one.
const LONG_WORD: usize = 8;
/// The most suggestions of a response.
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

/// Terms of a field that are spelled like this one, with their distance: the nearest and most
/// frequent. The term itself, if the index has it, is alone.
pub(super) fn terms_alike(
    searcher: &Searcher,
    hidden: &Hidden,
    field: Field,
    term: &str,
) -> tantivy::Result<Vec<(String, u8)>> {
    for segment in searcher.segment_readers() {
        if is_visible(segment, hidden, field, term.as_bytes())? {
            return Ok(vec![(term.to_owned(), 0)]);
        }
    }
    let length = term.chars().count();
    if length < SHORTEST_FUZZY {
        return Ok(Vec::new());
    }
    let near = terms_within(searcher, hidden, field, term, 1)?;
    if !near.is_empty() || length < LONG_WORD {
        return Ok(near);
    }
    terms_within(searcher, hidden, field, term, 2)
}

/// Whether a segment has a term in a document that is found: what is hidden from somebody suggests no words.
fn is_visible(segment: &SegmentReader, hidden: &Hidden, field: Field, term: &[u8]) -> tantivy::Result<bool> {
    let index = segment.inverted_index(field)?;
    let Some(info) = index.terms().get(term)? else { return Ok(false) };
    let visible = hidden.visible(segment);
    if visible.is_whole() {
        return Ok(info.doc_freq > 0);
    }
    let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
    while postings.doc() != TERMINATED && !visible.has(postings.doc()) {
        postings.advance();
    }
    Ok(postings.doc() != TERMINATED)
}

fn terms_within(
    searcher: &Searcher,
    hidden: &Hidden,
    field: Field,
    term: &str,
    distance: u8,
) -> tantivy::Result<Vec<(String, u8)>> {
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
    let mut terms: Vec<(String, u64)> = frequencies.into_iter().collect();
    terms.sort_by(|(term, count), (other, other_count)| other_count.cmp(count).then_with(|| term.cmp(other)));
    terms.truncate(MOST_ALIKE);
    Ok(terms.into_iter().map(|(term, _)| (term, distance)).collect())
}

/// Corrected words as they are written in the hits, the most frequent first: what was perhaps meant.
/// Where none of them is shown by a hit, their stems.
pub(super) fn suggestions<'s>(
    summaries: impl Iterator<Item = &'s Summary<'s>>,
    corrections: &HashSet<String>,
) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut analyzer = text::prose();
    for text in summaries.flat_map(Summary::texts) {
        analyzer.token_stream(text).process(&mut |token| {
            if token.position_length == 1 && corrections.contains(&token.text) {
                let written = text.get(token.offset_from..token.offset_to).unwrap_or_default();
                *counts.entry(normalized(written)).or_default() += 1;
            }
        });
    }
    if counts.is_empty() {
        counts = corrections.iter().map(|stem| (stem.clone(), 1)).collect();
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|(word, count), (other, other_count)| other_count.cmp(count).then_with(|| word.cmp(other)));
    words.into_iter().map(|(word, _)| word).take(MOST_SUGGESTIONS).collect()
}
