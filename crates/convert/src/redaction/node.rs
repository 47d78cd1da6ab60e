//! `Node`: JSON with the location of every value in the text, so that only hidden values are
//! replaced.

use std::{borrow::Cow, ops::Range};

use memchr::memchr2;
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;

/// A value of a document, and where it is.
#[derive(Debug)]
pub(crate) struct Node<'t> {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind<'t>,
}

#[derive(Debug)]
pub(super) enum Kind<'t> {
    /// Members in the order of the text; repeated ones are all there.
    Object(Vec<Member<'t>>),
    Array(Vec<Node<'t>>),
    Text(Cow<'t, str>),
    /// As it is written.
    Number(&'t str),
    /// `true`, `false` or `null`.
    Other(&'t str),
}

#[derive(Debug)]
pub(super) struct Member<'t> {
    pub(super) name: Cow<'t, str>,
    /// Byte range of the name in the text, quotes included.
    pub(super) name_span: Range<usize>,
    pub(super) value: Node<'t>,
}

impl<'t> Node<'t> {
    /// Reads text that is known to be well-formed JSON of limited depth.
    pub(crate) fn parse(json: &'t str) -> Node<'t> {
        Reader { json, position: 0 }.value()
    }

    /// The text that this is, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// True if this is `true` in the text that it was read from.
    pub(crate) fn is_true(&self, json: &str) -> bool {
        json.get(self.span.clone()) == Some("true")
    }

    /// A member of an object; of repeated ones the last.
    pub(crate) fn get(&self, name: &str) -> Option<&Node<'t>> {
        self.members().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The members of an object.
    pub(crate) fn members(&self) -> impl DoubleEndedIterator<Item = (&str, &Node<'t>)> {
        let members = match &self.kind {
            Kind::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().map(|member| (member.name.as_ref(), &member.value))
    }

    /// Returns the byte range of the value in the text.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The members of an object with where their names are, quotes included.
    pub(crate) fn named_members(&self) -> impl Iterator<Item = (&str, Range<usize>, &Node<'t>)> {
        let members = match &self.kind {
            Kind::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().map(|member| (member.name.as_ref(), member.name_span.clone(), &member.value))
    }

    /// True for an object.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// True for an array.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self.kind, Kind::Array(_))
    }

    /// True for an integer with more digits than its value keeps, as it is a floating-point number.
    pub(crate) fn is_cut_integer(&self) -> bool {
        let Kind::Number(token) = self.kind else { return false };
        let is_integer = token.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        is_integer && token.parse::<i64>().is_err() && token.parse::<u64>().is_err()
    }

    /// The elements of an array.
    pub(crate) fn elements(&self) -> &[Node<'t>] {
        match &self.kind {
            Kind::Array(elements) => elements,
            _ => &[],
        }
    }
}

/// The same data, in the order of the text.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            Kind::Text(text) => serializer.serialize_str(text),
            Kind::Array(elements) => serializer.collect_seq(elements),
            Kind::Object(members) => serializer.collect_map(members.iter().map(|member| (&member.name, &member.value))),
            Kind::Number(token) | Kind::Other(token) => match token.parse::<i128>() {
                Ok(integer) if self.is_cut_integer() => serializer.serialize_i128(integer),
                _ => serde_json::from_str::<Value>(token).map_err(S::Error::custom)?.serialize(serializer),
            },
        }
    }
}

struct Reader<'t> {
    json: &'t str,
    position: usize,
}

impl<'t> Reader<'t> {
    /// The next byte that is no white space; 0 at the end.
    fn peek(&mut self) -> u8 {
        let rest = self.json.as_bytes().get(self.position..).unwrap_or_default();
        self.position += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.json.as_bytes().get(self.position).copied().unwrap_or_default()
    }

    fn value(&mut self) -> Node<'t> {
        let first = self.peek();
        let start = self.position;
        let kind = match first {
            b'{' => Kind::Object(self.parts(Reader::member)),
            b'[' => Kind::Array(self.parts(Reader::value)),
            b'"' => Kind::Text(self.string()),
            _ => {
                let rest = self.json.as_bytes().get(start..).unwrap_or_default();
                let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
                self.position += rest.iter().position(ends).unwrap_or(rest.len());
                let token = self.json.get(start..self.position).unwrap_or_default();
                if matches!(first, b'-' | b'0'..=b'9') { Kind::Number(token) } else { Kind::Other(token) }
            }
        };
        Node { span: start..self.position, kind }
    }

    fn parts<T>(&mut self, read: fn(&mut Self) -> T) -> Vec<T> {
        self.position += 1;
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                b'}' | b']' | 0 => break,
                b',' => self.position += 1,
                _ => parts.push(read(self)),
            }
        }
        self.position += 1;
        parts
    }

    fn member(&mut self) -> Member<'t> {
        let start = self.position;
        let name = self.string();
        let name_span = start..self.position;
        self.peek();
        self.position += 1;
        Member { name, name_span, value: self.value() }
    }

    fn string(&mut self) -> Cow<'t, str> {
        let bytes = self.json.as_bytes();
        let start = self.position;
        let (mut end, mut is_plain) = (start + 1, true);
        loop {
            let rest = bytes.get(end..).unwrap_or_default();
            end += memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            match bytes.get(end) {
                Some(b'\\') => (end, is_plain) = (end + 2, false),
                _ => break,
            }
        }
        self.position = (end + 1).min(bytes.len());
        if is_plain {
            return self.json.get(start + 1..end).unwrap_or_default().into();
        }
        let token = self.json.get(start..self.position).unwrap_or_default();
        serde_json::from_str::<String>(token).unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place() {
        let json = r#" { "a\u0062" : [1.50, "x\"]", {}] , "c": null, "c": {"d": true} } "#;
        let node = Node::parse(json);
        let text_of = |node: &Node<'_>| json[node.span.clone()].to_owned();
        let list = node.get("ab").map(|list| list.elements().iter().map(text_of).collect::<Vec<_>>());
        assert_eq!(list.as_deref(), Some(&["1.50".to_owned(), r#""x\"]""#.into(), "{}".into()][..]));
        assert_eq!(node.get("c").map(text_of).as_deref(), Some(r#"{"d": true}"#));
        assert_eq!(text_of(&node), json.trim());
    }
}
