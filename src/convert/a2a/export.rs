//! Thing Descriptions as agent cards: of one that was a card the card again, of any other an honest one.
//!
//! Members with the prefix `a2a:` are those of a card, and are its again as far as the Thing wasn't
//! changed since. The rest is made of what the TD says: capabilities and actions are skills, forms with the
//! subprotocol `a2a` are interfaces. A Thing
//! that has only HTTP forms becomes a card of 1.0 with the binding [`FORMS_BINDING`](super::FORMS_BINDING)
//! and an extension that lists the forms. What a card can't say without being wrong is an error.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Card, FORMS_BINDING, Generation, Options,
    card::generation_of,
    export_forms::{self, Reach, Reached},
    export_schemes,
    export_security::ThingSecurity,
    interface::Binding,
    reference::web_url,
    thing,
};
use crate::{
    Error, Result,
    convert::{Rendition, shape::Findings, thing_builder::capability_members},
    td::{Report, Violation, capabilities, listed_capabilities},
};

type Object = Map<String, Value>;

/// What of a Thing a card can say.
const SAID_BY_CARDS: [&str; 12] = [
    "title",
    "description",
    "version",
    "lmos:metadata",
    "lmos:capabilities",
    "securityDefinitions",
    "security",
    "properties",
    "actions",
    "events",
    "forms",
    "links",
];
/// What a card of 0.3 says of where it is reached, beside `supportedInterfaces`.
const REACHED_IN_0: [&str; 4] = ["url", "preferredTransport", "additionalInterfaces", "protocolVersion"];

/// Makes an agent card of a Thing Description.
///
/// ```
/// use agentdex::convert::a2a::{Generation, from_thing};
///
/// let thing = serde_json::json!({
///     "title": "Weather", "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
///     "actions": {"forecast": {"forms": [{"href": "https://weather.example/a2a", "subprotocol": "a2a"}]}}
/// });
/// let card: serde_json::Value = serde_json::from_slice(&from_thing(&thing, Generation::V1)?.bytes).unwrap();
/// assert_eq!(card["supportedInterfaces"][0]["url"], "https://weather.example/a2a");
/// assert_eq!(card["skills"][0]["id"], "forecast");
/// # Ok::<(), agentdex::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotExpressible`](crate::Error::NotExpressible) says what has no form in a card of that
/// generation.
pub fn from_thing(thing: &Value, generation: Generation) -> Result<Rendition> {
    let members = thing.as_object().ok_or_else(|| not_expressible("a Thing Description is an object".into()))?;
    let stated = Stated::of(members);
    if let Some(Stated { card, .. }) = stated.as_ref().filter(|stated| stated.is_all_of(members)) {
        return in_generation(card, generation);
    }
    let names = SkillNames::of(thing);
    let reached = export_forms::reached(members, |action| names.skill_of(action));
    let security = ThingSecurity::of(members, reached.reach());
    let mut export = Export { thing, names, card: Object::new(), shape: Generation::V1, violations: Vec::new() };
    export.card = members.iter().filter_map(own_member).collect();
    if stated.as_ref().is_some_and(|stated| stated.reached().is_like(&reached)) {
        export.shape = generation_of(&export.card);
        export.keep_streaming(&reached, stated.as_ref());
    } else {
        export.add_interfaces(&reached, generation);
    }
    if stated.as_ref().is_none_or(|stated| stated.thing.get("title") != thing.get("title")) {
        export.card.remove("name");
    }
    add_metadata(members, &mut export.card);
    export.add_skills(stated.as_ref(), reached.reach());
    export.add_security(security, stated.as_ref());
    let Export { card, violations, .. } = export;
    if !violations.is_empty() {
        let report = Report { violations, ..Report::default() };
        return Err(not_expressible(report.to_string()));
    }
    let card = Card::of_members(card).map_err(|error| match error {
        Error::InvalidSource { report, .. } => not_expressible(report.to_string()),
        other => other,
    })?;
    let mut rendition = in_generation(&card, generation)?;
    if !reached.is_complete() {
        let message = "the forms lead to more places than a card gets interfaces; only the first are in it";
        rendition.warnings.push(Violation::new("/actions", "too-many-interfaces", message));
    }
    Ok(rendition)
}

fn in_generation(card: &Card, generation: Generation) -> Result<Rendition> {
    let is_of_forms = card.interfaces().first().is_some_and(|one| one.binding == Binding::Custom(FORMS_BINDING));
    match generation {
        Generation::V0 if is_of_forms => Err(not_expressible(ONLY_FORMS.into())),
        _ => Ok(card.as_version(generation)),
    }
}

const ONLY_FORMS: &str = "/actions: there are HTTP forms, but none with the subprotocol a2a; only a card of 1.0 can \
                          name another binding: ask for version 1.0";

fn not_expressible(reason: String) -> Error {
    Error::NotExpressible { format: "a2a", reason }
}

/// A member of a card that the TD keeps under our prefix.
fn own_member((name, value): (&String, &Value)) -> Option<(String, Value)> {
    Some((name.strip_prefix("a2a:")?.to_owned(), value.clone()))
}

/// The card that the members of a Thing state, and the Thing that it would be.
struct Stated {
    card: Card,
    thing: Value,
}

impl Stated {
    fn of(thing: &Object) -> Option<Stated> {
        let mut members: Object = thing.iter().filter_map(own_member).collect();
        let is_card = ["supportedInterfaces", "url", "additionalInterfaces"];
        if !is_card.iter().any(|name| members.contains_key(*name)) {
            return None;
        }
        add_metadata(thing, &mut members);
        members.insert("skills".into(), stated_skills(thing).into());
        let shape = generation_of(&members);
        add_schemes(thing, &HashSet::new(), shape, &mut members, &mut Vec::new());
        let card = Card::of_members(members).ok()?;
        let thing = thing::members(&card, &Options::default(), &mut Findings::default());
        Some(Stated { card, thing: thing.into() })
    }

    /// Whether it says all that the Thing does of what a card can say: nobody changed that by hand.
    fn is_all_of(&self, thing: &Object) -> bool {
        SAID_BY_CARDS.iter().all(|name| self.thing.get(name) == thing.get(*name))
    }

    fn reached(&self) -> Reached {
        let names = SkillNames::of(&self.thing);
        let nothing = Object::new();
        export_forms::reached(self.thing.as_object().unwrap_or(&nothing), |action| names.skill_of(action))
    }

    fn action(&self, name: &str) -> Option<&Value> {
        self.thing.get("actions")?.get(name)
    }
}

fn add_schemes(
    thing: &Object,
    used: &HashSet<&str>,
    shape: Generation,
    members: &mut Object,
    violations: &mut Vec<Violation>,
) {
    let Some(definitions) = thing.get("securityDefinitions").and_then(Value::as_object) else { return };
    let schemes = export_schemes::schemes(definitions, used, shape, violations);
    if !schemes.is_empty() {
        members.insert("securitySchemes".into(), schemes.into());
    }
}

/// The names of skills and actions, which differ where a capability has an id and a name.
struct SkillNames<'t> {
    actions: Option<&'t Object>,
    /// Ids by names.
    ids: HashMap<&'t str, &'t str>,
}

impl<'t> SkillNames<'t> {
    fn of(thing: &'t Value) -> SkillNames<'t> {
        let capabilities = capabilities(thing);
        let ids = capabilities.iter().filter_map(|capability| Some((capability.name?, capability.id?))).collect();
        SkillNames { actions: thing.get("actions").and_then(Value::as_object), ids }
    }

    fn skill_of(&self, action: &'t str) -> &'t str {
        self.ids.get(action).copied().unwrap_or(action)
    }

    /// The action of a skill or capability.
    fn action_of(&self, id: Option<&str>, name: Option<&str>) -> Option<(&'t str, &'t Value)> {
        let actions = self.actions?;
        [id, name]
            .into_iter()
            .flatten()
            .find_map(|key| actions.get_key_value(key))
            .map(|(key, one)| (key.as_str(), one))
    }
}

/// A card while it is made of a Thing.
struct Export<'t> {
    thing: &'t Value,
    names: SkillNames<'t>,
    card: Object,
    shape: Generation,
    violations: Vec<Violation>,
}

impl Export<'_> {
    /// What the card said of streaming, unless the events were changed since.
    fn keep_streaming(&mut self, reached: &Reached, stated: Option<&Stated>) {
        let (Reached::A2a { is_streaming, .. }, Some(stated)) = (reached, stated) else { return };
        if matches!(stated.reached(), Reached::A2a { is_streaming: was_streaming, .. } if was_streaming != *is_streaming)
        {
            self.say_streaming(*is_streaming);
        }
    }

    fn say_streaming(&mut self, is_streaming: bool) {
        let capabilities = self.card.entry("capabilities").or_insert_with(|| json!({}));
        if let Value::Object(capabilities) = capabilities {
            capabilities.insert("streaming".into(), is_streaming.into());
        }
    }

    fn add_interfaces(&mut self, reached: &Reached, generation: Generation) {
        for name in REACHED_IN_0 {
            self.card.remove(name);
        }
        let extended = self.card.remove("supportsAuthenticatedExtendedCard");
        match reached {
            Reached::Http { .. } if generation == Generation::V0 => {
                self.card.insert("supportedInterfaces".into(), json!([]));
                let (place, message) = ONLY_FORMS.split_once(": ").unwrap_or(("", ONLY_FORMS));
                return self.violations.push(Violation::new(place, "no-a2a-form", message));
            }
            Reached::A2a { interfaces, is_streaming, .. } => {
                self.card.insert("supportedInterfaces".into(), interfaces.clone().into());
                self.say_streaming(*is_streaming);
                add_modes(&mut self.card, "text/plain", "text/plain");
            }
            Reached::Http { interfaces, extension, content_type, .. } => {
                self.card.insert("supportedInterfaces".into(), interfaces.clone().into());
                self.card.insert("capabilities".into(), json!({"streaming": false, "extensions": [extension]}));
                add_modes(&mut self.card, content_type, content_type);
            }
            Reached::Nowhere { protocols } => {
                let found = if protocols.is_empty() { "no forms at all".to_owned() } else { protocols.join(", ") };
                let message = format!("an agent card needs actions with forms of A2A or HTTP; found {found}");
                return self.violations.push(Violation::new("/actions", "no-a2a-form", message));
            }
        }
        if let (Some(extended), Some(Value::Object(capabilities))) = (extended, self.card.get_mut("capabilities")) {
            capabilities.entry("extendedAgentCard").or_insert(extended);
        }
    }

    /// The skills that the card had without those whose action is gone, and what can be called since;
    /// without a card, one for each capability and action that can be called.
    fn add_skills(&mut self, stated: Option<&Stated>, reach: Reach) {
        let Some((stated, thing)) = stated.zip(self.thing.as_object()) else {
            let skills = self.skills(reach, &HashSet::new());
            self.card.insert("skills".into(), skills.into());
            return;
        };
        let mut skills = Vec::new();
        let mut known = HashSet::from(["sendMessage".to_owned()]);
        let capabilities = thing.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten();
        for skill in capabilities.filter_map(Value::as_object).map(|entry| capability_members(entry, "a2a")) {
            let text = |name: &str| skill.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let (id, name) = (text("id"), text("name"));
            let action = self.names.action_of(id, name);
            let was = id.or(name).and_then(|key| stated.action(key));
            known.extend(id.or(name).map(str::to_owned));
            if action.is_some() || was.is_none() {
                skills.push(skill.into());
            }
        }
        skills.extend(self.skills(reach, &known));
        self.card.insert("skills".into(), skills.into());
    }

    fn skills(&self, reach: Reach, known: &HashSet<String>) -> Vec<Value> {
        let (mut keys, mut names) = (HashSet::new(), HashSet::new());
        let mut skills: Vec<Value> = Vec::new();
        for (capability, entry) in listed_capabilities(self.thing) {
            let key = capability.key();
            // One capability in several versions is one skill, and its action may have its name.
            let is_named = capability.id.is_none() && names.contains(key);
            if known.contains(key) || is_named || !keys.insert(key) {
                continue;
            }
            names.extend(capability.name);
            let action = self.names.action_of(capability.id, capability.name).map(|(_, action)| action);
            if action.is_some_and(|action| !reach.includes_any_of(action)) {
                continue;
            }
            let title = action.and_then(|action| action.get("title")?.as_str());
            let name = title.or(capability.name).unwrap_or(key);
            let mut skill = json!({
                "id": key, "name": name, "description": capability.description.unwrap_or(name),
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

    fn add_security(&mut self, security: ThingSecurity<'_>, stated: Option<&Stated>) {
        let Some(thing) = self.thing.as_object() else { return };
        add_schemes(thing, &security.used(), self.shape, &mut self.card, &mut self.violations);
        let action_of = |skill: &Object| {
            let text = |name: &str| skill.get(name).and_then(Value::as_str);
            Some(self.names.action_of(text("id"), text("name"))?.0.to_owned())
        };
        let is_same = |stated: &&Stated| {
            stated.card.generation() == self.shape
                && ["security", "securityDefinitions"].iter().all(|name| stated.thing.get(name) == thing.get(*name))
        };
        // Only a card says the scopes of what it requires where each of its skills requires something else.
        let states = stated.filter(is_same).is_some();
        self.violations.extend(security.add(states, action_of, self.shape, &mut self.card));
    }
}

fn add_modes(members: &mut Object, input: &str, output: &str) {
    members.entry("defaultInputModes").or_insert_with(|| json!([input]));
    members.entry("defaultOutputModes").or_insert_with(|| json!([output]));
}

fn add_metadata(thing: &Object, members: &mut Object) {
    members.entry("name").or_insert_with(|| one_text(thing, "title", "titles").into());
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
fn stated_skills(thing: &Object) -> Vec<Value> {
    let capabilities = thing.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten();
    capabilities.filter_map(Value::as_object).map(|entry| capability_members(entry, "a2a").into()).collect()
}

fn texts(owner: &Value, name: &str) -> Vec<String> {
    let values = owner.get(name).or_else(|| owner.get(format!("lmos:{name}")));
    values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
