//! A description to be compared with queries: its terms, its languages, and its vectors.

use super::terms::Terms;
use crate::{
    Result,
    search::{
        Entry, entry,
        query::present_languages,
        schema::{self, ExactField},
        semantic::{Meaning, Quantized},
        text::Language,
    },
};

/// A description to be compared with queries.
pub struct Document {
    terms: Terms,
    languages: Vec<Language>,
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
        let terms = Terms::of(&document, &schema);
        let languages = present_languages(terms.texts(fields.exact(ExactField::Language)));
        Ok(Document { terms, languages, vectors: Vec::new() })
    }

    /// Adds the vectors, which are required to match semantic queries.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn with_vectors(self, entry: Entry<'_>, meaning: &Meaning) -> Result<Document> {
        Ok(Document { vectors: meaning.vectors_of(entry.id, entry.text)?, ..self })
    }

    /// Returns the terms of all fields, as in an index of this description.
    pub(super) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Returns the declared languages of its texts, other than English.
    pub(super) fn languages(&self) -> &[Language] {
        &self.languages
    }

    pub(super) fn vectors(&self) -> &[Quantized] {
        &self.vectors
    }
}
