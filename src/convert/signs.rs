//! What tells documents apart that are found where a description of an agent is looked for: one list for
//! everybody who asks what a document is, or what it is instead.

use serde_json::{Map, Value};

use super::{Format, shape::snake_case};
use crate::{Error, Result, td::Document};

type Object = Map<String, Value>;

/// Something that a document may be, and how it is known.
pub(super) struct Sign {
    pub name: &'static str,
    /// The format that it is in, if that is one of ours.
    pub format: Option<Format>,
    /// Whether what has this sign is nothing else, whatever else it has.
    pub is_certain: bool,
    is_seen: fn(&Object) -> bool,
}

impl Sign {
    const fn certain(format: Option<Format>, name: &'static str, is_seen: fn(&Object) -> bool) -> Sign {
        Sign { name, format, is_certain: true, is_seen }
    }

    const fn of(format: Format, name: &'static str, is_seen: fn(&Object) -> bool) -> Sign {
        Sign { name, format: Some(format), is_certain: false, is_seen }
    }

    const fn other(name: &'static str, is_seen: fn(&Object) -> bool) -> Sign {
        Sign { name, format: None, is_certain: false, is_seen }
    }

    /// What the document looks like, in words.
    pub fn words(&self, object: &Object) -> String {
        let type_ = object.get("@type").and_then(Value::as_str).filter(|_| self.name == SCHEMA_ORG);
        let Some(type_) = type_ else { return self.name.to_owned() };
        let name = type_.rsplit(['/', ':']).next().unwrap_or(type_);
        format!("a schema.org {}", name.chars().take(80).collect::<String>())
    }
}

const SCHEMA_ORG: &str = "a schema.org description";

/// The first that is seen says most.
const SIGNS: &[Sign] = &[
    Sign::certain(Some(Format::ThingDescription), "a W3C Thing Description", is_thing_description),
    Sign::certain(Some(Format::AgentSpec), "an Open Agent Spec configuration", is_agent_spec),
    Sign::certain(None, "an OpenAPI document", is_openapi),
    Sign::other("a list of agent cards, which are imported one by one", is_list_of_cards),
    Sign::other("an answer that has the card in `result`", |o| o.contains_key("jsonrpc") || has_card_in(o, "result")),
    Sign::other("an object that has the card in `agentCard`", |o| has_card_in(o, "agentCard")),
    Sign::other("an object that has the card in `card`", |o| has_card_in(o, "card")),
    Sign::other("an object that has the card in `data`", |o| has_card_in(o, "data")),
    Sign::of(Format::LmosCapabilities, "an LMOS capability file", is_capability_file),
    Sign::other("a description of an MCP server", is_mcp),
    Sign::other("a plugin manifest", |o| has_any(o, &["name_for_model", "name_for_human", "description_for_model"])),
    Sign::other("metadata of an OAuth server", is_oauth_metadata),
    Sign::other("a set of keys (JWKS)", |o| is_array(o, "keys")),
    Sign::other("a manifest of a web application", is_web_manifest),
    Sign::other("a JSON Schema", is_json_schema),
    Sign::other("a package.json", is_package),
    Sign::other(SCHEMA_ORG, has_schema_org),
    Sign::other("an error message", is_error),
    Sign::of(Format::ThingDescription, "a Thing Description", |o| has_any(o, &["@context", "securityDefinitions"])),
];

/// What tells documents of our formats, in words.
pub(super) const TOLD_BY: &str = "the `@context` of W3C WoT or `securityDefinitions` (td); `component_type`, \
    `agentspec_version`, `air_version`, `$referenced_components` or `$component_ref` (agent-spec); \
    `supportedInterfaces`, or `skills` beside `url`, `capabilities` or `protocolVersion` (a2a); `supportedTenants`, \
    `supportedChannels` or `capabilities` with names (lmos-capabilities)";

/// What a document is that isn't an agent card.
pub(super) fn sign_of(object: &Object) -> Option<&'static Sign> {
    SIGNS.iter().find(|sign| (sign.is_seen)(object))
}

/// What a document certainly is.
pub(super) fn certain_signs(object: &Object) -> impl Iterator<Item = &'static Sign> {
    SIGNS.iter().filter(|sign| sign.is_certain && (sign.is_seen)(object))
}

/// Whether something has the interfaces of an agent card.
pub(super) fn has_interface(object: &Object) -> bool {
    let supported = member(object, "supportedInterfaces");
    supported.is_some_and(|supported| supported.is_array() || supported.is_object())
        || object.get("url").is_some_and(Value::is_string)
        || member(object, "additionalInterfaces").is_some_and(Value::is_array)
}

/// Whether something has skills as agent cards do, which are objects.
pub(super) fn has_skills(object: &Object) -> bool {
    let skills = object.get("skills").and_then(Value::as_array);
    skills.is_some_and(|skills| skills.is_empty() || skills.iter().any(Value::is_object))
}

/// Whether something is an agent card.
pub(super) fn is_card(object: &Object) -> bool {
    let (has_interface, has_skills) = (has_interface(object), has_skills(object));
    match sign_of(object) {
        Some(sign) if sign.is_certain => false,
        Some(_) => has_interface && has_skills,
        None if has_interface => {
            has_skills || member(object, "supportedInterfaces").is_some() || typical_members(object) >= 2
        }
        None => {
            let is_typical = object.contains_key("capabilities") || typical_members(object) > 0;
            has_skills && object.contains_key("name") && is_typical
        }
    }
}

/// Whether something is meant as an agent card, even if it is none.
pub(super) fn is_like_card(object: &Object) -> bool {
    let beside = ["url", "capabilities", "protocolVersion", "defaultInputModes", "securitySchemes"];
    member(object, "supportedInterfaces").is_some()
        || (has_skills(object) && beside.iter().any(|name| member(object, name).is_some()))
}

/// How many members something has that hardly anything but an agent card has.
fn typical_members(object: &Object) -> usize {
    let has = |name: &str| member(object, name).is_some();
    let of_a2a = ["streaming", "pushNotifications", "stateTransitionHistory", "extensions", "extendedAgentCard"];
    let is_named = |name: &str| of_a2a.iter().any(|known| *known == name || snake_case(known) == name);
    let has_flags = match object.get("capabilities") {
        Some(Value::Object(flags)) => flags.keys().any(|name| is_named(name)),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is_named),
        _ => false,
    };
    let has_modes = has("defaultInputModes") || has("defaultOutputModes");
    [has("protocolVersion"), has("preferredTransport"), has_modes, has_flags].into_iter().filter(|&one| one).count()
}

/// A member in either spelling of agent cards.
fn member<'o>(object: &'o Object, name: &str) -> Option<&'o Value> {
    object.get(name).or_else(|| object.get(&snake_case(name)))
}

/// Reads a document of ours; of what is no JSON the error says what it looks like.
pub(super) fn parse(json: &[u8]) -> Result<Document> {
    Document::parse(json).map_err(|error| match str::from_utf8(json) {
        Ok(text) => explain(error, text),
        Err(_) => error,
    })
}

/// What text is that is no JSON, if that can be told.
pub(super) fn explain(error: Error, text: &str) -> Error {
    let Error::MalformedJson { line, column, message } = error else { return error };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let begins = |tag: &str| text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    let looks = if text.is_empty() {
        "the document is empty"
    } else if begins("<!doctype html") || begins("<html") {
        "the document is a web page (HTML)"
    } else if begins("<") {
        "the document looks like XML or HTML"
    } else if begins("//") || begins("/*") {
        "the document begins with a comment, which JSON doesn't have"
    } else if is_yaml(text) {
        "the document looks like YAML"
    } else {
        return Error::MalformedJson { line, column, message };
    };
    Error::MalformedJson { line, column, message: format!("{looks}; {message}") }
}

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

fn has_any(object: &Object, names: &[&str]) -> bool {
    names.iter().any(|name| object.contains_key(*name))
}

fn has_all(object: &Object, names: &[&str]) -> bool {
    names.iter().all(|name| object.contains_key(*name))
}

fn is_array(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(Value::is_array)
}

/// Whether some context has this URI in it.
fn has_context(object: &Object, uri: &str) -> bool {
    let is_it = |context: &Value| context.as_str().is_some_and(|context| context.contains(uri));
    match object.get("@context") {
        Some(Value::Array(contexts)) => contexts.iter().any(is_it),
        Some(Value::Object(terms)) => terms.values().any(is_it),
        Some(one) => is_it(one),
        None => false,
    }
}

fn has_schema_org(object: &Object) -> bool {
    has_context(object, "schema.org")
}

fn is_thing_description(object: &Object) -> bool {
    has_context(object, "www.w3.org/2022/wot/td")
        || has_context(object, "www.w3.org/2019/wot/td")
        || has_all(object, &["securityDefinitions", "title"])
}

fn is_agent_spec(object: &Object) -> bool {
    has_any(object, &["component_type", "agentspec_version", "air_version", "$referenced_components", "$component_ref"])
}

/// A card may say where its OpenAPI document is; the document itself says more.
fn is_openapi(object: &Object) -> bool {
    has_any(object, &["openapi", "swagger"]) && has_any(object, &["info", "paths"])
}

fn is_list_of_cards(object: &Object) -> bool {
    is_array(object, "agents") || is_array(object, "agentCards") || is_array(object, "cards")
}

fn has_card_in(object: &Object, name: &str) -> bool {
    let inner = object.get(name).and_then(Value::as_object);
    inner.is_some_and(|inner| has_any(inner, &["skills", "supportedInterfaces", "supported_interfaces"]))
}

fn is_capability_file(object: &Object) -> bool {
    let has_name = |capability: &Value| capability.get("name").is_some();
    member(object, "supportedTenants").is_some()
        || member(object, "supportedChannels").is_some()
        || (!object.contains_key("skills")
            && object.get("capabilities").and_then(Value::as_array).is_some_and(|all| all.iter().any(has_name)))
}

fn is_mcp(object: &Object) -> bool {
    let of_mcp = |uri: &Value| uri.as_str().is_some_and(|uri| uri.contains("modelcontextprotocol"));
    let offers = object.get("capabilities").and_then(Value::as_object);
    object.get("$schema").is_some_and(of_mcp)
        || offers.is_some_and(|offers| has_any(offers, &["tools", "prompts", "resources"]))
        || has_any(object, &["mcpServers", "serverInfo", "transport"])
        || is_array(object, "tools")
        || (has_any(object, &["packages", "remotes"]) && object.contains_key("name"))
}

fn is_oauth_metadata(object: &Object) -> bool {
    object.contains_key("issuer") && has_any(object, &["authorization_endpoint", "token_endpoint", "jwks_uri"])
}

fn is_web_manifest(object: &Object) -> bool {
    object.contains_key("start_url") || (is_array(object, "icons") && has_any(object, &["short_name", "display"]))
}

fn is_json_schema(object: &Object) -> bool {
    let of_schema = |uri: &Value| uri.as_str().is_some_and(|uri| uri.contains("json-schema.org"));
    object.get("$schema").is_some_and(of_schema) && has_any(object, &["properties", "type"])
}

fn is_package(object: &Object) -> bool {
    has_all(object, &["name", "version"]) && has_any(object, &["dependencies", "devDependencies", "scripts"])
}

fn is_error(object: &Object) -> bool {
    has_any(object, &["error", "errors"])
        || (object.contains_key("detail") && !object.contains_key("name"))
        || (object.contains_key("message") && has_any(object, &["status", "statusCode", "code"]))
}
