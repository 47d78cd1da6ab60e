//! A description in an index of its own.

use tantivy::{
    IndexBuilder, IndexSettings, ReloadPolicy, Searcher, Term, collector::Count, directory::RamDirectory,
    store::Compressor,
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

/// What indexing a description may take before it is written.
const MEMORY_BYTES: usize = 1024 * 1024;

/// A description that queries can be asked about.
pub struct Document {
    searcher: Searcher,
    fields: Fields,
    vectors: Vec<Quantized>,
}

impl Document {
    /// Indexes a description.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn new(entry: Entry<'_>) -> Result<Document> {
        let (schema, fields) = schema::build();
        let (document, _) = entry::document(&fields, &entry)?;
        // Nobody reads what is stored of it, and a thread for that takes longer than all the rest.
        let settings = IndexSettings {
            docstore_compression: Compressor::None,
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let searcher = (|| {
            let builder = IndexBuilder::new().schema(schema).settings(settings).tokenizers(text::analyzers());
            let mut writer = builder.single_segment_index_writer(RamDirectory::create(), MEMORY_BYTES)?;
            writer.add_document(document)?;
            let reader = writer.finalize()?.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
            tantivy::Result::Ok(reader.searcher())
        })();
        Ok(Document {
            searcher: searcher.map_err(index_error("indexing a description by itself"))?,
            fields,
            vectors: Vec::new(),
        })
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
        let compiled = query::compile(&self.searcher, &self.fields, clauses, filters, spelling)?;
        let count = self.searcher.search(compiled.query.as_ref(), &Count);
        Ok(count.map_err(index_error("comparing a description with a query"))? > 0)
    }

    /// The languages that its texts are declared to be in.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub(super) fn languages(&self) -> Result<Vec<Language>> {
        query::languages_of(&self.searcher, &self.fields).map_err(index_error("reading the languages of a description"))
    }

    /// Passes on each of its terms, more than once if it is in several fields.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub(super) fn for_each_term(&self, mut each: impl FnMut(&Term)) -> Result<()> {
        let indexed = self.searcher.schema().fields().filter(|(_, entry)| entry.is_indexed());
        let fields: Vec<_> = indexed.map(|(field, _)| field).collect();
        for segment in self.searcher.segment_readers() {
            for field in &fields {
                let read = || {
                    let inverted = segment.inverted_index(*field)?;
                    let mut terms = inverted.terms().stream()?;
                    while terms.advance() {
                        each(&Term::from_field_text(*field, &String::from_utf8_lossy(terms.key())));
                    }
                    tantivy::Result::Ok(())
                };
                let mut read = read;
                read().map_err(index_error("reading the terms of a description"))?;
            }
        }
        Ok(())
    }
}
