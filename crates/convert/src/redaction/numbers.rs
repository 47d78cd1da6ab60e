//! Numbers with their original notation, since the parsed values of `1.10` and `1.1` are equal.

use std::collections::HashMap;

use serde_json::Number;

use super::Node;
use crate::td::internal::push_token;

/// The most numbers of one document.
const MOST: usize = 1000;
/// The longest pointer to one, in bytes: it repeats names.
const LONGEST_POINTER: usize = 256;

/// Numbers that their values don't write as the document does, by the JSON Pointers to them.
#[derive(Debug, Default)]
pub(crate) struct WrittenNumbers(HashMap<String, String>);

impl WrittenNumbers {
    /// Finds them in a document, which was read from `text`.
    pub(crate) fn of(document: &Node<'_>, text: &str) -> WrittenNumbers {
        let mut written = WrittenNumbers::default();
        written.collect(document, text, &mut String::new());
        written
    }

    /// A number as the document writes it at a place.
    pub(crate) fn find(&self, pointer: impl FnOnce() -> String, number: &Number) -> Option<String> {
        let written = if self.0.is_empty() { None } else { self.0.get(&pointer()) };
        // Members that were moved since are found at another place.
        written.filter(|written| written.parse::<Number>().is_ok_and(|read| read == *number)).cloned()
    }

    fn collect(&mut self, value: &Node<'_>, text: &str, pointer: &mut String) {
        if self.0.len() == MOST || pointer.len() > LONGEST_POINTER {
            return;
        }
        let length = pointer.len();
        for (name, member) in value.members() {
            push_token(pointer, name);
            self.collect(member, text, pointer);
            pointer.truncate(length);
        }
        for (index, element) in value.elements().iter().enumerate() {
            push_token(pointer, &index.to_string());
            self.collect(element, text, pointer);
            pointer.truncate(length);
        }
        let written = text.get(value.span()).unwrap_or_default();
        let is_number = written.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if is_number && written.parse::<Number>().is_ok_and(|number| number.to_string() != written) {
            self.0.insert(pointer.clone(), written.to_owned());
        }
    }
}
