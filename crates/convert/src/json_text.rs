//! `JsonText`: what serde reads, written down as JSON while it is read. Member order and repeated
//! members survive, the spelling of numbers doesn't.
//!
//! Depth and length are bounded on the way: a deeply nested source is an error, not a stack overflow,
//! and reading ends early where aliases stand for more than the limit.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::{Error, td::MAX_NESTING};

/// JSON text that is being written.
#[derive(Debug)]
pub struct JsonText {
    text: String,
    maximum: usize,
    /// Set before the reading ends early.
    exceeded: Option<Limit>,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    Nesting,
    Length,
}

impl JsonText {
    /// An empty text that may become `maximum` bytes long.
    pub fn up_to(maximum: usize) -> JsonText {
        JsonText { text: String::new(), maximum, exceeded: None }
    }

    /// Writes one value.
    ///
    /// # Errors
    /// Those of the source, also for a number or a name that JSON can't have; and one that means
    /// nothing where [`JsonText::exceeded`] knows better.
    pub fn read<'de, D: Deserializer<'de>>(&mut self, source: D) -> Result<(), D::Error> {
        Value { json: self, depth: 0 }.deserialize(source)
    }

    /// The limit that ended the reading, as an error; `length` says what the length is one of.
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
            return Err(E::custom("nested too deep"));
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
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
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
            return Err(E::custom("JSON has no such number"));
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
