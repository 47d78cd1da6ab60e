//! Words of a query that say something about its topic.

use tantivy::{Term, schema::Field};

/// A telling word of a query: neither common, nor a number, nor a single letter.
#[derive(Debug, Clone)]
pub(in crate::search) struct Telling {
    /// English stem of the word as written.
    pub stem: String,
    /// Word in lower case and ASCII.
    pub written: String,
    /// Alternative forms: the stem, and the forms in other languages of the index.
    pub forms: Vec<String>,
    /// True for a compound name whose parts are also searched.
    pub is_whole: bool,
    /// True for a word of a request in a language unknown to the built-in table.
    pub is_foreign: bool,
    /// True for a word that is still being typed. Its forms include those of words with this prefix.
    pub is_begun: bool,
}

impl Telling {
    /// True if both are searched in the same way.
    pub fn is_same_word(&self, other: &Telling) -> bool {
        self.stem == other.stem && self.forms == other.forms && self.is_whole == other.is_whole
    }

    /// Returns the forms as terms of the given field.
    pub fn terms(&self, field: Field) -> impl Iterator<Item = Term> + '_ {
        self.forms.iter().map(move |form| Term::from_field_text(field, form))
    }
}
