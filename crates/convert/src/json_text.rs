//! `JsonText`: JSON text written while serde parses another syntax. The order of members and repeated members are
//! preserved; the notation of numbers is preserved for YAML, but not for JSON5.
//!
//! Depth and length are limited during parsing: a deeply nested source causes an error instead of a stack overflow, and
//! parsing stops early if aliases would expand beyond the limit.

mod scalars;

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Location;

pub(crate) use self::scalars::Schema;
use crate::{Error, td::MAX_NESTING};

/// The name by which serde-saphyr is asked for a value with its place in the source, as its `Spanned` does.
const SPANNED: &str = "__yaml_spanned";
/// Depth down to which the places of values are asked for: it takes as much of the stack again.
const DEEPEST_PLACED: usize = 24;
/// Longest tag that is looked for before a scalar, in bytes.
const LONGEST_TAG: usize = 64;

/// JSON text under construction.
#[derive(Debug)]
pub struct JsonText {
    text: String,
    maximum: usize,
    /// Set before the reading ends early.
    exceeded: Option<Limit>,
    /// The YAML that is read, and what its plain scalars are.
    scalars: Option<(Box<str>, Schema)>,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    Nesting,
    Length,
}

impl JsonText {
    /// Creates an empty text of at most `maximum` bytes.
    pub fn up_to(maximum: usize) -> JsonText {
        JsonText { text: String::new(), maximum, exceeded: None, scalars: None }
    }

    /// Reads the plain scalars of this YAML as they are written there.
    pub(super) fn with_scalars(self, yaml: &str, schema: Schema) -> JsonText {
        JsonText { scalars: Some((yaml.into(), schema)), ..self }
    }

    /// Writes the scalar at the end of the text again, as it is written at a place of the YAML.
    fn respell<E: serde::de::Error>(&mut self, start: usize, at: Location) -> Result<(), E> {
        let read = &self.text[start..];
        let Some((yaml, schema)) = self.scalars.as_ref().filter(|_| !read.starts_with(['{', '['])) else {
            return Ok(());
        };
        let place = (at.span().byte_offset(), at.span().byte_len());
        let (Some(offset), Some(length)) = place else { return Ok(()) };
        let (offset, length) = (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(length).unwrap_or(0));
        let written = offset.checked_add(length).and_then(|end| yaml.get(offset..end)).map(str::trim);
        let Some(written) = written.filter(|written| !written.contains('\n')) else { return Ok(()) };
        let before = yaml.get(yaml.floor_char_boundary(offset.saturating_sub(LONGEST_TAG))..offset).unwrap_or_default();
        // What has a tag is what the tag says, and a block is text.
        let word = before.split_ascii_whitespace().next_back().unwrap_or_default();
        if word.trim_start_matches(['[', '{', ',', ':']).starts_with(['!', '|', '>']) {
            return Ok(());
        }
        let Some(json) = schema.json(written, read) else { return Ok(()) };
        self.text.truncate(start);
        self.push(&json)
    }

    /// Parses a single value, and writes it as JSON.
    ///
    /// # Errors
    /// The errors of the parser, also for numbers and names that JSON can't represent. If [`JsonText::exceeded`]
    /// returns an error, use that one instead.
    pub fn read<'de, D: Deserializer<'de>>(&mut self, source: D) -> Result<(), D::Error> {
        Value { json: self, depth: 0 }.deserialize(source)
    }

    /// Returns the exceeded limit as an error, if parsing stopped because of it. `length` is the name of the length
    /// limit.
    pub fn exceeded(&self, length: &'static str) -> Option<Error> {
        let (what, maximum) = match self.exceeded? {
            Limit::Nesting => ("JSON nesting depth", MAX_NESTING),
            Limit::Length => (length, self.maximum),
        };
        Some(Error::LimitExceeded { what, maximum: maximum as u64 })
    }

    /// Returns the JSON text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn push<E: serde::de::Error>(&mut self, piece: &str) -> Result<(), E> {
        if piece.len() > self.maximum.saturating_sub(self.text.len()) {
            self.exceeded = Some(Limit::Length);
            return Err(E::custom("too long"));
        }
        self.text.push_str(piece);
        Ok(())
    }

    fn push_string<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        if text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
            return self.push(&serde_json::Value::from(text).to_string());
        }
        self.push("\"")?;
        self.push(text)?;
        self.push("\"")
    }
}

/// For readers that hand out no deserializer: any length, since only aliases make one that surprises.
impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<JsonText, D::Error> {
        let mut json = JsonText::up_to(usize::MAX);
        match json.read(source) {
            Err(_) if json.exceeded.is_some() => {
                Err(D::Error::custom(format_args!("nested deeper than {MAX_NESTING} levels")))
            }
            read => read.map(|()| json),
        }
    }
}

/// Writes a value at this depth.
struct Value<'a> {
    json: &'a mut JsonText,
    depth: usize,
}

impl Value<'_> {
    fn nested<E: serde::de::Error>(&mut self) -> Result<Value<'_>, E> {
        if self.depth == MAX_NESTING {
            self.json.exceeded = Some(Limit::Nesting);
            return Err(E::custom("nested too deeply"));
        }
        Ok(Value { json: self.json, depth: self.depth + 1 })
    }

    fn write<E: serde::de::Error>(self, value: impl Into<serde_json::Value>) -> Result<(), E> {
        self.json.push(&value.into().to_string())
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        match self.json.scalars {
            Some(_) if self.depth < DEEPEST_PLACED => source.deserialize_newtype_struct(SPANNED, Spanned(self)),
            _ => source.deserialize_any(self),
        }
    }
}

/// Writes a value of YAML, and if it is a scalar by how it is written.
struct Spanned<'a>(Value<'a>);

impl<'de> Visitor<'de> for Spanned<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_struct("Spanned", &[], self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Value { json, depth } = self.0;
        let start = json.text.len();
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "value" => members.next_value_seed(Unplaced(Value { json: &mut *json, depth }))?,
                "defined" => json.respell(start, members.next_value()?)?,
                "referenced" => drop(members.next_value::<Location>()?),
                _ => drop(members.next_value::<bool>()?),
            }
        }
        Ok(())
    }
}

/// Writes a value whose place is known.
struct Unplaced<'a>(Value<'a>);

impl<'de> DeserializeSeed<'de> for Unplaced<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self.0)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.json.push("null")
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.deserialize(source)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.deserialize(source)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.write(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom("JSON can't represent this number"));
        }
        self.write(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.json.push_string(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.json.push("[")?;
        let mut first = true;
        loop {
            let end = self.json.text.len();
            if !first {
                self.json.push(",")?;
            }
            if items.next_element_seed(self.nested()?)?.is_none() {
                self.json.text.truncate(end);
                break;
            }
            first = false;
        }
        self.json.push("]")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.json.push("{")?;
        let mut first = true;
        while let Some(name) = members.next_key::<String>()? {
            if !first {
                self.json.push(",")?;
            }
            self.json.push_string(&name)?;
            self.json.push(":")?;
            members.next_value_seed(self.nested()?)?;
            first = false;
        }
        self.json.push("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, maximum: usize) -> (Result<(), serde_json::Error>, JsonText) {
        let mut text = JsonText::up_to(maximum);
        (text.read(&mut serde_json::Deserializer::from_str(json)), text)
    }

    #[test]
    fn order_and_repeated_members_survive() {
        let (read, text) = read(r#"{ "b": [1, -2, 0.5, null, true], "a": {}, "b": "x\"y\n" }"#, 100);
        assert!(read.is_ok());
        assert_eq!(text.into_text(), r#"{"b":[1,-2,0.5,null,true],"a":{},"b":"x\"y\n"}"#);
    }

    #[test]
    fn text_is_as_long_as_allowed_and_no_longer() {
        let json = r#"{"a":["b",1]}"#;
        assert!(read(json, json.len()).0.is_ok());
        let (read, text) = read(json, json.len() - 1);
        assert!(read.is_err());
        assert_eq!(text.exceeded("length").unwrap().to_string(), "length exceeds the limit of 12");
    }

    #[test]
    fn nesting_is_bounded_as_that_of_documents() {
        let nested = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MAX_NESTING), 1000).0.is_ok());
        assert!(crate::td::Document::parse(nested(MAX_NESTING).as_bytes()).is_ok());
        let (read, text) = read(&nested(MAX_NESTING + 1), 1000);
        assert!(read.is_err());
        assert_eq!(text.exceeded("length").unwrap().to_string(), "JSON nesting depth exceeds the limit of 64");
    }
}
