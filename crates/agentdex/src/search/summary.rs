//! Summary of a Thing for hits. It is stored in the index, so that a search needs no other data.

use std::borrow::Cow;

use super::node::{Node, Object};
use crate::td;
use serde::{Deserialize, Serialize};

/// The longest description that is stored for display, in bytes.
const LONGEST_DESCRIPTION: usize = 16 * 1024;
/// The longest title, name or text of a capability that is shown and that snippets are cut from, in bytes.
const LONGEST_TEXT: usize = 1024;

/// The stored form, in JSON with short keys.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Summary<'a> {
    #[serde(borrow, rename = "i")]
    pub id: Cow<'a, str>,
    #[serde(borrow, rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability<'a>>,
}

/// A capability as a hit shows it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Capability<'a> {
    #[serde(borrow, rename = "k")]
    pub key: Cow<'a, str>,
    /// Name of the capability, if it differs from the key.
    #[serde(borrow, rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
}

impl<'a> Summary<'a> {
    /// Summarizes a Thing.
    pub fn of(id: &'a str, thing: &'a Object<'a>, capabilities: &[td::Capability<'a>]) -> Summary<'a> {
        Summary {
            id: Cow::Borrowed(id),
            title: default_text(thing, "title", "titles").map(|text| shorten(text, LONGEST_TEXT)),
            description: default_text(thing, "description", "descriptions")
                .map(|text| shorten(text, LONGEST_DESCRIPTION)),
            capabilities: capabilities.iter().map(Capability::of).collect(),
        }
    }

    /// Returns all searchable texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let own = [self.title.as_deref(), self.description.as_deref()].into_iter().flatten();
        own.chain(self.capabilities.iter().flat_map(Capability::texts))
    }
}

impl<'a> Capability<'a> {
    fn of(capability: &td::Capability<'a>) -> Capability<'a> {
        Capability {
            key: shorten(capability.key(), LONGEST_TEXT),
            name: capability.name.filter(|_| capability.id.is_some()).map(|name| shorten(name, LONGEST_TEXT)),
            text: capability.description.map(|text| shorten(text, LONGEST_TEXT)),
        }
    }

    /// Returns the key, the name, and the description.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [Some(self.key.as_ref()), self.name.as_deref(), self.text.as_deref()].into_iter().flatten()
    }
}

/// The text in the default language, or the first of the others.
fn default_text<'a>(thing: &'a Object<'a>, one: &str, many: &str) -> Option<&'a str> {
    let translations = thing.get(many).and_then(Node::as_object);
    thing.get(one).and_then(Node::as_str).or_else(|| translations?.values().find_map(Node::as_str))
}

fn shorten(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", text.get(..text.floor_char_boundary(longest)).unwrap_or_default()))
}
