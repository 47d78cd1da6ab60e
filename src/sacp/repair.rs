//! JSON as models write it: without its comments and trailing commas it is JSON.

/// The text without `//` and `/* */` comments and without commas before a closing bracket, outside of
/// strings; none if it has neither.
pub(super) fn without_comments_and_trailing_commas(text: &str) -> Option<String> {
    let mut repaired = String::with_capacity(text.len());
    // The place of a comma that nothing but space has followed yet.
    let mut comma = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let token = match character {
            '"' => string(rest),
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
    (repaired.len() < text.len()).then_some(repaired)
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
    use super::without_comments_and_trailing_commas as repaired;

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
    fn unclosed_comments_and_strings_end_with_the_text() {
        assert_eq!(repaired("{/* never").as_deref(), Some("{"));
        assert_eq!(repaired(r#"{"never, }"#), None);
    }
}
