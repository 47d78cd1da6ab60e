//! `RemovedTexts`: texts removed from a description by an edit, which an export with that edit must not contain.

use std::{cell::Cell, collections::HashSet};

use memchr::memmem;
use serde_json::Value;

use crate::redaction::Node;

/// Shorter texts, such as a letter, say nothing by themselves.
const SHORTEST: usize = 2;
/// Shorter texts are looked for as a whole alone: by chance they are within others.
const SHORTEST_WITHIN: usize = 12;
/// The most bytes that are searched through. Beyond it a text counts as removed, and as found.
const MOST_SEARCHED: usize = 1 << 28;

/// Members of a description whose members are named by its author.
const NAMING: [&str; 6] =
    ["actions", "events", "properties", "schemaDefinitions", "securityDefinitions", "uriVariables"];
/// Prefixes of members that are those of a document, under the names that these have there.
const OWN: [&str; 4] = ["a2a", "aos", "lmos-file", "mcp"];
/// Members of documents whose values are words of a format or of a schema language.
pub(super) const VOCABULARY: [&str; 8] =
    ["$schema", "agentspec_version", "component_type", "format", "http_method", "in", "scheme", "type"];

/// The texts and names of a description before an edit that it lacks since.
pub(crate) struct RemovedTexts {
    texts: HashSet<String>,
    /// The longer ones, and all of these, each on a line.
    long: Vec<String>,
    lines: String,
    /// All texts and names since the edit, each on a line.
    served: String,
    searched: Cell<usize>,
}

impl RemovedTexts {
    /// Finds the texts of `base` that are in no text of `edited`.
    pub(crate) fn between(base: &Value, edited: &Value) -> RemovedTexts {
        let mut served = String::new();
        let mut whole = HashSet::new();
        all_texts(edited, &mut |text| {
            whole.insert(text);
            served.push_str(text);
            served.push('\n');
        });
        let mut before = HashSet::new();
        author_texts(base, Chosen::None, &mut |text| {
            before.insert(text);
        });
        let (texts, long, lines) = Default::default();
        let mut removed = RemovedTexts { texts, long, lines, served, searched: Cell::new(0) };
        for text in before.into_iter().filter(|text| text.len() >= SHORTEST && !whole.contains(text)) {
            if removed.is_within(text, &removed.served).unwrap_or(false) {
                continue;
            }
            removed.texts.insert(text.to_owned());
            if text.len() >= SHORTEST_WITHIN {
                removed.long.push(text.to_owned());
                removed.lines.push_str(text);
                removed.lines.push('\n');
            }
        }
        removed
    }

    /// True if the edit took nothing out.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the names and indexes that lead to a text in a JSON document that was taken out, and isn't among `constant`.
    pub(crate) fn find_in(&self, json: &str, constant: &HashSet<String>) -> Option<Vec<String>> {
        let mut path = Vec::new();
        self.find(&Node::parse(json), constant, &mut path).then_some(path)
    }

    fn find(&self, node: &Node<'_>, constant: &HashSet<String>, path: &mut Vec<String>) -> bool {
        let is_found = |text: &str| !constant.contains(text) && self.has(text);
        if node.text().is_some_and(|text| is_found(text) || self.is_in_pointer(text)) {
            return true;
        }
        for (name, value) in node.members() {
            path.push(name.to_owned());
            let is_word = VOCABULARY.contains(&name) && value.text().is_some();
            if is_found(name) || (!is_word && self.find(value, constant, path)) {
                return true;
            }
            path.pop();
        }
        for (index, element) in node.elements().iter().enumerate() {
            path.push(index.to_string());
            if self.find(element, constant, path) {
                return true;
            }
            path.pop();
        }
        false
    }

    /// True for a text of a document that was taken out, or has one that was.
    fn has(&self, text: &str) -> bool {
        if text.len() < SHORTEST_WITHIN || self.long.is_empty() {
            return self.texts.contains(text);
        }
        let is_part = || {
            self.is_within(text, &self.lines).unwrap_or(true) && !self.is_within(text, &self.served).unwrap_or(false)
        };
        let has_part = || self.long.iter().any(|removed| self.is_within(removed, text).unwrap_or(true));
        self.texts.contains(text) || is_part() || has_part()
    }

    /// True if a name in a JSON Pointer was taken out, such as one of the operations that an Agent Spec document keeps.
    fn is_in_pointer(&self, text: &str) -> bool {
        let tokens = text.strip_prefix('/').into_iter().flat_map(|pointer| pointer.split('/'));
        tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).any(|token| self.texts.contains(&token))
    }

    /// True if a text is within another; none once too much was searched through.
    fn is_within(&self, text: &str, other: &str) -> Option<bool> {
        self.searched.set(self.searched.get().saturating_add(other.len()));
        (self.searched.get() <= MOST_SEARCHED).then(|| memmem::find(other.as_bytes(), text.as_bytes()).is_some())
    }
}

/// Gives all texts and names of members to a function.
pub(super) fn all_texts<'v>(value: &'v Value, take: &mut impl FnMut(&'v str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(elements) => elements.iter().for_each(|element| all_texts(element, take)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            take(name);
            all_texts(member, take);
        }),
        _ => {}
    }
}

/// The names of members within a value that its author chose.
#[derive(Clone, Copy, PartialEq)]
enum Chosen {
    None,
    /// Those of the value itself.
    Own,
    All,
}

/// Gives the texts of a description to a function, and the names that its author chose: those of affordances, definitions and
/// properties, and those that a document has too.
fn author_texts<'v>(value: &'v Value, chosen: Chosen, take: &mut impl FnMut(&'v str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(elements) => elements.iter().for_each(|element| author_texts(element, chosen, take)),
        Value::Object(members) => {
            for (name, member) in members {
                let own = name.split_once(':').filter(|(prefix, _)| OWN.contains(prefix)).map(|(_, own)| own);
                match own {
                    Some(own) => take(own),
                    None if chosen != Chosen::None => take(name),
                    None => {}
                }
                let within = match name.as_str() {
                    _ if own.is_some() || chosen == Chosen::All => Chosen::All,
                    "agentspec:metadata" => Chosen::All,
                    name if NAMING.contains(&name) => Chosen::Own,
                    _ => Chosen::None,
                };
                author_texts(member, within, take);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(base: &Value, edited: &Value, document: &Value) -> Option<Vec<String>> {
        RemovedTexts::between(base, edited).find_in(&document.to_string(), &HashSet::new())
    }

    #[test]
    fn texts_and_names_that_were_taken_out_are_found() {
        let base = json!({
            "title": "Travel", "description": "Plans trips for project Falcon", "tags": ["falcon"],
            "actions": {"book": {"title": "Book it"}}, "a2a:x-own": {"secret": {"deep": "word"}},
        });
        let edited = json!({"title": "Travel", "description": "Plans trips"});
        assert!(RemovedTexts::between(&base, &base).is_empty());
        for (document, path) in [
            (json!({"a": [{"b": "falcon"}]}), vec!["a", "0", "b"]),
            (json!({"a": "It plans trips for project Falcon."}), vec![]),
            (json!({"a": "Note: Plans trips for project Falcon"}), vec!["a"]),
            (json!({"a": "for project Falcon"}), vec!["a"]),
            (json!({"book": 1}), vec!["book"]),
            (json!({"x-own": 1}), vec!["x-own"]),
            (json!({"a": {"deep": 1}}), vec!["a", "deep"]),
            (json!({"path": "/actions/book/title"}), vec!["path"]),
            (json!({"name": "Travel", "title": "Plans trips", "description": "trips for", "type": "falcon"}), vec![]),
        ] {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            assert_eq!(found(&base, &edited, &document).unwrap_or_default(), path, "{document}");
        }
    }

    #[test]
    fn repeated_member_is_searched_too() {
        let removed = RemovedTexts::between(&json!({"title": "Falcon"}), &json!({"title": "Eagle"}));
        assert!(removed.find_in(r#"{"name": "Falcon", "name": "Eagle"}"#, &HashSet::new()).is_some());
        assert!(removed.find_in(r#"{"name": "Falcon"}"#, &HashSet::from(["Falcon".to_owned()])).is_none());
    }

    #[test]
    fn search_ends_where_there_is_too_much_of_it() {
        let texts = |mark: &str| {
            (0..3000).map(|number| format!("{mark} of a long text {number} {}", "x".repeat(300))).collect::<Vec<_>>()
        };
        let removed = RemovedTexts::between(&json!(texts("one")), &json!(texts("other")));
        assert!(!removed.is_empty() && removed.find_in(&json!(texts("third")).to_string(), &HashSet::new()).is_some());
    }
}
