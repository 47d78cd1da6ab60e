//! Hints about ambiguous parts of a query. These parts are read as words in any case.

use super::parse::{FIELDS, is_field};
use crate::search::FacetField;

/// Names that stand before a colon in identifiers and addresses.
const SCHEMES: [&str; 9] = ["http", "https", "urn", "did", "mailto", "ws", "wss", "mqtt", "lmos"];

/// Lists hints about a query, for people.
pub(in crate::search) fn hints(query: &str) -> Vec<String> {
    let mut hints = Vec::new();
    // What stands in quotes is searched for as it is.
    let parts: Vec<&str> = query.split('"').collect();
    for word in parts.iter().step_by(2).flat_map(|part| part.split_whitespace()) {
        let word = word.trim_start_matches(['+', '-']);
        let Some((name, value)) = word.split_once(':') else { continue };
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !is_name || is_field(name) || SCHEMES.contains(&name) || value.starts_with("//") {
            continue;
        }
        let known: Vec<&str> = FIELDS.into_iter().chain(FacetField::ALL.map(FacetField::name)).collect();
        hints.push(format!(
            "there is no field `{name}`, so `{word}` is searched as plain words; fields are {}",
            known.join(", ")
        ));
    }
    if parts.len().is_multiple_of(2) {
        hints.push("a quotation mark is not closed, so the text after it is read as single words".to_owned());
    }
    hints.dedup();
    hints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_and_open_quotes_are_told() {
        let misspelled = hints("rain capabilty:weather");
        assert_eq!(misspelled.len(), 1, "{misspelled:?}");
        assert!(misspelled[0].contains("`capabilty`") && misspelled[0].contains("capability"), "{misspelled:?}");
        assert_eq!(hints("\"long range").len(), 1);
        assert_eq!(hints("titel:\"long range\" \"x").len(), 2);
    }

    #[test]
    fn what_is_well_formed_has_no_hints() {
        let queries = [
            "",
            "rain",
            "capability:rain -vendor:\"A: b\"",
            "urn:example:a",
            "https://a.example/",
            "\"titel:x\"",
            "14:30",
        ];
        for query in queries {
            assert_eq!(hints(query), [] as [&str; 0], "{query}");
        }
    }
}
