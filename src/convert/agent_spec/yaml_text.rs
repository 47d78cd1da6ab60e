//! JSON text as YAML: how a document that came as YAML is kept, since its comments may hold secrets.
//!
//! Block style, members in their order. A string is plain only where no version of YAML could take it
//! for anything else.

use super::cursor::Cursor;

/// Strings that some version of YAML takes for something else.
const RESERVED: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
/// Longer names can't stand before a colon on their line (YAML 1.2.2, section 7.4.2).
const LONGEST_NAME: usize = 900;

/// Writes well-formed JSON as YAML with the same data.
pub(super) fn from_json(json: &str) -> String {
    let mut writer = YamlWriter { cursor: Cursor::new(json), out: String::with_capacity(json.len()) };
    writer.node(0, Position::Start);
    writer.out
}

/// What a node stands behind.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// Nothing.
    Start,
    /// The colon after a name.
    Colon,
    /// The dash of an entry.
    Dash,
}

struct YamlWriter<'j> {
    cursor: Cursor<'j>,
    out: String,
}

impl YamlWriter<'_> {
    /// Writes the value at the cursor with its line break; its lines begin at `indent`.
    fn node(&mut self, indent: usize, position: Position) {
        let bracket = self.cursor.peek();
        if !matches!(bracket, b'{' | b'[') {
            if position != Position::Start {
                self.out.push(' ');
            }
            self.scalar(indent, position);
            self.out.push('\n');
            return;
        }
        self.cursor.skip_byte();
        let mut is_first = true;
        while !self.cursor.ends() {
            match (std::mem::take(&mut is_first), position) {
                (true, Position::Colon) => self.begin_line(indent),
                (true, Position::Dash) => self.out.push(' '),
                (true, Position::Start) => {}
                (false, _) => self.indent(indent),
            }
            match bracket {
                b'{' => self.member(indent),
                _ => {
                    self.out.push('-');
                    self.node(indent + 2, Position::Dash);
                }
            }
        }
        if is_first {
            let space = if position == Position::Start { "" } else { " " };
            self.out.push_str(space);
            self.out.push_str(if bracket == b'{' { "{}\n" } else { "[]\n" });
        }
    }

    fn member(&mut self, indent: usize) {
        let name = self.cursor.name();
        if name.len() > LONGEST_NAME {
            self.out.push_str("? ");
            self.string(&name);
            self.begin_line(indent);
        } else {
            self.string(&name);
        }
        self.out.push(':');
        self.node(indent + 2, Position::Colon);
    }

    fn begin_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.indent(indent);
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn scalar(&mut self, indent: usize, position: Position) {
        if self.cursor.peek() != b'"' {
            let token = self.cursor.value();
            return self.out.push_str(token);
        }
        let text = self.cursor.string();
        match position != Position::Start && is_block(&text) {
            true => self.block(&text, indent),
            false => self.string(&text),
        }
    }

    /// A text of several lines as it is; the last line break is written with the node.
    fn block(&mut self, text: &str, indent: usize) {
        let (lines, chomping) = match text.strip_suffix('\n') {
            Some(lines) => (lines, "|"),
            None => (text, "|-"),
        };
        self.out.push_str(chomping);
        for line in lines.split('\n') {
            match line {
                "" => self.out.push('\n'),
                line => {
                    self.begin_line(indent);
                    self.out.push_str(line);
                }
            }
        }
    }

    fn string(&mut self, text: &str) {
        if is_plain(text) {
            return self.out.push_str(text);
        }
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                other if is_printable(other) => self.out.push(other),
                other => self.out.push_str(&format!("\\U{:08x}", u32::from(other))),
            }
        }
        self.out.push('"');
    }
}

/// Whether a character may stand in YAML as it is, and isn't lost to a reader that folds lines.
fn is_printable(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

fn is_plain(text: &str) -> bool {
    let is_word =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '(' | ')');
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && text.split(' ').all(|word| !word.is_empty() && word.chars().all(is_word))
        && !RESERVED.iter().any(|reserved| text.eq_ignore_ascii_case(reserved))
}

/// Whether a text survives as a block of lines.
fn is_block(text: &str) -> bool {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && lines.split('\n').all(|line| !line.ends_with([' ', '\t']) && line.chars().all(is_printable))
        && !lines.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::convert::Syntax;

    fn read(yaml: &str) -> Value {
        serde_json::from_str(&Syntax::Yaml.to_json(yaml.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn document_is_written_in_block_style() {
        let json = r#"{"name": "Weather", "list": [1.50, -2, [], {}, [1, [2]], [{"a": null, "b": true}]],
            "text": "one\n two\n\nthree\n", "no": "no", "v": "25.4.1", "x": {"yy": {"z": "a: b"}}}"#;
        let yaml = "\
name: Weather
list:
  - 1.50
  - -2
  - []
  - {}
  - - 1
    - - 2
  - - a: null
      b: true
text: |
  one
   two

  three
\"no\": \"no\"
v: \"25.4.1\"
x:
  yy:
    z: \"a: b\"
";
        assert_eq!(from_json(json), yaml);
        assert_eq!(read(yaml), serde_json::from_str::<Value>(json).unwrap());
    }

    #[test]
    fn strings_that_look_like_something_else_stay_strings() {
        let texts = [
            "",
            " ",
            "~",
            "null",
            "Yes",
            "0x1F",
            "1e5",
            "1_000",
            "2024-01-01",
            ".nan",
            "- a",
            "? a",
            "# a",
            "a #b",
            "a: b",
            "a:",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "{a",
            "[a",
            "a]",
            "|",
            ">",
            "'",
            "\"",
            "\\",
            "a\tb",
            "a\r\nb",
            "a\n",
            "\na",
            "a\n\n",
            "a \nb",
            "a\n b",
            "\u{0}",
            "\u{85}",
            "\u{feff}a",
            "\u{2028}",
            "\u{7f}",
            "日本",
            "é",
            "<<",
            "=",
            "a,b",
            "---",
            "...",
            "--- a\nb",
            "{{x}}",
            "NaN",
            "Infinity",
            "a\n# b\nc",
            "a\n\tb",
            "O",
        ];
        let names: serde_json::Map<_, _> = texts.map(|text| (text.to_owned(), json!(text))).into_iter().collect();
        let value = json!({"list": texts.as_slice(), "names": names});
        assert_eq!(read(&from_json(&value.to_string())), value);
        let long = json!({"x".repeat(5000): [{"y z".repeat(2000): {"a": 1}}]});
        assert_eq!(read(&from_json(&long.to_string())), long);
        assert_eq!(read(&from_json("\"a\\nb\"")), json!("a\nb"));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["\\PC{0,12}", "[a-z \n:#-]{0,16}", any::<String>()];
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        scalar.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,8}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_again(value in any_value()) {
            let yaml = from_json(&value.to_string());
            prop_assert_eq!(read(&yaml), value, "{}", yaml);
        }
    }
}
