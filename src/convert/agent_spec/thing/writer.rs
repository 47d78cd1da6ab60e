//! `Writer`: JSON text in the order in which it is written.
//!
//! Nothing is written beyond the size that the registry takes, whatever a small document asks for.

use serde_json::{Number, Value};

use crate::td::{MAX_DOCUMENT_BYTES, push_string};

/// JSON text that is being written.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
    /// Whether a comma comes before the next member or element.
    is_continued: bool,
}

impl Writer {
    /// A writer that has room for so many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Writer {
        Writer { text: String::with_capacity(bytes), is_continued: false }
    }

    /// How many bytes were written so far.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it is more than the registry takes, so that nothing is added to it.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() > MAX_DOCUMENT_BYTES
    }

    /// What was written.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn separate(&mut self) {
        if self.is_continued {
            self.text.push(',');
        }
    }

    /// An object with the members that `write` writes.
    pub(super) fn object(&mut self, write: impl FnOnce(&mut Writer)) {
        self.enclosed('{', write, '}');
    }

    /// An array with the elements that `write` writes.
    pub(super) fn array(&mut self, write: impl FnOnce(&mut Writer)) {
        self.enclosed('[', write, ']');
    }

    fn enclosed(&mut self, open: char, write: impl FnOnce(&mut Writer), close: char) {
        self.open(open);
        write(self);
        self.close(close);
    }

    /// Begins an object or array, by its bracket.
    pub(super) fn open(&mut self, bracket: char) {
        if self.is_full() {
            return;
        }
        self.separate();
        self.text.push(bracket);
        self.is_continued = false;
    }

    /// Ends an object or array, by its bracket.
    pub(super) fn close(&mut self, bracket: char) {
        if !self.is_full() {
            self.text.push(bracket);
        }
        self.is_continued = true;
    }

    /// The name of the member whose value is written next.
    pub(super) fn name(&mut self, name: &str) -> &mut Writer {
        if !self.is_full() {
            self.separate();
            push_string(&mut self.text, name);
            self.text.push(':');
            self.is_continued = false;
        }
        self
    }

    /// A string of ours.
    pub(super) fn word(&mut self, word: &str) {
        if !self.is_full() {
            self.separate();
            push_string(&mut self.text, word);
            self.is_continued = true;
        }
    }

    /// A string of the document.
    pub(super) fn text(&mut self, text: &str) {
        if !self.is_full() {
            self.word(text);
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, flag: bool) {
        self.raw(if flag { "true" } else { "false" });
    }

    /// A number of the document.
    pub(super) fn number(&mut self, number: &Number) {
        self.raw(&number.to_string());
    }

    /// A value of the document, whatever it is.
    pub(super) fn data(&mut self, value: &Value) {
        match value {
            Value::Null => self.raw("null"),
            Value::Bool(flag) => self.flag(*flag),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(elements) => self.array(|writer| elements.iter().for_each(|element| writer.data(element))),
            Value::Object(members) => self.object(|writer| {
                for (name, value) in members {
                    writer.name(name).data(value);
                }
            }),
        }
    }

    /// A value of the document that says nothing in JSON-LD: a JSON literal (JSON-LD 1.1, section 4.2.2).
    pub(super) fn json(&mut self, value: &Value) {
        self.object(|writer| {
            writer.name("@type").word("@json");
            writer.name("@value").data(value);
        });
    }

    /// JSON text as it is.
    fn raw(&mut self, json: &str) {
        if !self.is_full() {
            self.separate();
            self.text.push_str(json);
            self.is_continued = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_and_elements_are_separated() {
        let mut writer = Writer::default();
        writer.object(|writer| {
            writer.name("b").array(|writer| {
                writer.array(|_| ());
                writer.word("\"");
                writer.object(|_| ());
                writer.flag(true);
            });
            writer.name("a").data(&json!({"x": [1, -2.5, null], "y": {}}));
            writer.name("c").flag(false);
        });
        assert_eq!(writer.into_text(), r#"{"b":[[],"\"",{},true],"a":{"x":[1,-2.5,null],"y":{}},"c":false}"#);
    }

    #[test]
    fn nothing_is_added_to_what_is_too_large() {
        let mut writer = Writer::default();
        let long = "x".repeat(MAX_DOCUMENT_BYTES / 2);
        writer.array(|writer| (0..1000).for_each(|_| writer.object(|writer| writer.name("a").text(&long))));
        assert!(writer.is_full() && writer.len() < 2 * MAX_DOCUMENT_BYTES, "{} bytes", writer.len());
    }
}
