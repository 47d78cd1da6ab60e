//! Placeholders: if a text contains `{{name}}`, its component needs an input with that name.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

/// Letters and numbers, for characters beyond ASCII: Python's `\w` doesn't take combining marks for letters.
#[expect(clippy::expect_used, reason = "the expression is part of the program, and the tests compile it")]
static LETTER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\p{L}\p{N}]").expect("the expression is valid"));

/// A name is of letters, numbers and underscores, as Python's `\w` has it.
fn is_of_name(character: char) -> bool {
    match character.is_ascii() {
        true => character.is_ascii_alphanumeric() || character == '_',
        false => LETTER.is_match(character.encode_utf8(&mut [0; 4])),
    }
}

/// White space as Python's `\s` has it, which takes the separators U+001C to U+001F for it.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// The names of the placeholders in `text`, as often as they are there.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    found(text).map(|(name, _)| name)
}

/// A piece of a text with placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text that stands for itself.
    Literal(&'t str),
    /// The name of a placeholder.
    Name(&'t str),
}

/// The pieces of `text`, in its order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for (name, place) in found(text) {
        if end < place.start {
            pieces.push(Piece::Literal(&text[end..place.start]));
        }
        pieces.push(Piece::Name(name));
        end = place.end;
    }
    if end < text.len() {
        pieces.push(Piece::Literal(&text[end..]));
    }
    pieces
}

/// Finds the byte ranges of the placeholders in `text`, braces included.
pub(super) fn places(text: &str) -> impl Iterator<Item = Range<usize>> {
    found(text).map(|(_, place)| place)
}

fn found(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut position = 0;
    std::iter::from_fn(move || {
        loop {
            let start = position + text.get(position..)?.find("{{")?;
            if let Some((name, end)) = name_behind(text, start + 2) {
                position = end;
                return Some((name, start..end));
            }
            position = start + 1;
        }
    })
}

/// The name behind the braces that open a placeholder, and where it ends.
fn name_behind(text: &str, start: usize) -> Option<(&str, usize)> {
    let inner = text.get(start..)?.trim_start_matches(is_blank);
    let (name, behind) = inner.split_at(inner.find(|character| !is_of_name(character))?);
    let rest = behind.trim_start_matches(is_blank).strip_prefix("}}")?;
    (!name.is_empty()).then_some((name, text.len() - rest.len()))
}

/// The parts of an object in which placeholders count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// The values of members.
    Values,
    /// The names of members too.
    NamesAndValues,
}

/// The distinct names in texts and nested values, in the order of the document.
#[derive(Debug, Default)]
pub(super) struct Collected<'d> {
    names: Vec<&'d str>,
    known: HashSet<&'d str>,
}

impl<'d> Collected<'d> {
    pub(super) fn add_text(&mut self, text: &'d str) {
        for name in names(text) {
            if self.known.insert(name) {
                self.names.push(name);
            }
        }
    }

    /// Adds those of every text in `value`, whose nesting the reader has limited.
    pub(super) fn add(&mut self, value: &'d Value, within: Within) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Array(entries) => entries.iter().for_each(|entry| self.add(entry, within)),
            Value::Object(members) => {
                for (name, member) in members {
                    if within == Within::NamesAndValues {
                        self.add_text(name);
                    }
                    self.add(member, within);
                }
            }
            _ => {}
        }
    }

    pub(super) fn into_names(self) -> Vec<&'d str> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(text: &str) -> Vec<&str> {
        names(text).collect()
    }

    #[test]
    fn names_stand_between_two_braces() {
        assert_eq!(all("{{a}} then {{ b_2 }}, {{\tc\n}} {{a}}"), ["a", "b_2", "c", "a"]);
        assert_eq!(all("{{{x}}} {{ {{y}} }}"), ["x", "y"]);
        assert_eq!(all("{{Größe}} {{数量}} {{٣}} {{²}}"), ["Größe", "数量", "٣", "²"]);
    }

    #[test]
    fn pieces_are_the_whole_text() {
        use Piece::{Literal, Name};
        assert_eq!(pieces("a{{ b }}{{c_1}}d"), [Literal("a"), Name("b"), Name("c_1"), Literal("d")]);
        assert_eq!(pieces("{{{ü}}}"), [Literal("{"), Name("ü"), Literal("}")]);
        assert_eq!(pieces("{{ not closed"), [Literal("{{ not closed")]);
        assert_eq!(pieces(""), []);
    }

    #[test]
    fn other_things_between_braces_are_text() {
        for text in ["{x}", "{{}}", "{{ }}", "{{a b}}", "{{a.b}}", "{{a-b}}", "{{ not closed", "{% if x %}", "{{a}"] {
            assert_eq!(all(text), Vec::<&str>::new(), "{text}");
        }
        assert_eq!(all("{{\u{928}\u{93e}\u{92e}}}"), Vec::<&str>::new(), "a vowel sign is no letter");
    }

    #[test]
    fn values_are_searched_at_any_depth_and_names_of_members_on_demand() {
        let value = json!({"{{k}}": [{"a": "{{v}}"}, 1, null, "{{v}} {{w}}"]});
        let mut values = Collected::default();
        values.add(&value, Within::Values);
        assert_eq!(values.into_names(), ["v", "w"]);
        let mut both = Collected::default();
        both.add(&value, Within::NamesAndValues);
        assert_eq!(both.into_names(), ["k", "v", "w"]);
    }
}
