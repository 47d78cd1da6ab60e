//! Strict parsing of data objects: every fault is reported with its location and the expected value, and nothing is
//! guessed.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    shape::Findings,
    td::{Violation, internal::Path},
};

type Object = Map<String, Value>;

/// Something that a document has, read strictly.
pub(super) trait Strict: Sized {
    /// Noun phrase for a valid value, as it stands in messages.
    const NOUN: &'static str;

    /// Reads it; adds what is wrong with it.
    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Self>;

    /// Returns the value of a missing member; none if the member is required.
    fn missing() -> Option<Self> {
        None
    }

    /// True if it isn't written.
    fn is_left_out(&self) -> bool {
        false
    }
}

/// Reads a document as a whole.
pub(super) fn read<T: Strict>(value: &Value) -> Result<T, Vec<Violation>> {
    let mut faults = Findings::default();
    let read = T::read_at(value, &Path::ROOT, &mut faults);
    match read {
        Some(read) if faults.is_empty() => Ok(read),
        _ => Err(faults.into_list()),
    }
}

/// Reads the member of an object.
pub(super) fn member<T: Strict>(object: &Object, name: &str, at: &Path<'_>, faults: &mut Findings) -> Option<T> {
    let here = at.member(name);
    match object.get(name) {
        Some(value) => T::read_at(value, &here, faults),
        None => {
            let stands = T::missing();
            if stands.is_none() {
                faults.add(&here, "member-missing", || format!("`{name}` is missing; add {}", T::NOUN));
            }
            stands
        }
    }
}

/// Reports that a value is something else.
pub(super) fn mismatch(value: &Value, noun: &str, at: &Path<'_>, faults: &mut Findings) {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    faults.add(at, "member-type", || format!("found {found}; expected {noun}"));
}

/// Declares a data object: its fields, and the members that they are read from.
macro_rules! object {
    (
        $(#[$documentation:meta])*
        $name:ident = $noun:literal {
            $($(#[$field_documentation:meta])* $field:ident: $type:ty = $member:literal,)*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $(
                $(#[$field_documentation])*
                #[serde(rename = $member, skip_serializing_if = "crate::aos::strict::Strict::is_left_out")]
                pub $field: $type,
            )*
        }

        impl $name {
            /// Parses the object strictly. Members not defined by the specification are ignored.
            ///
            /// # Errors
            /// All faults of the object, each with its location.
            pub fn read(value: &serde_json::Value) -> Result<$name, Vec<crate::td::Violation>> {
                crate::aos::strict::read(value)
            }
        }

        impl crate::aos::strict::Strict for $name {
            const NOUN: &'static str = $noun;

            fn read_at(
                value: &serde_json::Value,
                at: &crate::td::internal::Path<'_>,
                faults: &mut crate::shape::Findings,
            ) -> Option<$name> {
                let Some(object) = value.as_object() else {
                    crate::aos::strict::mismatch(value, $noun, at, faults);
                    return None;
                };
                // All of them, so that all faults are reported.
                $(let $field: Option<$type> = crate::aos::strict::member(object, $member, at, faults);)*
                Some($name { $($field: $field?,)* })
            }
        }
    };
}

/// Declares words of which a text is one.
macro_rules! words {
    ($(#[$documentation:meta])* $name:ident { $($(#[$word_documentation:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
        pub enum $name {
            $($(#[$word_documentation])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Returns the value as it is written in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            /// Returns the variant with the given name in JSON.
            pub fn from_name(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }

        impl crate::aos::strict::Strict for $name {
            const NOUN: &'static str = crate::aos::strict::one_of!($($word)*);

            fn read_at(
                value: &serde_json::Value,
                at: &crate::td::internal::Path<'_>,
                faults: &mut crate::shape::Findings,
            ) -> Option<$name> {
                let Some(word) = value.as_str() else {
                    crate::aos::strict::mismatch(value, Self::NOUN, at, faults);
                    return None;
                };
                let read = $name::from_name(word);
                if read.is_none() {
                    let shown: String = word.chars().take(80).collect();
                    faults.add(at, "member-value", || format!("{shown:?} is unknown; expected {}", Self::NOUN));
                }
                read
            }
        }
    };
}

/// A list of words as a sentence has it.
macro_rules! one_of {
    ($only:literal) => { concat!("`", $only, "`") };
    ($first:literal $($rest:literal)*) => { concat!("one of `", $first, "`" $(, ", `", $rest, "`")*) };
}

pub(super) use {object, one_of, words};

impl Strict for String {
    const NOUN: &'static str = "a string";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<String> {
        let read = value.as_str().map(str::to_owned);
        if read.is_none() {
            mismatch(value, Self::NOUN, at, faults);
        }
        read
    }
}

impl Strict for bool {
    const NOUN: &'static str = "true or false";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<bool> {
        let read = value.as_bool();
        if read.is_none() {
            mismatch(value, Self::NOUN, at, faults);
        }
        read
    }
}

impl Strict for i64 {
    const NOUN: &'static str = "an integer";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<i64> {
        let read = value.as_i64();
        if read.is_none() {
            mismatch(value, Self::NOUN, at, faults);
        }
        read
    }
}

/// Anything, `null` included, that is there.
impl Strict for Value {
    const NOUN: &'static str = "a value";

    fn read_at(value: &Value, _: &Path<'_>, _: &mut Findings) -> Option<Value> {
        Some(value.clone())
    }
}

impl Strict for Object {
    const NOUN: &'static str = "an object";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Object> {
        let read = value.as_object().cloned();
        if read.is_none() {
            mismatch(value, Self::NOUN, at, faults);
        }
        read
    }
}

impl<T: Strict> Strict for Box<T> {
    const NOUN: &'static str = T::NOUN;

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Box<T>> {
        T::read_at(value, at, faults).map(Box::new)
    }
}

impl<T: Strict> Strict for Vec<T> {
    const NOUN: &'static str = "an array";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Vec<T>> {
        let Some(elements) = value.as_array() else {
            mismatch(value, Self::NOUN, at, faults);
            return None;
        };
        // All of them, so that all faults are reported.
        let read: Vec<Option<T>> =
            elements.iter().enumerate().map(|(index, element)| T::read_at(element, &at.index(index), faults)).collect();
        read.into_iter().collect()
    }
}

/// An optional value. `null` is read as missing, since writers in Python write it so.
impl<T: Strict> Strict for Option<T> {
    const NOUN: &'static str = T::NOUN;

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            value => T::read_at(value, at, faults).map(Some),
        }
    }

    fn missing() -> Option<Option<T>> {
        Some(None)
    }

    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

/// A required value that may be `null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nullable<T>(pub Option<T>);

impl<T: Strict> Strict for Nullable<T> {
    const NOUN: &'static str = T::NOUN;

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Nullable<T>> {
        match value {
            Value::Null => Some(Nullable(None)),
            value => T::read_at(value, at, faults).map(|read| Nullable(Some(read))),
        }
    }
}

impl<T: Serialize> Serialize for Nullable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
