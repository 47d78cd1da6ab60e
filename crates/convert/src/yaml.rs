//! Conversion of YAML to JSON text.
//!
//! Only YAML that can be represented in JSON is accepted: a single document, names that are strings (a plain `1` is the
//! string `1`), anchors, aliases, merge keys, and the tags of the core schema. Only `true` and `false` are booleans, so
//! `no` and `on` are strings. Numbers with leading zeros are strings, since YAML 1.1 and 1.2 interpret them
//! differently. `1e3` is a number as in YAML 1.2, although parsers of YAML 1.1 read a string. If YAML 1.1 is requested,
//! all of these are interpreted as by PyYAML. Repeated names are refused.

use serde_saphyr::{Error as YamlError, ExternalMessageSource, budget::BudgetBreach, granit_parser::ErrorKind};

use super::json_text::{JsonText, Schema};
use crate::{Error, Result, td::MAX_NESTING};

/// Maximum length of a document's JSON, as a multiple of the document's own: JSON has what aliases stand for, and the
/// quotes and braces that YAML goes without.
const MAX_EXPANSION: usize = 8;
/// Bytes of JSON that any document may have in addition, however short it is.
const FREE_EXPANSION: usize = 64 * 1024;
/// The most scalars, sequences and mappings.
const MAX_VALUES: usize = 2_000_000;
/// The most of them that anchors keep, counted once for each anchor around them.
const MAX_ANCHORED: usize = 1_000_000;
/// The most aliases, and the most anchors.
const MAX_ALIASES: usize = 50_000;
/// The most merge keys.
const MAX_MERGE_KEYS: usize = 10_000;

/// Transcribes a document by the core schema of YAML 1.2.
///
/// # Errors
/// [`Error::MalformedYaml`], [`Error::LimitExceeded`].
pub(super) fn to_json(text: &str) -> Result<String> {
    transcribe(text, Schema::Core)
}

/// Transcribes a document as readers of YAML 1.1 understand its plain scalars.
///
/// # Errors
/// As [`to_json`].
pub(super) fn to_json_1_1(text: &str) -> Result<String> {
    transcribe(text, Schema::Yaml11)
}

fn transcribe(text: &str, schema: Schema) -> Result<String> {
    let longest = text.len().saturating_mul(MAX_EXPANSION).saturating_add(FREE_EXPANSION);
    let mut json = JsonText::up_to(longest.min(super::MAX_SOURCE_BYTES)).with_scalars(text, schema);
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |source| json.read(source));
    match read {
        Ok(()) => Ok(json.into_text()),
        Err(error) => Err(json
            .exceeded("length of the YAML document after expanding its aliases")
            .unwrap_or_else(|| explain(&error))),
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: MAX_NESTING + 1,
            max_nodes: MAX_VALUES,
            max_events: 3 * MAX_VALUES,
            max_recorded_anchor_events: MAX_ANCHORED,
            max_anchors: MAX_ALIASES,
            max_aliases: MAX_ALIASES,
            max_merge_keys: MAX_MERGE_KEYS,
            // How much aliases stand for is bounded by the length of the JSON.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 3 * MAX_VALUES },
    }
}

fn explain(error: &YamlError) -> Error {
    if let Some((what, maximum)) = limit(error) {
        return Error::LimitExceeded { what, maximum: maximum as u64 };
    }
    let (line, column) = error.location().map_or((1, 1), |at| (at.line() as usize, at.column() as usize));
    Error::MalformedYaml { line, column, message: message(error).to_owned() }
}

/// The limit that the reading ended at, if it was one.
fn limit(error: &YamlError) -> Option<(&'static str, usize)> {
    const NESTING: (&str, usize) = ("JSON nesting depth", MAX_NESTING);
    let breach = match error {
        YamlError::AliasError { error, .. } => return limit(error),
        YamlError::AliasReplayLimitExceeded { max_total_replayed_events: maximum, .. } => {
            return Some(("number of values that YAML aliases expand to", *maximum));
        }
        YamlError::AliasReplayStackDepthExceeded { max_depth: maximum, .. } => {
            return Some(("nesting depth of YAML aliases", *maximum));
        }
        YamlError::ExternalMessage { source, .. } => {
            let ExternalMessageSource::Parser(error) = source.as_ref() else { return None };
            return matches!(error.kind(), ErrorKind::RecursionLimitExceeded).then_some(NESTING);
        }
        YamlError::Budget { breach, .. } => breach,
        _ => return None,
    };
    match breach {
        BudgetBreach::Depth { .. } => Some(NESTING),
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => Some(("number of values in YAML", MAX_VALUES)),
        BudgetBreach::RecordedAnchorEvents { .. } | BudgetBreach::RecordedAnchorBytes { .. } => {
            Some(("number of values with YAML anchors", MAX_ANCHORED))
        }
        BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => {
            Some(("number of YAML anchors or aliases", MAX_ALIASES))
        }
        BudgetBreach::MergeKeys { .. } => Some(("number of YAML merge keys", MAX_MERGE_KEYS)),
        _ => None,
    }
}

/// Describes an error without a word of the document: a value in the wrong place may be a secret.
fn message(error: &YamlError) -> &str {
    match error {
        YamlError::AliasError { error, .. } => message(error),
        // The parser's own words, which quote one character at most.
        YamlError::ExternalMessage { msg, .. } => msg,
        YamlError::Eof { .. } => "the document ends unexpectedly",
        YamlError::MultipleDocuments { .. } => "a second document starts; a file can contain only one",
        YamlError::DuplicateMappingKey { .. } => "a member name is repeated",
        YamlError::UnsupportedTag { .. } | YamlError::TaggedScalarCannotDeserializeIntoString { .. } => {
            "JSON can't represent values with this tag"
        }
        YamlError::InvalidScalar { .. } | YamlError::InvalidBooleanStrict { .. } => "the value doesn't match its tag",
        YamlError::InvalidBinaryBase64 { .. } | YamlError::BinaryNotUtf8 { .. } => "the !!binary value is not base64",
        YamlError::NonFiniteFloat { .. } => "JSON can't represent this number; put it in quotes to make it a string",
        YamlError::NullIntoString { .. } => "a member name is null; put it in quotes to make it a string",
        YamlError::Unexpected { .. } => "a member name is not a string",
        YamlError::UnknownAnchor { .. } => "an alias refers to an anchor that isn't defined above it",
        YamlError::RecursiveReferencesRequireWeakTypes { .. } => "an anchor contains an alias of itself",
        YamlError::MergeValueNotMapOrSeqOfMaps { .. } => "<< takes a mapping, or a list of mappings",
        YamlError::FoldedBlockScalarMustIndentContent { .. } => "the text after > or | must be indented",
        _ => "JSON can't represent this YAML",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(yaml: &str) -> (usize, usize, String) {
        match to_json(yaml) {
            Err(Error::MalformedYaml { line, column, message }) => (line, column, message),
            other => panic!("{yaml}: {other:?}"),
        }
    }

    fn exceeded(yaml: &str) -> &'static str {
        match to_json(yaml) {
            Err(Error::LimitExceeded { what, .. }) => what,
            other => panic!("{:?}", other.map(|json| json.len())),
        }
    }

    #[test]
    fn values_are_those_of_yaml_1_2() {
        let yaml = "a: yes\nb: true\nc: ~\nd: 0x1F\ne: 0755\nf: 2024-01-01\ng: 25.4.1\nh: 1.50\ni: !!str 5\nj: |\n  x\n  y\n1: k\n";
        let json = r#"{"a":"yes","b":true,"c":null,"d":31,"e":"0755","f":"2024-01-01","g":"25.4.1","h":1.50,"i":"5","j":"x\ny\n","1":"k"}"#;
        assert_eq!(to_json(yaml).unwrap(), json);
        assert_eq!(to_json("\u{feff}# nothing\n").unwrap(), "null");
        assert_eq!(to_json("{\"a\": [1, \"\\u00e9\"]}").unwrap(), "{\"a\":[1,\"\u{e9}\"]}");
    }

    #[test]
    fn values_of_yaml_1_1_are_those_of_pyyaml() {
        let yaml = "a: yes\nb: [no, 010, 1e3, 1.10]\nc: 'no'\nd: !!str 5\ne: &x 007\nf: *x\ng: |\n  no\nh: 123456789012345678901234567890\ni: {j: off, k: two words}\nl:\n";
        let json = r#"{"a":true,"b":[false,8,"1e3",1.10],"c":"no","d":"5","e":7,"f":7,"g":"no\n","h":123456789012345678901234567890,"i":{"j":false,"k":"two words"},"l":null}"#;
        assert_eq!(to_json_1_1(yaml).unwrap(), json);
        let long = "n: 123456789012345678901234567890\n";
        assert_eq!(to_json(long).unwrap(), r#"{"n":123456789012345678901234567890}"#);
    }

    #[test]
    fn aliases_and_merge_keys_are_replaced_by_what_they_stand_for() {
        let yaml = "base: &base {x: 1, y: 2}\nother: {<<: *base, y: 3}\nagain: *base\n";
        let json = r#"{"base":{"x":1,"y":2},"other":{"y":3,"x":1},"again":{"x":1,"y":2}}"#;
        let read: serde_json::Value = serde_json::from_str(&to_json(yaml).unwrap()).unwrap();
        assert_eq!(read, serde_json::from_str::<serde_json::Value>(json).unwrap());
    }

    #[test]
    fn what_has_no_json_form_is_refused_with_its_place_and_without_its_words() {
        let refused = [
            ("a: 1\nsecret: 2\nsecret: 3\n", 3, "repeated"),
            ("a: 1\n---\nsecret: 2\n", 3, "second document"),
            ("a: !secret x\n", 1, "tag"),
            ("a: !!python/object:os.secret x\n", 1, "tag"),
            ("a: !!timestamp 2024-01-01\n", 1, "tag"),
            ("a: !!int secret\n", 1, "tag"),
            ("? [secret]\n: 1\n", 1, "not a string"),
            ("a: 1\n~: secret\n", 2, "null"),
            ("a: .nan\n", 1, "number"),
            ("a: *secret\n", 1, "anchor"),
            ("a: &secret [*secret]\n", 1, "itself"),
            ("a: {<<: secret}\n", 1, "mapping"),
            ("a:\n\tsecret: 1\n", 2, "tab"),
            ("a: \"secret\n", 2, "quoted"),
            ("a: secret: 1\n", 1, "mapping values"),
            ("a: @secret\n", 1, "character"),
            ("a: \"\\qsecret\"\n", 1, "escape"),
        ];
        for (yaml, line, words) in refused {
            let (found, column, message) = refusal(yaml);
            assert_eq!(found, line, "{yaml}: {message}");
            assert!(column > 0 && message.contains(words) && !message.contains("secret"), "{yaml}: {message}");
        }
    }

    #[test]
    fn aliases_that_explode_are_given_up() {
        let mut yaml = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(",");
            yaml += &format!("a{level}: &a{level} [{aliases}]\n");
        }
        assert!(exceeded(&yaml).contains("aliases"));
        let text = "x".repeat(100_000);
        assert!(exceeded(&format!("a: &a {text}\nb: [{}]\n", vec!["*a"; 1000].join(","))).contains("aliases"));
    }

    #[test]
    fn nesting_is_bounded_however_it_is_written() {
        let block: String = (0..10_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        for yaml in ["[".repeat(10_000), "{a: ".repeat(10_000), "- ".repeat(10_000), block] {
            let refused = to_json(&yaml).unwrap_err();
            assert!(matches!(refused, Error::LimitExceeded { what: "JSON nesting depth", .. }), "{refused}");
        }
        let merged = (1..100).map(|level| format!("a{level}: &a{level} {{x: *a{}}}\n", level - 1)).collect::<String>();
        assert_eq!(exceeded(&format!("a0: &a0 1\n{merged}")), "JSON nesting depth");
    }

    #[test]
    fn deepest_document_is_read() {
        let deepest = format!("{}1{}", "[".repeat(MAX_NESTING), "]".repeat(MAX_NESTING));
        assert_eq!(to_json(&deepest).unwrap(), deepest);
        assert_eq!(exceeded(&format!("[{deepest}]")), "JSON nesting depth");
    }
}
