//! Data schemas as properties: JSON Schemas with titles.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::convert::agent_spec::{
    Profile,
    effort::Effort,
    faults::{Role, find_faults},
};

/// Keywords that mean the same in both languages.
const KEYWORDS: [&str; 18] = [
    "const",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "title",
    "type",
];

/// An input or output.
pub(super) struct Property {
    /// Its name in the Thing Description.
    pub name: String,
    /// Its name in the configuration.
    pub title: String,
    /// Its JSON Schema, title included.
    pub schema: Value,
}

/// The titles of one component, which are all different.
#[derive(Default)]
pub(super) struct Titles {
    known: HashSet<String>,
    /// Placeholders name them: of letters, digits and underscores alone.
    are_placeholders: bool,
}

impl Titles {
    /// Titles that placeholders can name.
    pub(super) fn of_placeholders() -> Titles {
        Titles { known: HashSet::new(), are_placeholders: true }
    }

    /// The members of an object, or the data as a whole under the name `whole`.
    pub(super) fn properties(&mut self, schema: Option<&Value>, whole: &str) -> Vec<Property> {
        let Some(schema) = schema else { return Vec::new() };
        match schema.get("properties") {
            Some(Value::Object(members)) => {
                let required = schema.get("required").and_then(Value::as_array);
                let is_optional = |name: &str| required.is_some_and(|names| !names.iter().any(|known| known == name));
                members
                    .iter()
                    .map(|(name, schema)| {
                        let mut property = self.property(name, schema);
                        if is_optional(name) && schema.get("default").is_none() {
                            property.make_optional();
                        }
                        property
                    })
                    .collect()
            }
            _ => vec![self.property(whole, schema)],
        }
    }

    /// A property for data of that name.
    pub(super) fn property(&mut self, name: &str, schema: &Value) -> Property {
        let title = self.title(name);
        let schema = with_title(&title, schema);
        Property { name: name.to_owned(), title, schema }
    }

    fn title(&mut self, name: &str) -> String {
        let is_taken = |character: char| match self.are_placeholders {
            true => character.is_alphanumeric() || character == '_',
            false => !character.is_whitespace() && !".,{}'\"".contains(character),
        };
        let clean: String = name.chars().map(|character| if is_taken(character) { character } else { '_' }).collect();
        let clean = if clean.is_empty() { "value".to_owned() } else { clean };
        let mut numbered = (2..).map(|number| format!("{clean}_{number}"));
        let mut title = clean.clone();
        while !self.known.insert(title.clone()) {
            title = numbered.next().unwrap_or_default();
        }
        title
    }
}

impl Property {
    /// What needn't be given is null by default.
    fn make_optional(&mut self) {
        let Value::Object(members) = &self.schema else { return };
        let mut schema = members.clone();
        let annotations = ["title", "description"].map(|name| schema.remove_entry(name));
        let mut optional: Map<_, _> = annotations.into_iter().flatten().collect();
        optional.insert("anyOf".to_owned(), json!([schema, {"type": "null"}]));
        optional.insert("default".to_owned(), Value::Null);
        let optional = Value::Object(optional);
        if is_sound(&optional) {
            self.schema = optional;
        }
    }
}

/// A data schema as the property of that title; where it is more than both the text of the language and
/// its SDK take, without what is too much.
fn with_title(title: &str, schema: &Value) -> Value {
    let titled = |mut members: Map<String, Value>| {
        members.insert("title".to_owned(), title.into());
        Value::Object(members)
    };
    let own = schema.get("agentspec:jsonSchema").and_then(Value::as_object).cloned().map(titled);
    if let Some(own) = own.filter(is_sound) {
        return own;
    }
    let mut members = json_schema(schema);
    for surplus in ["", "default", "pattern", "enum", "const"] {
        members.remove(surplus);
        let candidate = titled(members.clone());
        if is_sound(&candidate) {
            return candidate;
        }
    }
    let types = ["string", "number", "boolean", "object", "array", "null"];
    let mut members = Map::from_iter([("type".to_owned(), types.as_slice().into())]);
    members.extend(
        schema.get("description").filter(|text| text.is_string()).map(|text| ("description".to_owned(), text.clone())),
    );
    titled(members)
}

fn is_sound(property: &Value) -> bool {
    [Profile::Spec, Profile::Sdk].into_iter().all(|profile| {
        find_faults(property, Role::Port, profile, &Effort::for_document()).iter().all(|fault| fault.is_warning)
    })
}

/// A data schema as a JSON Schema, without titles.
fn json_schema(schema: &Value) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in schema.as_object().into_iter().flatten() {
        let translated = match (name.as_str(), value) {
            ("title", _) => None,
            ("oneOf", Value::Array(schemas)) => {
                let schemas: Vec<Value> = schemas.iter().map(|schema| json_schema(schema).into()).collect();
                members.insert("anyOf".to_owned(), schemas.into());
                None
            }
            ("properties", Value::Object(schemas)) => {
                let schemas = schemas.iter().map(|(name, schema)| (name.clone(), json_schema(schema).into()));
                Some(Value::Object(schemas.collect()))
            }
            ("items", Value::Object(_)) => Some(json_schema(value).into()),
            _ if KEYWORDS.contains(&name.as_str()) => Some(value.clone()),
            _ => None,
        };
        members.extend(translated.map(|value| (name.clone(), value)));
    }
    members
}
