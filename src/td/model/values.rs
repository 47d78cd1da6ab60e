//! The values that fields hold beside structures: numbers as written, one or many, named.

use std::fmt;

use serde_json::value::RawValue;

use super::object::Json;
use crate::td::members::{Members, push_string};

/// A number that is written as it was read: `1.50` stays `1.50`.
#[derive(Clone, PartialEq, Eq)]
pub struct Number(Box<str>);

impl Number {
    /// The value as a double.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok()
    }

    /// The value if it is a whole number that isn't negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok().or_else(|| {
            let value = self.as_f64()?;
            let is_whole = value.fract() == 0.0 && (0.0..=u64::MAX as f64).contains(&value);
            is_whole.then_some(value as u64)
        })
    }

    /// The number as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number(value.to_string().into())
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number(value.to_string().into())
    }
}

impl Json for Number {
    fn read(text: &str) -> Option<Number> {
        text.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| Number(text.into()))
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.0);
    }
}

/// One value, or an array of them: the two are distinguished, so that they are written as they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrMany<T> {
    /// A value that stands alone.
    One(T),
    /// An array.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

impl<T> Default for OneOrMany<T> {
    fn default() -> OneOrMany<T> {
        OneOrMany::Many(Vec::new())
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(many: Vec<T>) -> OneOrMany<T> {
        OneOrMany::Many(many)
    }
}

impl From<&str> for OneOrMany<String> {
    fn from(one: &str) -> OneOrMany<String> {
        OneOrMany::One(one.into())
    }
}

impl<T: Json> Json for OneOrMany<T> {
    fn read(text: &str) -> Option<OneOrMany<T>> {
        match text.starts_with('[') {
            true => Vec::read(text).map(OneOrMany::Many),
            false => T::read(text).map(OneOrMany::One),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            OneOrMany::One(one) => one.write(out),
            OneOrMany::Many(many) => many.write(out),
        }
    }

    fn is_absent(&self) -> bool {
        self.as_slice().is_empty()
    }
}

/// Values by their names, in the order of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Named<T> {
    /// The value of that name; of a name that is repeated the last.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Puts a value in the place of the one of that name, or at the end.
    pub fn insert(&mut self, name: impl Into<String>, value: T) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<T: Json> Json for Named<T> {
    fn read(text: &str) -> Option<Named<T>> {
        let members = Members::of(text)?.0.into_iter();
        members.map(|(name, value)| Some((name.into_owned(), T::read(&value)?))).collect::<Option<_>>().map(Named)
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            push_string(out, name);
            out.push(':');
            value.write(out);
        }
        out.push('}');
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl Json for String {
    fn read(text: &str) -> Option<String> {
        text.starts_with('"').then(|| serde_json::from_str(text).ok()).flatten()
    }

    fn write(&self, out: &mut String) {
        push_string(out, self);
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Json for bool {
    fn read(text: &str) -> Option<bool> {
        text.parse().ok()
    }

    fn write(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Json for Box<RawValue> {
    fn read(text: &str) -> Option<Box<RawValue>> {
        RawValue::from_string(text.to_owned()).ok()
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.get());
    }
}

impl<T: Json> Json for Box<T> {
    fn read(text: &str) -> Option<Box<T>> {
        T::read(text).map(Box::new)
    }

    fn write(&self, out: &mut String) {
        T::write(self, out);
    }
}

impl<T: Json> Json for Option<T> {
    fn read(text: &str) -> Option<Option<T>> {
        T::read(text).map(Some)
    }

    fn write(&self, out: &mut String) {
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Json> Json for Vec<T> {
    fn read(text: &str) -> Option<Vec<T>> {
        let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        elements.into_iter().map(|element| T::read(element.get())).collect()
    }

    fn write(&self, out: &mut String) {
        out.push('[');
        for (index, value) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            value.write(out);
        }
        out.push(']');
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}
