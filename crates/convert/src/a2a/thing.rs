//! Conversion of a card to a Thing Description.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    A2A_NAMESPACE, Card, Options, THING_EXTENSION,
    export_forms::forms_of,
    forms::callables,
    invalid,
    reference::{Unusable, interface_url, web_url},
    security::Definitions,
    skills::{Skills, count_actions, listed_actions},
};
use crate::{
    Conversion, ConvertedThing, Format, Result, Source,
    agent_spec::AGENT_SPEC_NAMESPACE,
    canonical_url::canonical_url,
    shape::Findings,
    td::{Document, Identity, LmosKind, Strictness, Violation, admit, internal::Path, normalize_id},
    thing_builder::{HTTP_NAMESPACE, ThingBuilder},
};

type Object = Map<String, Value>;

impl Card {
    /// Converts the card to a Thing, which keeps the card as its source.
    ///
    /// # Errors
    /// [`Error::InvalidSource`](crate::Error::InvalidSource) if there is neither an id nor a URL from which to derive
    /// one; [`Error::DocumentTooLarge`](crate::Error::DocumentTooLarge) if the description would be too large; the
    /// errors of [`normalize_id`](crate::td::normalize_id).
    pub fn to_thing(&self, options: &Options) -> Result<Conversion> {
        to_thing(self, options)
    }

    /// True if an id can be made of it: of the URL of its interface and its name.
    pub(super) fn has_id(&self, base: Option<&str>) -> bool {
        id_of(self, &Options { id: None, base: base.map(str::to_owned) }).is_ok()
    }
}

fn to_thing(card: &Card, options: &Options) -> Result<Conversion> {
    let id = id_of(card, options)?;
    let mut findings = Findings::default();
    let mut thing = finish(members(card, listed_actions(card), options, &mut findings), &id, card)?;
    if listed_actions(card).is_some() && !is_valid(&thing.description) {
        findings = Findings::default();
        thing = finish(members(card, None, options, &mut findings), &id, card)?;
        let message =
            || "an extension lists forms that are not valid in a Thing Description; its forms are ignored".into();
        findings.add(&Path::ROOT.member("capabilities").member("extensions"), "forms-unusable", message);
    }
    let warnings = card.warnings().iter().cloned().chain(findings.into_list()).collect();
    Ok(Conversion { things: vec![thing], warnings, ..Conversion::default() })
}

fn finish(members: Object, id: &str, card: &Card) -> Result<ConvertedThing> {
    let mut thing = ThingBuilder::new(LmosKind::Agent, id.to_owned(), "");
    thing.type_("a2a:Agent");
    thing.prefix("a2a", A2A_NAMESPACE);
    thing.prefix("htv", HTTP_NAMESPACE);
    if listed_actions(card).is_some() && members.get("actions").is_some_and(names_agent_spec) {
        thing.prefix("agentspec", AGENT_SPEC_NAMESPACE);
    }
    thing.set_all(members);
    thing.finish(Source { format: Format::A2a, media_type: "application/json".into(), bytes: card.bytes().to_vec() })
}

/// True if actions have terms of Agent Spec, or their forms do.
fn names_agent_spec(actions: &Value) -> bool {
    let is_term = |name: &String| name.starts_with("agentspec:");
    let mut actions = actions.as_object().into_iter().flat_map(Object::values).filter_map(Value::as_object);
    actions.any(|action| action.keys().any(is_term) || forms_of(action).any(|form| form.keys().any(is_term)))
}

/// All members of the description but the id.
pub(super) fn members(card: &Card, listed: Option<&Object>, options: &Options, findings: &mut Findings) -> Object {
    let callables = callables(card, options, count_actions(card), findings);
    if callables.is_empty() && listed.is_none() {
        let message = "no interface can be called; the skills become capabilities, but not actions";
        findings.add(&Path::ROOT, "no-interface", || message.into());
    }
    let mut thing = description(card, options, findings);
    let mut definitions = Definitions::of(card, options.base.as_deref(), findings);
    let security = definitions.of_card(card);
    thing.insert("security".into(), security.names.clone());
    let scopes = (!security.scopes.is_empty()).then_some(security);
    let skills = Skills { card, callables: &callables, listed, of_card: scopes.as_ref() };
    skills.describe(&mut definitions, &mut thing);
    thing.insert("securityDefinitions".into(), definitions.finish().into());
    thing
}

fn is_valid(description: &Document) -> bool {
    admit(description.clone(), Identity::Own, Strictness::Strict).is_ok()
}

/// The id of the Thing that a card was made of, if it says one.
fn thing_id(card: &Card) -> Option<&str> {
    let extensions = card.members().get("capabilities")?.get("extensions")?.as_array()?;
    let extension = extensions.iter().find(|extension| extension["uri"] == THING_EXTENSION)?;
    extension.get("params")?.get("id")?.as_str()
}

/// The extension that says of which Thing a card is made.
pub(super) fn id_extension(id: &str) -> Value {
    let description = "The card was generated from the Thing Description with this id.";
    json!({"uri": THING_EXTENSION, "description": description, "params": {"id": id}})
}

pub(super) fn id_of(card: &Card, options: &Options) -> Result<String> {
    if let Some(id) = &options.id {
        return Ok(normalize_id(id)?.into_owned());
    }
    // Whoever serves a card decides nothing about the Things of others.
    if let Some(id) = thing_id(card).filter(|_| options.base.is_none()) {
        return Ok(normalize_id(id)?.into_owned());
    }
    let unknown =
        |message: &str| Err(invalid(vec![Violation::new("", "no-identity", message)], card.warnings().to_vec()));
    let Some(preferred) = card.interfaces().find(|interface| !interface.url.trim().is_empty()) else {
        return unknown("the card has no interface URL from which to derive an id; give an `id`");
    };
    let url = match preferred.resolved_url(options.base.as_deref()) {
        Ok(url) => url,
        Err(Unusable::Relative) => {
            return unknown(
                "no id can be derived from the relative interface URL; give the card's URL as `base`, or an `id`",
            );
        }
        Err(_) => preferred.url.trim().to_owned(),
    };
    Ok(identify(&url, preferred.tenant, card.text("name").unwrap_or_default()))
}

/// All but the id, skills and security.
fn description(card: &Card, options: &Options, findings: &mut Findings) -> Object {
    let mut thing = Object::new();
    let mut put = |name: &str, value: Value| thing.insert(name.to_owned(), value);
    put("title", title(card, findings).into());
    if let Some(description) = card.text("description") {
        put("description", description.into());
    }
    if let Some(version) = card.text("version").filter(|version| !version.is_empty()) {
        put("version", json!({"instance": version}));
    }
    if let Some(vendor) = vendor(card, options, findings) {
        put("lmos:metadata", json!({"lmos:vendor": vendor}));
    }
    let mut links = Vec::new();
    let mut linked = Vec::new();
    for (member, rel) in [("documentationUrl", "service-doc"), ("iconUrl", "icon")] {
        let Some(url) = card.text(member) else { continue };
        match web_url(url, options.base.as_deref()) {
            Ok(href) => {
                links.push(json!({"rel": rel, "href": href}));
                linked.push(member);
            }
            Err(unusable) => {
                let path = Path::ROOT.member(member);
                findings
                    .add(&path, unusable.rule(), || unusable.warning(&path, url, "no link is created for it").message);
            }
        }
    }
    if !links.is_empty() {
        put("links", links.into());
    }
    let is_placed = |name: &str, value: &Value| match name {
        "provider" | "securitySchemes" => value.as_object().is_some_and(|members| !members.is_empty()),
        "name" | "description" | "version" | "skills" => true,
        _ => linked.contains(&name),
    };
    for (name, value) in card.members().iter().filter(|(name, value)| !is_placed(name, value)) {
        put(&format!("a2a:{name}"), value.clone());
    }
    let interfaces = thing.get_mut("a2a:supportedInterfaces").and_then(Value::as_array_mut).into_iter().flatten();
    for url in interfaces.filter_map(|interface| interface.get_mut("url")) {
        // Nobody who reads the description knows where the card was from.
        if let Some(written) = url.as_str().filter(|url| interface_url(url, None) == Err(Unusable::Relative))
            && let Ok(resolved) = interface_url(written, options.base.as_deref())
        {
            *url = resolved.into();
        }
    }
    thing
}

/// The name; where there is none, what the card has instead.
fn title(card: &Card, findings: &mut Findings) -> String {
    if let Some(name) = card.text("name").filter(|name| !name.trim().is_empty()) {
        return name.to_owned();
    }
    let host = card.interfaces().next().and_then(|interface| {
        let url = interface_url(interface.url, None).ok()?;
        Some(url.split_once("//")?.1.split(['/', '?', '#']).next()?.to_owned())
    });
    let organization = card.members().get("provider").and_then(|provider| provider.get("organization")?.as_str());
    let title = organization.map(str::to_owned).or(host).unwrap_or_else(|| "A2A agent".to_owned());
    findings.add(&Path::ROOT.member("name"), "no-name", || {
        format!("the agent has no name; {title:?} is used as the title")
    });
    title
}

fn vendor(card: &Card, options: &Options, findings: &mut Findings) -> Option<Object> {
    let provider = card.members().get("provider")?.as_object()?;
    let mut vendor = Object::new();
    for (name, value) in provider {
        match (name.as_str(), value) {
            ("organization", value) => vendor.insert("lmos:name".into(), value.clone()),
            ("url", Value::String(url)) if url.is_empty() => vendor.insert("lmos:url".into(), "".into()),
            ("url", Value::String(url)) => match web_url(url, options.base.as_deref()) {
                Err(unusable @ (Unusable::Unsafe | Unusable::Broken)) => {
                    let provider = Path::ROOT.member("provider");
                    let path = provider.member("url");
                    let warning = unusable.warning(&path, url, "it is not used as the URL of the provider");
                    findings.add(&path, unusable.rule(), || warning.message);
                    vendor.insert("a2a:url".into(), value.clone())
                }
                Err(Unusable::Relative) => vendor.insert("lmos:url".into(), value.clone()),
                Ok(resolved) => vendor.insert("lmos:url".into(), resolved.into()),
            },
            _ => vendor.insert(format!("a2a:{name}"), value.clone()),
        };
    }
    (!vendor.is_empty()).then_some(vendor)
}

/// Returns the id of an agent, which stays the same when its card changes: `urn:uuid:` version 5, in the namespace of
/// URLs, of the preferred interface's URL, its tenant and the name of the agent, each on a line. User-info, query and
/// fragment of the URL don't count, nor the case of scheme and host, nor the scheme's default port, nor a path that is
/// only `/`.
fn identify(url: &str, tenant: Option<&str>, name: &str) -> String {
    let words = format!("{}\n{}\n{name}", canonical_url(url), tenant.unwrap_or_default());
    Uuid::new_v5(&Uuid::NAMESPACE_URL, words.as_bytes()).urn().to_string()
}
