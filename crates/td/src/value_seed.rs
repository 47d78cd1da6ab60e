//! The JSON parser: builds the same values as serde_json, limits the nesting, and detects repeated member names, which
//! the values no longer show.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::MAX_NESTING;

/// Problems that the parse noticed beside the value.
#[derive(Default)]
pub(super) struct Findings {
    /// A member name is repeated somewhere.
    pub(super) repeats: Cell<bool>,
    /// The parse was ended since the nesting is too deep.
    pub(super) too_deep: Cell<bool>,
}

/// Builds a value at this depth.
pub(super) struct ValueSeed<'f> {
    pub(super) depth: usize,
    pub(super) findings: &'f Findings,
}

impl ValueSeed<'_> {
    fn enter<E: Error>(&self) -> Result<Self, E> {
        if self.depth == MAX_NESTING {
            self.findings.too_deep.set(true);
            return Err(E::custom("nested too deeply"));
        }
        Ok(ValueSeed { depth: self.depth + 1, findings: self.findings })
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(self.enter()?)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(self.enter()?)?;
            if members.insert(name, value).is_some() {
                self.findings.repeats.set(true);
            }
        }
        Ok(Value::Object(members))
    }
}
