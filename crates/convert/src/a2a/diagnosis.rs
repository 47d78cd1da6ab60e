//! Diagnosis of documents that aren't agent cards: missing members, and the format that the document resembles.

use serde_json::{Map, Value};

use super::signs;
use crate::{Format, looks::look_of, td::Violation};

type Object = Map<String, Value>;

/// Returns the violation for a document that is not an object, with the kind of value found.
pub(super) fn no_object(value: &Value) -> Violation {
    let found = match value {
        Value::Array(elements) if elements.iter().any(|element| element.get("skills").is_some()) => {
            "a list of agent cards; import them one by one"
        }
        Value::Array(_) => "a list",
        Value::String(_) => "a string",
        _ => "a single value",
    };
    Violation::new("", "not-a-card", format!("not an A2A card: a card is an object, but the document is {found}"))
}

/// Why this is no agent card; nothing if it is one.
pub(super) fn diagnose(card: &Object) -> Vec<Violation> {
    if signs::is_card(card) {
        return Vec::new();
    }
    let (has_interface, has_skills) = (signs::has_interface(card), signs::has_skills(card));
    let mut message = String::from("not an A2A card: ");
    message.push_str(match (has_skills, has_interface) {
        (false, _) if card.get("skills").is_some_and(Value::is_array) => "its `skills` are not objects",
        (false, false) => "it has no `skills` and no `url`/`supportedInterfaces`",
        (false, true) if card.contains_key("capabilities") => "it has no `skills`",
        (false, true) => "it has a URL, but no `skills`, `capabilities`, or `defaultInputModes`",
        (true, false) => "it has no `url`/`supportedInterfaces`, `capabilities`, or `defaultInputModes`",
        (true, true) => "it has a different format",
    });
    if let Some(look) = look_of(card).filter(|look| look.format != Some(Format::A2a)) {
        message.push_str("; it looks like ");
        message.push_str(&look.words_with_format(card));
    }
    let missing = missing(card, has_interface);
    [Violation::new("", "not-a-card", message)].into_iter().chain(missing).collect()
}

fn missing(card: &Object, has_interface: bool) -> impl Iterator<Item = Violation> {
    let members = [
        ("`name`", card.contains_key("name")),
        ("`url`/`supportedInterfaces`", has_interface),
        ("`skills`", card.contains_key("skills")),
        ("`capabilities`", card.contains_key("capabilities")),
    ];
    let missing = members.into_iter().filter(|(_, is_there)| !is_there);
    missing.map(|(name, _)| Violation::new("", "member-missing", format!("{name} is missing")))
}
