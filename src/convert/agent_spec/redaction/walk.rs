//! `Walker`: one walk over a document that finds what is to be hidden.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    edit::Edit,
    names::{is_placeholders, is_secret_name},
    texts::{holds_secret, is_secret},
    urls::{has_credentials, scrubbed},
};
use crate::convert::agent_spec::{
    references::{DEFINITIONS, REFERENCE},
    types::{ComponentType, Field, Secrecy},
};

/// Fields that hold secrets in components of types that no table knows.
const SECRET_FIELDS: [&str; 25] = [
    "api_key",
    "auth_file_location",
    "ca_file",
    "ca_path",
    "cert_file",
    "client_id",
    "client_id_metadata_url",
    "client_secret",
    "credentials",
    "dsn",
    "env",
    "headers",
    "key_file",
    "password",
    "sensitive_headers",
    "ssl_ca_cert",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslpassword",
    "sslrootcert",
    "token",
    "user",
    "wallet_location",
    "wallet_password",
];
/// Fields that hold prompts in such components.
const PROMPT_FIELDS: [&str; 6] = [
    "additional_instructions",
    "prompt_template",
    "summarization_instructions",
    "summarized_conversation_template",
    "summarized_message_template",
    "system_prompt",
];
/// Fields whose members are named by the user and hold no values of theirs.
const NAMED_FIELDS: [&str; 3] = ["mapping", "reducers", "datastore_schema"];

/// Members of free-form objects that hold secrets by any name.
const SECRET_OBJECTS: [&str; 4] = ["headers", "sensitive_headers", "env", "environment"];

/// Where a value is: a chain on the stack that becomes the name of a reference only when one is needed.
pub(super) struct Place<'p> {
    /// The id of the component around it.
    pub owner: &'p str,
    pub parent: Option<&'p Place<'p>>,
    pub token: Token<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum Token<'p> {
    Name(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    fn within(&'p self, token: Token<'p>) -> Place<'p> {
        Place { owner: self.owner, parent: Some(self), token }
    }

    fn name(&self) -> String {
        let before = self.parent.map_or_else(|| self.owner.to_owned(), Place::name);
        match self.token {
            Token::Name(name) => format!("{before}.{name}"),
            Token::Index(index) => format!("{before}.{index}"),
        }
    }

    /// The reference in the place of what is hidden here.
    fn hide<'v>(&self) -> Edit<'v> {
        Edit::Replace(json!({REFERENCE: scrubbed(&self.name())}))
    }
}

pub(super) struct Walker<'d> {
    pub publish_prompts: bool,
    /// The names of plain values that are referenced from where they have to be hidden.
    pub hidden: HashSet<&'d str>,
}

impl<'d> Walker<'d> {
    pub(super) fn of(members: Option<&'d Map<String, Value>>, publish_prompts: bool) -> Walker<'d> {
        let mut walker = Walker { publish_prompts, hidden: HashSet::new() };
        if let Some(members) = members {
            walker.hide_referenced_values(members);
        }
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
            Value::Object(members) => members.iter().any(|(name, member)| name != REFERENCE && self.gives_away(member)),
        }
    }

    /// Components, references, and what is around them.
    pub(super) fn part<'v>(&self, value: &'v Value, place: Option<&Place<'_>>) -> Option<Edit<'v>> {
        self.members(value.as_object()?, place)
    }

    pub(super) fn members<'v>(&self, members: &'v Map<String, Value>, place: Option<&Place<'_>>) -> Option<Edit<'v>> {
        let text = |name| members.get(name).and_then(Value::as_str);
        let (id, class) = (text("id"), text("component_type").unwrap_or("component"));
        let known = ComponentType::find(class).filter(|_| !members.contains_key("component_plugin_name"));
        Edit::of_members(members, |name, value| {
            let field = known.and_then(|known| known.field(name));
            let token = Token::Name(name);
            let place = match (id, place) {
                (Some(owner), _) => Place { owner, parent: None, token },
                (None, Some(place)) => place.within(token),
                (None, None) => Place { owner: class, parent: None, token },
            };
            self.field(field, name, value, &place)
        })
    }

    fn field<'v>(
        &self,
        known: Option<&'static Field>,
        name: &str,
        value: &'v Value,
        place: &Place<'_>,
    ) -> Option<Edit<'v>> {
        let secrecy = known.map_or_else(|| secrecy(name), |field| field.secrecy);
        if secrecy == Secrecy::Secret && !is_component(value) && self.gives_away(value) {
            return Some(place.hide());
        }
        if is_part(value) {
            return match self.is_hidden_reference(value) {
                true => Some(place.hide()),
                false => self.part(value, Some(place)),
            };
        }
        match (name, value) {
            ("component_type" | "agentspec_version" | "air_version", _) => return None,
            ("id" | "name" | REFERENCE, _) => return scrub(value),
            (DEFINITIONS, Value::Object(values)) => return self.referenced_values(values),
            ("inputs" | "outputs", Value::Array(schemas)) => {
                return Edit::of_elements(schemas, |index, schema| {
                    self.schema("", schema, &place.within(Token::Index(index)))
                });
            }
            (_, Value::Object(values)) if NAMED_FIELDS.contains(&name) => {
                return Edit::of_members(values, |name, value| {
                    self.schema("", value, &place.within(Token::Name(name)))
                });
            }
            ("args", Value::Array(words)) if holds_secret(words.iter().filter_map(Value::as_str)) => {
                return Some(place.hide());
            }
            ("command", Value::String(command)) if holds_secret(command.split_whitespace()) => {
                return Some(place.hide());
            }
            _ => {}
        }
        match secrecy {
            Secrecy::Prompt if !self.publish_prompts && !matches!(value.as_str(), None | Some("")) => {
                Some(place.hide())
            }
            Secrecy::Public if known.is_some() && value.is_string() => scrub(value),
            Secrecy::Public if known.is_some() => self.free(value, place),
            _ => self.member(name, value, place),
        }
    }

    fn referenced_values<'v>(&self, values: &'v Map<String, Value>) -> Option<Edit<'v>> {
        Edit::of_members(values, |name, value| {
            let place = Place { owner: name, parent: None, token: Token::Name("value") };
            match self.hidden.contains(name) {
                true => Some(Edit::Remove),
                false if is_part(value) => self.part(value, Some(&place)),
                false => self.free(value, &place),
            }
        })
    }

    /// A member that no table knows.
    pub(super) fn member<'v>(&self, name: &str, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        let is_secret = is_secret_name(name) || SECRET_OBJECTS.contains(&name) && value.is_object();
        match is_secret && !is_component(value) && self.gives_away(value) {
            true => Some(place.hide()),
            false => self.free(value, place),
        }
    }

    pub(super) fn free<'v>(&self, value: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        match value {
            Value::String(text) => self.text_gives_away(text).then(|| place.hide()),
            Value::Array(elements) => {
                Edit::of_elements(elements, |index, element| self.free(element, &place.within(Token::Index(index))))
            }
            Value::Object(_) if self.is_hidden_reference(value) => Some(place.hide()),
            Value::Object(_) if is_part(value) => self.part(value, Some(place)),
            Value::Object(members) => {
                Edit::of_members(members, |name, value| self.member(name, value, &place.within(Token::Name(name))))
            }
            _ => None,
        }
    }

    /// Whether a text has a secret in it, be it a form, a connection string or JSON.
    fn text_gives_away(&self, text: &str) -> bool {
        if is_secret(text) {
            return true;
        }
        let inner = text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(text).ok());
        let place = Place { owner: "", parent: None, token: Token::Name("") };
        inner.flatten().is_some_and(|inner| self.free(&inner, &place).is_some())
    }

    /// A JSON Schema: it has no secrets but what a property with the name of one is by default.
    pub(super) fn schema<'v>(&self, name: &str, schema: &'v Value, place: &Place<'_>) -> Option<Edit<'v>> {
        let members = match schema {
            Value::Array(schemas) => {
                return Edit::of_elements(schemas, |_, schema| self.schema(name, schema, place));
            }
            Value::Object(members) => members,
            _ => return scrub(schema),
        };
        if self.is_hidden_reference(schema) {
            return Some(place.hide());
        }
        let title = members.get("title").and_then(Value::as_str).unwrap_or(name);
        let is_secret = is_secret_name(name) || is_secret_name(title);
        Edit::of_members(members, |keyword, value| {
            let place = place.within(Token::Name(keyword));
            match (keyword, value) {
                // A reference would be no value of the property's type.
                ("default" | "const", Value::String(text)) if is_secret && !text.is_empty() => {
                    Some(Edit::Replace("".into()))
                }
                ("examples", _) if is_secret => Some(Edit::Remove),
                ("default" | "const" | "enum" | "examples", _) => self.free(value, &place),
                ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(schemas)) => {
                    Edit::of_members(schemas, |name, schema| {
                        self.schema(name, schema, &place.within(Token::Name(name)))
                    })
                }
                _ => self.schema(title, value, &place),
            }
        })
    }
}

/// What is to be thought of a field that no table knows.
pub(super) fn secrecy(name: &str) -> Secrecy {
    match name {
        _ if SECRET_FIELDS.contains(&name) => Secrecy::Secret,
        _ if PROMPT_FIELDS.contains(&name) => Secrecy::Prompt,
        _ => Secrecy::Public,
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
fn scrub(value: &Value) -> Option<Edit<'static>> {
    let text = value.as_str()?;
    has_credentials(text).then(|| Edit::Replace(scrubbed(text).into()))
}
