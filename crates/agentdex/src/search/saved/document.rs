//! A description that queries are asked about: its terms, and an index of its own.

use std::{collections::HashSet, sync::OnceLock};

use tantivy::{
    IndexBuilder, IndexSettings, ReloadPolicy, Searcher, TantivyDocument, Term,
    collector::Count,
    directory::RamDirectory,
    schema::{FieldType, Schema, Value},
    store::Compressor,
    tokenizer::TokenStream,
};

use super::SavedQuery;
use crate::search::hidden::Hidden;
use crate::{
    Result,
    search::{
        Entry, Filters, entry,
        failure::index_error,
        query::{self, Clause, Spelling},
        schema::{self, Fields},
        semantic::{Meaning, Quantized},
        text::{self, Language},
    },
};

/// Memory budget for indexing a description before it is written, in bytes.
const MEMORY_BYTES: usize = 1024 * 1024;

/// A description that queries can be asked about.
pub struct Document {
    document: TantivyDocument,
    schema: Schema,
    fields: Fields,
    /// Made for the first query that its terms alone don't answer: it takes longer than all the rest.
    searcher: OnceLock<Searcher>,
    vectors: Vec<Quantized>,
}

impl Document {
    /// Reads the words of a description.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn new(entry: Entry<'_>) -> Result<Document> {
        let (schema, fields) = schema::build();
        let (document, _) = entry::document(&fields, &entry)?;
        Ok(Document { document, schema, fields, searcher: OnceLock::new(), vectors: Vec::new() })
    }

    /// Adds the vectors, without which no query by meaning matches.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn with_vectors(self, entry: Entry<'_>, meaning: &Meaning) -> Result<Document> {
        Ok(Document { vectors: meaning.vectors_of(entry.id, entry.text)?, ..self })
    }

    /// True if the words of a query match it.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub(super) fn has_words_of(&self, query: &SavedQuery) -> Result<bool> {
        match &query.words {
            Some(words) => self.satisfies(&words.clauses, &query.filters),
            None => Ok(false),
        }
    }

    /// True if it is alike enough to a query.
    pub(super) fn is_near(&self, query: &SavedQuery) -> bool {
        query.is_near(&self.vectors)
    }

    /// True if it satisfies clauses and filters.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub(super) fn satisfies(&self, clauses: &[Clause], filters: &Filters) -> Result<bool> {
        let nothing = Hidden::default();
        let spelling = Spelling::Exact(&nothing);
        let searcher = self.searcher()?;
        let compiled = query::compile(searcher, &self.fields, clauses, filters, spelling)?;
        let count = searcher.search(compiled.query.as_ref(), &Count);
        Ok(count.map_err(index_error("comparing a description with a query"))? > 0)
    }

    /// An index that has nothing but the description.
    fn searcher(&self) -> Result<&Searcher> {
        if let Some(searcher) = self.searcher.get() {
            return Ok(searcher);
        }
        // Nobody reads what is stored of it, and a thread for that takes longer than all the rest.
        let settings = IndexSettings {
            docstore_compression: Compressor::None,
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let index = || {
            let builder =
                IndexBuilder::new().schema(self.schema.clone()).settings(settings).tokenizers(text::analyzers());
            let mut writer = builder.single_segment_index_writer(RamDirectory::create(), MEMORY_BYTES)?;
            writer.add_document(self.document.clone())?;
            let reader = writer.finalize()?.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
            tantivy::Result::Ok(reader.searcher())
        };
        let searcher = index().map_err(index_error("indexing a description by itself"))?;
        Ok(self.searcher.get_or_init(|| searcher))
    }

    #[cfg(test)]
    pub(super) fn is_indexed(&self) -> bool {
        self.searcher.get().is_some()
    }

    /// Its terms in all fields, as an index of it has them.
    pub(super) fn terms(&self) -> HashSet<Term> {
        let analyzers = text::analyzers();
        let mut terms = HashSet::new();
        for (field, value) in self.document.field_values() {
            let FieldType::Str(options) = self.schema.get_field_entry(field).field_type() else { continue };
            let analyzer = options.get_indexing_options().and_then(|indexing| analyzers.get(indexing.tokenizer()));
            if let Some((mut analyzer, text)) = analyzer.zip(value.as_str()) {
                analyzer.token_stream(text).process(&mut |token| {
                    terms.insert(Term::from_field_text(field, &token.text));
                });
            }
        }
        terms
    }

    /// The languages that its texts are declared to be in.
    pub(super) fn languages(&self) -> impl Iterator<Item = Language> {
        self.document.get_all(self.fields.language).filter_map(|tag| Language::of_tag(tag.as_str()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::Format;

    #[test]
    fn its_terms_are_those_of_its_index() {
        let text = r#"{
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"@language": "de"}], "@type": ["lmos:Agent", "Tool"],
            "title": "Die Vorhersagen von getWeather_v2", "description": "天気予報 und mehr", "tags": ["Beta", "beta"],
            "descriptions": {"fr-CA": "Prévisions météo"}, "version": {"instance": "1.2.0"},
            "actions": {"payBill": {"input": {"type": "object", "properties": {"IBAN": {"title": "the account"}}}}},
            "lmos:capabilities": [{"lmos:id": "billing@2", "lmos:version": "2.0.1"}], "lmos:supportedChannels": "web"
        }"#;
        let terms = Format::search_terms();
        let entry = Entry { id: "urn:example:pay", text, format: None, terms, access: None, moments: None };
        let document = Document::new(entry).unwrap();
        let mut indexed = HashSet::new();
        for segment in document.searcher().unwrap().segment_readers() {
            for (field, entry) in document.schema.fields().filter(|(_, entry)| entry.is_indexed()) {
                assert!(matches!(entry.field_type(), FieldType::Str(_)), "{}", entry.name());
                let inverted = segment.inverted_index(field).unwrap();
                let mut terms = inverted.terms().stream().unwrap();
                while terms.advance() {
                    indexed.insert(Term::from_field_text(field, std::str::from_utf8(terms.key()).unwrap()));
                }
            }
        }
        assert!(indexed.len() > 50, "{}", indexed.len());
        assert_eq!(document.terms(), indexed);
    }
}
