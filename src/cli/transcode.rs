//! YAML and JSON5 as JSON text: member order and repeated members survive, the spelling of numbers
//! doesn't.
//!
//! The text is written while the source is read, and the depth is bounded on the way: a deeply
//! nested file is an error, not a stack overflow.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::td::MAX_NESTING;

/// JSON text, whatever format it is read from.
pub(super) struct JsonText(pub String);

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<JsonText, D::Error> {
        let mut text = String::new();
        Json { text: &mut text, depth: 0 }.deserialize(source)?;
        Ok(JsonText(text))
    }
}

struct Json<'a> {
    text: &'a mut String,
    depth: usize,
}

impl Json<'_> {
    fn nested<E: Error>(&mut self) -> Result<Json<'_>, E> {
        if self.depth > MAX_NESTING {
            return Err(E::custom(format_args!("nested deeper than {MAX_NESTING} levels")));
        }
        Ok(Json { text: self.text, depth: self.depth + 1 })
    }

    fn write<E: Error>(self, value: impl Into<serde_json::Value>) -> Result<(), E> {
        self.text.push_str(&value.into().to_string());
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.write(())
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.deserialize(source)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.deserialize(source)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom(format_args!("JSON has no number {value}")));
        }
        self.write(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.write(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.text.push('[');
        let mut first = true;
        loop {
            let end = self.text.len();
            if !first {
                self.text.push(',');
            }
            if items.next_element_seed(self.nested()?)?.is_none() {
                self.text.truncate(end);
                break;
            }
            first = false;
        }
        self.text.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.text.push('{');
        let mut first = true;
        while let Some(name) = members.next_key::<String>()? {
            if !first {
                self.text.push(',');
            }
            self.text.push_str(&serde_json::Value::from(name).to_string());
            self.text.push(':');
            members.next_value_seed(self.nested()?)?;
            first = false;
        }
        self.text.push('}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_json5(text: &str) -> Result<String, json5::Error> {
        json5::from_str::<JsonText>(text).map(|json| json.0)
    }

    #[test]
    fn json5_keeps_order_and_repeated_members() {
        let text = "{ // comment\n b: [1, -2, 0.5, null, true,], a: {}, 'b': 'x\"y', }";
        assert_eq!(from_json5(text).unwrap(), r#"{"b":[1,-2,0.5,null,true],"a":{},"b":"x\"y"}"#);
    }

    #[test]
    fn number_that_json_lacks_is_refused() {
        assert!(from_json5("[NaN]").unwrap_err().to_string().contains("no number"));
    }

    #[test]
    fn what_follows_the_value_is_refused() {
        assert!(from_json5("{} }").is_err());
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let text = "[".repeat(100_000);
        assert!(from_json5(&text).unwrap_err().to_string().contains("deeper"));
    }
}
