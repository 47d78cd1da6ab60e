//! JSON as models write it: without its comments and trailing commas, and with the line breaks of its strings as escape
//! sequences, it is JSON.

use std::borrow::Cow;

/// The text without `//` and `/* */` comments and without commas before a closing bracket, outside of strings, and with
/// control characters in strings escaped; none if it has nothing of this.
pub(super) fn repaired(text: &str) -> Option<String> {
    let mut repaired = String::with_capacity(text.len());
    // The place of a comma that nothing but space has followed yet.
    let mut comma = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let token = match character {
            '"' => {
                let string = string(rest);
                rest = &rest[string.len()..];
                comma = None;
                repaired.push_str(&escaped(string));
                continue;
            }
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest[2..].find("*/").map_or("", |end| &rest[end + 4..]);
                continue;
            }
            _ => &rest[..character.len_utf8()],
        };
        match character {
            ',' => comma = Some(repaired.len()),
            '}' | ']' => {
                if let Some(comma) = comma.take() {
                    repaired.truncate(comma);
                }
            }
            _ if character.is_whitespace() => {}
            _ => comma = None,
        }
        repaired.push_str(token);
        rest = &rest[token.len()..];
    }
    (repaired != text).then_some(repaired)
}

/// A string whose control characters are escape sequences.
fn escaped(string: &str) -> Cow<'_, str> {
    let is_raw = |character: char| character < ' ';
    if !string.contains(is_raw) {
        return string.into();
    }
    let mut escaped = String::with_capacity(string.len() + 16);
    for character in string.chars() {
        match character {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            _ if is_raw(character) => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => escaped.push(character),
        }
    }
    escaped.into()
}

/// The string that the text starts with, its quotes included; all of the text if nothing closes it.
fn string(text: &str) -> &str {
    let mut escaped = false;
    for (offset, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return &text[..=offset],
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::repaired;

    #[test]
    fn comments_and_trailing_commas_go() {
        let text = "{ \"a\": [1, 2,], // first\n \"b\": /* second */ {\"c\": 1 , } , }";
        assert_eq!(repaired(text).as_deref(), Some("{ \"a\": [1, 2], \n \"b\":  {\"c\": 1 } }"));
    }

    #[test]
    fn strings_stay_as_they_are() {
        assert_eq!(repaired(r#"{"a": "x // y, ]", "b": "\",}"}"#), None);
    }

    #[test]
    fn line_breaks_in_strings_are_escaped() {
        assert_eq!(
            repaired("{\"a\":\n\"one\r\n\ttwo\u{1}\"}").as_deref(),
            Some("{\"a\":\n\"one\\r\\n\\ttwo\\u0001\"}")
        );
    }

    #[test]
    fn a_comment_as_long_as_what_is_escaped_goes_too() {
        assert_eq!(repaired("{\"a\": \"\n\",}").as_deref(), Some("{\"a\": \"\\n\"}"));
    }

    #[test]
    fn unclosed_comments_and_strings_end_with_the_text() {
        assert_eq!(repaired("{/* never").as_deref(), Some("{"));
        assert_eq!(repaired(r#"{"never, }"#), None);
    }
}
