//! Which format a document is in, told by the members of its root.

use std::collections::HashMap;

use serde::de::IgnoredAny;

use super::Format;
use crate::{Error, Result, td};

/// What tells a format: a member that no other format has, alone or together with one of others.
struct Mark {
    format: Format,
    member: &'static str,
    with: &'static [&'static str],
}

impl Mark {
    const fn new(format: Format, member: &'static str) -> Mark {
        Mark { format, member, with: &[] }
    }
}

/// What cards have beside their skills, in the generations of A2A.
const BESIDE_SKILLS: &[&str] = &["url", "capabilities", "protocolVersion", "defaultInputModes", "securitySchemes"];

const MARKS: [Mark; 11] = [
    Mark::new(Format::ThingDescription, "@context"),
    Mark::new(Format::ThingDescription, "securityDefinitions"),
    Mark::new(Format::AgentSpec, "component_type"),
    Mark::new(Format::AgentSpec, "agentspec_version"),
    Mark::new(Format::AgentSpec, "air_version"),
    Mark::new(Format::AgentSpec, "$referenced_components"),
    Mark::new(Format::AgentSpec, "$component_ref"),
    Mark::new(Format::A2a, "supportedInterfaces"),
    Mark { format: Format::A2a, member: "skills", with: BESIDE_SKILLS },
    Mark::new(Format::LmosCapabilities, "supportedTenants"),
    Mark::new(Format::LmosCapabilities, "supportedChannels"),
];

/// The format of a document, given as JSON text. Says nothing about its validity.
///
/// ```
/// use agentdex::convert::{Format, detect};
///
/// assert_eq!(detect(r#"{"component_type": "Agent", "name": "Weather"}"#)?, Format::AgentSpec);
/// assert!(detect(r#"{"name": "Weather"}"#).is_err());
/// # Ok::<(), agentdex::Error>(())
/// ```
///
/// # Errors
/// [`Error::UnclearFormat`] says what was looked for, or what contradicts itself; [`Error::MalformedJson`].
pub fn detect(json: &str) -> Result<Format> {
    if !json.trim_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(json).map_err(|error| td::malformed_json(&error))?;
        return Err(unclear("it is no JSON object, which it is in every format".into()));
    }
    let members: HashMap<String, IgnoredAny> =
        serde_json::from_str(json).map_err(|error| td::malformed_json(&error))?;
    let has = |name: &&str| members.contains_key(*name);
    let is_there = |mark: &&Mark| has(&mark.member) && (mark.with.is_empty() || mark.with.iter().any(has));
    let found: Vec<&Mark> = MARKS.iter().filter(is_there).collect();
    let Some(first) = found.first() else { return Err(unclear(format!("it has {}", looked_for()))) };
    match found.iter().find(|mark| mark.format != first.format) {
        None => Ok(first.format),
        Some(other) => Err(unclear(format!(
            "`{}` is a member of {}, but `{}` one of {}",
            first.member, first.format, other.member, other.format
        ))),
    }
}

fn unclear(message: String) -> Error {
    Error::UnclearFormat { message }
}

/// None of the members that were looked for, in words.
fn looked_for() -> String {
    let marks_of = |format: Format| {
        let marks = MARKS.iter().filter(move |mark| mark.format == format).map(|mark| match mark.with {
            [] => format!("`{}`", mark.member),
            with => format!("`{}` beside `{}`", mark.member, with.join("` or `")),
        });
        format!("{} ({format})", marks.collect::<Vec<_>>().join(", "))
    };
    format!("none of {}", Format::ALL.map(marks_of).join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        detect(json).unwrap_err().to_string()
    }

    #[test]
    fn formats_are_told_by_members_that_only_they_have() {
        for (json, format) in [
            (r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "A"}"#, Format::ThingDescription),
            (r#"{"title": "A", "securityDefinitions": {}, "skills": 1}"#, Format::ThingDescription),
            (r#"{"component_type": "Agent"}"#, Format::AgentSpec),
            (r#"{"$component_ref": "a", "$referenced_components": {}}"#, Format::AgentSpec),
            (r#"{"name": "A", "url": "https://a.example", "skills": []}"#, Format::A2a),
            (r#"{"name": "A", "supportedInterfaces": []}"#, Format::A2a),
            (r#"{"id": "a", "supportedChannels": [], "capabilities": []}"#, Format::LmosCapabilities),
        ] {
            assert_eq!(detect(json).unwrap(), format, "{json}");
        }
    }

    #[test]
    fn unknown_documents_hear_what_was_looked_for() {
        for json in ["{}", r#"{"skills": []}"#, r#"{"a": {"component_type": "Agent"}}"#] {
            let refusal = refusal(json);
            for mark in MARKS {
                assert!(refusal.contains(&format!("`{}`", mark.member)), "{refusal}");
            }
            assert!(refusal.contains("(agent-spec)") && refusal.contains("(td)") && refusal.contains("(a2a)"));
        }
        for json in ["[]", "1", "null", "\"component_type\""] {
            assert!(refusal(json).contains("no JSON object"), "{json}");
        }
    }

    #[test]
    fn documents_of_two_formats_hear_what_contradicts_itself() {
        let refusal = refusal(r#"{"component_type": "Agent", "@context": []}"#);
        assert!(refusal.contains("`@context` is a member of td, but `component_type` one of agent-spec"), "{refusal}");
    }

    #[test]
    fn deep_and_malformed_documents_end_nothing() {
        let deep = format!(r#"{{"a": {}{}, "component_type": 1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(detect(&deep).unwrap(), Format::AgentSpec);
        assert!(matches!(detect("{\n\"a\" 1}"), Err(Error::MalformedJson { line: 2, .. })));
        assert!(matches!(detect("{} {}"), Err(Error::MalformedJson { .. })));
    }
}
