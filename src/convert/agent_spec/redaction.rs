//! What may be kept of a document: secrets, and prompts unless they are published, become references
//! `{"$component_ref": "<id>.<field>"}` that whoever runs the configuration fills in.
//!
//! Secrets are the fields that the language or the classes of its SDK mark, whatever holds headers or
//! an environment, paths of keys and certificates, members whose names say so where no table knows them
//! (plugins, metadata, free-form values), credentials in URLs, and all that such a place refers to.

mod edit;
mod place;
mod plain_values;
mod scan;
mod schemas;
mod texts;
mod urls;
mod walk;
mod yaml;

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::{
    edit::Edit,
    place::{Place, Token},
    walk::Walker,
};
pub(super) use self::{
    place::component_name,
    urls::{Credentials, is_secret_value, scrubbed, take_credentials},
    yaml::from_json as to_yaml,
};
use crate::convert::secret_names as names;
pub(super) use crate::convert::secret_names::is_secret_parameter;

/// What is to be hidden in a document.
pub(super) struct Redaction<'d> {
    walker: Walker<'d>,
    edit: Option<Edit<'d>>,
}

impl<'d> Redaction<'d> {
    /// Finds what is to be hidden; values may be defined in one document and referred to in another.
    pub(super) fn of(
        document: &'d Value,
        beside: impl IntoIterator<Item = &'d Value>,
        publish_prompts: bool,
    ) -> Redaction<'d> {
        let documents: Vec<_> =
            std::iter::once(document).chain(beside).filter_map(|document| document.as_object()).collect();
        let walker = Walker::of(&documents, publish_prompts);
        let edit = document.as_object().and_then(|members| walker.members(members, None));
        Redaction { walker, edit }
    }

    /// A component without secrets and prompts, as JSON whose members are sorted.
    pub(super) fn canonical(component: &Map<String, Value>) -> String {
        let edit = Walker::of(&[component], false).members(component, None);
        let hidden = edit.map_or_else(|| component.clone(), |edit| edit.apply_to_members(component));
        sorted(&Value::Object(hidden)).to_string()
    }

    /// Whether there is nothing to hide.
    #[cfg(test)]
    fn is_clean(&self) -> bool {
        self.edit.is_none()
    }

    /// The JSON text of the document as it may be kept; it has no repeated members.
    pub(super) fn text<'t>(&self, json: &'t str) -> Cow<'t, str> {
        match &self.edit {
            Some(edit) => edit.rewrite(json).into(),
            None => json.into(),
        }
    }

    /// Whether a value is a reference to something that is hidden where it stands.
    pub(super) fn hides(&self, value: &Value) -> bool {
        self.walker.is_hidden_reference(value)
    }

    /// A component as it may be kept.
    pub(super) fn component(&self, component: &Map<String, Value>) -> Map<String, Value> {
        self.walker.members(component, None).map_or_else(|| component.clone(), |edit| edit.apply_to_members(component))
    }

    /// What is defined under an id, as it may be kept; none if it may not.
    pub(super) fn definition<'v>(&self, id: &str, value: &'v Value) -> Option<Cow<'v, Value>> {
        match self.walker.definition(id, value) {
            Some(edit) => edit.apply(value).map(Cow::Owned),
            None => Some(Cow::Borrowed(value)),
        }
    }

    /// A free-form value of a component as it may be shown.
    pub(super) fn free_form<'v>(&self, owner: &str, field: &str, value: &'v Value) -> Cow<'v, Value> {
        let component = Place::of_component(owner);
        shown(self.walker.member(field, value, &component.within(Token::Name(field))), value)
    }

    /// A JSON Schema as it may be shown.
    pub(super) fn schema<'v>(&self, owner: &str, value: &'v Value) -> Cow<'v, Value> {
        let component = Place::of_component(owner);
        shown(self.walker.schema("", false, value, &component.within(Token::Name("inputs"))), value)
    }
}

/// A value whose members are sorted, whatever order serde_json was asked for.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn shown<'v>(edit: Option<Edit<'v>>, value: &'v Value) -> Cow<'v, Value> {
    match edit {
        Some(edit) => Cow::Owned(edit.apply(value).unwrap_or_default()),
        None => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_hidden(value: Value) -> bool {
        let document = json!({"component_type": "ServerTool", "id": "t", "metadata": {"x": value}});
        !Redaction::of(&document, [], false).is_clean()
    }

    #[test]
    fn secrets_in_texts_are_found_whatever_they_are_written_in() {
        for text in [
            "password=hunter2&user=joe",
            "Server=db;User Id=joe;Password=hunter2",
            "{\"a\": [{\"api_key\": \"hunter2\"}]}",
            "see https://joe:hunter2@host/",
            "KEY=1\nAPI_KEY=hunter2\n",
        ] {
            assert!(is_hidden(json!([text])), "{text}");
        }
        for text in ["password={{p}}", "a=b&token=", "{\"a\": 1}", "{{token}}", "[not JSON", "x = y", "tokens=5"] {
            assert!(!is_hidden(json!([text])), "{text}");
        }
    }

    #[test]
    fn references_are_named_by_the_nearest_component_with_an_id() {
        let document = json!({
            "component_type": "Agent", "system_prompt": "p",
            "llm_config": {"component_type": "OpenAiConfig", "api_key": "k", "metadata": {"a.b": [{"token": "t"}]}},
        });
        let hidden = Redaction::of(&document, [], false).component(document.as_object().unwrap());
        assert_eq!(hidden["system_prompt"], json!({"$component_ref": "Agent.system_prompt"}));
        assert_eq!(hidden["llm_config"]["api_key"], json!({"$component_ref": "Agent.llm_config.api_key"}));
        let token = &hidden["llm_config"]["metadata"]["a.b"][0]["token"];
        assert_eq!(*token, json!({"$component_ref": "Agent.llm_config.metadata.a.b.0.token"}));
    }
}
