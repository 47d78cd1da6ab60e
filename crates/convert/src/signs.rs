//! Characteristic members of documents that are found in place of an agent's description, by which each format and
//! other known documents are recognized.

use serde_json::{Map, Value};

use super::shape::snake_case;
use crate::{Error, Result, td::Document};

type Object = Map<String, Value>;

/// A member, also where it is spelled in snake_case.
pub(super) fn member<'o>(object: &'o Object, name: &str) -> Option<&'o Value> {
    object.get(name).or_else(|| object.get(&snake_case(name)))
}

/// Reads a JSON document; of what is not JSON the error says what it looks like.
pub(super) fn parse(json: &[u8]) -> Result<Document> {
    Document::parse(json).map_err(Error::from).map_err(|error| match str::from_utf8(json) {
        Ok(text) => explain(error, text),
        Err(_) => error,
    })
}

/// Adds to the error of a document that is not JSON what its text looks like, if that is known.
pub(super) fn explain(error: Error, text: &str) -> Error {
    let Error::MalformedJson { line, column, message } = error else { return error };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let begins = |tag: &str| text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    if text.is_empty() {
        return Error::MalformedJson { line, column, message: "the document is empty".to_owned() };
    }
    let looks = if begins("<!doctype html") || begins("<html") {
        "the document is a web page (HTML)"
    } else if begins("<") {
        "the document looks like XML or HTML"
    } else if begins("//") || begins("/*") {
        "the document begins with a comment, but JSON has no comments"
    } else if is_skill(text) {
        SKILL
    } else if is_yaml(text) {
        "the document looks like YAML"
    } else {
        return Error::MalformedJson { line, column, message };
    };
    Error::MalformedJson { line, column, message: format!("{looks}; {message}") }
}

/// Adds to the error of a document that is not YAML what its text looks like, if that is known.
pub(super) fn explain_yaml(error: Error, text: &str) -> Error {
    match error {
        Error::MalformedYaml { line, column, message } if is_skill(text) => {
            Error::MalformedYaml { line, column, message: format!("{SKILL}; {message}") }
        }
        error => error,
    }
}

const SKILL: &str = "the document is an Agent Skill (SKILL.md), which is not a callable agent";

/// True for Markdown with the front matter of a skill: its name and description.
fn is_skill(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_end);
    let matter: Vec<&str> = match lines.next() {
        Some("---") => lines.by_ref().take(MOST_FRONT_MATTER).take_while(|line| *line != "---").collect(),
        _ => return false,
    };
    let has = |name: &str| matter.iter().any(|line| line.starts_with(name));
    matter.len() < MOST_FRONT_MATTER && has("name:") && has("description:") && lines.next().is_some()
}

/// Maximum number of lines of the front matter of a skill.
const MOST_FRONT_MATTER: usize = 200;

fn is_yaml(text: &str) -> bool {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(line) = lines.take(1).next() else { return false };
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '$' | '@'))
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-$@.".contains(&byte))
    };
    let is_member =
        line.split_once(':').is_some_and(|(name, value)| is_name(name) && (value.is_empty() || value.starts_with(' ')));
    is_member || line == "---" || line.starts_with("--- ") || line.starts_with("- ") || line.starts_with("%YAML")
}

pub(super) fn has_any(object: &Object, names: &[&str]) -> bool {
    names.iter().any(|name| object.contains_key(*name))
}

fn has_all(object: &Object, names: &[&str]) -> bool {
    names.iter().all(|name| object.contains_key(*name))
}

pub(super) fn is_array(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(Value::is_array)
}

/// True if some context has this URI in it.
fn has_context(object: &Object, uri: &str) -> bool {
    let is_it = |context: &Value| context.as_str().is_some_and(|context| context.contains(uri));
    match object.get("@context") {
        Some(Value::Array(contexts)) => contexts.iter().any(is_it),
        Some(Value::Object(terms)) => terms.values().any(is_it),
        Some(one) => is_it(one),
        None => false,
    }
}

pub(super) fn has_schema_org(object: &Object) -> bool {
    has_context(object, "schema.org")
}

pub(super) fn is_thing_description(object: &Object) -> bool {
    has_context(object, "www.w3.org/2022/wot/td")
        || has_context(object, "www.w3.org/2019/wot/td")
        || has_all(object, &["securityDefinitions", "title"])
}

pub(super) fn is_agent_spec(object: &Object) -> bool {
    has_any(object, &["component_type", "agentspec_version", "air_version", "$referenced_components", "$component_ref"])
}

/// True if a document may be a Thing Description without the context of W3C WoT: it has another context, or security
/// definitions.
pub(super) fn is_like_thing(object: &Object) -> bool {
    has_any(object, &["@context", "securityDefinitions"])
}

/// A card may say where its OpenAPI document is; the document itself says more.
pub(super) fn is_openapi(object: &Object) -> bool {
    has_any(object, &["openapi", "swagger"]) && has_any(object, &["info", "paths"])
}

/// True if a member is the version that a document declares its specification in.
pub(super) fn is_version(object: &Object, name: &str) -> bool {
    let version = object.get(name).and_then(Value::as_str);
    version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

pub(super) fn is_postman_collection(object: &Object) -> bool {
    let schema = object.get("info").and_then(|info| info.get("schema")).and_then(Value::as_str);
    schema.is_some_and(|schema| schema.contains("schema.getpostman.com")) && is_array(object, "item")
}

pub(super) fn is_list_of_cards(object: &Object) -> bool {
    is_array(object, "agents") || is_array(object, "agentCards") || is_array(object, "cards")
}

pub(super) fn has_card_in(object: &Object, name: &str) -> bool {
    let inner = object.get(name).and_then(Value::as_object);
    inner.is_some_and(|inner| has_any(inner, &["skills", "supportedInterfaces", "supported_interfaces"]))
}

/// A file has no name or address of its agent: with one it is a card of an old or private shape.
pub(super) fn is_capability_file(object: &Object) -> bool {
    member(object, "supportedTenants").is_some()
        || member(object, "supportedChannels").is_some()
        || (!has_any(object, &["skills", "name", "url", "provider"]) && has_named_capabilities(object))
}

/// True if `capabilities` are described one by one.
pub(super) fn has_named_capabilities(object: &Object) -> bool {
    let has_name = |capability: &Value| capability.get("name").is_some();
    object.get("capabilities").and_then(Value::as_array).is_some_and(|all| all.iter().any(has_name))
}

/// An index of skills, which names where the instructions of each are.
pub(super) fn is_skills_index(object: &Object) -> bool {
    let of_skills = |uri: &Value| uri.as_str().is_some_and(|uri| uri.contains("agentskills"));
    let is_file = |skill: &Value| {
        let ends = |url: &Value| url.as_str().is_some_and(|url| url.ends_with("SKILL.md"));
        skill.get("type").is_some_and(|kind| kind == "skill-md")
            || ["url", "path"].iter().any(|name| skill.get(*name).is_some_and(ends))
            || skill.get("files").and_then(Value::as_array).is_some_and(|files| files.iter().any(ends))
    };
    let skills = object.get("skills").and_then(Value::as_array);
    object.get("$schema").is_some_and(of_skills)
        || skills.is_some_and(|skills| !skills.is_empty() && skills.iter().all(is_file))
}

/// A catalog whose entries say where descriptions are: the manifest of Agentic Resource Discovery, or an AI Catalog.
pub(super) fn is_catalog(object: &Object) -> bool {
    let is_entry = |entry: &Value| {
        entry.get("identifier").is_some() && (entry.get("url").is_some() || entry.get("type").is_some())
    };
    let entries = object.get("entries").and_then(Value::as_array);
    entries.is_some_and(|entries| !entries.is_empty() && entries.iter().all(is_entry))
}

/// An answer to `tools/list`.
pub(super) fn is_tools_answer(object: &Object) -> bool {
    object.get("result").and_then(|result| result.get("tools")).is_some_and(Value::is_array)
}

pub(super) fn is_mcp(object: &Object) -> bool {
    let of_mcp = |uri: &Value| uri.as_str().is_some_and(|uri| uri.contains("modelcontextprotocol"));
    let offers = object.get("capabilities").and_then(Value::as_object);
    object.get("$schema").is_some_and(of_mcp)
        || offers.is_some_and(|offers| has_any(offers, &["tools", "prompts", "resources"]))
        || has_any(
            object,
            &["mcpServers", "serverInfo", "server_name", "mcp_version", "mcp_endpoint", "transport", "transports"],
        )
        || is_array(object, "tools")
        || has_all(object, &["name", "tools"])
        || (has_any(object, &["packages", "remotes"]) && object.contains_key("name"))
}

pub(super) fn is_oauth_metadata(object: &Object) -> bool {
    object.contains_key("issuer") && has_any(object, &["authorization_endpoint", "token_endpoint", "jwks_uri"])
}

pub(super) fn is_web_manifest(object: &Object) -> bool {
    object.contains_key("start_url") || (is_array(object, "icons") && has_any(object, &["short_name", "display"]))
}

pub(super) fn is_json_schema(object: &Object) -> bool {
    let of_schema = |uri: &Value| uri.as_str().is_some_and(|uri| uri.contains("json-schema.org"));
    object.get("$schema").is_some_and(of_schema) && has_any(object, &["properties", "type"])
}

pub(super) fn is_package(object: &Object) -> bool {
    has_all(object, &["name", "version"]) && has_any(object, &["dependencies", "devDependencies", "scripts"])
}

pub(super) fn is_error(object: &Object) -> bool {
    has_any(object, &["error", "errors"])
        || (object.contains_key("detail") && !object.contains_key("name"))
        || (object.contains_key("message") && has_any(object, &["status", "statusCode", "code"]))
}
