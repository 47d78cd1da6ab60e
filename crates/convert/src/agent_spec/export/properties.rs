//! Conversion of data schemas to properties, which are JSON Schemas with titles.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::casting::effort::Effort;
use crate::{
    agent_spec::{
        Profile,
        faults::{Role, find_faults},
    },
    keywords::Keyword,
    size::size,
    td::internal::source_schema,
};

/// So much of a schema is a step, since all of it is read several times.
const BYTES_OF_A_STEP: usize = 8;

/// An input or output.
pub(super) struct Property {
    /// Its name in the Thing Description.
    pub name: String,
    /// Its name in the configuration.
    pub title: String,
    /// Its JSON Schema, including the title.
    pub schema: Value,
}

/// The titles of one component, which are all different.
pub(super) struct Titles<'e> {
    known: HashSet<String>,
    /// The next number for a title that is taken.
    numbers: HashMap<String, usize>,
    /// Placeholders name them: of letters, digits and underscores alone.
    are_placeholders: bool,
    effort: &'e Effort,
}

impl<'e> Titles<'e> {
    /// Titles of any kind; `effort` is what all of a description may take.
    pub(super) fn new(effort: &'e Effort) -> Titles<'e> {
        Titles { known: HashSet::new(), numbers: HashMap::new(), are_placeholders: false, effort }
    }

    /// Titles that placeholders can name.
    pub(super) fn of_placeholders(effort: &'e Effort) -> Titles<'e> {
        Titles { are_placeholders: true, ..Titles::new(effort) }
    }

    /// The members of an object, or the data as a whole under the name `whole`.
    pub(super) fn properties(&mut self, schema: Option<&Value>, whole: &str) -> Vec<Property> {
        let Some(schema) = schema else { return Vec::new() };
        match schema.get("properties") {
            Some(Value::Object(members)) => {
                let required: Option<HashSet<&str>> = schema
                    .get("required")
                    .and_then(Value::as_array)
                    .map(|names| names.iter().filter_map(Value::as_str).collect());
                let is_optional = |name: &str| required.as_ref().is_some_and(|names| !names.contains(name));
                members
                    .iter()
                    .map(|(name, schema)| {
                        let mut property = self.property(name, schema);
                        if is_optional(name) && schema.get("default").is_none() {
                            property.make_optional(self.effort);
                        }
                        property
                    })
                    .collect()
            }
            _ => vec![self.property(whole, schema)],
        }
    }

    /// The arguments of a tool of MCP, which takes an object. A value that is none is its one argument, `input`.
    pub(super) fn arguments(&mut self, schema: Option<&Value>) -> Vec<Property> {
        let Some(schema) = schema else { return Vec::new() };
        if schema.get("properties").is_some() {
            return self.properties(Some(schema), "input");
        }
        let combined = Value::Object(json_schema(schema));
        match combined.get("properties").is_none() && takes_object(&combined) {
            true => Vec::new(),
            false => self.properties(Some(&combined), "input"),
        }
    }

    /// A property for data of that name.
    pub(super) fn property(&mut self, name: &str, schema: &Value) -> Property {
        let title = self.title(name);
        let schema = with_title(&title, schema, self.effort);
        Property { name: name.to_owned(), title, schema }
    }

    fn title(&mut self, name: &str) -> String {
        let is_taken = |character: char| match self.are_placeholders {
            true => character.is_alphanumeric() || character == '_',
            false => !character.is_whitespace() && !".,{}'\"".contains(character),
        };
        let clean: String = name.chars().map(|character| if is_taken(character) { character } else { '_' }).collect();
        let clean = if clean.is_empty() { "value".to_owned() } else { clean };
        let mut title = clean.clone();
        while !self.known.insert(title.clone()) {
            let number = self.numbers.entry(clean.clone()).and_modify(|number| *number += 1).or_insert(2);
            title = format!("{clean}_{number}");
        }
        title
    }
}

impl Property {
    /// Makes null the default of a property that may be left out, if its schema is then valid in both profiles.
    fn make_optional(&mut self, effort: &Effort) {
        let Value::Object(members) = &self.schema else { return };
        let mut schema = members.clone();
        let annotations = ["title", "description"].map(|name| schema.remove_entry(name));
        let mut optional: Map<_, _> = annotations.into_iter().flatten().collect();
        optional.insert("anyOf".to_owned(), json!([schema, {"type": "null"}]));
        optional.insert("default".to_owned(), Value::Null);
        let optional = Value::Object(optional);
        if is_sound(&optional, effort) {
            self.schema = optional;
        }
    }
}

/// A data schema as the property of that title; where it is more than both the text of the language and
/// its SDK take, without what is too much. All that is known is its description where telling takes more
/// effort than there is left.
fn with_title(title: &str, schema: &Value, effort: &Effort) -> Value {
    let titled = |mut members: Map<String, Value>| {
        members.insert("title".to_owned(), title.into());
        Value::Object(members)
    };
    if effort.spend(1 + size(schema, usize::MAX) / BYTES_OF_A_STEP).is_ok() {
        let own = source_schema(schema).and_then(Value::as_object).cloned().map(titled);
        if let Some(own) = own.filter(|own| is_sound(own, effort)) {
            return own;
        }
        let mut members = json_schema(schema);
        for surplus in ["", "default", "pattern", "enum", "const", "prefixItems"] {
            members.remove(surplus);
            let candidate = titled(members.clone());
            if is_sound(&candidate, effort) {
                return candidate;
            }
        }
    }
    let types = ["string", "number", "boolean", "object", "array", "null"];
    let mut members = Map::from_iter([("type".to_owned(), types.as_slice().into())]);
    members.extend(
        schema.get("description").filter(|text| text.is_string()).map(|text| ("description".to_owned(), text.clone())),
    );
    titled(members)
}

/// The JSON Schemas of properties.
pub(super) fn schemas(properties: Vec<Property>) -> Vec<Value> {
    properties.into_iter().map(|property| property.schema).collect()
}

fn is_sound(property: &Value, effort: &Effort) -> bool {
    let is_valid = [Profile::Spec, Profile::Sdk]
        .into_iter()
        .all(|profile| find_faults(property, Role::Port, profile, effort).iter().all(|fault| fault.is_warning));
    is_valid && !effort.is_spent()
}

/// True if values of a schema may be objects.
fn takes_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(name) => name == "object",
        None => {
            let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
            ["required", "additionalProperties"].iter().any(|name| schema.get(*name).is_some())
                || alternatives.into_iter().any(takes_object)
        }
    }
}

/// A data schema as a JSON Schema, without titles.
fn json_schema(schema: &Value) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in schema.as_object().into_iter().flatten() {
        let translated = match (name.as_str(), value) {
            ("title", _) => None,
            ("oneOf" | "anyOf", Value::Array(schemas)) => {
                let schemas: Vec<Value> = schemas.iter().map(|schema| json_schema(schema).into()).collect();
                members.insert("anyOf".to_owned(), schemas.into());
                None
            }
            // The SDK refuses `allOf`.
            ("allOf", Value::Array(schemas)) => {
                schemas.iter().for_each(|schema| add_all(&mut members, json_schema(schema)));
                None
            }
            ("properties", Value::Object(schemas)) => {
                let schemas = schemas.iter().map(|(name, schema)| (name.clone(), json_schema(schema).into()));
                Some(Value::Object(schemas.collect()))
            }
            ("items" | "additionalProperties", Value::Object(_)) => Some(json_schema(value).into()),
            ("items", Value::Array(schemas)) => {
                let schemas: Vec<Value> = schemas.iter().map(|schema| json_schema(schema).into()).collect();
                members.insert("prefixItems".to_owned(), schemas.into());
                None
            }
            ("type", _) | ("additionalProperties", Value::Bool(false)) => Some(value.clone()),
            _ => Keyword::find(name).filter(Keyword::is_same).map(|_| value.clone()),
        };
        if let Some(value) = translated {
            add_all(&mut members, Map::from_iter([(name.clone(), value)]));
        }
    }
    members
}

/// Adds the keywords of a schema that holds as well: members and their names join those that are there.
fn add_all(members: &mut Map<String, Value>, further: Map<String, Value>) {
    for (name, value) in further {
        match (members.get_mut(&name), value) {
            (None, value) => drop(members.insert(name, value)),
            (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => known.extend(more),
            (Some(Value::Array(known)), Value::Array(more)) if name == "required" => {
                known.extend(more);
                let mut seen = HashSet::new();
                known.retain(|name| seen.insert(name.clone()));
            }
            (Some(_), _) => {}
        }
    }
}
