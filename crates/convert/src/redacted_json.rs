//! `RedactedJson`: a parsed JSON document in another format, from which secrets were removed before
//! any further processing.

use serde_json::Value;

use super::{
    descriptor::repeated,
    redaction::{Marks, Node, Redacted, WrittenNumbers},
    rounded_integers, signs,
};
use crate::{
    Result,
    td::{self, Document, Violation},
};

/// A JSON document without its secrets.
pub(super) struct RedactedJson {
    /// The document as it came, but for the secrets that it had.
    pub(super) bytes: Vec<u8>,
    pub(super) value: Value,
    pub(super) numbers: WrittenNumbers,
    /// Warnings about hidden values, repeated names, and integers of more than 64 bits.
    pub(super) warnings: Vec<Violation>,
}

impl RedactedJson {
    /// Reads a document; `marks` says which fields of its format are secrets.
    ///
    /// # Errors
    /// Those of [`Document::parse`], with what a text looks like that is not JSON.
    pub(super) fn parse(json: &[u8], marks: &impl Marks) -> Result<RedactedJson> {
        let document = signs::parse(json)?;
        let node = Node::parse(document.text());
        let (redacted, numbers) = (Redacted::of(&node, marks), WrittenNumbers::of(&node, document.text()));
        let text = redacted.text(document.text());
        let clean = text.as_ref().map(|text| Document::parse(text.as_bytes())).transpose()?;
        let (value, duplicates) = clean.unwrap_or(document).into_parts();
        let rounded = rounded_integers::warnings(text.as_deref().unwrap_or(td::internal::text_of(json)?));
        let warnings = duplicates.into_iter().map(repeated).chain(redacted.warnings()).chain(rounded).collect();
        Ok(RedactedJson { bytes: text.map_or_else(|| json.to_vec(), String::into_bytes), value, numbers, warnings })
    }
}
