//! Plain values under `$referenced_components`: they are hidden where they are if what refers to them is.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    names::is_secret_name,
    walk::{Place, Token, Walker, is_component, reference, secrecy},
};
use crate::convert::agent_spec::{references::DEFINITIONS, types::Secrecy};

/// Fields that may be given a secret by any name.
const ARGUMENT_FIELDS: [&str; 2] = ["args", "command"];

impl<'d> Walker<'d> {
    /// Finds the plain values under `$referenced_components` that have to be hidden: those that show
    /// secrets themselves, and those that secret fields refer to.
    pub(super) fn hide_referenced_values(&mut self, document: &'d Map<String, Value>) {
        let mut plain = HashMap::new();
        collect_plain_members(document, &mut plain);
        if plain.is_empty() {
            return;
        }
        let mut found = Vec::new();
        for (name, value) in &plain {
            let place = Place { owner: name, parent: None, token: Token::Name("value") };
            let field = name.rsplit('.').next().unwrap_or(name);
            if self.hides_referenced(field) && self.gives_away(value) || self.free(value, &place).is_some() {
                found.push(*name);
            }
        }
        for (name, value) in document {
            self.collect_secret_references(value, self.hides_referenced(name), &mut found);
        }
        while let Some(name) = found.pop() {
            if let Some(value) = plain.get(name)
                && self.hidden.insert(name)
            {
                self.collect_secret_references(value, true, &mut found);
            }
        }
    }

    fn collect_secret_references<'v>(&self, value: &'v Value, is_secret: bool, found: &mut Vec<&'v str>) {
        match value {
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.collect_secret_references(element, is_secret, found));
            }
            Value::Object(members) => {
                found.extend(reference(value).filter(|_| is_secret));
                let is_secret = is_secret && !is_component(value);
                for (name, value) in members {
                    self.collect_secret_references(value, is_secret || self.hides_referenced(name), found);
                }
            }
            _ => {}
        }
    }

    /// Whether what a field of that name refers to is hidden, whatever it is.
    fn hides_referenced(&self, name: &str) -> bool {
        match secrecy(name) {
            Secrecy::Secret => true,
            Secrecy::Prompt => !self.publish_prompts,
            _ => is_secret_name(name) || ARGUMENT_FIELDS.contains(&name),
        }
    }
}

/// Values under `$referenced_components` that are no components.
fn collect_plain_values<'v>(value: &'v Value, plain: &mut HashMap<&'v str, &'v Value>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect_plain_values(element, plain)),
        Value::Object(members) => collect_plain_members(members, plain),
        _ => {}
    }
}

fn collect_plain_members<'v>(members: &'v Map<String, Value>, plain: &mut HashMap<&'v str, &'v Value>) {
    if let Some(Value::Object(values)) = members.get(DEFINITIONS) {
        let values = values.iter().filter(|(_, value)| !is_component(value));
        plain.extend(values.map(|(name, value)| (name.as_str(), value)));
    }
    members.values().for_each(|member| collect_plain_values(member, plain));
}
