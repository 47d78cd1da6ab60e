//! Thing Descriptions as agent cards: of one that was a card the card again, of any other an honest one.
//!
//! Members with the prefix `a2a:` are those of a card. What a TD has no such members for is made of its
//! own: capabilities and actions are skills, forms with the subprotocol `a2a` are interfaces. A Thing
//! that has only HTTP forms becomes a card of 1.0 with the binding [`FORMS_BINDING`](super::FORMS_BINDING)
//! and an extension that lists the forms. What a card can't say without being wrong is an error.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    Card, Generation,
    card::generation_of,
    export_forms::{self, Reached},
    export_security,
    reference::web_url,
};
use crate::{
    Error, Result,
    td::{Report, Violation, listed_capabilities},
};

type Object = Map<String, Value>;

/// Makes an agent card of a Thing Description.
///
/// ```
/// use agentdex::convert::a2a::{Generation, from_thing};
///
/// let thing = serde_json::json!({
///     "title": "Weather", "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
///     "actions": {"forecast": {"forms": [{"href": "https://weather.example/a2a", "subprotocol": "a2a"}]}}
/// });
/// let card: serde_json::Value = serde_json::from_str(&from_thing(&thing, Generation::V1)?).unwrap();
/// assert_eq!(card["supportedInterfaces"][0]["url"], "https://weather.example/a2a");
/// assert_eq!(card["skills"][0]["id"], "forecast");
/// # Ok::<(), agentdex::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotExpressible`](crate::Error::NotExpressible) says what has no form in a card of that
/// generation.
pub fn from_thing(thing: &Value, generation: Generation) -> Result<String> {
    let thing = thing.as_object().ok_or_else(|| not_expressible("a Thing Description is an object".into()))?;
    let mut members: Object = thing.iter().filter_map(own_member).collect();
    let is_card = ["supportedInterfaces", "url", "additionalInterfaces"].iter().any(|name| members.contains_key(*name));
    let shape = if is_card { generation_of(&members) } else { Generation::V1 };
    let mut violations = Vec::new();
    if !is_card {
        add_interfaces(thing, generation, &mut members, &mut violations);
    }
    add_metadata(thing, &mut members);
    let skills = if is_card { kept_skills(thing) } else { skills(thing) };
    members.insert("skills".into(), skills.into());
    export_security::add(thing, shape, &mut members, &mut violations);
    if !violations.is_empty() {
        let report = Report { violations, ..Report::default() };
        return Err(not_expressible(report.to_string()));
    }
    let card = Card::of_members(members).map_err(|error| match error {
        Error::InvalidSource { report, .. } => not_expressible(report.to_string()),
        other => other,
    })?;
    Ok(String::from_utf8_lossy(&card.as_version(generation).json).into_owned())
}

fn not_expressible(reason: String) -> Error {
    Error::NotExpressible { format: "a2a", reason }
}

/// A member of a card that the TD keeps under our prefix.
fn own_member((name, value): (&String, &Value)) -> Option<(String, Value)> {
    Some((name.strip_prefix("a2a:")?.to_owned(), value.clone()))
}

fn add_interfaces(thing: &Object, generation: Generation, members: &mut Object, violations: &mut Vec<Violation>) {
    let reached = export_forms::reached(thing);
    if matches!(&reached, Reached::Http { .. }) && generation == Generation::V0 {
        let message = "there are HTTP forms, but none with the subprotocol a2a; only a card of 1.0 can name another \
                       binding: ask for version 1.0";
        violations.push(Violation::new("/actions", "no-a2a-form", message));
        return;
    }
    match reached {
        Reached::A2a { interfaces, is_streaming } => {
            members.insert("supportedInterfaces".into(), interfaces.into());
            members.entry("capabilities").or_insert_with(|| json!({"streaming": is_streaming}));
            add_modes(members, "text/plain", "text/plain");
        }
        Reached::Http { interfaces, extension, content_type } => {
            members.insert("supportedInterfaces".into(), interfaces.into());
            members.insert("capabilities".into(), json!({"streaming": false, "extensions": [extension]}));
            add_modes(members, &content_type, &content_type);
        }
        Reached::Nowhere { protocols } => {
            let found = if protocols.is_empty() { "no forms at all".to_owned() } else { protocols.join(", ") };
            let message = format!("an agent card needs actions with forms of A2A or HTTP; found {found}");
            violations.push(Violation::new("/actions", "no-a2a-form", message));
        }
    }
}

fn add_modes(members: &mut Object, input: &str, output: &str) {
    members.entry("defaultInputModes").or_insert_with(|| json!([input]));
    members.entry("defaultOutputModes").or_insert_with(|| json!([output]));
}

fn add_metadata(thing: &Object, members: &mut Object) {
    members.insert("name".into(), one_text(thing, "title", "titles").into());
    members.insert("description".into(), one_text(thing, "description", "descriptions").into());
    let version = thing.get("version").and_then(|version| version.get("instance")?.as_str());
    members.insert("version".into(), version.unwrap_or_default().into());
    if let Some(provider) = provider(thing) {
        members.insert("provider".into(), provider);
    }
    let base = thing.get("base").and_then(Value::as_str);
    for (member, relations) in [("documentationUrl", ["service-doc", "help"]), ("iconUrl", ["icon", "shortcut icon"])] {
        let links = thing.get("links").and_then(Value::as_array).into_iter().flatten();
        let is_it = |link: &&Value| link.get("rel").and_then(Value::as_str).is_some_and(|rel| relations.contains(&rel));
        let url = links.filter(is_it).find_map(|link| web_url(link.get("href")?.as_str()?, base).ok());
        if let Some(url) = url {
            members.insert(member.into(), url.into());
        }
    }
}

/// A text, or the first of its translations.
fn one_text<'t>(owner: &'t Object, one: &str, many: &str) -> &'t str {
    let translated = || owner.get(many)?.as_object()?.values().find_map(Value::as_str);
    owner.get(one).and_then(Value::as_str).or_else(translated).unwrap_or_default()
}

fn provider(thing: &Object) -> Option<Value> {
    let vendor = thing.get("lmos:metadata").and_then(|metadata| metadata.get("lmos:vendor"));
    match vendor.or_else(|| thing.get("lmos:vendor"))? {
        Value::String(name) => Some(json!({"organization": name, "url": ""})),
        Value::Object(vendor) => {
            let mut provider = Object::new();
            for (name, value) in vendor {
                let member = match name.as_str() {
                    "lmos:name" | "name" => "organization",
                    "lmos:url" | "url" => "url",
                    other => match other.strip_prefix("a2a:") {
                        Some(own) => own,
                        None => continue,
                    },
                };
                provider.insert(member.to_owned(), value.clone());
            }
            for name in ["organization", "url"] {
                provider.entry(name).or_insert_with(|| "".into());
            }
            Some(provider.into())
        }
        _ => None,
    }
}

/// The skills of what was a card: they are capabilities as they were.
fn kept_skills(thing: &Object) -> Vec<Value> {
    let capabilities = thing.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten();
    capabilities.filter(|capability| capability.is_object()).cloned().collect()
}

/// A skill for each capability and action.
fn skills(thing: &Object) -> Vec<Value> {
    let whole = Value::Object(thing.clone());
    let (mut keys, mut names) = (HashSet::new(), HashSet::new());
    let mut skills: Vec<Value> = Vec::new();
    for (capability, entry) in listed_capabilities(&whole) {
        // One capability in several versions is one skill.
        let is_named = capability.id.is_none() && names.contains(capability.key());
        if is_named || !keys.insert(capability.key()) {
            continue;
        }
        names.extend(capability.name);
        let title = thing.get("actions").and_then(|actions| actions.get(capability.key())?.get("title")?.as_str());
        let name = title.or(capability.name).unwrap_or(capability.key());
        let mut skill = json!({
            "id": capability.key(), "name": name, "description": capability.description.unwrap_or(name),
            "tags": entry.map_or_else(Vec::new, |entry| texts(entry, "tags")),
        });
        let examples = entry.map_or_else(Vec::new, |entry| texts(entry, "examples"));
        if !examples.is_empty() {
            skill["examples"] = json!(examples);
        }
        skills.push(skill);
    }
    skills
}

fn texts(owner: &Value, name: &str) -> Vec<String> {
    let values = owner.get(name).or_else(|| owner.get(format!("lmos:{name}")));
    values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
