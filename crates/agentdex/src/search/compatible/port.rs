//! Ports: the named parts of the data that goes into a capability or comes out of it.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{Error, Result, td::internal::push_token};

/// How deep schemas are read.
const MAX_DEPTH: usize = 16;
/// How many schemas are read within one.
const MAX_SCHEMAS: usize = 2_000;
/// How many ports one side may have.
const MAX_PORTS: usize = 256;

/// The type of a port: what [`crate::convert::casting`] reads of a schema, and nothing else.
#[derive(Debug)]
pub(super) struct Type {
    pub schema: Value,
    text: Box<str>,
}

impl Type {
    fn of(schema: Value) -> Arc<Type> {
        let text = schema.to_string().into();
        Arc::new(Type { schema, text })
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.text == other.text
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// A named part of data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Port {
    /// The name of the member; empty for the data as a whole.
    pub name: Arc<str>,
    /// Where its schema is in that of the data.
    pub pointer: Arc<str>,
    /// Its name without case and punctuation; none for the data as a whole.
    pub key: Option<Arc<str>>,
    /// Its title in the same form, if that is another one.
    pub title: Option<Arc<str>>,
    pub type_: Arc<Type>,
    pub is_required: bool,
}

impl Port {
    /// What it can be found by.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.key.iter().chain(&self.title)
    }

    /// Whether only its type is known.
    pub fn is_unnamed(&self) -> bool {
        self.key.is_none() && self.title.is_none()
    }

    /// What messages call it.
    pub fn label(&self) -> &str {
        if self.name.is_empty() { "the data as a whole" } else { &self.name }
    }
}

/// Data that a caller has or wants, as its schema describes it.
#[derive(Debug, Clone, Default)]
pub struct Data {
    pub(super) ports: Arc<[Port]>,
}

impl Data {
    /// Reads the schema of data: of an object its members, each by its name and title, otherwise the data as a
    /// whole, by its title. `what` is what messages call it.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] where it isn't a schema, [`Error::LimitExceeded`] where it is deeper than 16 levels
    /// or has more than 2,000 schemas or 256 members.
    pub fn parse(schema: &Value, what: &'static str) -> Result<Data> {
        if !schema.is_object() {
            let message = format!(
                "`{what}` must be a data schema, such as {{\"properties\": {{\"city\": {{\"type\": \"string\"}}}}}}"
            );
            return Err(Error::InvalidQuery { message });
        }
        let mut reader = Reader::default();
        let ports = reader.ports(schema, "");
        match reader.exceeded {
            Some((what, maximum)) => Err(Error::LimitExceeded { what, maximum: maximum as u64 }),
            // Within those limits the walk is short.
            None => match unknown_type(schema, String::new()) {
                Some((pointer, name)) => {
                    let types = TYPES.join(", ");
                    let message = format!("`{what}` has the type {name} at {pointer}/type; types are {types}");
                    Err(Error::InvalidQuery { message })
                }
                None => Ok(Data { ports: ports.into() }),
            },
        }
    }

    pub(super) fn of_ports(ports: impl IntoIterator<Item = Port>) -> Data {
        Data { ports: ports.into_iter().collect() }
    }

    /// Whether it has parts that can be told by their names.
    pub fn has_names(&self) -> bool {
        self.ports.iter().any(|port| !port.is_unnamed())
    }
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// The first type that there isn't, and where.
fn unknown_type(schema: &Value, pointer: String) -> Option<(String, Value)> {
    let is_known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    let unknown = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().find(|name| !is_known(name)),
        name => name.filter(|name| !is_known(name)),
    };
    if let Some(name) = unknown {
        return Some((pointer, name.clone()));
    }
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut members = members.map(|(name, member)| (format!("{pointer}/properties/{name}"), member));
    let items = schema.get("items").map(|items| (format!("{pointer}/items"), items));
    members.find_map(|(pointer, member)| unknown_type(member, pointer)).or_else(|| {
        let (pointer, items) = items?;
        unknown_type(items, pointer)
    })
}

/// Reads schemas, within limits for all of them together.
#[derive(Debug, Default)]
pub(super) struct Reader {
    schemas: usize,
    exceeded: Option<(&'static str, usize)>,
}

impl Reader {
    /// The ports of data with this schema, which is at `pointer`.
    pub fn ports(&mut self, schema: &Value, pointer: &str) -> Vec<Port> {
        let schema = schema.get("agentspec:jsonSchema").filter(|own| own.is_object()).unwrap_or(schema);
        let is_object = schema.get("type").is_none_or(|name| name == "object");
        match schema.get("properties").and_then(Value::as_object).filter(|_| is_object) {
            Some(members) => {
                let required = schema.get("required").and_then(Value::as_array);
                let required: Option<HashSet<&str>> =
                    required.map(|names| names.iter().filter_map(Value::as_str).collect());
                self.members(members, &format!("{pointer}/properties"), |name| {
                    required.as_ref().is_none_or(|names| names.contains(name))
                })
            }
            None => {
                let mut port = self.port("", schema, pointer.to_owned());
                // An object that is described no further can be an empty one.
                port.is_required = schema.get("type").is_none_or(|name| name != "object") && !has_default(schema);
                vec![port]
            }
        }
    }

    /// A port for each member.
    pub fn members(
        &mut self,
        members: &Map<String, Value>,
        pointer: &str,
        is_required: impl Fn(&str) -> bool,
    ) -> Vec<Port> {
        if members.len() > MAX_PORTS {
            self.exceeded.get_or_insert(("number of members of a data schema", MAX_PORTS));
        }
        let members = members.iter().take(MAX_PORTS);
        members
            .map(|(name, schema)| {
                let mut at = pointer.to_owned();
                push_token(&mut at, name);
                Port { is_required: is_required(name) && !has_default(schema), ..self.port(name, schema, at) }
            })
            .collect()
    }

    fn port(&mut self, name: &str, schema: &Value, pointer: String) -> Port {
        let key = Some(name).filter(|name| !name.is_empty()).map(key_of);
        let title = schema.get("title").and_then(Value::as_str).filter(|title| !title.trim().is_empty()).map(key_of);
        Port {
            name: name.into(),
            pointer: pointer.into(),
            title: title.filter(|title| Some(title) != key.as_ref()),
            key,
            type_: Type::of(self.reduced(schema, 0)),
            is_required: true,
        }
    }

    /// What of a schema the types of its values depend on. What is beyond the limits goes with everything.
    fn reduced(&mut self, schema: &Value, depth: usize) -> Value {
        self.schemas += 1;
        let opaque = || json!({"allOf": []});
        if depth >= MAX_DEPTH {
            self.exceeded.get_or_insert(("nesting of a data schema", MAX_DEPTH));
            return opaque();
        }
        if self.schemas > MAX_SCHEMAS {
            self.exceeded.get_or_insert(("number of schemas within a data schema", MAX_SCHEMAS));
            return opaque();
        }
        let schema = schema.get("agentspec:jsonSchema").filter(|own| own.is_object()).unwrap_or(schema);
        let Some(members) = schema.as_object() else { return json!({}) };
        if let Some(types) = types_of(members) {
            return self.reduced_type(types, members, depth);
        }
        if let Some(union) = ["anyOf", "oneOf"].iter().find_map(|keyword| members.get(*keyword)?.as_array()) {
            let union: Vec<Value> = union.iter().map(|schema| self.reduced(schema, depth + 1)).collect();
            return json!({"anyOf": union});
        }
        let is_opaque = ["allOf", "$ref", "$dynamicRef", "not", "if"].iter().any(|name| members.contains_key(*name));
        if is_opaque { opaque() } else { json!({}) }
    }

    fn reduced_type(&mut self, types: Value, members: &Map<String, Value>, depth: usize) -> Value {
        let mut reduced = Map::new();
        if let Some(Value::Object(properties)) = members.get("properties") {
            let properties = properties.iter().map(|(name, schema)| (name.clone(), self.reduced(schema, depth + 1)));
            reduced.insert("properties".to_owned(), Value::Object(properties.collect()));
        }
        if let Some(items) = members.get("items").filter(|items| items.is_object()) {
            reduced.insert("items".to_owned(), self.reduced(items, depth + 1));
        }
        match members.get("additionalProperties") {
            Some(Value::Bool(false)) => drop(reduced.insert("additionalProperties".to_owned(), false.into())),
            Some(others @ Value::Object(_)) => {
                reduced.insert("additionalProperties".to_owned(), self.reduced(others, depth + 1));
            }
            _ => {}
        }
        reduced.insert("type".to_owned(), types);
        Value::Object(reduced)
    }
}

/// The types that a schema names, or has to have by its other members.
fn types_of(members: &Map<String, Value>) -> Option<Value> {
    if let Some(types) = members.get("type").filter(|types| types.is_string() || types.is_array()) {
        return Some(types.clone());
    }
    let constant = members.get("const").map(std::slice::from_ref);
    if let Some(values) = constant.or_else(|| members.get("enum")?.as_array().map(Vec::as_slice)) {
        let mut types: Vec<&str> = values.iter().map(type_of).collect();
        types.sort_unstable();
        types.dedup();
        return Some(if let [one] = types[..] { one.into() } else { types.into() });
    }
    let has = |name: &str| members.contains_key(name);
    has("properties").then(|| "object".into()).or_else(|| has("items").then(|| "array".into()))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some()
}

/// A name without case and punctuation; as it is where it has nothing else.
fn key_of(name: &str) -> Arc<str> {
    let key: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if key.is_empty() { name.into() } else { key.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(schema: &Value) -> Vec<(String, bool, Value)> {
        let data = Data::parse(schema, "have").unwrap();
        data.ports.iter().map(|port| (port.name.to_string(), port.is_required, port.type_.schema.clone())).collect()
    }

    #[test]
    fn members_are_ports_and_other_data_is_one() {
        let schema = json!({"type": "object", "required": ["city"], "properties": {
            "city": {"title": "City name", "enum": ["Berlin", "Bonn"]}, "days": {"type": "integer", "minimum": 1},
        }});
        assert_eq!(
            ports(&schema),
            [("city".into(), true, json!({"type": "string"})), ("days".into(), false, json!({"type": "integer"})),]
        );
        assert_eq!(ports(&json!({"type": "string", "title": "City"})), [("".into(), true, json!({"type": "string"}))]);
        assert_eq!(ports(&json!({"type": "object", "properties": {}})), []);
    }

    #[test]
    fn names_are_compared_without_case_and_punctuation() {
        for name in ["cityName", "city_name", "City name", "CITY-NAME"] {
            assert_eq!(&*key_of(name), "cityname");
        }
        assert_eq!(&*key_of("???"), "???");
    }

    #[test]
    fn schemas_beyond_the_limits_are_refused_by_name() {
        let mut deep = json!({"type": "string"});
        for _ in 0..20 {
            deep = json!({"type": "array", "items": deep});
        }
        let wide: Map<String, Value> = (0..300).map(|n| (format!("p{n}"), json!({}))).collect();
        let many: Vec<Value> = (0..3_000).map(|_| json!({"type": "string"})).collect();
        for (schema, limit) in [
            (deep, "nesting of a data schema"),
            (json!({"properties": wide}), "number of members of a data schema"),
            (json!({"oneOf": many}), "number of schemas within a data schema"),
        ] {
            let error = Data::parse(&schema, "have").unwrap_err();
            assert!(matches!(error, Error::LimitExceeded { what, .. } if what == limit), "{error}");
        }
        assert!(matches!(Data::parse(&json!([]), "want"), Err(Error::InvalidQuery { .. })));
    }
}
