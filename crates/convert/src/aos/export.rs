//! Export of Things as AOS agents, whether they were imported from one or not.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    agent::Agent,
    terms::{own_name, unprefixed},
    tool::{list, schema},
};
use crate::{
    Error, Format, Rendition, Result,
    shape::Findings,
    td::internal::{Path, listed_capabilities},
};

type Object = Map<String, Value>;

/// Members that describe the agent as it is exported, and no member of it by themselves.
const NOT_EXPORTED: [&str; 1] = ["id"];

/// Creates an Agent object from a Thing Description. Private values that aren't stored (instructions, and the
/// content of resources) are empty, with a warning.
///
/// # Errors
/// [`Error::NotExpressible`] if the description is not an object, lacks a version or provider, or has members under
/// `aos:` that are invalid in an agent.
pub fn from_thing(thing: &Value) -> Result<Rendition> {
    let not_expressible = |reason: String| Error::NotExpressible { format: Format::Aos.name(), reason };
    let Some(members) = thing.as_object() else {
        return Err(not_expressible("a Thing Description must be a JSON object".into()));
    };
    let mut findings = Findings::default();
    let mut agent: Object = members
        .iter()
        .filter_map(|(name, value)| Some((own_name(name)?, value)))
        .filter(|(name, _)| !NOT_EXPORTED.contains(name))
        .map(|(name, value)| (name.to_owned(), unprefixed(value)))
        .collect();
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let id = text("aos:id").or(text("id")).unwrap_or_default();
    agent.insert("id".to_owned(), id.into());
    agent.insert("name".to_owned(), text("title").filter(|title| *title != id).unwrap_or(id).into());
    if let Some(description) = text("description") {
        agent.insert("description".to_owned(), description.into());
    }
    let (Some(version), Some(provider)) = (version(members), provider(members)) else {
        let message = "an agent needs a version, and a provider with a name and a URL; add `version.instance`, and \
            `lmos:vendor` in `lmos:metadata`";
        return Err(not_expressible(message.to_owned()));
    };
    agent.insert("version".to_owned(), version);
    agent.insert("provider".to_owned(), provider);
    let tools = tools(thing);
    if !tools.is_empty() {
        agent.insert("tools".to_owned(), tools.into());
    }
    add_private(&mut agent, &mut findings);
    let agent = Value::Object(agent);
    match Agent::read(&agent) {
        Ok(_) => {
            Ok(Rendition { bytes: serde_json::to_vec(&agent).unwrap_or_default(), warnings: findings.into_list() })
        }
        Err(violations) => {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            Err(not_expressible(format!("the resulting agent would be invalid: {first}")))
        }
    }
}

/// The version, which an agent must have.
fn version(thing: &Object) -> Option<Value> {
    let version = thing.get("version").and_then(|version| version.get("instance"));
    version.filter(|version| version.is_string()).cloned()
}

/// Returns the provider, made of `lmos:vendor`; none without a name and a URL, which an agent must have.
fn provider(thing: &Object) -> Option<Value> {
    let vendor = thing.get("lmos:metadata").and_then(|metadata| metadata.get("lmos:vendor"));
    let mut provider = Object::new();
    match vendor {
        Some(Value::Object(vendor)) => {
            for (name, value) in vendor {
                let own = own_name(name).or(name.strip_prefix("lmos:")).unwrap_or(name);
                provider.insert(own.to_owned(), unprefixed(value));
            }
        }
        Some(Value::String(name)) => drop(provider.insert("name".to_owned(), name.as_str().into())),
        _ => {}
    }
    let is_whole = ["name", "url"].iter().all(|name| provider.get(*name).is_some_and(Value::is_string));
    is_whole.then(|| provider.into())
}

/// The tools: of entries of `lmos:capabilities` and of actions. An action that is called as an entry, but for the way
/// that it is spelled (`translate-text`, `translateText`), is how that one is invoked and no tool of its own.
fn tools(thing: &Value) -> Vec<Value> {
    let listed = listed_capabilities(thing);
    let actions = thing.get("actions").and_then(Value::as_object);
    let of_entries = listed.iter().filter(|(_, entry)| entry.is_some());
    let names = of_entries.flat_map(|(capability, _)| capability.id.into_iter().chain(capability.name));
    let spelled: HashSet<String> = names.map(letters).collect();
    listed
        .into_iter()
        .filter_map(|(capability, entry)| {
            let key = capability.key();
            match entry {
                Some(Value::Object(entry)) => Some(of_entry(key, capability.name, capability.description, entry)),
                _ if spelled.contains(&letters(key)) && entry.is_none() => None,
                _ => Some(of_action(key, actions.and_then(|actions| actions.get(key)).unwrap_or(&Value::Null))),
            }
        })
        .collect()
}

/// A name without what spellings differ in.
fn letters(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn of_entry(key: &str, name: Option<&str>, description: Option<&str>, entry: &Object) -> Value {
    let own = entry.iter().filter_map(|(name, value)| Some((own_name(name)?.to_owned(), unprefixed(value))));
    let mut tool: Object = own.collect();
    tool.insert("id".to_owned(), key.into());
    tool.insert("name".to_owned(), name.unwrap_or(key).into());
    if let Some(description) = description {
        tool.insert("description".to_owned(), description.into());
    }
    tool.entry("type").or_insert_with(|| "function_call".into());
    for (to, from, is_input) in [("arguments", "lmos:input", true), ("outputs", "lmos:output", false)] {
        let described = entry.get(from).or_else(|| entry.get(from.trim_start_matches("lmos:")));
        // A list is exported as it came, unless the schema that was made of it has changed.
        let is_same = tool.get(to).is_some_and(|list| schema(list, is_input).as_ref() == described);
        if !is_same {
            tool.insert(to.to_owned(), described.map_or(Value::Null, |schema| list(schema, is_input)));
        }
    }
    tool.into()
}

fn of_action(key: &str, action: &Value) -> Value {
    let text = |name: &str| action.get(name).and_then(Value::as_str);
    let mut tool = json!({
        "id": key, "name": text("title").unwrap_or(key), "type": "api_request",
        "arguments": action.get("input").map_or(Value::Null, |schema| list(schema, true)),
        "outputs": action.get("output").map_or(Value::Null, |schema| list(schema, false)),
    });
    if let Some(description) = text("description") {
        tool["description"] = description.into();
    }
    tool
}

/// Adds what is private and must be there, empty.
fn add_private(agent: &mut Object, findings: &mut Findings) {
    if !agent.contains_key("instructions") {
        let at = Path::ROOT.member("aos:instructions");
        findings.add(&at, "private", || "the Thing doesn't contain the instructions; they are exported empty".into());
        agent.insert("instructions".to_owned(), "".into());
    }
    let list = Path::ROOT.member("aos:resources");
    let resources = agent.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten();
    for (index, resource) in resources.enumerate() {
        if let Some(resource) = resource.as_object_mut().filter(|resource| !resource.contains_key("content")) {
            findings.add(&list.index(index), "private", || {
                "the Thing doesn't contain the content of this resource; the content is exported empty".into()
            });
            resource.insert("content".to_owned(), "".into());
        }
    }
}
