//! Detection of a document's format by the members of its root.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::{Map, Value, value::RawValue};

use super::{Format, looks, signs};
use crate::{Error, Result, td};

/// Detects the format of a document, given as JSON text. The document may be invalid.
///
/// ```
/// use agentdex_convert::{Format, detect};
///
/// assert_eq!(detect(r#"{"component_type": "Agent", "name": "Weather"}"#)?, Format::AgentSpec);
/// assert!(detect(r#"{"name": "Weather"}"#).is_err());
/// # Ok::<(), agentdex_convert::Error>(())
/// ```
///
/// # Errors
/// [`Error::UnclearFormat`] if characteristic members are missing or contradict each other; [`Error::MalformedJson`].
pub fn detect(json: &str) -> Result<Format> {
    let malformed = |error| signs::explain(td::internal::malformed_json(&error).into(), json);
    if !json.trim_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(json).map_err(malformed)?;
        return Err(unclear(match json.trim_start().starts_with('[') {
            true => "it is a list, not a JSON object; write one document per line, for example with `jq -c '.[]' \
                FILE > documents.ndjson`, and register that file"
                .into(),
            false => "it is not a JSON object; documents of every format are JSON objects".into(),
        }));
    }
    let members: HashMap<String, &RawValue> = serde_json::from_str(json).map_err(malformed)?;
    // Of what is nested too deeply to be read only the name counts.
    let read = |value: &RawValue| serde_json::from_str(value.get()).unwrap_or(Value::Null);
    let members: Map<String, Value> = members.into_iter().map(|(name, value)| (name, read(value))).collect();
    format_of(&members)
}

fn format_of(members: &Map<String, Value>) -> Result<Format> {
    let mut certain = looks::certain_looks(members);
    if let (Some(one), Some(other)) = (certain.next(), certain.next()) {
        return Err(unclear(format!("it looks like {}, but also like {}", one.words(members), other.words(members))));
    }
    match looks::look_of(members) {
        Some(look) => look.format.ok_or_else(|| unclear(format!("it looks like {}", look.words(members)))),
        None => Err(unclear(lacking(members))),
    }
}

/// Explains why no format is detected: a missing `@context`, or the members that each known format is detected by.
fn lacking(members: &Map<String, Value>) -> String {
    let affordances = ["title", "properties", "actions", "events", "forms"];
    if let Some(member) = affordances.iter().find(|name| members.contains_key(**name)) {
        let thing = Format::ThingDescription.descriptor().noun;
        return format!(
            "`@context` is missing. The document has `{member}`, so it seems to be {thing}; add \"@context\": \"{}\"",
            td::CONTEXT_1_1
        );
    }
    for (member, servers) in [("mcp", ".mcp.servers // .mcp"), ("context_servers", ".context_servers")] {
        if members.get(member).is_some_and(Value::is_object) {
            return format!(
                "it looks like client settings with MCP servers in `{member}`; extract the servers with `jq \
                 '{{mcpServers: ({servers})}}' FILE > servers.json`, and register that file"
            );
        }
    }
    let formats = Format::ALL.iter().map(|format| format.descriptor());
    let known: Vec<String> = formats
        .map(|format| format!("{} ({}), recognized by {}", format.noun, format.name, format.recognized_by))
        .collect();
    format!("it looks like none of the following: {}", known.join("; "))
}

fn unclear(message: String) -> Error {
    Error::UnclearFormat { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        detect(json).unwrap_err().to_string()
    }

    #[test]
    fn formats_are_detected_by_members_that_only_they_have() {
        for (json, format) in [
            (r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "A"}"#, Format::ThingDescription),
            (r#"{"title": "A", "securityDefinitions": {}, "skills": 1}"#, Format::ThingDescription),
            (r#"{"component_type": "Agent"}"#, Format::AgentSpec),
            (r#"{"$component_ref": "a", "$referenced_components": {}}"#, Format::AgentSpec),
            (r#"{"name": "A", "url": "https://a.example", "skills": []}"#, Format::A2a),
            (r#"{"name": "A", "supportedInterfaces": []}"#, Format::A2a),
            (r#"{"skills": [], "supportedInterfaces": 7}"#, Format::A2a),
            (r#"{"name": "A", "description": "B", "supported_interfaces": []}"#, Format::A2a),
            (r#"{"@context": "https://schema.org", "url": "https://a.example", "skills": [{}]}"#, Format::A2a),
            (r#"{"openapi": "https://a.example", "url": "https://a.example", "skills": [{}]}"#, Format::A2a),
            (r#"{"name": "a", "url": "https://a.example", "tools": []}"#, Format::McpServer),
            (r#"{"id": "a", "supportedChannels": [], "capabilities": []}"#, Format::LmosCapabilities),
            (r#"{"id": "a", "capabilities": [{"name": "b", "version": "1.0.0"}]}"#, Format::LmosCapabilities),
        ] {
            assert_eq!(detect(json).unwrap(), format, "{json}");
        }
    }

    #[test]
    fn unknown_documents_are_refused_with_what_is_known() {
        for json in ["{}", r#"{"skills": []}"#, r#"{"a": {"component_type": "Agent"}}"#] {
            let refusal = refusal(json);
            for word in ["`@context`", "`component_type`", "`supportedInterfaces`", "`capabilities`"] {
                assert!(refusal.contains(word), "{refusal}");
            }
            assert!(!refusal.contains("$referenced_components"), "{refusal}");
            assert!(Format::ALL.iter().all(|format| refusal.contains(&format!("({format})"))), "{refusal}");
        }
        assert!(refusal(r#"{"title": "x"}"#).contains("`@context` is missing"));
        for json in ["[]", "1", "null", "\"component_type\""] {
            assert!(refusal(json).contains("not a JSON object"), "{json}");
        }
        assert!(refusal(r#"[{"name": "A"}]"#).contains("jq -c"));
        for json in [r#"{"mcp": {"servers": {}}}"#, r#"{"context_servers": {"a": {}}}"#] {
            assert!(refusal(json).contains("mcpServers"), "{json}");
        }
        for (json, name) in [
            (r#"{"@context": "https://schema.org", "@type": "Organization"}"#, "a schema.org Organization"),
            ("<!DOCTYPE html><p>", "web page"),
            (" ", "empty"),
        ] {
            assert!(refusal(json).contains(name), "{}", refusal(json));
        }
    }

    #[test]
    fn documents_of_two_formats_are_refused_with_both() {
        let refusal = refusal(r#"{"component_type": "Agent", "@context": "https://www.w3.org/2022/wot/td/v1.1"}"#);
        assert!(refusal.contains("looks like a W3C Thing Description, but also like an Open Agent Spec"), "{refusal}");
    }

    #[test]
    fn deep_and_malformed_documents_end_nothing() {
        let deep = format!(r#"{{"a": {}{}, "component_type": 1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(detect(&deep).unwrap(), Format::AgentSpec);
        assert!(matches!(detect("{\n\"a\" 1}"), Err(Error::MalformedJson { line: 2, .. })));
        assert!(matches!(detect("{} {}"), Err(Error::MalformedJson { .. })));
    }
}
