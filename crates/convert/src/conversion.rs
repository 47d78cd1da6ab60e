//! `Conversion`: Things created from a document, and `Rendition`: a document created from a Thing.

use serde_json::Value;

use crate::{
    Format, ImportOptions, Syntax,
    edits::spelled_like,
    td::{Document, Violation},
};

/// Result of converting a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversion {
    /// The Things. The Thing of the document itself comes first, then the Things of its parts.
    pub things: Vec<ConvertedThing>,
    /// Warnings about the document, and content lost in the conversion. Pointers refer to the document.
    pub warnings: Vec<Violation>,
    /// Options used for the conversion.
    pub options: ImportOptions,
}

/// A Thing created from a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedThing {
    /// Id of the Thing, which is also contained in the description.
    pub id: String,
    /// The Thing Description.
    pub description: Document,
    /// The source document, without secrets.
    pub source: Source,
}

/// The source document of a Thing, in the form in which it may be stored and exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Format of the document.
    pub format: Format,
    /// Media type of the document.
    pub media_type: String,
    /// Bytes of the document.
    pub bytes: Vec<u8>,
}

impl Source {
    /// The document as a JSON value; `None` if it is neither JSON nor YAML.
    pub(crate) fn to_json(&self) -> Option<Value> {
        json_of(&self.media_type, &self.bytes)
    }

    /// Returns the content of the document, for comparison with other documents.
    pub fn content(&self) -> Content {
        Content(self.to_json())
    }

    /// Compares the document with another document. See [`Content::is_that_of`].
    pub fn is_same_document(&self, media_type: &str, bytes: &[u8]) -> bool {
        self.content().is_that_of(media_type, bytes)
    }
}

/// Content of a document, for comparisons that ignore its notation.
#[derive(Debug, Clone, PartialEq)]
pub struct Content(Option<Value>);

impl Content {
    /// True if the given document, which must be in the same format, has the same content. The order of members and the
    /// notation of numbers are ignored.
    pub fn is_that_of(&self, media_type: &str, bytes: &[u8]) -> bool {
        let both = json_of(media_type, bytes).zip(self.0.as_ref());
        both.is_some_and(|(other, own)| other == *own || spelled_like(&other, own.clone()) == other)
    }
}

fn json_of(media_type: &str, bytes: &[u8]) -> Option<Value> {
    let syntax = if media_type.contains("yaml") { Syntax::Yaml } else { Syntax::Json };
    serde_json::from_str(&syntax.to_json(bytes).ok()?).ok()
}

/// A Thing converted to a document in another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendition {
    /// Bytes of the document.
    pub bytes: Vec<u8>,
    /// Content lost in the conversion. Pointers refer to the Thing, or to the original document.
    pub warnings: Vec<Violation>,
}
