//! `Cursor`: a scan over JSON text that is known to be well-formed and nested no deeper than documents
//! may be.

use std::borrow::Cow;

/// A place in JSON text. Past the end it stays where it is.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'j> {
    json: &'j str,
    pub position: usize,
}

impl<'j> Cursor<'j> {
    /// The beginning of the first token.
    pub(super) fn new(json: &'j str) -> Cursor<'j> {
        let mut cursor = Cursor { json, position: 0 };
        cursor.skip_space();
        cursor
    }

    /// The first byte of what comes next; 0 at the end.
    pub(super) fn peek(&self) -> u8 {
        self.json.as_bytes().get(self.position).copied().unwrap_or_default()
    }

    /// Goes past one byte: a bracket, a comma, a colon.
    pub(super) fn skip_byte(&mut self) {
        self.position += 1;
    }

    /// Goes to the next token.
    pub(super) fn skip_space(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.position += 1;
        }
    }

    /// Whether an object or array ends here; what ends it is past then, else what comes before its next
    /// part is.
    pub(super) fn ends(&mut self) -> bool {
        self.skip_space();
        match self.peek() {
            b'}' | b']' | 0 => {
                self.skip_byte();
                true
            }
            b',' => {
                self.skip_byte();
                self.skip_space();
                false
            }
            _ => false,
        }
    }

    /// The name of a member; then comes its value.
    pub(super) fn name(&mut self) -> Cow<'j, str> {
        let name = self.string();
        self.skip_space();
        self.skip_byte();
        self.skip_space();
        name
    }

    /// A string as it is meant.
    pub(super) fn string(&mut self) -> Cow<'j, str> {
        let quoted = self.value();
        if quoted.contains('\\') {
            return serde_json::from_str::<String>(quoted).unwrap_or_default().into();
        }
        quoted.trim_matches('"').into()
    }

    /// The text of a value; the cursor is behind it then.
    pub(super) fn value(&mut self) -> &'j str {
        let start = self.position;
        let mut depth = 0usize;
        loop {
            match self.peek() {
                0 => break,
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.position += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.position += 1;
                }
                b',' | b':' => {
                    self.position += 1;
                    continue;
                }
                byte if byte.is_ascii_whitespace() => {
                    self.position += 1;
                    continue;
                }
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                break;
            }
        }
        self.json.get(start..self.position).unwrap_or_default()
    }

    fn skip_string(&mut self) {
        let bytes = self.json.as_bytes();
        self.position += 1;
        while let Some(byte) = bytes.get(self.position) {
            match byte {
                b'"' => break,
                b'\\' => self.position += 2,
                _ => self.position += 1,
            }
        }
        self.position = bytes.len().min(self.position + 1);
    }

    fn skip_scalar(&mut self) {
        while !matches!(self.peek(), 0 | b',' | b'}' | b']') && !self.peek().is_ascii_whitespace() {
            self.position += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_end() {
        for (json, value) in [
            ("1.50, 2", "1.50"),
            ("true}", "true"),
            (r#" "a\"}" ]"#, r#""a\"}""#),
            (r#"{"a": [1, {"b": "]"}], "c": null} , 1"#, r#"{"a": [1, {"b": "]"}], "c": null}"#),
            ("[ ]", "[ ]"),
        ] {
            assert_eq!(Cursor::new(json).value(), value);
        }
    }

    #[test]
    fn members_are_gone_through() {
        let mut cursor = Cursor::new(r#" { "a\u0062" :1 , "c":{"d":2} } x"#);
        cursor.skip_byte();
        let mut members = Vec::new();
        while !cursor.ends() {
            members.push((cursor.name().into_owned(), cursor.value()));
        }
        assert_eq!(members, [("ab".into(), "1"), ("c".into(), r#"{"d":2}"#)]);
        cursor.skip_space();
        assert_eq!(cursor.peek(), b'x');
    }
}
