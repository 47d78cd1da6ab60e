//! `Walker`: one walk over a document that finds what is to be hidden.
//!
//! What a field is, the table says, and of what no table knows its name. What is unclear is hidden.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    edit::Edit,
    names::{is_object_of_secrets, is_secret_list, is_secret_name, is_secret_parameter, is_secret_text},
    place::{Place, Token},
    texts::{holds_secret, is_secret},
    urls::{has_credentials, scrubbed},
};
use crate::convert::agent_spec::{
    Profile,
    placeholders::is_placeholders,
    references::{DEFINITIONS, MAY_STAND_BESIDE, REFERENCE},
    types::{ComponentType, Field, Kind, Secrecy, secrecy_of},
};

/// The field whose members are parameters of a URL.
pub(super) const PARAMETERS: &str = "query_params";

pub(super) struct Walker<'d> {
    pub publish_prompts: bool,
    /// The names of plain values that are referenced from where they have to be hidden.
    pub hidden: HashSet<&'d str>,
}

impl<'d> Walker<'d> {
    /// A walker for documents that may refer to each other's values.
    pub(super) fn of(documents: &[&'d Map<String, Value>], publish_prompts: bool) -> Walker<'d> {
        let mut walker = Walker { publish_prompts, hidden: HashSet::new() };
        walker.hide_referenced_values(documents);
        walker
    }

    pub(super) fn is_hidden_reference(&self, value: &Value) -> bool {
        reference(value).is_some_and(|name| self.hidden.contains(name))
    }

    /// Whether there is something in the place of a secret. What is a placeholder, or a reference that
    /// can't be followed here, gives nothing away.
    pub(super) fn gives_away(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(_) => true,
            Value::String(text) => !text.is_empty() && !is_placeholders(text),
            Value::Array(elements) => elements.iter().any(|element| self.gives_away(element)),
            Value::Object(_) if self.is_hidden_reference(value) => true,
            Value::Object(members) => members.iter().any(|(name, member)| match (name.as_str(), member) {
                (REFERENCE, Value::String(id)) => is_secret_text(id),
                _ => self.gives_away(member),
            }),
        }
    }

    /// The members of a component, or of what may be one.
    pub(super) fn members<'v>(&self, members: &'v Map<String, Value>, place: Option<&Place<'_>>) -> Option<Edit<'v>> {
        let text = |name| members.get(name).and_then(Value::as_str);
        let (id, class) = (text("id"), text("component_type").unwrap_or("component"));
        let known = ComponentType::find(class).filter(|_| !members.contains_key("component_plugin_name"));
        let own;
        let place = match place {
            Some(place) if id.is_none() => place,
            _ => {
                own = Place::of_component(id.unwrap_or(class));
                &own
            }
        };
        Edit::of_members(members, |name, value| {
            let place = place.within(Token::Name(name));
            match known.and_then(|known| known.field(name)) {
                Some(field) => self.field(field, value, &place),
                None => self.unknown_field(name, value, &place),
            }
        })
    }

    fn field<'v>(&self, field: &'static Field, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        let holds_secrets = field.secrecy == Secrecy::Secret || is_object_of_secrets(field.name);
        if holds_secrets && self.gives_away(value)
            || self.is_hidden_reference(value)
            || has_secret_arguments(field.name, value)
        {
            return Some(place.hide());
        }
        let kind = field.kind(Profile::Spec);
        if matches!(kind, Kind::Part(_) | Kind::Parts(_) | Kind::Pairs(_) | Kind::PartsOrTexts(_)) {
            return self.parts(value, place);
        }
        match (field.secrecy, kind, value) {
            (_, _, Value::Object(members)) if reference(value).is_some() => self.reference_to_value(members, place),
            (Secrecy::Prompt, ..) if self.is_hidden_prompt(value) => Some(place.hide()),
            (_, Kind::Properties, Value::Array(schemas)) => self.properties(schemas, place),
            (_, Kind::Entities, Value::Object(schemas)) => self.named_schemas(schemas, false, place),
            // The names are those of branches and properties.
            (Secrecy::Public, Kind::TextMap | Kind::ChoiceMap(..), Value::Object(texts)) => {
                Edit::of_members(texts, |name, text| self.free_or_scrubbed(text, &place.within(Token::Name(name))))
            }
            (Secrecy::Public, ..) => self.free_or_scrubbed(value, place),
            _ => self.member(field.name, value, place),
        }
    }

    fn unknown_field<'v>(&self, name: &str, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        match (name, value) {
            ("component_type" | "agentspec_version" | "air_version" | "id" | "name" | REFERENCE, Value::String(_)) => {
                return scrub(value);
            }
            (DEFINITIONS, Value::Object(values)) => {
                return Edit::of_members(values, |name, value| self.definition(name, value));
            }
            ("inputs" | "outputs", Value::Array(schemas)) => return self.properties(schemas, place),
            _ => {}
        }
        match secrecy_of(name) {
            Secrecy::Secret if self.gives_away(value) => Some(place.hide()),
            Secrecy::Prompt if self.is_hidden_prompt(value) => Some(place.hide()),
            _ => self.member(name, value, place),
        }
    }

    fn is_hidden_prompt(&self, value: &Value) -> bool {
        let says_something = match value {
            Value::String(text) => !text.is_empty(),
            value => self.gives_away(value),
        };
        says_something && !self.publish_prompts
    }

    /// Components and references to them, be they one, a list, or pairs.
    fn parts<'v>(&self, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        match value {
            Value::Array(elements) => {
                Edit::of_elements(elements, |index, element| self.parts(element, &place.within(Token::Index(index))))
            }
            Value::Object(_) if self.is_hidden_reference(value) => Some(place.hide()),
            Value::Object(members) => self.members(members, Some(place)),
            text => self.free(text, place),
        }
    }

    /// A reference to a value that is no component: what stands beside it means nothing, and could be
    /// what it refers to.
    fn reference_to_value<'v>(&self, members: &'v Map<String, Value>, place: &Place<'_>) -> Option<Edit<'v>> {
        Edit::of_members(members, |name, value| match MAY_STAND_BESIDE.contains(&name) {
            true => self.unknown_field(name, value, &place.within(Token::Name(name))),
            false => Some(Edit::Remove),
        })
    }

    /// What is defined under an id.
    pub(super) fn definition<'v>(&self, id: &str, value: &'v Value) -> Option<Edit<'v>> {
        let place = Place::of_component(id);
        match value {
            _ if self.hidden.contains(id) => Some(Edit::Remove),
            Value::Object(members) if is_part(value) => self.members(members, Some(&place)),
            _ => self.free(value, &place),
        }
    }

    /// A member that no table knows.
    pub(super) fn member<'v>(&self, name: &str, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        let has_objects = match value {
            Value::Array(elements) => elements.iter().any(Value::is_object),
            value => value.is_object(),
        };
        let is_secret = is_secret_name(name)
            || has_objects && is_object_of_secrets(name)
            || is_secret_list(name) && holds_text(value);
        match value {
            _ if is_secret && self.gives_away(value) || has_secret_arguments(name, value) => Some(place.hide()),
            _ if has_credentials(name) => Some(Edit::Remove),
            Value::Object(parameters) if name == PARAMETERS && !is_part(value) => {
                Edit::of_members(parameters, |name, value| {
                    let place = place.within(Token::Name(name));
                    match is_secret_parameter(name) && self.gives_away(value) {
                        true => Some(place.hide()),
                        false => self.member(name, value, &place),
                    }
                })
            }
            _ => self.free(value, place),
        }
    }

    /// A value whose name says nothing.
    pub(super) fn free<'v>(&self, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        match value {
            Value::String(text) => self.text_gives_away(text).then(|| place.hide()),
            Value::Array(elements) => {
                Edit::of_elements(elements, |index, element| self.free(element, &place.within(Token::Index(index))))
            }
            Value::Object(_) if self.is_hidden_reference(value) => Some(place.hide()),
            Value::Object(members) if is_part(value) => self.members(members, Some(place)),
            Value::Object(members) => {
                Edit::of_members(members, |name, value| self.member(name, value, &place.within(Token::Name(name))))
            }
            _ => None,
        }
    }

    fn free_or_scrubbed<'v>(&self, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        if value.is_string() { scrub(value) } else { self.free(value, place) }
    }

    /// Whether a text has a secret in it, be it a form, a connection string or JSON.
    fn text_gives_away(&self, text: &str) -> bool {
        if is_secret(text) {
            return true;
        }
        let inner = text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(text).ok());
        inner.flatten().is_some_and(|inner| self.free(&inner, &Place::of_component("")).is_some())
    }
}

/// Whether a secret is among the arguments of a command.
fn has_secret_arguments(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("args", Value::Array(words)) => holds_secret(words.iter().filter_map(Value::as_str)),
        ("command", Value::String(command)) => holds_secret(command.split_whitespace()),
        _ => false,
    }
}

/// Whether a value is a text, or has one in it.
fn holds_text(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(holds_text),
        Value::Object(members) => members.values().any(holds_text),
        value => value.is_string(),
    }
}

/// The name that a reference refers to.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.as_object()?.get(REFERENCE)?.as_str()
}

pub(super) fn is_component(value: &Value) -> bool {
    value.get("component_type").is_some_and(Value::is_string)
}

/// Whether a value is made of fields: a component or a reference, with what may stand beside it.
fn is_part(value: &Value) -> bool {
    is_component(value) || reference(value).is_some() || value.get(DEFINITIONS).is_some_and(Value::is_object)
}

/// A text that stays but for credentials in URLs.
pub(super) fn scrub(value: &Value) -> Option<Edit<'static>> {
    let text = value.as_str()?;
    has_credentials(text).then(|| Edit::Replace(scrubbed(text).into()))
}
