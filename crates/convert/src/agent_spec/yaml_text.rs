//! Conversion of JSON text to YAML. A document received as YAML is regenerated before it is stored, since its comments
//! may contain secrets.
//!
//! The order of members is preserved. Strings are quoted as required by both YAML 1.1 and 1.2, so that no reader
//! interprets them as values of another type.

use crate::{Error, Result, redaction::Node};

/// Writes well-formed JSON as YAML with the same data.
///
/// # Errors
/// [`Error::MalformedYaml`] where the writer of YAML refuses it.
pub(super) fn from_json(json: &str) -> Result<String> {
    // Only what has several lines is written in lines.
    let options = serde_saphyr::ser_options! { compact_list_indent: false, folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(&Node::parse(json), options).map_err(|error| Error::MalformedYaml {
        line: 1,
        column: 1,
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::Syntax;

    fn read(yaml: &str) -> Value {
        serde_json::from_str(&Syntax::Yaml.to_json(yaml.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn document_is_written_in_block_style() {
        let json = r#"{"name": "Weather", "list": [1.5, -2, [], {}, [1, [2]], [{"a": null, "b": true}]],
            "text": "one\n two\n\nthree\n", "no": "no", "v": "25.4.1", "x": {"yy": {"z": "a: b"}}}"#;
        let yaml = "\
name: Weather
list:
  - 1.5
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
        assert_eq!(from_json(json).unwrap(), yaml);
        assert_eq!(read(yaml), serde_json::from_str::<Value>(json).unwrap());
    }

    #[test]
    fn integers_keep_their_digits() {
        let json = r#"{"a": 18446744073709551616, "b": [-9223372036854775809, 12345678901234567890123]}"#;
        let yaml = from_json(json).unwrap();
        assert_eq!(Syntax::Yaml.to_json(yaml.as_bytes()).unwrap().replace(' ', ""), json.replace(' ', ""));
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
        assert_eq!(read(&from_json(&value.to_string()).unwrap()), value);
        let long = json!({"x".repeat(5000): [{"y z".repeat(2000): {"a": 1}}]});
        assert_eq!(read(&from_json(&long.to_string()).unwrap()), long);
        assert_eq!(read(&from_json("\"a\\nb\"").unwrap()), json!("a\nb"));
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
            let yaml = from_json(&value.to_string()).unwrap();
            prop_assert_eq!(read(&yaml), value, "{}", yaml);
        }
    }
}
