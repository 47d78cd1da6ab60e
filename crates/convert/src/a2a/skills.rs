//! Conversion of a card's skills to capabilities and actions, and of its streams to an event.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    Card, FORMS_BINDING,
    export_forms::LISTED,
    forms::{Callable, forms, secured},
    interface::Binding,
    rest::Operation,
    security::{Definitions, Security},
};
use crate::{
    size::size,
    td::{MAX_AFFORDANCES, MAX_DOCUMENT_BYTES, internal::Path},
    thing_builder::capability,
};

type Object = Map<String, Value>;

/// Each skill is a capability that is an action, too.
const MOST_SKILLS: usize = MAX_AFFORDANCES;
/// As many are described however large they are.
const LEAST_SKILLS: usize = (MAX_AFFORDANCES - 1) / 2;
/// The bytes of a description that skills may take.
const MOST_BYTES: usize = MAX_DOCUMENT_BYTES / 4 * 3;
/// The bytes of an action beside its forms and the texts of its skill.
const ACTION_BYTES: usize = 128;

/// Returns the number of actions that a card is given: one for each skill up to [`MOST_SKILLS`], and at least one.
pub(super) fn count_actions(card: &Card) -> usize {
    card.objects("skills").take(MOST_SKILLS).count().max(1)
}

/// The actions that the extension for plain HTTP requests lists, by the ids of their skills.
pub(super) fn listed_actions(card: &Card) -> Option<&Object> {
    let extensions = card.members().get("capabilities")?.get("extensions")?.as_array()?;
    let extension = extensions.iter().find(|extension| extension.get("uri").is_some_and(|uri| uri == FORMS_BINDING))?;
    let is_bound = card.interfaces().any(|interface| interface.binding == Binding::Custom(FORMS_BINDING));
    extension.get("params")?.get("actions")?.as_object().filter(|_| is_bound)
}

/// The skills of a card, and where they are called.
pub(super) struct Skills<'a> {
    pub(super) card: &'a Card,
    pub(super) callables: &'a [Callable<'a>],
    /// Actions that are called by requests of their own.
    pub(super) listed: Option<&'a Object>,
    /// Requirements of the card, if they include scopes, which only forms can state.
    pub(super) of_card: Option<&'a Security>,
}

impl Skills<'_> {
    /// Puts capabilities, actions and events into the description.
    pub(super) fn describe(&self, definitions: &mut Definitions<'_>, thing: &mut Object) {
        let mut capabilities: Vec<Value> = Vec::new();
        let mut actions = Object::new();
        let mut ids = HashSet::new();
        let list = Path::ROOT.member("skills");
        let (total, described) = (self.card.objects("skills").count(), self.count_described());
        if total > described {
            let message =
                || format!("the card has {total} skills; the Thing Description contains only the first {described}");
            definitions.findings().add(&list, "too-many-skills", message);
        }
        for (index, skill) in self.card.objects("skills").take(described).enumerate() {
            let path = list.index(index);
            let text = |name| skill.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let Some(id) = text("id").or_else(|| text("name")) else {
                let message = || "the skill has neither `id` nor `name`, and is ignored".into();
                definitions.findings().add(&path, "skill-id", message);
                continue;
            };
            let security = definitions.of_skill(self.card, skill, &path);
            capabilities.push(capability(skill, "a2a"));
            if !ids.insert(id) {
                let message = || format!("several skills have the id {id:?}; only the first becomes an action");
                definitions.findings().add(&path, "skill-repeated", message);
            } else if let Some(action) = self.action(id, text("name"), text("description"), security.as_ref()) {
                actions.insert(id.to_owned(), action.into());
            }
        }
        if ids.is_empty()
            && let Some(action) = self.action("sendMessage", Some("Send a message"), None, None)
        {
            actions.insert("sendMessage".into(), action.into());
        }
        if !capabilities.is_empty() {
            thing.insert("lmos:capabilities".into(), capabilities.into());
        }
        if !actions.is_empty() {
            thing.insert("actions".into(), actions.into());
        }
        let is_full = described == MOST_SKILLS;
        if self.is_streaming() && is_full {
            let message = || "the event for streamed messages is left out, because the card has too many skills".into();
            definitions.findings().add(&list, "too-many-skills", message);
        }
        if self.is_streaming() && !is_full && !self.callables.is_empty() {
            let mut stream = json!({
                "title": "Streamed response to a message",
                "subscription": {"type": "object"},
                "data": {"type": "object"},
            });
            stream["forms"] = forms(self.callables, Operation::Stream, self.of_card).into();
            thing.insert("events".into(), Object::from_iter([("messageStream".to_owned(), stream)]).into());
        }
    }

    /// The number of skills that a description has room for. The texts of each are in its capability and in its action.
    fn count_described(&self) -> usize {
        let forms = forms(self.callables, Operation::Send, self.of_card);
        let action = ACTION_BYTES + forms.iter().map(|form| form.to_string().len()).sum::<usize>();
        let mut left = MOST_BYTES;
        let skills = self.card.objects("skills").take(MOST_SKILLS).enumerate();
        let fitting = skills.take_while(|(index, skill)| {
            let texts: usize = skill.values().map(|value| size(value, left)).sum();
            left = left.saturating_sub(2 * texts + action);
            left > 0 || *index < LEAST_SKILLS
        });
        fitting.count()
    }

    /// The action of a skill; none if it can't be called.
    fn action(
        &self,
        id: &str,
        title: Option<&str>,
        description: Option<&str>,
        security: Option<&Security>,
    ) -> Option<Object> {
        let security = security.or(self.of_card);
        let mut action = Object::new();
        let forms = match self.listed.and_then(|listed| listed.get(id)?.as_object()) {
            Some(listed) => {
                let of_listed =
                    LISTED.into_iter().filter_map(|name| Some((name.to_owned(), listed.get(name)?.clone())));
                action.extend(of_listed);
                let forms = listed.get("forms").and_then(Value::as_array).into_iter().flatten();
                forms.filter_map(Value::as_object).map(|form| secured(form.clone(), security)).collect()
            }
            None => {
                for name in ["input", "output"] {
                    action.insert(name.into(), json!({"type": "object"}));
                }
                forms(self.callables, Operation::Send, security)
            }
        };
        if forms.is_empty() {
            return None;
        }
        action.insert("forms".into(), forms.into());
        for (name, text) in [("title", title), ("description", description)] {
            action.extend(text.map(|text| (name.to_owned(), text.into())));
        }
        Some(action)
    }

    fn is_streaming(&self) -> bool {
        let capabilities = self.card.members().get("capabilities");
        capabilities.and_then(|capabilities| capabilities.get("streaming")) == Some(&Value::Bool(true))
    }
}
