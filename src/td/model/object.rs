//! How structures are read from and written as JSON objects: one macro beside the fields, since
//! serde's `flatten` and `untagged` would lose how numbers are written.

use serde_json::value::RawValue;

use crate::td::members::{Members, push_string};

/// A value that a field can hold.
pub(super) trait Json: Sized {
    /// Reads the value; none if the text is of another type.
    fn read(text: &str) -> Option<Self>;

    /// Appends the value.
    fn write(&self, out: &mut String);

    /// Whether the member is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A structure that stands for a JSON object.
pub(super) trait Object: Default {
    /// Takes in a member.
    fn take(&mut self, name: &str, text: &str);

    /// Writes all members.
    fn write_members<'a>(&'a self, writer: &mut ObjectWriter<'a>);

    /// Reads an object; none if the text is anything else.
    fn read_object(text: &str) -> Option<Self> {
        let mut object = Self::default();
        for (name, value) in Members::of(text)?.0 {
            object.take(&name, &value);
        }
        Some(object)
    }

    /// Appends the object.
    fn write_object(&self, out: &mut String) {
        let mut writer = ObjectWriter { out: std::mem::take(out), is_first: true, fields: Vec::new() };
        writer.out.push('{');
        self.write_members(&mut writer);
        writer.out.push('}');
        *out = writer.out;
    }
}

/// Writes the members of one object.
pub(super) struct ObjectWriter<'a> {
    out: String,
    is_first: bool,
    fields: Vec<&'a str>,
}

impl<'a> ObjectWriter<'a> {
    /// Writes the member of a field, unless it is absent.
    pub(super) fn field(&mut self, name: &'a str, value: &impl Json) {
        if !value.is_absent() {
            self.fields.push(name);
            self.write(name, value);
        }
    }

    /// Writes another member, unless a field stands for it.
    fn other(&mut self, name: &str, value: &impl Json) {
        if !self.fields.contains(&name) {
            self.write(name, value);
        }
    }

    fn write(&mut self, name: &str, value: &impl Json) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        push_string(&mut self.out, name);
        self.out.push(':');
        value.write(&mut self.out);
    }
}

/// The members that a structure has no field for.
impl Object for Vec<(String, Box<RawValue>)> {
    fn take(&mut self, name: &str, text: &str) {
        self.extend(Box::<RawValue>::read(text).map(|value| (name.to_owned(), value)));
    }

    fn write_members<'a>(&'a self, writer: &mut ObjectWriter<'a>) {
        for (name, value) in self {
            writer.other(name, value);
        }
    }
}

/// Declares a structure for a JSON object: each field with the member it stands for. All other members
/// go to the field `members`; or, with `+ field: Structure` behind the name, to that structure.
macro_rules! object {
    ($(#[$doc:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        object! {
            $(#[$doc])*
            pub struct $name + members: Vec<(String, Box<serde_json::value::RawValue>)> { $($fields)* }
        }
    };

    ($(#[$doc:meta])* pub struct $name:ident + $rest:ident: $rest_type:ty {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $member:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// All other members: those that no field stands for, or whose value its field can't hold.
            pub $rest: $rest_type,
        }

        impl $crate::td::model::object::Object for $name {
            fn take(&mut self, name: &str, text: &str) {
                use $crate::td::model::object::Json;
                match name {
                    $($member => match <$type as Json>::read(text) {
                        Some(value) if !value.is_absent() => self.$field = value,
                        _ => self.$rest.take(name, text),
                    },)*
                    _ => self.$rest.take(name, text),
                }
            }

            fn write_members<'a>(&'a self, writer: &mut $crate::td::model::object::ObjectWriter<'a>) {
                $(writer.field($member, &self.$field);)*
                self.$rest.write_members(writer);
            }
        }

        object!(@traits $name);
    };

    (@traits $name:ident) => {
        impl $crate::td::model::object::Json for $name {
            fn read(text: &str) -> Option<Self> {
                $crate::td::model::object::Object::read_object(text)
            }

            fn write(&self, out: &mut String) {
                $crate::td::model::object::Object::write_object(self, out);
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                let mut text = String::new();
                $crate::td::model::object::Json::write(self, &mut text);
                let raw = serde_json::value::RawValue::from_string(text).map_err(serde::ser::Error::custom)?;
                raw.serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                use serde::de::Error;
                let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
                $crate::td::model::object::check_nesting(raw.get()).map_err(D::Error::custom)?;
                $crate::td::model::object::Json::read(raw.get()).ok_or_else(|| D::Error::custom("expected an object"))
            }
        }
    };
}

/// Declares the values of a member that is one of some strings.
macro_rules! names {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The name in a Thing Description.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl $crate::td::model::object::Json for $name {
            fn read(text: &str) -> Option<Self> {
                match String::read(text)?.as_str() {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }

            fn write(&self, out: &mut String) {
                $crate::td::members::push_string(out, self.as_str());
            }
        }
    };
}

/// Refuses what is nested deeper than a document may be, since reading descends on the stack.
pub(super) fn check_nesting(text: &str) -> crate::Result<()> {
    crate::td::Document::parse(text.as_bytes()).map(drop)
}
