//! Conversion of JSON Schemas to data schemas of a Thing Description (TD 1.1, section 5.3.2).
//!
//! | JSON Schema | data schema |
//! |---|---|
//! | `type: [a, b]` | `oneOf` with a schema for each type, each with the keywords that apply to it |
//! | `anyOf`, `oneOf`, `allOf`, `additionalProperties` | the same keyword, with data schemas |
//! | `nullable: true`, boolean exclusive limits, `dependencies` | the equivalent in current JSON Schema, and the complete original schema |
//! | `$ref` to a location in the schema, `allOf` with one entry | the referenced schema, inlined within limits |
//! | keywords of both | the same keyword, if its value has the right type |
//! | all others | the complete original schema, in a term of the format such as `agentspec:jsonSchema` |
//!
//! Thing Descriptions don't define `anyOf`, `allOf`, and `additionalProperties`, but may contain them: clients ignore
//! these keywords, or interpret them as JSON Schema.

mod layers;

use serde_json::{Map, Value, json};

use self::layers::Layers;
use crate::{
    keywords::{Data, Keyword, TYPES},
    size::size,
    td::{
        MAX_DOCUMENT_BYTES,
        internal::{has_broken_references, modernize},
    },
};

type Object = Map<String, Value>;

/// Maximum depth to which schemas are read. Their JSON is twice as deep, and may have 64 levels in all.
const DEEPEST: usize = 20;
/// The deepest schema that is kept as it is.
const DEEPEST_KEPT: usize = 48;
/// About how many bytes the data schemas of one description may have: more than the registry takes, since that is about.
const MOST_BYTES: usize = 4 * MAX_DOCUMENT_BYTES;
/// The most schemas of one description that stand where a reference to them was.
const MOST_INLINED: usize = 500;

/// Makes the data schemas of one description.
pub(crate) struct DataSchemas {
    /// Term that holds a JSON Schema where a data schema says less.
    term: &'static str,
    /// Number of schemas that may still be put in the place of references.
    inlined: usize,
    /// About how many bytes there may still be, whatever a small document asks for.
    left: usize,
    /// True if a schema ends before what it refers to does.
    is_cut: bool,
    /// True if a schema has a reference that leads nowhere in it.
    is_broken: bool,
}

/// A property: the schema that references lead into, and whether all of it was said so far.
struct Property<'s> {
    root: &'s Value,
    /// Targets of the references that are being resolved.
    followed: Vec<&'s Object>,
    is_exact: bool,
    /// True if a reference isn't a place in the root.
    is_elsewhere: bool,
}

impl DataSchemas {
    /// Data schemas of a description; `term` holds a JSON Schema where a data schema says less.
    pub(crate) fn new(term: &'static str) -> DataSchemas {
        DataSchemas { term, inlined: MOST_INLINED, left: MOST_BYTES, is_cut: false, is_broken: false }
    }

    /// True once if a schema made since the last call ends before what it refers to does: it contains itself, or is
    /// deeper or larger than a description takes.
    pub(crate) fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.is_cut)
    }

    /// True once if a schema made since the last call has a reference that leads nowhere in it: the values there are not
    /// constrained.
    pub(crate) fn take_broken(&mut self) -> bool {
        std::mem::take(&mut self.is_broken)
    }

    /// True if there is more than the registry takes, so that nothing is added to it.
    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// True if there is room for so much more.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        self.left = self.left.saturating_sub(bytes);
        !self.is_full()
    }

    /// The data schema of a schema, and in it the JSON Schema itself where that says more.
    pub(crate) fn of(&mut self, schema: &Value) -> Value {
        let modern = modernize(schema);
        let root = modern.as_ref().unwrap_or(schema);
        let mut property = Property { root, followed: Vec::new(), is_exact: modern.is_none(), is_elsewhere: false };
        let mut data = self.members(root, &mut property, 0);
        self.is_broken |= property.is_elsewhere && has_broken_references(root);
        if !property.is_exact && is_within_depth(schema, DEEPEST_KEPT) && self.spend(size(schema, self.left)) {
            data.insert(self.term.to_owned(), json_literal(schema));
        }
        data.into()
    }

    fn members<'s>(&mut self, schema: &'s Value, property: &mut Property<'s>, depth: usize) -> Object {
        let members = match schema {
            // What is too large is refused as a whole; until then it isn't made larger.
            Value::Object(members) if depth < DEEPEST && self.spend(4 + members.len()) => members,
            other => {
                self.is_cut |= other.is_object();
                property.is_exact &= *other == Value::Bool(true);
                return Object::new();
            }
        };
        let followed = property.followed.len();
        let layers = Layers::of(members, property.root, &mut property.followed, &mut self.inlined);
        property.is_exact &= layers.is_exact;
        self.is_cut |= layers.is_cut;
        property.is_elsewhere |= layers.is_elsewhere;
        // Members that nobody knows are visited too, wherever the schema stands for a reference.
        self.spend(layers.members);
        let data = self.keywords(&layers, property, depth);
        property.followed.truncate(followed);
        data
    }

    fn keywords<'s>(&mut self, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize) -> Object {
        let mut data = Object::new();
        match layers.get("type") {
            Some(Value::Array(names)) => {
                self.same(layers, property, |of| of.is_empty(), &mut data);
                self.types(names, layers, property, depth, &mut data);
            }
            type_ => {
                self.same(layers, property, |_| true, &mut data);
                let known = type_.filter(|name| name.as_str().is_some_and(|name| TYPES.contains(&name)));
                property.is_exact &= type_.is_none() || known.is_some();
                data.extend(known.map(|name| ("type".to_owned(), name.clone())));
                self.parts("", layers, property, depth, &mut data);
            }
        }
        self.combinations(layers, property, depth, &mut data);
        data
    }

    /// Several types: a schema for each.
    fn types<'s>(
        &mut self,
        names: &'s [Value],
        layers: &Layers<'s>,
        property: &mut Property<'s>,
        depth: usize,
        data: &mut Object,
    ) {
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
            data.insert("type".to_owned(), (*name).into());
            return self.keywords_of_type("", layers, property, depth, data);
        }
        let of_type = |name: &str| {
            let mut data = Object::from_iter([("type".to_owned(), name.into())]);
            self.keywords_of_type(name, layers, property, depth + 1, &mut data);
            Value::Object(data)
        };
        data.insert("oneOf".to_owned(), types.into_iter().map(of_type).collect());
    }

    /// Schemas of which one, any, or all hold.
    fn combinations<'s>(&mut self, layers: &Layers<'s>, property: &mut Property<'s>, depth: usize, data: &mut Object) {
        let mut all_of: Vec<Value> =
            layers.further().map(|schema| self.members(schema, property, depth + 1).into()).collect();
        for name in ["anyOf", "oneOf"] {
            match layers.get(name) {
                None => {}
                // Where there are several types, they are alternatives already.
                Some(Value::Array(schemas)) if data.contains_key(name) => {
                    all_of.push(json!({name: self.all(schemas, property, depth + 1)}));
                }
                Some(Value::Array(schemas)) => {
                    let schemas = self.all(schemas, property, depth);
                    data.insert(name.to_owned(), schemas);
                }
                Some(_) => property.is_exact = false,
            }
        }
        if !all_of.is_empty() {
            data.insert("allOf".to_owned(), all_of.into());
        }
    }

    fn all<'s>(&mut self, schemas: &'s [Value], property: &mut Property<'s>, depth: usize) -> Value {
        schemas.iter().map(|schema| self.members(schema, property, depth + 1)).collect()
    }

    /// The keywords for values of one type, or those of all types where it is empty.
    fn keywords_of_type<'s>(
        &mut self,
        type_: &str,
        layers: &Layers<'s>,
        property: &mut Property<'s>,
        depth: usize,
        data: &mut Object,
    ) {
        let kind = if type_ == "integer" { "number" } else { type_ };
        self.same(layers, property, |of| !of.is_empty() && (kind.is_empty() || of == kind), data);
        self.parts(type_, layers, property, depth, data);
    }

    /// The schemas of items and members, for values of one type, or of any where it is empty.
    fn parts<'s>(
        &mut self,
        type_: &str,
        layers: &Layers<'s>,
        property: &mut Property<'s>,
        depth: usize,
        data: &mut Object,
    ) {
        if matches!(type_, "" | "array") {
            let items = match layers.get("items") {
                None | Some(Value::Bool(true)) => None,
                Some(schema @ Value::Object(_)) => Some(self.members(schema, property, depth + 1).into()),
                Some(Value::Array(schemas)) => Some(self.all(schemas, property, depth)),
                Some(_) => {
                    property.is_exact = false;
                    None
                }
            };
            data.extend(items.map(|items| ("items".to_owned(), items)));
        }
        match layers.get("properties").filter(|_| matches!(type_, "" | "object")) {
            None => {}
            Some(Value::Object(schemas)) => {
                let mut properties = Object::new();
                for (name, schema) in schemas {
                    if !self.spend(name.len()) {
                        self.is_cut = true;
                        break;
                    }
                    properties.insert(name.clone(), self.members(schema, property, depth + 1).into());
                }
                data.insert("properties".to_owned(), properties.into());
            }
            Some(_) => property.is_exact = false,
        }
        match layers.get("additionalProperties").filter(|_| matches!(type_, "" | "object")) {
            None | Some(Value::Bool(true)) => {}
            Some(none @ Value::Bool(false)) => drop(data.insert("additionalProperties".to_owned(), none.clone())),
            Some(schema) => {
                let others = self.members(schema, property, depth + 1);
                data.insert("additionalProperties".to_owned(), others.into());
            }
        }
    }

    /// The keywords that mean the same in both languages, of those that are wanted by the type that they are for.
    fn same(
        &mut self,
        layers: &Layers<'_>,
        property: &mut Property<'_>,
        is_wanted: impl Fn(&str) -> bool,
        data: &mut Object,
    ) {
        for (name, value) in layers.members() {
            if let Some(keyword @ Keyword { data: Data::Same(of), .. }) = Keyword::find(name)
                && is_wanted(of)
            {
                self.keyword(keyword, name, value, property, data);
            }
        }
    }

    /// A keyword whose value has no schemas in it, if that is what a data schema takes.
    fn keyword(&mut self, keyword: Keyword, name: &str, value: &Value, property: &mut Property<'_>, data: &mut Object) {
        if is_reference(value) {
            return;
        }
        match keyword.shape.is_data(value) {
            false => property.is_exact = false,
            true if self.spend(name.len() + size(value, self.left)) => {
                data.insert(name.to_owned(), value.clone());
            }
            true => {}
        }
    }
}

/// A value that says nothing in JSON-LD: a JSON literal (JSON-LD 1.1, section 4.2.2).
pub(crate) fn json_literal(value: &Value) -> Value {
    json!({"@type": "@json", "@value": value})
}

/// True if something else stands in the place of the value: it was hidden.
fn is_reference(value: &Value) -> bool {
    value.get("$component_ref").is_some()
}

/// True if a value is nested no deeper than that.
pub(crate) fn is_within_depth(value: &Value, depth: usize) -> bool {
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
        DataSchemas::new("agentspec:jsonSchema").of(schema)
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
    fn unknown_members_of_a_schema_count_wherever_it_is_referred_to() {
        let unknown = |count: usize| -> Object { (0..count).map(|n| (format!("x-{n}"), Value::Null)).collect() };
        for (count, is_cut) in [(20, false), (20_000, true)] {
            for target in [json!(unknown(count)), json!({"properties": {"p": unknown(count)}})] {
                let references: Object = (0..400).map(|n| (n.to_string(), json!({"$ref": "#/$defs/d"}))).collect();
                let mut schemas = DataSchemas::new("agentspec:jsonSchema");
                schemas.of(&json!({"properties": references, "$defs": {"d": target}}));
                assert_eq!((schemas.take_cut(), schemas.is_full()), (is_cut, is_cut), "{count}");
            }
        }
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
    fn combinations_stay_what_they_are() {
        unchanged(json!({"title": "t", "anyOf": [{"type": "string"}, {"type": "null"}], "default": null}));
        unchanged(json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}));
        unchanged(json!({"oneOf": [{"minLength": 1}, {"type": "null"}], "anyOf": [{"minLength": 2}, {"const": null}]}));
        unchanged(json!({"allOf": [{"type": "string"}, {"minLength": 1}]}));
        unchanged(json!({"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "null"}]}}));
        unchanged(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}));
        let types = json!({"type": ["string", "null"], "oneOf": [{"minLength": 1}, {"maxLength": 9}]});
        let expected = json!({
            "oneOf": [{"type": "string"}, {"type": "null"}],
            "allOf": [{"oneOf": [{"minLength": 1}, {"maxLength": 9}]}],
        });
        assert_eq!(written(&types), expected);
    }

    #[test]
    fn what_holds_beside_a_reference_holds_too() {
        let base = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let own = json!({"b": {"type": "integer"}});
        for reference in [json!({"$ref": "#/$defs/base"}), json!({"allOf": [{"$ref": "#/$defs/base"}]})] {
            let mut schema = reference;
            schema["properties"] = own.clone();
            schema["$defs"] = json!({"base": base});
            assert_eq!(written(&schema), json!({"properties": own, "allOf": [base]}), "{schema}");
        }
        // Without `allOf` it would be about the members of both.
        let closed = json!({"$ref": "#/$defs/base", "additionalProperties": false, "$defs": {"base": base}});
        assert_eq!(written(&closed), json!({"additionalProperties": false, "allOf": [base]}));
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
            json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}}),
            json!({"type": "array", "items": false}),
            json!({"type": "array", "prefixItems": [{}], "uniqueItems": true}),
            json!({"not": {"type": "string"}}),
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
    fn references_that_lead_nowhere_are_noticed() {
        for (reference, is_broken) in [
            ("#/$defs/a", false),
            ("#anchor", false),
            ("other.json", false),
            ("#/$defs/b", true),
            ("#b", true),
            ("https://b.example/schema", true),
        ] {
            let mut schemas = DataSchemas::new("agentspec:jsonSchema");
            let other = json!({"$id": "other.json", "$anchor": "anchor"});
            schemas.of(&json!({"properties": {"p": {"$ref": reference}}, "$defs": {"a": {}, "o": other}}));
            assert_eq!((schemas.take_broken(), schemas.take_broken()), (is_broken, false), "{reference}");
        }
    }

    #[test]
    fn older_keywords_are_read() {
        let nullable = json!({"properties": {"a": {"type": "string", "nullable": true}}});
        assert_eq!(reduced(&nullable), json!({"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}));
        let limit = json!({"type": "number", "minimum": 3, "exclusiveMinimum": true});
        assert_eq!(reduced(&limit), json!({"type": "number", "exclusiveMinimum": 3}));
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
        let mut schemas = DataSchemas::new("agentspec:jsonSchema");
        schemas.of(&json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}));
        assert!(!schemas.take_cut());
        for cut in [schema, bomb] {
            schemas.of(&cut);
            assert!(schemas.take_cut() && !schemas.take_cut(), "{cut}");
        }
    }

    #[test]
    fn hidden_values_leave_no_trace() {
        let schema =
            json!({"title": "api_key", "type": "string", "default": {"$component_ref": "tool.inputs.0.default"}});
        assert_eq!(written(&schema), json!({"title": "api_key", "type": "string"}));
    }
}
