//! Plain values under `$referenced_components`: they are hidden where they are if what refers to them is.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    names::{is_object_of_secrets, is_secret_name, is_secret_parameter},
    place::Place,
    walk::{PARAMETERS, Walker, is_component, reference},
};
use crate::convert::agent_spec::{
    references::DEFINITIONS,
    types::{Secrecy, secrecy_of},
};

/// Fields that may be given a secret by any name.
const ARGUMENT_FIELDS: [&str; 2] = ["args", "command"];

/// Plain values by what refers to them; documents beside each other may define the same.
type PlainValues<'d> = HashMap<&'d str, Vec<&'d Value>>;

impl<'d> Walker<'d> {
    /// Finds the plain values under `$referenced_components` that have to be hidden: those that show
    /// secrets themselves, and those that secret fields refer to.
    pub(super) fn hide_referenced_values(&mut self, documents: &[&'d Map<String, Value>]) {
        let mut plain = HashMap::new();
        documents.iter().for_each(|document| collect_plain_members(document, &mut plain));
        if plain.is_empty() {
            return;
        }
        let mut found = Vec::new();
        for (name, values) in &plain {
            let place = Place::of_component(name);
            let field = name.rsplit('.').next().unwrap_or(name);
            let is_secret = |value: &&Value| {
                self.hides_referenced(field) && self.gives_away(value) || self.free(value, &place).is_some()
            };
            if values.iter().copied().any(|value| is_secret(&value)) {
                found.push(*name);
            }
        }
        for document in documents {
            self.collect_within("", document, false, &plain, &mut found);
        }
        while let Some(name) = found.pop() {
            if let Some(values) = plain.get(name)
                && self.hidden.insert(name)
            {
                values.iter().for_each(|value| self.collect_secret_references(name, value, true, &plain, &mut found));
            }
        }
    }

    fn collect_secret_references(
        &self,
        name: &str,
        value: &'d Value,
        is_secret: bool,
        plain: &PlainValues<'d>,
        found: &mut Vec<&'d str>,
    ) {
        match value {
            Value::Array(elements) => elements
                .iter()
                .for_each(|element| self.collect_secret_references(name, element, is_secret, plain, found)),
            Value::Object(members) => {
                if let Some(referred) = reference(value) {
                    let holds_secret = name == PARAMETERS && self.holds_secret_parameter(referred, plain);
                    found.extend((is_secret || holds_secret).then_some(referred));
                }
                self.collect_within(name, members, is_secret, plain, found);
            }
            _ => {}
        }
    }

    fn collect_within(
        &self,
        around: &str,
        members: &'d Map<String, Value>,
        is_secret: bool,
        plain: &PlainValues<'d>,
        found: &mut Vec<&'d str>,
    ) {
        for (name, value) in members {
            let is_parameter = around == PARAMETERS && is_secret_parameter(name);
            // A component isn't hidden for what it is called.
            let is_named = self.hides_referenced(name) && !(around == DEFINITIONS && is_component(value));
            self.collect_secret_references(name, value, is_secret || is_parameter || is_named, plain, found);
        }
    }

    /// Whether what parameters of a URL refer to has a secret among them.
    fn holds_secret_parameter(&self, referred: &str, plain: &PlainValues<'_>) -> bool {
        let objects = plain.get(referred).into_iter().flatten().filter_map(|value| value.as_object());
        objects.flatten().any(|(name, value)| {
            // Where it refers to is another place to hide it.
            is_secret_parameter(name) && (self.gives_away(value) || reference(value).is_some())
        })
    }

    /// Whether what a field of that name refers to is hidden, whatever it is.
    fn hides_referenced(&self, name: &str) -> bool {
        match secrecy_of(name) {
            Secrecy::Secret => true,
            Secrecy::Prompt => !self.publish_prompts,
            _ => is_secret_name(name) || is_object_of_secrets(name) || ARGUMENT_FIELDS.contains(&name),
        }
    }
}

/// Values under `$referenced_components` that are no components.
fn collect_plain_values<'v>(value: &'v Value, plain: &mut PlainValues<'v>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect_plain_values(element, plain)),
        Value::Object(members) => collect_plain_members(members, plain),
        _ => {}
    }
}

fn collect_plain_members<'v>(members: &'v Map<String, Value>, plain: &mut PlainValues<'v>) {
    if let Some(Value::Object(values)) = members.get(DEFINITIONS) {
        for (name, value) in values.iter().filter(|(_, value)| !is_component(value)) {
            plain.entry(name).or_default().push(value);
        }
    }
    members.values().for_each(|member| collect_plain_values(member, plain));
}
