//! Texts of third parties, as models read them: characters that act on a reader, or that nobody sees, are written as their codes.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::size_limit::cut;
use crate::td::internal::is_invisible;

/// Maximum number of characters of a summary.
const SUMMARY: usize = 200;
/// Number of characters after which a sentence is long enough to be a summary.
const SHORTEST: usize = 20;

/// Escapes the texts in a value, those of member names too.
pub(super) fn escape_all(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(escape(text)),
        Value::Array(list) => Value::Array(list.into_iter().map(escape_all).collect()),
        Value::Object(members) => {
            let escaped = members.into_iter().map(|(name, value)| (escape(name), escape_all(value)));
            Value::Object(escaped.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Writes control characters, those that change the direction of writing, and invisible ones as JSON escapes them: `\u` and four
/// hexadecimal digits, twice beyond U+FFFF. Line breaks and tabs stay.
pub(super) fn escape(text: String) -> String {
    if !text.contains(acts) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !acts(character) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

/// True for characters that act on a reader rather than being shown. The joiners of scripts and emoji, and what selects their
/// variants, are left alone.
fn acts(character: char) -> bool {
    let changes_neighbors = || {
        matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
    };
    character.is_control() && !matches!(character, '\n' | '\t')
        || matches!(character, '\u{2028}' | '\u{2029}')
        || is_invisible(character) && !changes_neighbors()
}

/// The first sentence of a description, on one line.
pub(super) fn summary(description: &str) -> String {
    let mut line = String::new();
    for word in description.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        let is_end = word.ends_with(['.', '!', '?', '。', '！', '？']) && line.chars().count() >= SHORTEST;
        if is_end || line.len() > 4 * SUMMARY {
            break;
        }
    }
    cut(&mut line, SUMMARY - 1);
    escape(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_act_are_written_as_their_codes() {
        assert_eq!(escape("a\u{202e}b\u{1b}[1m\u{e0041}\n".into()), "a\\u202eb\\u001b[1m\\udb40\\udc41\n");
        for plain in ["Größe", "👩\u{200d}🔬", "می\u{200c}خواهم", "a\tb\nc"] {
            assert_eq!(escape(plain.into()), plain);
        }
        let escaped = escape_all(serde_json::json!({"a\u{202e}": ["\u{feff}", 1]}));
        assert_eq!(escaped, serde_json::json!({"a\\u202e": ["\\ufeff", 1]}));
    }

    #[test]
    fn summary_is_one_sentence_of_at_most_200_characters() {
        assert_eq!(summary("Knows the tides  of\nevery harbor. And more."), "Knows the tides of every harbor.");
        assert_eq!(summary("E.g. tides of every harbor"), "E.g. tides of every harbor");
        let long = summary(&"ü".repeat(100_000));
        assert_eq!(long.chars().count(), 200);
        assert!(summary(&"word ".repeat(1000)).chars().count() <= 200);
    }
}
