//! A description parsed for indexing: a tree that borrows from the text, since most of it is read once and then
//! dropped.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value, as far as the index needs it.
#[derive(Debug)]
pub(super) enum Node<'t> {
    Text(Cow<'t, str>),
    Array(Vec<Node<'t>>),
    Object(Object<'t>),
    /// A number, a truth value or null.
    Other,
}

impl<'t> Node<'t> {
    /// Returns the value of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of an object.
    pub fn as_object(&self) -> Option<&Object<'t>> {
        match self {
            Node::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns a member of an object.
    pub fn get(&self, name: &str) -> Option<&Node<'t>> {
        self.as_object()?.get(name)
    }

    /// Iterates over the elements of an array, or over the single value that TD allows in its place.
    pub fn one_or_many(&self) -> std::slice::Iter<'_, Node<'t>> {
        match self {
            Node::Array(nodes) => nodes.iter(),
            node => std::slice::from_ref(node).iter(),
        }
    }
}

/// The members of an object in the order of their names; of those with the same name the last.
#[derive(Debug, Default)]
pub(super) struct Object<'t>(Vec<(Cow<'t, str>, Node<'t>)>);

impl<'t> Object<'t> {
    /// Returns the member with the given name.
    pub fn get(&self, name: &str) -> Option<&Node<'t>> {
        let at = self.0.binary_search_by(|(other, _)| other.as_ref().cmp(name)).ok()?;
        self.0.get(at).map(|(_, node)| node)
    }

    /// Iterates over all members.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node<'t>)> {
        self.0.iter().map(|(name, node)| (name.as_ref(), node))
    }

    /// Iterates over the names of the members.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Iterates over the values of the members.
    pub fn values(&self) -> impl Iterator<Item = &Node<'t>> {
        self.0.iter().map(|(_, node)| node)
    }
}

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node<'de>, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Node<'de>, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = elements.next_element()? {
            nodes.push(node);
        }
        Ok(Node::Array(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Node<'de>)> = Vec::new();
        while let Some((Name(name), node)) = entries.next_entry()? {
            members.push((name, node));
        }
        if !members.is_sorted_by(|(one, _), (other, _)| one < other) {
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.dedup_by(|later, earlier| {
                let is_repeated = later.0 == earlier.0;
                if is_repeated {
                    std::mem::swap(later, earlier);
                }
                is_repeated
            });
        }
        Ok(Node::Object(Object(members)))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Node<'de>, E> {
        Ok(Node::Other)
    }
}

/// The name of a member.
struct Name<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a member")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_repeated_members_the_last_counts_as_everywhere() {
        let node: Node<'_> =
            serde_json::from_str(r#"{"b": "1", "a\u0041": [1, "x\n", null], "b": {"c": "2"}}"#).unwrap();
        let object = node.as_object().unwrap();
        assert_eq!(object.keys().collect::<Vec<_>>(), ["aA", "b"]);
        assert_eq!(object.get("b").and_then(|b| b.get("c")?.as_str()), Some("2"));
        let texts: Vec<_> = object.get("aA").into_iter().flat_map(Node::one_or_many).filter_map(Node::as_str).collect();
        assert_eq!(texts, ["x\n"]);
        assert!(object.get("c").is_none() && object.values().count() == 2);
    }
}
