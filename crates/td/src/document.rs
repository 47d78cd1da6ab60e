//! JSON documents: a single parse returns the value, and the repeated member names that a value can't represent.

use std::borrow::Cow;

use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use super::{
    MAX_AFFORDANCES, MAX_DOCUMENT_BYTES, MAX_NESTING,
    duplicates::find_duplicates,
    members::compact,
    value_seed::{Findings, ValueSeed},
};
use crate::{Error, Result};

/// A parsed but not yet validated JSON document: its original text, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub(super) text: String,
    pub(super) value: Value,
    /// JSON Pointers of the members whose name is repeated in its object.
    pub(super) duplicates: Vec<String>,
    /// True if the text was written here, and is compact.
    pub(super) is_compact: bool,
}

impl Document {
    /// Parses JSON in UTF-8. A byte order mark is skipped.
    ///
    /// ```
    /// let document = agentdex_td::Document::parse(br#"{"title": "Lamp"}"#)?;
    /// assert_eq!(document.value()["title"], "Lamp");
    /// # Ok::<(), agentdex_td::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MalformedJson`], also for a number beyond the range of a double; [`Error::DocumentTooLarge`]; and
    /// [`Error::LimitExceeded`] for excessive nesting or too many affordances.
    pub fn parse(json: &[u8]) -> Result<Document> {
        if json.len() > MAX_DOCUMENT_BYTES {
            return Err(Error::DocumentTooLarge { maximum: MAX_DOCUMENT_BYTES });
        }
        let text = text_of(json)?;
        let (value, duplicates) = parse_json(text)?;
        if count_affordances(&value) > MAX_AFFORDANCES {
            return Err(limit("number of affordances and capabilities", MAX_AFFORDANCES));
        }
        Ok(Document { text: text.to_owned(), value, duplicates, is_compact: false })
    }

    /// Creates a document from a value and the equivalent compact text, whose members may be in another order.
    ///
    /// # Errors
    /// [`Error::DocumentTooLarge`]; [`Error::LimitExceeded`] for excessive nesting or too many affordances.
    pub fn of_parts(value: Value, text: String) -> Result<Document> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(Error::DocumentTooLarge { maximum: MAX_DOCUMENT_BYTES });
        }
        if !is_nested_within(&value, MAX_NESTING) {
            return Err(limit("JSON nesting depth", MAX_NESTING));
        }
        if count_affordances(&value) > MAX_AFFORDANCES {
            return Err(limit("number of affordances and capabilities", MAX_AFFORDANCES));
        }
        debug_assert!(matches!(compact(&text), Cow::Borrowed(_)), "it was not written compactly");
        Ok(Document { text, value, duplicates: Vec::new(), is_compact: true })
    }

    /// Returns the value of the document. If a member is repeated, its last occurrence counts.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the `id` of a description, or else its `@id`, the JSON-LD spelling that [`admit`](super::admit) accepts
    /// too.
    pub fn id(&self) -> Option<&Value> {
        self.value.get("id").or_else(|| self.value.get("@id"))
    }

    /// Splits the document into its value and the JSON Pointers of repeated members.
    pub fn into_parts(self) -> (Value, Vec<String>) {
        (self.value, self.duplicates)
    }

    /// Returns JSON Pointers of members whose name occurs more than once in their object, up to about 1,000.
    pub fn repeated_members(&self) -> &[String] {
        &self.duplicates
    }

    /// Returns the original text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Parses JSON text. Also returns JSON Pointers of members whose name is repeated in their object; the last occurrence
/// counts. The nesting depth is limited, but not the size.
///
/// # Errors
/// [`Error::MalformedJson`]; [`Error::LimitExceeded`] (nesting).
pub fn parse_json(text: &str) -> Result<(Value, Vec<String>)> {
    let findings = Findings::default();
    let value = parse_value(text, &findings)?;
    let duplicates = if findings.repeats.get() { find_duplicates(text) } else { Vec::new() };
    Ok((value, duplicates))
}

fn limit(what: &'static str, maximum: usize) -> Error {
    Error::LimitExceeded { what, maximum: maximum as u64 }
}

fn is_nested_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => levels > 0 && elements.iter().all(|element| is_nested_within(element, levels - 1)),
        Value::Object(members) => levels > 0 && members.values().all(|member| is_nested_within(member, levels - 1)),
        _ => true,
    }
}

/// Returns bytes as text, without a byte order mark.
///
/// # Errors
/// [`Error::MalformedJson`] if they aren't UTF-8.
pub fn text_of(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| malformed_utf8(bytes, error.valid_up_to()))?;
    // Of JSON and YAML the first characters are of ASCII, and none is a zero.
    if matches!(bytes, [0, ..] | [_, 0, ..]) {
        return Err(malformed_utf8(bytes, 0));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn malformed_utf8(json: &[u8], valid_up_to: usize) -> Error {
    let before = &json[..valid_up_to];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    Error::MalformedJson {
        line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
        column: valid_up_to - line_start + 1,
        message: encoding(json).unwrap_or("the text is not UTF-8").into(),
    }
}

/// Returns the encoding of bytes that aren't UTF-8 text, if it is known.
fn encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x1f, 0x8b, ..] => Some("the data is compressed with gzip; decompress it, or send `Content-Encoding: gzip`"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..] => {
            Some("the text is encoded in UTF-16 or UTF-32, but must be UTF-8")
        }
        _ => None,
    }
}

fn parse_value(text: &str, findings: &Findings) -> Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = ValueSeed { depth: 0, findings }.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| {
        if findings.too_deep.get() {
            return limit("JSON nesting depth", MAX_NESTING);
        }
        if text.trim().is_empty() {
            return Error::MalformedJson { line: 1, column: 1, message: "the document is empty".into() };
        }
        malformed_json(&error)
    })
}

/// Converts an error of the parser, with its line and column.
pub fn malformed_json(error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let is_empty = error.is_eof() && error.line() <= 1 && error.column() == 0;
    let message = if is_empty { "the document is empty".to_owned() } else { message };
    Error::MalformedJson {
        line: error.line(),
        column: error.column(),
        message: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
    }
}

/// Properties, actions, events and `lmos:capabilities`: events and topics have one entry for each.
fn count_affordances(thing: &Value) -> usize {
    let count = |kind| thing.get(kind).and_then(Value::as_object).map_or(0, Map::len);
    let affordances: usize = ["properties", "actions", "events"].into_iter().map(count).sum();
    let capabilities = thing.get("lmos:capabilities").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // A capability that is an action, too, is one.
    let is_action = |capability: &&Value| {
        let id = ["lmos:id", "id"].into_iter().find_map(|name| capability.get(name)?.as_str());
        id.is_some_and(|id| thing.get("actions").and_then(|actions| actions.get(id)).is_some())
    };
    let counted = capabilities.iter().filter(is_action).count().min(count("actions"));
    affordances + capabilities.len() - counted
}
