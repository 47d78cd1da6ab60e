//! A JSON object as an ordered list of members with their exact text, so that edits and patches
//! preserve the order of members and number tokens.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

/// The members of an object in the order of the text. Repeated names are all there.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Members<'a> {
    /// Splits an object into members. Returns `None` if `json` is anything else.
    pub(super) fn of(json: &'a str) -> Option<Members<'a>> {
        if !is_object(json) {
            return None;
        }
        serde_json::from_str(json).ok()
    }

    /// Puts `value` in the place of the member `name`, or at the end.
    pub(super) fn set(&mut self, name: &'a str, value: impl Into<Cow<'a, str>>) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.into(),
            None => self.0.push((name.into(), value.into())),
        }
    }

    /// Puts a new member in front of all others.
    pub(super) fn set_first(&mut self, name: &'a str, value: impl Into<Cow<'a, str>>) {
        self.remove(name);
        self.0.insert(0, (name.into(), value.into()));
    }

    /// Takes the member `name` away.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// Writes the object.
    pub(super) fn to_text(&self) -> String {
        let length = self.0.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
        let mut text = String::with_capacity(length + 2);
        text.push('{');
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            push_string(&mut text, name);
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

/// True if the JSON text is an object, judged by its first character.
pub(super) fn is_object(json: &str) -> bool {
    json.trim_ascii_start().starts_with('{')
}

/// Appends `content` as a JSON string.
pub fn push_string(text: &mut String, content: &str) {
    if content.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(content);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(content).to_string());
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> de::Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            members.push((name, Cow::Borrowed(map.next_value::<&RawValue>()?.get())));
        }
        Ok(Members(members))
    }
}

/// A member name that is borrowed from the text where it has no escapes.
pub(super) struct Name<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> de::Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

/// A JSON text without the white space between its tokens.
pub(super) fn compact(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let Some(first) = next_insignificant(bytes, 0) else {
        return Cow::Borrowed(json);
    };
    let mut text = String::with_capacity(json.len());
    let mut copied = 0;
    let mut gap = Some(first);
    while let Some(start) = gap {
        text.push_str(&json[copied..start]);
        copied = bytes[start..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(bytes.len(), |n| start + n);
        gap = next_insignificant(bytes, copied);
    }
    text.push_str(&json[copied..]);
    Cow::Owned(text)
}

/// The next white space from `position`, which is outside of strings.
fn next_insignificant(bytes: &[u8], mut position: usize) -> Option<usize> {
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' => position = end_of_string(bytes, position),
            b' ' | b'\t' | b'\n' | b'\r' => return Some(position),
            _ => position += 1,
        }
    }
    None
}

/// The position after the string that begins at `position`.
pub(super) fn end_of_string(bytes: &[u8], position: usize) -> usize {
    let mut position = position + 1;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    bytes.len()
}
