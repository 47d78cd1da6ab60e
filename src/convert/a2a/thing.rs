//! A card as a Thing Description.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    A2A_NAMESPACE, Card, Generation, Options,
    forms::{Endpoint, Operation, endpoints, forms},
    identity::identify,
    invalid,
    reference::{Unusable, grpc_target, interface_url, web_url},
    security::{Definitions, Security},
};
use crate::{
    Error, Result,
    convert::{Conversion, ConvertedThing, Format, Source, shape::Findings},
    td::{CONTEXT_1_1, LMOS_NAMESPACE, MAX_AFFORDANCES, MAX_DOCUMENT_BYTES, Path, Violation, normalize_id},
};

type Object = Map<String, Value>;

/// Each skill is a capability and an action, and there is an event.
const MOST_SKILLS: usize = (MAX_AFFORDANCES - 1) / 2;

/// The members of a card that have a place in a TD.
const PLACED: [&str; 8] =
    ["name", "description", "version", "provider", "documentationUrl", "iconUrl", "skills", "securitySchemes"];

pub(super) fn to_thing(card: &Card, options: &Options) -> Result<Conversion> {
    let mut findings = Findings::default();
    let id = id_of(card, options)?;
    let endpoints = endpoints(card, options, &mut findings);
    if endpoints.is_empty() {
        let message = "no interface can be called; the skills are capabilities, but no actions";
        findings.add(&Path::ROOT, "no-interface", || message.into());
    }
    let mut thing = description(card, options, &mut findings);
    let mut definitions = Definitions::of(card, &mut findings);
    let security = definitions.of_card(card);
    thing.insert("security".into(), security.names.clone());
    let scopes = (!security.scopes.is_empty()).then_some(security);
    let skills = Skills { card, endpoints: &endpoints, of_card: scopes.as_ref() };
    let mut found = skills.read(&mut definitions);
    thing.insert("securityDefinitions".into(), definitions.finish().into());
    let warnings = std::mem::take(&mut found.warnings);
    found.put_into(&mut thing, &skills);
    let list = Path::ROOT.member("skills");
    for (index, rule, message) in warnings {
        match index {
            Some(index) => findings.add(&list.index(index), rule, || message),
            None => findings.add(&list, rule, || message),
        }
    }
    thing.insert("id".into(), id.as_str().into());
    // A value is always JSON; as a text that is formatted it would take three times as long.
    let description = serde_json::to_string(&thing).unwrap_or_default();
    if description.len() > MAX_DOCUMENT_BYTES {
        return Err(Error::DocumentTooLarge { maximum: MAX_DOCUMENT_BYTES });
    }
    let source = Source { format: Format::A2a, media_type: "application/json".into(), bytes: card.bytes().to_vec() };
    let warnings = card.warnings().iter().cloned().chain(findings.into_list()).collect();
    Ok(Conversion { things: vec![ConvertedThing { id, description, source }], warnings })
}

fn id_of(card: &Card, options: &Options) -> Result<String> {
    if let Some(id) = &options.id {
        return normalize_id(id).map(|id| id.into_owned());
    }
    let interfaces = card.interfaces();
    let preferred = interfaces.first().filter(|preferred| !preferred.url.trim().is_empty());
    let Some(preferred) = preferred else {
        let message = "the card has no URL of an interface, which its id would be made of; give an id";
        return Err(invalid(vec![Violation::new("", "no-identity", message)], card.warnings().to_vec()));
    };
    Ok(identify(preferred, card.text("name").unwrap_or_default()))
}

/// All but the id, skills and security.
fn description(card: &Card, options: &Options, findings: &mut Findings) -> Object {
    let mut thing = Object::new();
    let mut put = |name: &str, value: Value| thing.insert(name.to_owned(), value);
    let terms = json!({"lmos": LMOS_NAMESPACE, "a2a": A2A_NAMESPACE, "htv": "http://www.w3.org/2011/http#"});
    put("@context", json!([CONTEXT_1_1, terms]));
    put("@type", json!(["lmos:Agent", "a2a:Agent"]));
    put("title", title(card, findings).into());
    if let Some(description) = card.text("description") {
        put("description", description.into());
    }
    if let Some(version) = card.text("version").filter(|version| !version.is_empty()) {
        put("version", json!({"instance": version}));
    }
    if let Some(vendor) = vendor(card, findings) {
        put("lmos:metadata", json!({"lmos:vendor": vendor}));
    }
    let mut links = Vec::new();
    for (member, rel) in [("documentationUrl", "service-doc"), ("iconUrl", "icon")] {
        let Some(url) = card.text(member) else { continue };
        match web_url(url, options.base.as_deref()) {
            Ok(href) => links.push(json!({"rel": rel, "href": href})),
            Err(unusable) => {
                let path = Path::ROOT.member(member);
                findings.add(&path, unusable.rule(), || unusable.warning(&path, url, "there is no link to it").message);
            }
        }
    }
    if !links.is_empty() {
        put("links", links.into());
    }
    for (name, value) in card.members().iter().filter(|(name, _)| !PLACED.contains(&name.as_str())) {
        let kept = without_unsafe(name, value);
        // Other interfaces are reported where their forms are made.
        let is_for_readers_of_0 = card.generation() == Generation::V1 && name != "supportedInterfaces";
        if is_for_readers_of_0 && kept.as_ref() != Some(value) {
            let message = "a URL that nobody should follow is left out";
            findings.add(&Path::ROOT.member(name), Unusable::Unsafe.rule(), || message.into());
        }
        if let Some(value) = kept {
            put(&format!("a2a:{name}"), value);
        }
    }
    thing
}

/// The name; where there is none, what the card has instead.
fn title(card: &Card, findings: &mut Findings) -> String {
    if let Some(name) = card.text("name").filter(|name| !name.trim().is_empty()) {
        return name.to_owned();
    }
    let host = card.interfaces().first().and_then(|interface| {
        let url = interface_url(interface.url, None).ok()?;
        Some(url.split_once("//")?.1.split(['/', '?', '#']).next()?.to_owned())
    });
    let organization = card.members().get("provider").and_then(|provider| provider.get("organization")?.as_str());
    let title = organization.map(str::to_owned).or(host).unwrap_or_else(|| "A2A agent".to_owned());
    findings.add(&Path::ROOT.member("name"), "no-name", || format!("the agent has no name; its title is {title:?}"));
    title
}

fn vendor(card: &Card, findings: &mut Findings) -> Option<Object> {
    let provider = card.members().get("provider")?.as_object()?;
    let mut vendor = Object::new();
    for (name, value) in provider {
        match (name.as_str(), value) {
            ("organization", value) => vendor.insert("lmos:name".into(), value.clone()),
            ("url", Value::String(url)) if url.is_empty() => vendor.insert("lmos:url".into(), "".into()),
            ("url", Value::String(url)) => match web_url(url, None) {
                Err(unusable @ (Unusable::Unsafe | Unusable::Broken)) => {
                    let provider = Path::ROOT.member("provider");
                    let path = provider.member("url");
                    let warning = unusable.warning(&path, url, "it is left out");
                    findings.add(&path, unusable.rule(), || warning.message);
                    None
                }
                Ok(_) | Err(Unusable::Relative) => vendor.insert("lmos:url".into(), url.as_str().into()),
            },
            _ => vendor.insert(format!("a2a:{name}"), value.clone()),
        };
    }
    (!vendor.is_empty()).then_some(vendor)
}

/// What is kept of a member with interfaces: those with an unsafe URL are left out.
fn without_unsafe(name: &str, value: &Value) -> Option<Value> {
    match (name, value) {
        ("url", Value::String(url)) if is_unsafe(url) => None,
        ("supportedInterfaces" | "additionalInterfaces", Value::Array(interfaces)) => {
            let is_kept = |interface: &&Value| !interface.get("url").and_then(Value::as_str).is_some_and(is_unsafe);
            Some(interfaces.iter().filter(is_kept).cloned().collect())
        }
        _ => Some(value.clone()),
    }
}

/// The `host:port` of gRPC looks like a scheme, but runs nothing.
fn is_unsafe(url: &str) -> bool {
    interface_url(url, None) == Err(Unusable::Unsafe) && grpc_target(url).is_none()
}

/// The skills of a card, and where they are called.
struct Skills<'a> {
    card: &'a Card,
    endpoints: &'a [Endpoint<'a>],
    /// What the card requires, where forms have to say it: scopes are theirs.
    of_card: Option<&'a Security>,
}

/// What became of the skills.
#[derive(Default)]
struct Found {
    capabilities: Vec<Value>,
    actions: Object,
    /// Which skill it is about, the rule, and the message.
    warnings: Vec<(Option<usize>, &'static str, String)>,
}

impl Skills<'_> {
    fn read(&self, definitions: &mut Definitions<'_>) -> Found {
        let mut found = Found::default();
        let mut ids = HashSet::new();
        let list = Path::ROOT.member("skills");
        let total = self.card.objects("skills").count();
        if total > MOST_SKILLS {
            found.warn(
                None,
                "too-many-skills",
                format!("{total} skills; only the first {MOST_SKILLS} are in the description"),
            );
        }
        for (index, skill) in self.card.objects("skills").take(MOST_SKILLS).enumerate() {
            let text = |name| skill.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let Some(id) = text("id").or_else(|| text("name")) else {
                found.warn(Some(index), "skill-id", "neither `id` nor `name`: the skill is passed over".into());
                continue;
            };
            let security = definitions.of_skill(self.card, skill, &list.index(index));
            found.capabilities.push(skill.clone().into());
            if !ids.insert(id) {
                found.warn(
                    Some(index),
                    "skill-repeated",
                    format!("several skills have the id {id:?}; the first is the action"),
                );
            } else if !self.endpoints.is_empty() {
                let action = self.action(text("name"), text("description"), security.as_ref());
                found.actions.insert(id.to_owned(), action);
            }
        }
        if ids.is_empty() && !self.endpoints.is_empty() {
            found.actions.insert("sendMessage".into(), self.action(Some("Send a message"), None, None));
        }
        found
    }

    fn action(&self, title: Option<&str>, description: Option<&str>, security: Option<&Security>) -> Value {
        let mut action = json!({"input": {"type": "object"}, "output": {"type": "object"}});
        action["forms"] = forms(self.endpoints, Operation::Send, security.or(self.of_card)).into();
        for (name, text) in [("title", title), ("description", description)] {
            if let Some(text) = text {
                action[name] = text.into();
            }
        }
        action
    }

    fn is_streaming(&self) -> bool {
        let capabilities = self.card.members().get("capabilities");
        capabilities.and_then(|capabilities| capabilities.get("streaming")) == Some(&Value::Bool(true))
    }
}

impl Found {
    fn warn(&mut self, index: Option<usize>, rule: &'static str, message: String) {
        self.warnings.push((index, rule, message));
    }

    fn put_into(self, thing: &mut Object, skills: &Skills<'_>) {
        if !self.capabilities.is_empty() {
            thing.insert("lmos:capabilities".into(), self.capabilities.into());
        }
        if !self.actions.is_empty() {
            thing.insert("actions".into(), self.actions.into());
        }
        if skills.is_streaming() && !skills.endpoints.is_empty() {
            let mut events = json!({"messageStream": {
                "title": "What happens after a message",
                "subscription": {"type": "object"},
                "data": {"type": "object"},
            }});
            events["messageStream"]["forms"] = forms(skills.endpoints, Operation::Stream, skills.of_card).into();
            thing.insert("events".into(), events);
        }
    }
}
