//! Summary of a Thing for hits. It is stored in the index, so that a search needs no other data.

use std::borrow::Cow;

use super::{
    Moments,
    forms::Access,
    node::{Node, Object},
    text::Language,
};
use crate::{change::Timestamp, td};
use serde::{Deserialize, Serialize};

/// Maximum length of descriptions stored for display, in bytes.
const LONGEST_DESCRIPTION: usize = 16 * 1024;
/// Maximum length, in bytes, of titles and of names and texts of capabilities that are displayed or used for
/// snippets.
const LONGEST_TEXT: usize = 1024;
/// The longest vendor, protocol and version that is shown, in bytes.
const LONGEST_FACT: usize = 256;
/// Maximum number of vendors that are shown.
const MOST_VENDORS: usize = 4;
/// Maximum number of protocols that are shown.
const MOST_PROTOCOLS: usize = 16;

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
    /// Language tag of the title and description, or `None` for English.
    #[serde(borrow, rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub vendors: Vec<Cow<'a, str>>,
    #[serde(borrow, rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<Cow<'a, str>>,
    #[serde(borrow, rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Cow<'a, str>>,
    /// True if an action can be called without credentials.
    #[serde(rename = "a", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_callable: bool,
    /// Milliseconds since 1970 of the registration and of the last change.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<(i64, i64)>,
}

/// What a summary has of a Thing beside its texts.
pub(super) struct Facts<'a> {
    pub capabilities: &'a [td::Capability<'a>],
    pub access: &'a Access,
    /// Protocols of the forms and of the format.
    pub protocols: Vec<&'a str>,
    pub vendors: Vec<&'a str>,
    pub moments: Option<Moments>,
    /// Language tag of texts that don't declare a language.
    pub language: Option<&'a str>,
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
    pub fn of(id: &'a str, thing: &'a Object<'a>, facts: &Facts<'a>) -> Summary<'a> {
        let (title, description) = (title(thing), default_text(thing, "description", "descriptions"));
        let tag = tag_of(thing, "titles", title).or_else(|| tag_of(thing, "descriptions", description));
        let language = tag.or(facts.language).filter(|tag| Language::of_tag(tag).is_some());
        let fact = |text: &&'a str| shorten(text, LONGEST_FACT);
        let version = thing.get("version").and_then(|version| version.get("instance")?.as_str());
        Summary {
            id: Cow::Borrowed(id),
            title: title.map(|text| shorten(text, LONGEST_TEXT)),
            description: description.map(|text| shorten(text, LONGEST_DESCRIPTION)),
            capabilities: facts.capabilities.iter().map(Capability::of).collect(),
            language: language.map(Cow::Borrowed),
            vendors: facts.vendors.iter().take(MOST_VENDORS).map(fact).collect(),
            protocols: facts.protocols.iter().take(MOST_PROTOCOLS).map(fact).collect(),
            version: version.as_ref().map(fact),
            is_callable: facts.access.is_callable,
            moments: facts.moments.map(|Moments { created, modified }| (created.0, modified.0)),
        }
    }

    /// Returns the moments of the registration and of the last change.
    pub fn timestamps(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        self.moments.map(|(created, modified)| (Timestamp(created), Timestamp(modified))).unzip()
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

/// The title in the default language, or the first of the others.
pub(super) fn title<'a>(thing: &'a Object<'a>) -> Option<&'a str> {
    default_text(thing, "title", "titles")
}

/// Returns the tag of the translation that a text is.
fn tag_of<'a>(thing: &'a Object<'a>, many: &str, text: Option<&str>) -> Option<&'a str> {
    let translations = thing.get(many).and_then(Node::as_object)?;
    translations.iter().find(|(_, translation)| text.is_some() && translation.as_str() == text).map(|(tag, _)| tag)
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
