//! `Conversion`: the Things made of a document, and `Rendition`: a document made of a Thing.

use serde_json::Value;

use crate::{
    Format, ImportOptions, Syntax,
    edits::spelled_like,
    td::{Document, Violation},
};

/// The result of converting one document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversion {
    /// The Thing of the document itself first, then those of its parts.
    pub things: Vec<ConvertedThing>,
    /// Warnings about the document, and losses of the conversion; pointers are into the source.
    pub warnings: Vec<Violation>,
    /// The options of the conversion.
    pub options: ImportOptions,
}

/// A Thing created from a document.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedThing {
    /// The id, which is also in the description.
    pub id: String,
    /// The Thing Description.
    pub description: Document,
    /// The source document, without secrets.
    pub source: Source,
}

/// The source document of a Thing, in the form that may be stored and exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The format.
    pub format: Format,
    /// The media type.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
}

impl Source {
    /// The document as a JSON value; `None` if it is neither JSON nor YAML.
    pub(crate) fn to_json(&self) -> Option<Value> {
        json_of(&self.media_type, &self.bytes)
    }

    /// Returns the content of the document, to compare other documents with.
    pub fn content(&self) -> Content {
        Content(self.to_json())
    }

    /// Compares the document with another: see [`Content::is_that_of`].
    pub fn is_same_document(&self, media_type: &str, bytes: &[u8]) -> bool {
        self.content().is_that_of(media_type, bytes)
    }
}

/// The content of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Content(Option<Value>);

impl Content {
    /// True if a document of the same format has this content. The order of members and the notation of numbers don't
    /// matter.
    pub fn is_that_of(&self, media_type: &str, bytes: &[u8]) -> bool {
        let both = json_of(media_type, bytes).zip(self.0.as_ref());
        both.is_some_and(|(other, own)| other == *own || spelled_like(&other, own.clone()) == other)
    }
}

fn json_of(media_type: &str, bytes: &[u8]) -> Option<Value> {
    let syntax = if media_type.contains("yaml") { Syntax::Yaml } else { Syntax::Json };
    serde_json::from_str(&syntax.to_json(bytes).ok()?).ok()
}

/// A Thing as a document of another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendition {
    /// The document.
    pub bytes: Vec<u8>,
    /// Losses of the conversion; pointers are into the Thing, or into the original document.
    pub warnings: Vec<Violation>,
}
