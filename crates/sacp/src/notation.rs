//! Responses in other notations than objects of JSON: members without braces, elements of XML, YAML.

use agentdex_api::Repair;
use serde_json::{Map, Value};

use super::lenient;

/// The longest text that is read as YAML, in bytes.
const MAX_YAML_BYTES: usize = 64 * 1024;
/// Names of the members of a response.
const NAMES: [&str; 5] = ["thought", "status", "data", "message", "next_step_hint"];

/// The object that a text is, with what was done to read it. Every byte that is read is taken from `budget`.
pub(super) fn object_of(text: &str, budget: &mut usize) -> Option<(Map<String, Value>, Repair)> {
    *budget = budget.checked_sub(text.len())?;
    if text.contains("</status>") {
        let repair = Repair::new("", "sacp/notation", "XML elements were read as members");
        return Some((elements_of(text)?, repair));
    }
    let text = text.strip_prefix("---").unwrap_or(text).trim_start();
    let name = first_name(text)?;
    if name.is_quoted || text.lines().next()?.trim_end().ends_with(',') {
        let members = lenient::members_of(text, budget)?;
        let is_whole = members.cut.is_none() && lenient::is_end(text, members.end, budget);
        let (rule, message) = lenient::Deviation::MissingBrace.describe();
        return is_whole.then(|| (members.object, Repair::new("", rule, message)));
    }
    let repair = Repair::new("", "sacp/notation", "YAML was read as an object");
    Some((yaml_of(text)?, repair))
}

/// The name that a text begins with, if it is one of a response.
struct FirstName {
    is_quoted: bool,
}

fn first_name(text: &str) -> Option<FirstName> {
    let bare = text.trim_start_matches(['"', '\'']);
    let (name, rest) =
        bare.split_at_checked(bare.find(|character: char| !character.is_alphabetic() && character != '_')?)?;
    let is_known = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    let has_value = rest.trim_start_matches(['"', '\'', ' ']).starts_with(':');
    (is_known && has_value).then_some(FirstName { is_quoted: bare.len() < text.len() })
}

/// Elements that are named as the members of a response are, each once.
fn elements_of(text: &str) -> Option<Map<String, Value>> {
    let mut members = Map::new();
    for name in NAMES {
        let (opening, closing) = (format!("<{name}>"), format!("</{name}>"));
        let Some((_, after)) = text.split_once(&opening) else { continue };
        let (content, rest) = after.split_once(&closing)?;
        if rest.contains(&opening) {
            return None;
        }
        let content = content.trim();
        let value = match name {
            "data" => serde_json::from_str(content).ok()?,
            _ => Value::String(without_entities(content)),
        };
        members.insert(name.to_owned(), value);
    }
    Some(members)
}

/// A text with the entities of XML replaced by what they stand for.
pub(super) fn without_entities(content: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(content.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

/// YAML without anchors and tags, which models don't write in an answer.
fn yaml_of(text: &str) -> Option<Map<String, Value>> {
    if text.len() > MAX_YAML_BYTES {
        return None;
    }
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: 64, max_anchors: 0, max_aliases: 0, max_merge_keys: 0 },
    };
    match serde_saphyr::from_str_with_options(text, options).ok()? {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Option<Value> {
        object_of(text, &mut 100_000).map(|(object, _)| object.into())
    }

    #[test]
    fn members_elements_and_yaml_are_objects() {
        let expected = json!({"thought": "t", "status": "success", "data": {"n": 3}, "message": "m & n"});
        for text in [
            "\"thought\": \"t\", \"status\": \"success\", \"data\": {\"n\": 3}, \"message\": \"m & n\"}",
            "\"thought\": \"t\",\n\"status\": \"success\",\n\"data\": {\"n\": 3},\n\"message\": \"m & n\"",
            "thought: \"t\",\nstatus: \"success\",\ndata: {\"n\": 3},\nmessage: \"m & n\"",
            "<r><thought>t</thought><status>success</status><data>{\"n\": 3}</data><message>m &amp; n</message></r>",
            "thought: t\nstatus: success\ndata:\n  n: 3\nmessage: m & n",
        ] {
            assert_eq!(read(text).as_ref(), Some(&expected), "{text}");
        }
    }

    #[test]
    fn prose_and_hostile_yaml_are_not_objects() {
        let bomb = format!("thought: &a [{}]\nstatus: *a", "x, ".repeat(100));
        for text in
            ["- **thought**: t", "\"Thought\" is a word.", "status of the order: sent", "data", "thought: a: b", &bomb]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
