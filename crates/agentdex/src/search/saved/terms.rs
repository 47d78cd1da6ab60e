//! Sorted terms of a description by field, with their positions: the content of an index of that description.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use tantivy::{
    TantivyDocument, Term,
    schema::{Field, FieldType, Schema, Value},
    tokenizer::TokenStream,
};

use crate::search::text;

/// The terms of a description.
#[derive(Debug, Default)]
pub(super) struct Terms {
    by_field: BTreeMap<Field, FieldTerms>,
}

/// Terms of a field, ascending.
#[derive(Debug, Default)]
struct FieldTerms {
    texts: Vec<Box<str>>,
    /// Range of each term's positions in `positions`.
    ranges: Vec<Range<usize>>,
    positions: Vec<u32>,
}

/// A word of a phrase with its distance from the first word.
pub(super) type PhraseWord = (u32, Box<str>);

impl Terms {
    /// Reads the terms of a document like the indexer.
    pub fn of(document: &TantivyDocument, schema: &Schema) -> Terms {
        let analyzers = text::analyzers();
        let mut found: BTreeMap<Field, HashMap<String, Vec<u32>>> = BTreeMap::new();
        for (field, value) in document.field_values() {
            let FieldType::Str(options) = schema.get_field_entry(field).field_type() else { continue };
            let analyzer = options.get_indexing_options().and_then(|indexing| analyzers.get(indexing.tokenizer()));
            let Some((mut analyzer, text)) = analyzer.zip(value.as_str()) else { continue };
            let terms = found.entry(field).or_default();
            analyzer.token_stream(text).process(&mut |token| {
                let position = u32::try_from(token.position).unwrap_or(u32::MAX);
                match terms.get_mut(&token.text) {
                    Some(positions) => positions.push(position),
                    None => drop(terms.insert(token.text.clone(), vec![position])),
                }
            });
        }
        Terms { by_field: found.into_iter().map(|(field, terms)| (field, FieldTerms::of(terms))).collect() }
    }

    /// Lists the terms of all fields.
    pub fn iter(&self) -> impl Iterator<Item = Term> {
        self.by_field
            .iter()
            .flat_map(|(field, terms)| terms.texts.iter().map(|text| Term::from_field_text(*field, text)))
    }

    /// Returns the terms of a field, ascending.
    pub fn texts(&self, field: Field) -> &[Box<str>] {
        self.by_field.get(&field).map_or(&[], |terms| &terms.texts)
    }

    /// True if a field contains a term.
    pub fn has(&self, field: Field, text: &str) -> bool {
        self.texts(field).binary_search_by(|term| (**term).cmp(text)).is_ok()
    }

    /// Returns the terms of a field with the given prefix.
    pub fn beginning_with<'t>(&'t self, field: Field, beginning: &'t str) -> impl Iterator<Item = &'t str> {
        let texts = self.texts(field);
        let start = texts.partition_point(|term| **term < *beginning);
        let after = texts.get(start..).unwrap_or_default().iter().map(|term| &**term);
        after.take_while(move |term| term.starts_with(beginning))
    }

    /// True if a field contains words at these distances from each other. Adds the number of positions compared to
    /// `steps`.
    pub fn has_phrase(&self, field: Field, words: &[PhraseWord], steps: &mut usize) -> bool {
        let Some(terms) = self.by_field.get(&field) else { return false };
        let found: Option<Vec<(u32, &[u32])>> =
            words.iter().map(|(distance, text)| Some((*distance, terms.positions_of(text)?))).collect();
        let Some(mut found) = found else { return false };
        // The rarest word first: it leaves the fewest places where the phrase may begin.
        found.sort_unstable_by_key(|(_, positions)| positions.len());
        let Some(((distance, positions), rest)) = found.split_first() else { return false };
        let mut starts: Vec<u32> = positions.iter().filter_map(|position| position.checked_sub(*distance)).collect();
        for (distance, positions) in rest {
            *steps += starts.len();
            starts.retain(|start| positions.binary_search(&(start + distance)).is_ok());
            if starts.is_empty() {
                return false;
            }
        }
        !starts.is_empty()
    }
}

impl FieldTerms {
    fn of(terms: HashMap<String, Vec<u32>>) -> FieldTerms {
        let mut terms: Vec<(String, Vec<u32>)> = terms.into_iter().collect();
        terms.sort_unstable();
        let mut sorted = FieldTerms::default();
        for (text, positions) in terms {
            let start = sorted.positions.len();
            sorted.positions.extend(positions);
            sorted.ranges.push(start..sorted.positions.len());
            sorted.texts.push(text.into());
        }
        sorted
    }

    fn positions_of(&self, text: &str) -> Option<&[u32]> {
        let at = self.texts.binary_search_by(|term| (**term).cmp(text)).ok()?;
        self.positions.get(self.ranges.get(at)?.clone())
    }
}
