//! Conversion of Thing Descriptions to agent cards.
//!
//! A Thing that was imported from a card has the original card, which is exported unchanged. For all other Things, a
//! card is generated from the TD: capabilities and actions become skills, forms with the subprotocol `a2a` become
//! interfaces, and members with the prefix `a2a:` become members of the card that a TD can't express. A Thing with only
//! HTTP forms becomes a version 1.0 card with the binding [`FORMS_BINDING`](super::FORMS_BINDING) and an extension that
//! lists the forms. If a card would have to make a wrong statement, the export fails.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Card, Generation, Options,
    export_forms::{self, Reach, Reached, forms_of},
    export_schemes,
    export_security::ThingSecurity,
    normalization::REACHED_IN_0,
    reference::web_url,
    skills::listed_actions,
    thing,
};
use crate::{
    Error, Rendition, Result,
    shape::Findings,
    td::{Report, Violation, capabilities, internal::listed_capabilities},
    thing_builder::capability_members,
};

type Object = Map<String, Value>;

/// Creates an agent card from a Thing Description.
///
/// ```
/// use agentdex_convert::a2a::{Generation, from_thing};
///
/// let thing = serde_json::json!({
///     "title": "Weather", "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
///     "actions": {"forecast": {"forms": [{"href": "https://weather.example/a2a", "subprotocol": "a2a"}]}}
/// });
/// let card: serde_json::Value = serde_json::from_slice(&from_thing(&thing, Generation::V1)?.bytes).unwrap();
/// assert_eq!(card["supportedInterfaces"][0]["url"], "https://weather.example/a2a");
/// assert_eq!(card["skills"][0]["id"], "forecast");
/// # Ok::<(), agentdex_convert::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotExpressible`](crate::Error::NotExpressible) if the Thing has content that a card of that generation
/// requires but can't express, or lacks required content.
pub fn from_thing(thing: &Value, generation: Generation) -> Result<Rendition> {
    let members =
        thing.as_object().ok_or_else(|| not_expressible("a Thing Description must be a JSON object".into()))?;
    let names = SkillNames::of(thing);
    let own = members.iter().filter_map(|(name, value)| Some((name.strip_prefix("a2a:")?.to_owned(), value.clone())));
    let own: Object = own.collect();
    let was_card = !own.is_empty();
    let mut export = Export { thing: members, names, card: own, violations: Vec::new() };
    let was = Former::of(&export);
    let reached = export_forms::reached(members, |action| export.names.skill_of(action));
    let security = ThingSecurity::of(members, reached.reach());
    export.add_interfaces(&reached, was.as_ref());
    if generation == Generation::V0 && matches!(reached, Reached::Http { .. }) {
        export.violations.push(Violation::new("/actions", "no-a2a-form", ONLY_FORMS));
    }
    export.add_metadata();
    export.add_skills(was.as_ref(), reached.reach());
    export.add_security(security, was.as_ref());
    if !export.violations.is_empty() {
        let report = Report { violations: export.violations, ..Report::default() };
        return Err(not_expressible(report.to_string()));
    }
    let of_members = |members: &Object| {
        Card::of_members(members.clone()).map_err(|error| match error {
            Error::InvalidSource { report, .. } => not_expressible(report.to_string()),
            other => other,
        })
    };
    let mut card = of_members(&export.card)?;
    // Otherwise a card that comes back would be that of another agent.
    if let Some(id) = members.get("id").and_then(Value::as_str).filter(|_| !was_card)
        && thing::id_of(&card, &Options::default()).ok().as_deref() != Some(id)
    {
        export.add_extension(&thing::id_extension(id));
        card = of_members(&export.card)?;
    }
    let mut rendition = card.render(generation);
    if !reached.is_complete() {
        let message = "the forms have more targets than a card can have interfaces; the remaining targets are left out";
        rendition.warnings.push(Violation::new("/actions", "too-many-interfaces", message));
    }
    Ok(rendition)
}

const ONLY_FORMS: &str = "no HTTP form has the subprotocol a2a, and cards before version 1.0 can only declare A2A \
    bindings; request version 1.0 to export plain HTTP forms";

fn not_expressible(reason: String) -> Error {
    Error::NotExpressible { format: "a2a", reason }
}

/// The Thing that the card was turned into, as far as the card is still there.
struct Former {
    thing: Value,
}

impl Former {
    fn of(export: &Export<'_>) -> Option<Former> {
        let mut members = export.card.clone();
        members.get("supportedInterfaces")?;
        members.insert("skills".into(), export.capabilities().collect());
        members.extend(export.schemes(&HashSet::new(), &mut Vec::new()));
        let card = Card::of_members(members).ok()?;
        let thing = thing::members(&card, listed_actions(&card), &Options::default(), &mut Findings::default());
        Some(Former { thing: thing.into() })
    }

    /// True if a Thing is still reached where the card says.
    fn is_reached(&self, reached: &Reached) -> bool {
        let names = SkillNames::of(&self.thing);
        let members = self.thing.as_object();
        members.is_some_and(|own| export_forms::reached(own, |action| names.skill_of(action)).is_like(reached))
    }

    fn actions(&self) -> Option<&Object> {
        self.thing.get("actions").and_then(Value::as_object)
    }

    /// True if a Thing still requires what the card does: only a card says which scheme a scope is of.
    fn requires_what<'t>(&'t self, thing: &'t Object) -> bool {
        let security = |affordance: &'t Value| {
            let forms = affordance.as_object().into_iter().flat_map(forms_of);
            forms.map(|form| ["security", "scopes"].map(|name| form.get(name)))
        };
        let actions = thing.get("actions").and_then(Value::as_object);
        let both = self.actions().into_iter().flatten().filter_map(|(name, was)| Some((was, actions?.get(name)?)));
        ["security", "securityDefinitions"].iter().all(|name| self.thing.get(name) == thing.get(*name))
            && both.into_iter().all(|(was, is)| security(was).eq(security(is)))
    }
}

/// The names of skills and actions, which differ where a capability has an id and a name.
struct SkillNames<'t> {
    thing: &'t Value,
    actions: Option<&'t Object>,
    /// Ids by names.
    ids: HashMap<&'t str, &'t str>,
}

impl<'t> SkillNames<'t> {
    fn of(thing: &'t Value) -> SkillNames<'t> {
        let capabilities = capabilities(thing);
        let ids = capabilities.iter().filter_map(|capability| Some((capability.name?, capability.id?))).collect();
        SkillNames { thing, actions: thing.get("actions").and_then(Value::as_object), ids }
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
    thing: &'t Object,
    names: SkillNames<'t>,
    card: Object,
    violations: Vec<Violation>,
}

impl Export<'_> {
    /// The entries of `lmos:capabilities` as skills.
    fn capabilities(&self) -> impl Iterator<Item = Value> {
        let entries = self.thing.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(Value::as_object).map(|entry| capability_members(entry, "a2a").into())
    }

    /// The interfaces that the card had, if the forms still lead there, else those that they lead to.
    fn add_interfaces(&mut self, reached: &Reached, was: Option<&Former>) {
        if !matches!(reached, Reached::Nowhere { .. }) {
            self.say_streaming(matches!(reached, Reached::A2a { is_streaming: true, .. }), was.is_some());
        }
        if was.is_some_and(|was| was.is_reached(reached)) {
            return;
        }
        let interfaces = match reached {
            Reached::A2a { interfaces, .. } => {
                self.add_modes("text/plain");
                interfaces
            }
            Reached::Http { interfaces, extension, content_type, .. } => {
                self.add_extension(extension);
                self.add_modes(content_type);
                interfaces
            }
            Reached::Nowhere { protocols } => {
                let found = if protocols.is_empty() { "no forms".to_owned() } else { protocols.join(", ") };
                let message = format!("an agent card needs actions with A2A or HTTP forms; found {found}");
                return self.violations.push(Violation::new("/actions", "no-a2a-form", message));
            }
        };
        REACHED_IN_0.into_iter().for_each(|name| drop(self.card.remove(name)));
        self.card.insert("supportedInterfaces".into(), interfaces.clone().into());
    }

    /// A card that said nothing of streaming still does if it doesn't.
    fn say_streaming(&mut self, is_streaming: bool, was_card: bool) {
        let Some(capabilities) = self.capabilities_of_card() else { return };
        let said = capabilities.get("streaming") == Some(&Value::Bool(true));
        if !was_card || said != is_streaming {
            capabilities.insert("streaming".into(), is_streaming.into());
        }
    }

    fn add_extension(&mut self, extension: &Value) {
        let Some(capabilities) = self.capabilities_of_card() else { return };
        if let Value::Array(extensions) = capabilities.entry("extensions").or_insert_with(|| json!([])) {
            extensions.retain(|one| one.get("uri") != extension.get("uri"));
            extensions.push(extension.clone());
        }
    }

    fn capabilities_of_card(&mut self) -> Option<&mut Object> {
        self.card.entry("capabilities").or_insert_with(|| json!({})).as_object_mut()
    }

    fn add_modes(&mut self, media_type: &str) {
        for name in ["defaultInputModes", "defaultOutputModes"] {
            self.card.entry(name).or_insert_with(|| json!([media_type]));
        }
    }

    fn add_metadata(&mut self) {
        let (thing, card) = (self.thing, &mut self.card);
        card.insert("name".into(), one_text(thing, "title", "titles").into());
        card.insert("description".into(), one_text(thing, "description", "descriptions").into());
        let version = thing.get("version").and_then(|version| version.get("instance")?.as_str());
        card.insert("version".into(), version.unwrap_or_default().into());
        if let Some(provider) = provider(thing) {
            card.insert("provider".into(), provider);
        }
        let base = thing.get("base").and_then(Value::as_str);
        let relations = [("documentationUrl", ["service-doc", "help"]), ("iconUrl", ["icon", "shortcut icon"])];
        for (member, relations) in relations {
            let links = thing.get("links").and_then(Value::as_array).into_iter().flatten();
            let is_it =
                |link: &&Value| link.get("rel").and_then(Value::as_str).is_some_and(|rel| relations.contains(&rel));
            let url = links.filter(is_it).find_map(|link| web_url(link.get("href")?.as_str()?, base).ok());
            card.extend(url.map(|url| (member.to_owned(), url.into())));
        }
    }

    /// The skills that the card had without those whose action is gone, and what can be called since;
    /// without a card, one for each capability and action that can be called.
    fn add_skills(&mut self, was: Option<&Former>, reach: Reach) {
        let (mut skills, mut known) = (Vec::new(), HashSet::new());
        if let Some(was) = was {
            known.insert("sendMessage".to_owned());
            for skill in self.capabilities() {
                let text = |name: &str| skill.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
                let (id, name) = (text("id"), text("name"));
                known.extend(id.or(name).map(str::to_owned));
                let had_action = id.or(name).is_some_and(|key| was.actions().is_some_and(|was| was.contains_key(key)));
                if !had_action || self.names.action_of(id, name).is_some() {
                    skills.push(skill);
                }
            }
        }
        skills.extend(self.skills(reach, &known));
        self.card.insert("skills".into(), skills.into());
    }

    fn skills(&self, reach: Reach, known: &HashSet<String>) -> Vec<Value> {
        let (mut keys, mut names) = (HashSet::new(), HashSet::new());
        let mut skills: Vec<Value> = Vec::new();
        for (capability, entry) in listed_capabilities(self.names.thing) {
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

    fn schemes(&self, used: &HashSet<&str>, violations: &mut Vec<Violation>) -> Option<(String, Value)> {
        let definitions = self.thing.get("securityDefinitions")?.as_object()?;
        let schemes = export_schemes::schemes(definitions, used, violations);
        (!schemes.is_empty()).then(|| ("securitySchemes".to_owned(), schemes.into()))
    }

    fn add_security(&mut self, security: ThingSecurity<'_>, was: Option<&Former>) {
        let mut violations = Vec::new();
        self.card.extend(self.schemes(&security.used(), &mut violations));
        let names = &self.names;
        let action_of = |skill: &Object| {
            let text = |name: &str| skill.get(name).and_then(Value::as_str);
            Some(names.action_of(text("id"), text("name"))?.0.to_owned())
        };
        let nothing = Object::new();
        let states = was.filter(|was| was.requires_what(self.thing)).map(|was| was.actions().unwrap_or(&nothing));
        violations.extend(security.add(states, action_of, &mut self.card));
        self.violations.append(&mut violations);
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

fn texts(owner: &Value, name: &str) -> Vec<String> {
    let values = owner.get(name).or_else(|| owner.get(format!("lmos:{name}")));
    values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
