//! The documents of a configuration, as received.

use serde_json::Value;

use super::{Profile, version::VERSION_MEMBERS};
use crate::{
    Result, Syntax,
    redaction::Node,
    td::{self, internal::push_token},
};

/// Optional signature of UTF-8 at the start of a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The fewest digits of an integer of more than 64 bits.
const LONG_NUMBER: usize = 19;
/// The most integers of a document that are looked for.
const MOST_CUT_INTEGERS: usize = 100;

/// A document that was read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) syntax: Syntax,
    /// Its text, of YAML that of the same document in JSON; without a byte order mark.
    pub(super) json: String,
    pub(super) has_byte_order_mark: bool,
    pub(super) value: Value,
    /// JSON Pointers of the members whose name is repeated in its object.
    pub(super) duplicates: Vec<String>,
    /// JSON Pointers of integers that lose digits.
    pub(super) cut_integers: Vec<String>,
}

impl Source {
    /// Reads a document.
    pub(super) fn parse(bytes: &[u8], syntax: Syntax, profile: Profile) -> Result<Source> {
        let json = match profile {
            Profile::Spec => syntax.to_json(bytes)?,
            Profile::Sdk => syntax.to_json_as_pyyaml(bytes)?,
        };
        let json = json.into_owned();
        let has_byte_order_mark = bytes.starts_with(BYTE_ORDER_MARK.as_bytes());
        Source::of_json(json, syntax, has_byte_order_mark)
    }

    /// The same document with another text.
    pub(super) fn with_json(&self, json: String) -> Result<Source> {
        Source::of_json(json, self.syntax, self.has_byte_order_mark)
    }

    fn of_json(json: String, syntax: Syntax, has_byte_order_mark: bool) -> Result<Source> {
        let (value, duplicates) = td::internal::parse_json(&json)?;
        let cut_integers = if has_long_number(&json) { cut_integers(&json) } else { Vec::new() };
        Ok(Source { syntax, json, has_byte_order_mark, value, duplicates, cut_integers })
    }

    /// The version that it says it is written for.
    pub(super) fn version(&self) -> Option<&str> {
        version_of(&self.value)
    }
}

/// True if so many digits follow each other that they may be an integer of more than 64 bits.
fn has_long_number(json: &str) -> bool {
    let bytes = json.as_bytes();
    let is_long = |at: usize| {
        let (before, behind) = bytes.split_at(at);
        let digits = before.iter().rev().take(LONG_NUMBER).take_while(|byte| byte.is_ascii_digit()).count();
        digits + behind.iter().take(LONG_NUMBER).take_while(|byte| byte.is_ascii_digit()).count() >= LONG_NUMBER
    };
    // One of them is at each of these distances.
    (0..bytes.len()).step_by(LONG_NUMBER).any(|at| bytes[at].is_ascii_digit() && is_long(at))
}

/// JSON Pointers of the integers that lose digits, as many as a report has warnings.
fn cut_integers(json: &str) -> Vec<String> {
    fn collect(value: &Node<'_>, pointer: &mut String, found: &mut Vec<String>) {
        if found.len() == MOST_CUT_INTEGERS {
            return;
        }
        if value.is_cut_integer() {
            found.push(pointer.clone());
        }
        let length = pointer.len();
        for (name, member) in value.members() {
            push_token(pointer, name);
            collect(member, pointer, found);
            pointer.truncate(length);
        }
        for (index, element) in value.elements().iter().enumerate() {
            push_token(pointer, &index.to_string());
            collect(element, pointer, found);
            pointer.truncate(length);
        }
    }
    let mut found = Vec::new();
    collect(&Node::parse(json), &mut String::new(), &mut found);
    found
}

/// The version that a document says it is written for.
pub(super) fn version_of(document: &Value) -> Option<&str> {
    VERSION_MEMBERS.into_iter().find_map(|name| document.get(name)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_lose_digits_are_found() {
        for (number, is_cut) in [
            ("18446744073709551615", false),
            ("18446744073709551616", true),
            ("-9223372036854775808", false),
            ("-9223372036854775809", true),
            ("123456789012345678901234567890", true),
            ("1.8446744073709551616", false),
            ("1e30", false),
            ("\"18446744073709551616\"", false),
        ] {
            for indent in 0..LONG_NUMBER {
                let json = format!("{{\"a/b\": [0, {}{number}]}}", " ".repeat(indent));
                let source = Source::parse(json.as_bytes(), Syntax::Json, Profile::Spec).unwrap();
                let expected = if is_cut { vec!["/a~1b/1".to_owned()] } else { Vec::new() };
                assert_eq!(source.cut_integers, expected, "{json}");
            }
        }
    }
}
