//! The skills of a card as capabilities and actions of its Thing, and what its streams tell as an event.

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
    td::{MAX_AFFORDANCES, internal::Path},
    thing_builder::capability,
};

type Object = Map<String, Value>;

/// Each skill is a capability and an action, and there is an event.
const MOST_SKILLS: usize = (MAX_AFFORDANCES - 1) / 2;

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
        let total = self.card.objects("skills").count();
        if total > MOST_SKILLS {
            let message = || format!("{total} skills; only the first {MOST_SKILLS} are in the description");
            definitions.findings().add(&list, "too-many-skills", message);
        }
        for (index, skill) in self.card.objects("skills").take(MOST_SKILLS).enumerate() {
            let path = list.index(index);
            let text = |name| skill.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let Some(id) = text("id").or_else(|| text("name")) else {
                let message = || "neither `id` nor `name`: the skill is passed over".into();
                definitions.findings().add(&path, "skill-id", message);
                continue;
            };
            let security = definitions.of_skill(self.card, skill, &path);
            capabilities.push(capability(skill, "a2a"));
            if !ids.insert(id) {
                let message = || format!("several skills have the id {id:?}; the first is the action");
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
        if self.is_streaming() && !self.callables.is_empty() {
            let mut stream = json!({
                "title": "What happens after a message",
                "subscription": {"type": "object"},
                "data": {"type": "object"},
            });
            stream["forms"] = forms(self.callables, Operation::Stream, self.of_card).into();
            thing.insert("events".into(), Object::from_iter([("messageStream".to_owned(), stream)]).into());
        }
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
