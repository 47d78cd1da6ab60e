//! Ports: the named parts of a capability's inputs and outputs.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use serde_json::{Map, Value};

use super::{
    super::containment::{Bases, Limits, Read, Schema, unwrapped},
    names::Names,
};
use crate::{Error, Result, td::internal::push_token};

/// Maximum number of ports of a schema, or of the variables of a URI.
const MAX_PORTS: usize = 256;
/// Maximum number of references and parts followed to the members of an object.
const MAX_PARTS: usize = 32;

/// A named part of data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Port {
    /// Name of the member; empty for the data as a whole.
    pub name: Arc<str>,
    /// JSON Pointer to the schema of the port, within the schema of the data or within the capability.
    pub pointer: Arc<str>,
    pub names: Arc<Names>,
    pub schema: Arc<Schema>,
    /// True if the data is useless without this port, so that it must be supplied.
    pub is_required: bool,
    /// True if the schema requires or guarantees the port.
    pub is_certain: bool,
}

impl Port {
    /// True if the port has only a type.
    pub fn is_unnamed(&self) -> bool {
        self.names.exact().next().is_none()
    }

    /// Returns the name for messages: in backticks, or in words if the port has no name.
    pub fn label(&self) -> String {
        if self.name.is_empty() { "the data as a whole".to_owned() } else { format!("`{}`", self.name) }
    }
}

/// Data available or wanted, as described by its schema.
#[derive(Debug, Clone, Default)]
pub struct Data {
    pub(super) ports: Arc<[Port]>,
}

impl Data {
    /// Parses the schema of data. An object has a port for each of its members, with their names and titles; other
    /// data has a single port with its title. `what` is the name of the data in messages.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if `schema` is not an object or names an unknown type; [`Error::LimitExceeded`] beyond
    /// 16 levels, 2,000 schemas, or 256 members.
    pub fn parse(schema: &Value, what: &'static str) -> Result<Data> {
        if !schema.is_object() {
            let message = format!(
                "`{what}` must be a data schema, such as {{\"properties\": {{\"city\": {{\"type\": \"string\"}}}}}}"
            );
            return Err(Error::InvalidQuery { message });
        }
        let mut limits = Limits::default();
        let ports = Reader { limits: &mut limits, document: None }.ports(schema, "");
        match limits.exceeded {
            Some((what, maximum)) => Err(Error::LimitExceeded { what, maximum: maximum as u64 }),
            // Within those limits the walk is short.
            None => match unknown_type(schema, String::new()) {
                Some((pointer, name)) => {
                    let types = TYPES.join(", ");
                    let message =
                        format!("`{what}` contains the unknown type {name} at {pointer}/type; known types are {types}");
                    Err(Error::InvalidQuery { message })
                }
                None => Ok(Data { ports: ports.into() }),
            },
        }
    }

    pub(super) fn of_ports(ports: impl IntoIterator<Item = Port>) -> Data {
        Data { ports: ports.into_iter().collect() }
    }

    /// True if some of the ports have names.
    pub fn has_names(&self) -> bool {
        self.ports.iter().any(|port| !port.is_unnamed())
    }
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Returns the first unknown type and its location.
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
pub(super) struct Reader<'v, 'l> {
    pub limits: &'l mut Limits,
    /// Document that contains the schemas and may be the target of their references.
    pub document: Option<&'v Value>,
}

impl<'v> Reader<'v, '_> {
    /// Returns the ports of data with a schema located at `pointer`.
    pub fn ports(&mut self, schema: &'v Value, pointer: &str) -> Vec<Port> {
        let schema = unwrapped(schema);
        let bases = Bases::of(schema, self.document);
        let read = Read::new(schema, bases.clone(), self.limits);
        let (members, whole) = (read.members(), read.schema());
        let Some(members) = members else {
            // An object that is described no further can be an empty one.
            let is_required = schema.get("type").is_none_or(|name| name != "object") && !has_default(schema);
            return vec![port("", schema, pointer.into(), whole, is_required, true)];
        };
        if members.len() > MAX_PORTS {
            self.limits.exceeded.get_or_insert(("number of members of a data schema", MAX_PORTS));
        }
        let declared = Declared::of(schema, &bases, pointer);
        let describes = |name: &str| declared.members.iter().find(|(of, ..)| *of == name);
        let members = members.into_iter().map(|(name, is_certain, schema)| {
            // A member that is required and not described further is anything.
            let (own, at) = describes(&name)
                .map_or((&Value::Null, format!("{pointer}/required")), |(_, at, own)| (*own, at.clone()));
            let is_required = (is_certain || !declared.says_required) && !has_default(own);
            port(&name, own, at.into(), schema, is_required, is_certain)
        });
        members.take(MAX_PORTS).collect()
    }

    /// Returns a port for each URI variable, at most [`MAX_PORTS`].
    pub fn variables(&mut self, variables: &'v Map<String, Value>, pointer: &str) -> Vec<Port> {
        let variables = variables.iter().take(MAX_PORTS);
        variables
            .map(|(name, schema)| {
                let mut at = pointer.to_owned();
                push_token(&mut at, name);
                let read = Read::new(schema, Bases::of(schema, self.document), self.limits).schema();
                port(name, schema, at.into(), read, !has_default(schema), false)
            })
            .collect()
    }
}

fn port(name: &str, described: &Value, pointer: Arc<str>, schema: Schema, is_required: bool, is_certain: bool) -> Port {
    let title = described.get("title").and_then(Value::as_str);
    let names = Arc::new(Names::of(name, title));
    Port { name: name.into(), pointer, names, schema: Arc::new(schema), is_required, is_certain }
}

/// Members of an object as described by its schema and the parts of the schema.
#[derive(Default)]
struct Declared<'v> {
    /// Name, pointer and schema. The first description of a name counts.
    members: Vec<(&'v str, String, &'v Value)>,
    /// True if a list of required members was found.
    says_required: bool,
}

impl<'v> Declared<'v> {
    fn of(schema: &'v Value, bases: &Bases<'v>, pointer: &str) -> Declared<'v> {
        let mut declared = Declared::default();
        let mut known: HashSet<&str> = HashSet::new();
        let root = (schema, pointer);
        let mut waiting = vec![(schema, pointer.to_owned())];
        let mut read = 0;
        while let Some((schema, pointer)) = waiting.get(read).cloned().filter(|_| read < MAX_PARTS) {
            read += 1;
            let schema = unwrapped(schema);
            declared.says_required |= schema.get("required").is_some_and(Value::is_array);
            for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if known.insert(name) {
                    let mut at = format!("{pointer}/properties");
                    push_token(&mut at, name);
                    declared.members.push((name, at, member));
                }
            }
            let reference = schema.get("$ref").and_then(Value::as_str);
            if let Some((reference, target)) = reference.and_then(|of| Some((of, bases.target(of)?))) {
                let own = reference.trim_start_matches('#');
                // What the data itself doesn't define the document does.
                let is_own = root.0.pointer(own).is_some();
                waiting.push((target, if is_own { format!("{}{own}", root.1) } else { own.to_owned() }));
            }
            let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten().enumerate();
            waiting.extend(parts.map(|(number, part)| (part, format!("{pointer}/allOf/{number}"))));
        }
        declared
    }
}

fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ports(schema: &Value) -> Vec<(String, bool, String)> {
        let data = Data::parse(schema, "have").unwrap();
        data.ports.iter().map(|port| (port.name.to_string(), port.is_required, port.schema.describe())).collect()
    }

    #[test]
    fn members_are_ports_and_other_data_is_one() {
        let schema = json!({"type": "object", "required": ["city"], "properties": {
            "city": {"title": "City name", "enum": ["Berlin", "Bonn"]}, "days": {"type": "integer", "minimum": 1},
        }});
        assert_eq!(ports(&schema), [("city".into(), true, "string".into()), ("days".into(), false, "integer".into())]);
        assert_eq!(ports(&json!({"type": "string", "title": "City"})), [("".into(), true, "string".into())]);
        assert_eq!(ports(&json!({"type": "object", "properties": {}})), []);
    }

    #[test]
    fn members_are_those_of_references_and_of_all_parts() {
        let schema = json!({"$defs": {"P": {"type": "object", "properties": {"x": {"title": "X"}}, "required": ["x"]}}, "allOf": [
            {"$ref": "#/$defs/P"}, {"properties": {"y/z": {"type": "integer"}, "x": {"type": "string"}}},
        ]});
        assert_eq!(ports(&schema), [("x".into(), true, "string".into()), ("y/z".into(), false, "integer".into())]);
        let data = Data::parse(&schema, "have").unwrap();
        let pointers: Vec<&str> = data.ports.iter().map(|port| &*port.pointer).collect();
        assert_eq!(pointers, ["/allOf/1/properties/x", "/allOf/1/properties/y~1z"]);
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
