//! Parameters of an import, as used by the REST API and by flags of the commands, according to the table of the format.

use fluent_uri::Iri;
use serde_json::Value;

use super::Format;
use crate::td;

/// A parameter of an import.
#[derive(Debug)]
pub struct Parameter {
    /// Name of the parameter; in flags, with `-` instead of `_`.
    pub name: &'static str,
    /// Type of its value.
    pub kind: ParameterKind,
    /// Purpose, in one sentence without a period.
    pub help: &'static str,
    /// True if the parameter affects the validity of documents, not only the result of the conversion.
    pub is_for_validation: bool,
}

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// The id of a Thing.
    Id,
    /// The URL of the document, which is visible to everyone who can read the Thing.
    Source,
    /// `true` or `false`.
    Flag,
    /// One of these words. The first is the default.
    Choice(&'static [&'static str]),
}

impl Parameter {
    /// The id that the one Thing of a document gets.
    pub(super) const fn id(help: &'static str) -> Parameter {
        Parameter { name: "id", kind: ParameterKind::Id, help, is_for_validation: false }
    }

    /// The URL that a document is from.
    pub(super) const fn source(help: &'static str) -> Parameter {
        Parameter { name: "base", kind: ParameterKind::Source, help, is_for_validation: false }
    }

    pub(super) const fn new(name: &'static str, kind: ParameterKind, help: &'static str) -> Parameter {
        Parameter { name, kind, help, is_for_validation: false }
    }
}

/// Parameters of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    values: Vec<(&'static str, String)>,
    thing_model: bool,
}

/// An invalid value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidOption {
    /// Name of the parameter.
    pub name: String,
    /// Explanation of the error.
    pub message: String,
}

impl ImportOptions {
    /// Sets a parameter of a format.
    ///
    /// # Errors
    /// [`InvalidOption`] if the value is invalid, or if the format has no such parameter.
    pub fn set(&mut self, format: Format, name: &str, value: &str) -> Result<(), InvalidOption> {
        let invalid = |message: String| Err(InvalidOption { name: name.to_owned(), message });
        let parameters = format.import().map_or(&[][..], |import| import.parameters);
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            return invalid(format!("`{name}` is not a parameter of the format {format}"));
        };
        let value = match parameter.kind {
            ParameterKind::Text => value.to_owned(),
            ParameterKind::Id => match td::normalize_id(value) {
                Ok(id) => id.into_owned(),
                Err(error) => return invalid(error.to_string()),
            },
            ParameterKind::Source if is_public_url(value) => value.to_owned(),
            ParameterKind::Source => {
                return invalid(format!("`{name}` must be an absolute http or https URL without credentials"));
            }
            ParameterKind::Flag if ["true", "false", ""].contains(&value) => value.to_owned(),
            ParameterKind::Flag => return invalid(format!("`{name}` is {value:?}, but must be true or false")),
            ParameterKind::Choice(words) if words.contains(&value) => value.to_owned(),
            ParameterKind::Choice(words) => {
                return invalid(format!("`{name}` is {value:?}, but must be one of {}", words.join(", ")));
            }
        };
        self.values.push((parameter.name, value));
        Ok(())
    }

    /// Creates the parameters for a fetched document, with its id and source.
    pub fn of_fetched(id: Option<&str>, source: Option<&str>) -> ImportOptions {
        let values = [("id", id), ("base", source)];
        let given = values.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
        ImportOptions { values: given.collect(), thing_model: false }
    }

    /// The options of a document that is stored, and of which this Thing was made.
    pub(super) fn of_stored(&self, thing: &Value) -> ImportOptions {
        let id = thing.get("id").and_then(Value::as_str).unwrap_or_default();
        let types = thing.get("@type").map(|types| types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice));
        let is_model = types.into_iter().flatten().any(|name| name == "tm:ThingModel");
        let options = self.clone().by_default("id", id);
        ImportOptions { thing_model: options.thing_model || is_model, ..options }
    }

    /// Shows what is private.
    pub(super) fn with_prompts(self) -> ImportOptions {
        self.by_default("publish_prompts", "true")
    }

    /// Sets a parameter that isn't given.
    pub(super) fn by_default(mut self, name: &'static str, value: &str) -> ImportOptions {
        if self.text(name).is_none() {
            self.values.push((name, value.to_owned()));
        }
        self
    }

    /// Enables Thing Models for agents without a known endpoint, if the format supports them.
    pub fn thing_model(mut self, thing_model: bool) -> ImportOptions {
        self.thing_model = thing_model;
        self
    }

    /// Returns the value of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Iterates over the given parameters, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let mut given: Vec<(&str, &str)> = self.values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        given.sort_by_key(|(name, _)| *name);
        given.into_iter()
    }

    /// True if a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value != "false")
    }

    pub(super) fn makes_thing_models(&self) -> bool {
        self.thing_model
    }
}

fn is_public_url(text: &str) -> bool {
    Iri::parse(text).is_ok_and(|url| {
        let is_web = ["http", "https"].iter().any(|scheme| url.scheme().as_str().eq_ignore_ascii_case(scheme));
        is_web && url.authority().is_some_and(|authority| !authority.host().is_empty() && !authority.has_userinfo())
    })
}
