//! What isn't an agent card: what is missing, and what it looks like instead.

use serde_json::{Map, Value};

use crate::td::Violation;

type Object = Map<String, Value>;

/// Something that is found under the name of a card, and how it is known.
struct Lookalike {
    name: &'static str,
    /// Whether nothing that has this sign is a card, whatever else it has.
    is_certain: bool,
    is_seen: fn(&Object) -> bool,
}

const LOOKALIKES: &[Lookalike] = &[
    Lookalike { name: "a W3C Thing Description", is_certain: true, is_seen: is_thing_description },
    Lookalike { name: "an Open Agent Spec configuration", is_certain: true, is_seen: is_agent_spec },
    Lookalike { name: "an OpenAPI document", is_certain: true, is_seen: |o| has_any(o, &["openapi", "swagger"]) },
    Lookalike { name: "a list of agent cards, which are imported one by one", is_certain: false, is_seen: is_list },
    Lookalike { name: "an answer that has the card in `result`", is_certain: false, is_seen: is_rpc_answer },
    Lookalike { name: "an LMOS capability file", is_certain: false, is_seen: is_lmos_capabilities },
    Lookalike { name: "a description of an MCP server", is_certain: false, is_seen: is_mcp },
    Lookalike { name: "a plugin manifest", is_certain: false, is_seen: is_plugin_manifest },
    Lookalike { name: "metadata of an OAuth server", is_certain: false, is_seen: is_oauth_metadata },
    Lookalike { name: "a set of keys (JWKS)", is_certain: false, is_seen: |o| is_array(o, "keys") },
    Lookalike { name: "a manifest of a web application", is_certain: false, is_seen: is_web_manifest },
    Lookalike { name: "a JSON Schema", is_certain: false, is_seen: is_json_schema },
    Lookalike { name: "an error message", is_certain: false, is_seen: is_error },
];

/// What is wrong with a document that is no object.
pub(super) fn no_object(value: &Value) -> Violation {
    let found = match value {
        Value::Array(elements) if elements.iter().any(|element| element.get("skills").is_some()) => {
            "a list of agent cards, which are imported one by one"
        }
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        _ => "a single value",
    };
    Violation::new("", "not-a-card", format!("not an A2A card: it is {found}, and a card is an object"))
}

/// Why this is no agent card; nothing if it is one.
pub(super) fn diagnose(card: &Object) -> Vec<Violation> {
    let lookalike = LOOKALIKES.iter().find(|lookalike| (lookalike.is_seen)(card));
    let has_interface = is_array(card, "supportedInterfaces")
        || card.get("supportedInterfaces").is_some_and(Value::is_object)
        || card.get("url").is_some_and(Value::is_string)
        || is_array(card, "additionalInterfaces");
    let has_skills = is_array(card, "skills");
    let is_typical = has_any(card, &["capabilities", "defaultInputModes", "defaultOutputModes", "preferredTransport"]);
    let is_card = match lookalike {
        Some(Lookalike { is_certain: true, .. }) => false,
        Some(_) => has_interface && has_skills,
        None if has_schema_org(card) => has_interface && has_skills,
        None => match has_interface {
            true => has_skills || is_typical || is_array(card, "supportedInterfaces"),
            false => has_skills && card.contains_key("name") && is_typical,
        },
    };
    if is_card {
        return Vec::new();
    }
    let mut message = String::from("not an A2A card: ");
    message.push_str(match (has_skills, has_interface) {
        (false, false) => "has no `skills` and no `url`/`supportedInterfaces`",
        (false, true) if is_typical => "has no `skills`",
        (false, true) => "has a URL, but no `skills`, `capabilities` or modes",
        (true, false) => "has no `url`/`supportedInterfaces`, `capabilities` or modes",
        (true, true) => "it is of another format",
    });
    if let Some(looks) = looks_like(card, lookalike) {
        message.push_str("; it looks like ");
        message.extend(looks.chars().take(100));
    }
    let missing = missing(card, has_interface, has_skills);
    [Violation::new("", "not-a-card", message)].into_iter().chain(missing).collect()
}

/// What the document is instead, in words.
fn looks_like(card: &Object, lookalike: Option<&Lookalike>) -> Option<String> {
    if let Some(lookalike) = lookalike {
        return Some(lookalike.name.to_owned());
    }
    let type_ = card.get("@type").and_then(Value::as_str).unwrap_or("description");
    let name = type_.rsplit(['/', ':']).next().unwrap_or(type_);
    has_schema_org(card).then(|| format!("a schema.org {name}"))
}

fn missing(card: &Object, has_interface: bool, has_skills: bool) -> impl Iterator<Item = Violation> {
    let members = [
        ("`name`", card.contains_key("name")),
        ("`url`/`supportedInterfaces`", has_interface),
        ("`skills`", has_skills),
        ("`capabilities`", card.contains_key("capabilities")),
    ];
    let missing = members.into_iter().filter(|(_, is_there)| !is_there);
    missing.map(|(name, _)| Violation::new("", "member-missing", format!("{name} is missing")))
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

/// Whether some context is, or begins with, this URI.
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
    has_any(object, &["component_type", "agentspec_version"])
}

fn is_list(object: &Object) -> bool {
    is_array(object, "agents") || is_array(object, "agentCards") || is_array(object, "cards")
}

fn is_rpc_answer(object: &Object) -> bool {
    object.contains_key("jsonrpc") || object.get("result").is_some_and(|result| result.get("skills").is_some())
}

fn is_lmos_capabilities(object: &Object) -> bool {
    let of_names = |capabilities: &Value| {
        capabilities.as_array().is_some_and(|all| all.iter().any(|capability| capability.get("name").is_some()))
    };
    has_any(object, &["supportedTenants", "supportedChannels"])
        || object.get("capabilities").is_some_and(of_names) && !object.contains_key("skills")
}

fn is_mcp(object: &Object) -> bool {
    let of_mcp = |uri: &Value| uri.as_str().is_some_and(|uri| uri.contains("modelcontextprotocol"));
    object.get("$schema").is_some_and(of_mcp)
        || has_any(object, &["mcpServers", "serverInfo"])
        || (has_any(object, &["packages", "remotes"]) && object.contains_key("name"))
}

fn is_plugin_manifest(object: &Object) -> bool {
    has_any(object, &["name_for_model", "name_for_human", "description_for_model"])
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

fn is_error(object: &Object) -> bool {
    has_any(object, &["error", "errors"]) || has_all(object, &["detail", "status"])
}
