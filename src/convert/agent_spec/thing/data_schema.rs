//! JSON Schema as data schemas of a Thing Description (TD 1.1, section 5.3.2).
//!
//! | JSON Schema | data schema |
//! |---|---|
//! | `type: [a, b]` | `oneOf` of a schema for each type, with the keywords that apply to it |
//! | `anyOf` | `oneOf` |
//! | `$ref` to a place in the schema, one `allOf` | what is there, inlined within bounds |
//! | keywords that both know | as they are, where their values are of the right type |
//! | anything else | the whole property as it is, in `agentspec:jsonSchema` |
//!
//! `anyOf` says the same as `oneOf` only where no value fits two of its schemas; where their types don't
//! tell, the property is kept as it is, too.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{layers::Layers, writer::Writer};
use crate::td::MAX_DOCUMENT_BYTES;

/// The types of data, in both languages.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
/// How deep schemas are followed. In JSON it is twice as deep, which has 64 levels in all.
const DEEPEST: usize = 20;
/// The deepest schema that is kept as it is.
const DEEPEST_KEPT: usize = 48;

/// Writes the data schemas of one description.
pub(super) struct DataSchemas<'w> {
    pub writer: &'w mut Writer,
    /// How many schemas may still be put in the place of references.
    inlined: usize,
}

/// A property: the schema that references lead into, and whether all of it was said so far.
struct Property<'s> {
    root: &'s Value,
    /// What the references lead to that are followed right now.
    followed: Vec<&'s Map<String, Value>>,
    is_exact: bool,
}

impl DataSchemas<'_> {
    /// A writer of data schemas, where at most `inlined` schemas stand in the place of references.
    pub(super) fn new(writer: &mut Writer, inlined: usize) -> DataSchemas<'_> {
        DataSchemas { writer, inlined }
    }

    /// Writes a schema, and in it the JSON Schema itself where that says more.
    pub(super) fn write(&mut self, schema: &Value) {
        let mut property = Property { root: schema, followed: Vec::new(), is_exact: true };
        self.writer.open('{');
        self.members(schema, &mut property, 0);
        if !property.is_exact && is_within_depth(schema, DEEPEST_KEPT) {
            self.writer.name("agentspec:jsonSchema").json(schema);
        }
        self.writer.close('}');
    }

    fn nested<'s>(&mut self, schema: &'s Value, property: &mut Property<'s>, depth: usize) {
        self.writer.open('{');
        self.members(schema, property, depth);
        self.writer.close('}');
    }

    fn members<'s>(&mut self, schema: &'s Value, property: &mut Property<'s>, depth: usize) {
        let members = match schema {
            // What is too large is refused as a whole; until then it isn't made larger.
            Value::Object(members) if depth < DEEPEST && self.writer.len() <= MAX_DOCUMENT_BYTES => members,
            other => {
                property.is_exact &= *other == Value::Bool(true);
                return;
            }
        };
        let followed = property.followed.len();
        let layers = Layers::of(members, property.root, &mut property.followed, &mut self.inlined);
        property.is_exact &= layers.is_exact;
        self.keywords(&layers, property, depth);
        property.followed.truncate(followed);
    }

    fn keywords<'s>(&mut self, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) {
        for name in ["title", "description"] {
            self.keyword(layers, name, Form::Text, property);
        }
        match layers.get("type") {
            Some(Value::String(name)) if TYPES.contains(&name.as_str()) => {
                self.writer.name("type").word(name);
                self.keywords_of_type("", layers, property, depth);
                self.alternatives(layers, property, depth);
            }
            Some(Value::Array(names)) => self.types(names, layers, property, depth),
            other => {
                property.is_exact &= other.is_none();
                self.keywords_of_type("", layers, property, depth);
                self.alternatives(layers, property, depth);
            }
        }
        let values: [(&str, Form); 8] = [
            ("enum", Form::Choices),
            ("const", Form::Any),
            ("default", Form::Any),
            ("format", Form::Text),
            ("unit", Form::Text),
            ("readOnly", Form::Flag),
            ("writeOnly", Form::Flag),
            ("additionalProperties", Form::AnythingGoes),
        ];
        for (name, form) in values {
            self.keyword(layers, name, form, property);
        }
    }

    /// Several types: a schema for each.
    fn types<'s>(&mut self, names: &'s [Value], layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) {
        let mut types: Vec<&str> = Vec::new();
        for name in names {
            match name.as_str().filter(|name| TYPES.contains(name)) {
                Some(name) if !types.contains(&name) => types.push(name),
                Some(_) => {}
                None => property.is_exact = false,
            }
        }
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        if let [name] = types.as_slice() {
            self.writer.name("type").word(name);
            self.keywords_of_type("", layers, property, depth);
            return self.alternatives(layers, property, depth);
        }
        property.is_exact &= layers.get("anyOf").is_none() && layers.get("oneOf").is_none();
        self.writer.name("oneOf").open('[');
        for name in types {
            self.writer.open('{');
            self.writer.name("type").word(name);
            self.keywords_of_type(name, layers, property, depth + 1);
            self.writer.close('}');
        }
        self.writer.close(']');
    }

    fn alternatives<'s>(&mut self, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) {
        let schemas = match (layers.get("oneOf"), layers.get("anyOf")) {
            (None, None) => return,
            (Some(Value::Array(schemas)), other) => {
                property.is_exact &= other.is_none();
                schemas
            }
            (None, Some(Value::Array(schemas))) => {
                property.is_exact &= are_disjoint(schemas);
                schemas
            }
            _ => {
                property.is_exact = false;
                return;
            }
        };
        self.writer.name("oneOf").open('[');
        for schema in schemas {
            self.nested(schema, property, depth + 1);
        }
        self.writer.close(']');
    }

    /// The keywords for values of one type, or those of all types where it is empty.
    fn keywords_of_type<'s>(&mut self, type_: &str, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) {
        if matches!(type_, "" | "number" | "integer") {
            for name in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"] {
                self.keyword(layers, name, Form::Number, property);
            }
            self.keyword(layers, "multipleOf", Form::PositiveNumber, property);
        }
        if matches!(type_, "" | "string") {
            for (name, form) in [("minLength", Form::Count), ("maxLength", Form::Count), ("pattern", Form::Text)] {
                self.keyword(layers, name, form, property);
            }
            for name in ["contentEncoding", "contentMediaType"] {
                self.keyword(layers, name, Form::Text, property);
            }
        }
        if matches!(type_, "" | "array") {
            self.items(layers, property, depth);
            for name in ["minItems", "maxItems"] {
                self.keyword(layers, name, Form::Count, property);
            }
        }
        if matches!(type_, "" | "object") {
            self.properties(layers, property, depth);
            self.keyword(layers, "required", Form::Names, property);
        }
    }

    fn items<'s>(&mut self, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) {
        match layers.get("items") {
            None | Some(Value::Bool(true)) => {}
            Some(schema @ Value::Object(_)) => {
                self.writer.name("items");
                self.nested(schema, property, depth + 1);
            }
            Some(Value::Array(schemas)) => {
                self.writer.name("items").open('[');
                for schema in schemas {
                    self.nested(schema, property, depth + 1);
                }
                self.writer.close(']');
            }
            Some(_) => property.is_exact = false,
        }
    }

    fn properties<'s>(&mut self, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) {
        match layers.get("properties") {
            None => {}
            Some(Value::Object(schemas)) => {
                self.writer.name("properties").open('{');
                for (name, schema) in schemas {
                    self.writer.name(name);
                    self.nested(schema, property, depth + 1);
                }
                self.writer.close('}');
            }
            Some(_) => property.is_exact = false,
        }
    }

    /// A keyword whose value is no schema, if it has the right form.
    fn keyword(&mut self, layers: &Layers<'_>, name: &str, form: Form, property: &mut Property<'_>) {
        let Some(value) = layers.get(name) else { return };
        if is_reference(value) {
            return;
        }
        match form.holds(value) {
            false => property.is_exact = false,
            true if matches!(form, Form::AnythingGoes) => {}
            true => self.writer.name(name).data(value),
        }
    }
}

/// What the value of a keyword has to be in a Thing Description.
#[derive(Clone, Copy)]
enum Form {
    Any,
    Text,
    Flag,
    Number,
    PositiveNumber,
    Count,
    Names,
    Choices,
    /// `true`, which goes without saying.
    AnythingGoes,
}

impl Form {
    fn holds(self, value: &Value) -> bool {
        match self {
            Form::Any => true,
            Form::Text => value.is_string(),
            Form::Flag => value.is_boolean(),
            Form::Number => value.is_number(),
            Form::PositiveNumber => value.as_f64().is_some_and(|number| number > 0.0),
            Form::Count => value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Form::Names => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            Form::Choices => value.as_array().is_some_and(|choices| are_different(choices)),
            Form::AnythingGoes => *value == Value::Bool(true),
        }
    }
}

/// Whether there are choices and no two are equal: `1` and `1.0` are.
fn are_different(choices: &[Value]) -> bool {
    let mut known = HashSet::new();
    !choices.is_empty()
        && choices.iter().all(|choice| match choice.as_f64() {
            Some(number) => known.insert(number.to_string()),
            None => known.insert(choice.to_string()),
        })
}

/// Whether it is plain from their types that no value fits two of the schemas.
fn are_disjoint(schemas: &[Value]) -> bool {
    let mut taken = HashSet::new();
    schemas.iter().all(|schema| {
        let name = schema.get("type").and_then(Value::as_str);
        name.is_some_and(|name| taken.insert(if name == "integer" { "number" } else { name }))
    })
}

/// Whether something else stands in the place of the value: it was hidden.
fn is_reference(value: &Value) -> bool {
    value.get("$component_ref").is_some()
}

/// Whether a value is nested no deeper than that.
pub(super) fn is_within_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(elements) => depth > 0 && elements.iter().all(|element| is_within_depth(element, depth - 1)),
        Value::Object(members) => depth > 0 && members.values().all(|member| is_within_depth(member, depth - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(schema: &Value) -> Value {
        let mut writer = Writer::default();
        DataSchemas::new(&mut writer, 100).write(schema);
        serde_json::from_str(&writer.into_text()).unwrap()
    }

    fn unchanged(schema: Value) {
        assert_eq!(written(&schema), schema);
    }

    /// The data schema without the JSON Schema, which must be there as it is.
    fn reduced(schema: &Value) -> Value {
        let mut written = written(schema);
        let whole = written.as_object_mut().unwrap().remove("agentspec:jsonSchema").unwrap();
        assert_eq!(whole, json!({"@type": "@json", "@value": schema}));
        written
    }

    #[test]
    fn what_both_languages_say_stays() {
        unchanged(json!({}));
        unchanged(
            json!({"title": "n", "description": "d", "type": "integer", "minimum": 1, "maximum": 2.5, "default": 1}),
        );
        unchanged(json!({"type": "string", "enum": ["a", "b"], "minLength": 1, "pattern": "^a", "format": "uri"}));
        unchanged(json!({"type": "array", "items": {"type": "array", "items": [{"type": "null"}, {}]}, "maxItems": 3}));
        unchanged(json!({"type": "object", "properties": {"type": {"type": "boolean"}}, "required": ["type"]}));
        unchanged(json!({"default": null, "const": {"a": [1]}, "readOnly": true}));
        assert_eq!(written(&json!({"additionalProperties": true, "$defs": {"a": {}}})), json!({}));
    }

    #[test]
    fn several_types_become_alternatives() {
        let schema =
            json!({"type": ["string", "integer", "null"], "title": "t", "default": "a", "minLength": 1, "minimum": 2});
        let alternatives =
            json!([{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 2}, {"type": "null"}]);
        assert_eq!(written(&schema), json!({"title": "t", "default": "a", "oneOf": alternatives}));
        assert_eq!(written(&json!({"type": ["integer", "number"]})), json!({"type": "number"}));
        assert_eq!(written(&json!({"type": ["string"]})), json!({"type": "string"}));
    }

    #[test]
    fn any_of_is_exact_only_where_types_tell_values_apart() {
        let nullable = json!({"title": "t", "anyOf": [{"type": "string"}, {"type": "null"}]});
        assert_eq!(written(&nullable), json!({"title": "t", "oneOf": [{"type": "string"}, {"type": "null"}]}));
        let overlapping = json!({"anyOf": [{"type": "integer"}, {"type": "number"}]});
        assert_eq!(reduced(&overlapping), json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}));
        assert_eq!(
            reduced(&json!({"anyOf": [{"minLength": 1}, {"type": "null"}]}))["oneOf"][0],
            json!({"minLength": 1})
        );
    }

    #[test]
    fn references_are_inlined() {
        let schema = json!({
            "$ref": "#/$defs/list", "title": "t",
            "$defs": {"list": {"title": "List", "type": "array", "items": {"allOf": [{"$ref": "#/$defs/a~1b"}]}}, "a/b": {"type": "string"}},
        });
        assert_eq!(written(&schema), json!({"title": "t", "type": "array", "items": {"type": "string"}}));
    }

    #[test]
    fn what_a_data_schema_lacks_is_kept_as_it_is() {
        for schema in [
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "array", "items": false}),
            json!({"type": "array", "prefixItems": [{}], "uniqueItems": true}),
            json!({"not": {"type": "string"}}),
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"$ref": "#/$defs/missing"}),
            json!({"items": {"examples": [1]}}),
            json!({"type": "odd", "minLength": -1, "enum": [], "title": 5, "required": [1]}),
            json!({"enum": [1, 1.0]}),
            json!({"properties": {"a": false}}),
        ] {
            let reduced = reduced(&schema);
            assert!(!reduced.to_string().contains("odd") && reduced.get("enum").is_none(), "{reduced}");
        }
    }

    #[test]
    fn schemas_that_contain_themselves_end() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert_eq!(reduced(&schema)["properties"]["next"]["properties"]["next"], json!({}));
        let mut definitions = Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"oneOf": [next, next, next]}));
        }
        let bomb = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        assert!(written(&bomb).to_string().len() < 50_000);
    }

    #[test]
    fn hidden_values_leave_no_trace() {
        let schema =
            json!({"title": "api_key", "type": "string", "default": {"$component_ref": "tool.inputs.0.default"}});
        assert_eq!(written(&schema), json!({"title": "api_key", "type": "string"}));
    }
}
