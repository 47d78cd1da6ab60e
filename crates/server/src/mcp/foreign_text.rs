//! Texts of third parties, as models read them: characters that act on a reader, or that nobody sees, are written as their codes.

use std::fmt::Write;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

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
    text.chars().for_each(|character| push_escaped(&mut escaped, character));
    escaped
}

fn push_escaped(text: &mut String, character: char) {
    if !acts(character) {
        text.push(character);
        return;
    }
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
}

/// Escapes a text, and cuts it if it then has more than some number of characters. `…` is its last character in that case.
pub(super) fn excerpt(text: &str, characters: usize) -> String {
    let mut escaped = String::new();
    let mut room = characters;
    // Where the text ends if more follows than there is room for.
    let mut end = 0;
    for character in text.chars() {
        let start = escaped.len();
        push_escaped(&mut escaped, character);
        let length = if acts(character) { escaped.len() - start } else { 1 };
        if length > room {
            escaped.truncate(end);
            escaped.push('…');
            return escaped;
        }
        room -= length;
        if room > 0 {
            end = escaped.len();
        }
    }
    escaped
}

/// Percent-encodes the characters of an id that [`escape`] writes as their codes: the result is an id still (RFC 3987, section
/// 4.1).
pub(super) fn encoded_id(id: &str) -> String {
    if !id.contains(acts) {
        return id.to_owned();
    }
    let mut encoded = String::with_capacity(id.len() + 16);
    for character in id.chars() {
        match acts(character) {
            true => encoded.extend(utf8_percent_encode(character.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC)),
            false => encoded.push(character),
        }
    }
    encoded
}

/// Returns the id that [`encoded_id`] changed into this one, if there is one.
pub(super) fn decoded_id(encoded: &str) -> Option<String> {
    let id = percent_decode_str(encoded).decode_utf8().ok()?;
    (id != encoded && encoded_id(&id) == encoded).then(|| id.into_owned())
}

/// True for characters that act on a reader rather than being shown. The joiners of scripts and emoji, and what selects their
/// variants, are left alone.
fn acts(character: char) -> bool {
    let changes_neighbors = || {
        matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
    };
    character.is_control() && !matches!(character, '\n' | '\t')
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{2800}')
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
    excerpt(&line, SUMMARY)
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
    fn excerpts_are_short_however_their_characters_are_written() {
        assert_eq!(excerpt("tides", 5), "tides");
        assert_eq!(excerpt("tides!", 5), "tide…");
        assert_eq!(excerpt("\u{202e}", 6), "\\u202e");
        assert_eq!(excerpt("a\u{202e}b", 7), "a…");
        for character in ["ü", "\u{e0041}", "\u{3164}", "\u{115f}", "\u{ffa0}", "\u{2800}", "\u{1b}"] {
            for count in [199, 200, 201, 400] {
                let short = excerpt(&character.repeat(count), 200);
                assert!(short.chars().count() <= 200, "{count} {short}");
                assert!(!short.contains(acts), "{short}");
            }
        }
    }

    #[test]
    fn encoded_ids_are_ids_and_lead_back() {
        assert_eq!(encoded_id("urn:x:\u{202e}evil"), "urn:x:%E2%80%AEevil");
        assert_eq!(decoded_id("urn:x:%E2%80%AEevil").as_deref(), Some("urn:x:\u{202e}evil"));
        for plain in ["urn:x:evil", "urn:x:größe", "urn:x:a%20b", "urn:x:%E2%80%AE%20", "urn:x:%ff"] {
            assert_eq!((encoded_id(plain), decoded_id(plain)), (plain.to_owned(), None));
        }
    }

    #[test]
    fn summary_is_one_sentence_of_at_most_200_characters() {
        assert_eq!(summary("Knows the tides  of\nevery harbor. And more."), "Knows the tides of every harbor.");
        assert_eq!(summary("E.g. tides of every harbor"), "E.g. tides of every harbor");
        let long = summary(&"ü".repeat(100_000));
        assert_eq!(long.chars().count(), 200);
        assert!(summary(&"word ".repeat(1000)).chars().count() <= 200);
        assert!(summary(&"\u{e0041}".repeat(400)).chars().count() <= 200);
    }
}
