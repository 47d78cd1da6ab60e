//! Data schemas of Thing Descriptions, and validation of data against them.
//!
//! A data schema is a JSON Schema of draft 7, in which `items` can be a list of schemas. If a conversion stored the
//! original JSON Schema in the data schema, the data must also satisfy the original.

use serde_json::Value;

use super::{
    Violation,
    json_schema::{Edition, JsonSchema, Mismatch, Patterns},
    legacy_keywords::modernize,
    report::push_token,
    schema_references::{MOST_REFERENCES, can_be_compiled, count_references, is_bounded, without_broken},
    source_schema::source_schema,
};

/// A compiled data schema.
#[derive(Debug)]
pub struct DataSchema {
    schema: JsonSchema,
    sources: Vec<Source>,
}

/// JSON Schema from which a data schema, or the one of a member, was converted.
#[derive(Debug)]
struct Source {
    /// Name of the member.
    member: Option<String>,
    /// `None` if following its references would take too long.
    schema: Option<JsonSchema>,
    /// The schema as it is, if it refers to others.
    references: Option<Value>,
}

impl DataSchema {
    /// Compiles a data schema. If it was converted from a JSON Schema, and the JSON Schema is unusable, the JSON Schema
    /// is ignored.
    ///
    /// # Errors
    /// The reason why the schema can't be used.
    pub fn compile(schema: &Value) -> Result<DataSchema, String> {
        let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let of_members = members.filter_map(|(name, schema)| Some((Some(name), source_schema(schema)?)));
        let whole = source_schema(schema).map(|source| (None, source));
        let sources = whole.into_iter().chain(of_members);
        let sources = sources.filter_map(|(name, source)| Source::compile(name, source)).collect();
        Ok(DataSchema { schema: JsonSchema::compile(schema, Edition::Draft7, Patterns::Linear)?, sources })
    }

    /// Compiles a JSON Schema of edition 2020-12, such as that of a type.
    ///
    /// # Errors
    /// The reason why the schema can't be used.
    pub fn compile_json_schema(schema: &Value) -> Result<DataSchema, String> {
        let schema = JsonSchema::compile(schema, Edition::Draft202012, Patterns::Linear)?;
        Ok(DataSchema { schema, sources: Vec::new() })
    }

    /// Returns up to `most` violations of the schema in `data`.
    pub fn violations(&self, data: &Value, most: usize) -> Vec<Violation> {
        let violations = violations(&self.schema, data, most);
        if !violations.is_empty() {
            return violations;
        }
        let of_source = |source: &Source| source.violations(data, most);
        self.sources.iter().flat_map(of_source).take(most).collect()
    }
}

impl Source {
    fn compile(member: Option<&String>, source: &Value) -> Option<Source> {
        let modern = modernize(source).filter(|_| Edition::named_by(source).is_none());
        let source = modern.as_ref().unwrap_or(source);
        let references = match count_references(source) {
            0 => None,
            1..=MOST_REFERENCES if can_be_compiled(source) => Some(without_broken(source)),
            _ => return Some(Source { member: member.cloned(), schema: None, references: None }),
        };
        let source = references.as_ref().unwrap_or(source);
        let named = Edition::named_by(source);
        let editions = named.map_or_else(|| vec![Edition::Draft202012, Edition::Draft7], |edition| vec![edition]);
        let compile = |edition| JsonSchema::compile(source, edition, Patterns::Linear).ok();
        let schema = editions.into_iter().find_map(compile)?;
        Some(Source { member: member.cloned(), schema: Some(schema), references })
    }

    /// Returns violations in data, or in its member.
    fn violations(&self, data: &Value, most: usize) -> Vec<Violation> {
        let mut pointer = String::new();
        let data = match &self.member {
            None => Some(data),
            Some(name) => {
                push_token(&mut pointer, name);
                data.get(name)
            }
        };
        let Some(data) = data else { return Vec::new() };
        let is_bounded = self.references.as_ref().is_none_or(|schema| is_bounded(schema, data));
        let Some(schema) = self.schema.as_ref().filter(|_| is_bounded) else {
            let message = "checking this value would follow too many references in its schema; send less data, or \
                           simplify the schema";
            return vec![Violation::new(pointer, "schema/$ref", message)];
        };
        let mut found = violations(schema, data, most);
        found.iter_mut().for_each(|violation| violation.pointer.insert_str(0, &pointer));
        found
    }
}

fn violations(schema: &JsonSchema, data: &Value, most: usize) -> Vec<Violation> {
    let violation =
        |Mismatch { pointer, keyword, message }| Violation::new(pointer, format!("schema/{keyword}"), message);
    schema.mismatches(data, most).into_iter().map(violation).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    /// A data schema that says nothing, with the JSON Schema of it or of its member `m`.
    fn compiled(source: &Value, is_member: bool) -> DataSchema {
        let data_schema = json!({"mcp:jsonSchema": {"@type": "@json", "@value": source}});
        let schema = if is_member { json!({"properties": {"m": data_schema}}) } else { data_schema };
        DataSchema::compile(&schema).expect("a schema")
    }

    fn check(source: Value, valid: Value, invalid: Value) {
        let schema = compiled(&source, false);
        assert_eq!(schema.violations(&valid, 9), [], "{source}");
        assert_ne!(schema.violations(&invalid, 9), [], "{source}");
        let schema = compiled(&source, true);
        assert_eq!(schema.violations(&json!({"m": valid}), 9), [], "{source}");
        let found = schema.violations(&json!({"m": invalid}), 9);
        assert!(found.first().is_some_and(|first| first.pointer.starts_with("/m")), "{source}: {found:?}");
    }

    #[test]
    fn constraints_hold_beside_references() {
        let pair = json!({"prefixItems": [{"type": "integer"}, {"type": "string"}]});
        for (constraint, valid, invalid) in [
            (json!({"properties": {"l": pair}}), json!({"l": [1, "a"]}), json!({"l": [1, 2]})),
            (json!({"patternProperties": {"^n": {"type": "integer"}}}), json!({"n": 1}), json!({"n": "s"})),
            (json!({"not": {"required": ["z"]}}), json!({}), json!({"z": 1})),
            (json!({"dependentRequired": {"a": ["b"]}}), json!({"b": 1}), json!({"a": 1})),
            (json!({"dependencies": {"a": ["b"]}}), json!({"b": 1}), json!({"a": 1})),
            (json!({"propertyNames": {"pattern": "^a"}}), json!({"a": 1}), json!({"b": 1})),
            (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
        ] {
            let mut beside = constraint.clone();
            beside["$defs"] = json!({"A": {"type": "integer"}});
            beside["additionalProperties"] = json!({"anyOf": [{"$ref": "#/$defs/A"}, {}]});
            check(beside, valid.clone(), invalid.clone());
            for broken in ["#/$defs/B", "#b", "https://a.example/schema", "b.json#/c"] {
                let mut beside = constraint.clone();
                beside["properties"]["x"] = json!({"anyOf": [{"$ref": broken}, {"not": {"$ref": broken}}]});
                check(beside, valid.clone(), invalid.clone());
            }
            check(json!({"$defs": {"A": constraint}, "$ref": "#/$defs/A"}), valid, invalid);
        }
    }

    #[test]
    fn references_of_every_kind_are_followed() {
        let (integer, valid, invalid) = (json!({"type": "integer"}), json!({"x": 1}), json!({"x": "s"}));
        for (name, keyword, reference) in [
            ("$anchor", "$ref", "#a"),
            ("$dynamicAnchor", "$dynamicRef", "#a"),
            ("$id", "$ref", "a.json"),
            ("$id", "$ref", "https://a.example/a.json"),
        ] {
            let mut target = integer.clone();
            target[name] = if name == "$id" { "a.json" } else { "a" }.into();
            let mut schema = json!({"$defs": {"A": target}, "properties": {"x": {}}});
            schema["properties"]["x"][keyword] = reference.into();
            if name == "$id" {
                schema["$id"] = "https://a.example/root.json".into();
            }
            check(schema, valid.clone(), invalid.clone());
        }
        let list = json!({
            "$defs": {"N": {"properties": {"v": integer, "next": {"$ref": "#/$defs/N"}}, "required": ["v"]}},
            "$ref": "#/$defs/N",
        });
        let nested = |inner: Value| (0..20).fold(inner, |next, v| json!({"v": v, "next": next}));
        check(list, nested(json!({"v": 1})), nested(json!({})));
    }

    #[test]
    fn older_schemas_hold() {
        let (four, five) = (json!(4), json!(5));
        let schema = json!({"maximum": 5, "exclusiveMaximum": true});
        check(schema.clone(), four.clone(), five.clone());
        let mut named = schema;
        named["$schema"] = "http://json-schema.org/draft-04/schema#".into();
        check(named, four, five);
        check(json!({"type": "string", "nullable": true, "not": {"const": "a"}}), json!(null), json!("a"));
        check(json!({"items": [{"type": "integer"}], "additionalItems": false}), json!([1]), json!([1, 2]));
    }

    fn assert_refused(schema: &Value, data: &Value) {
        let started = Instant::now();
        let found = compiled(schema, false).violations(data, 9);
        assert!(matches!(&*found, [one] if one.rule == "schema/$ref"), "{found:?}");
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }

    #[test]
    fn references_that_multiply_are_refused_at_once() {
        let again = json!({"$ref": "#"});
        let twice = json!({"allOf": [{"properties": {"n": again}}, {"properties": {"n": again}}]});
        let deep = (0..50).fold(json!({}), |n, _| json!({"n": n}));
        assert_refused(&twice, &deep);
        let mut definitions = serde_json::Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"anyOf": [next, next, next]}));
        }
        definitions.insert("d60".to_owned(), json!({"type": "integer"}));
        let mut bomb = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        assert_refused(&bomb, &json!({"a": "s"}));
        bomb["unevaluatedProperties"] = false.into();
        assert_refused(&bomb, &json!({"a": "s"}));
    }

    #[test]
    fn long_chains_of_references_are_refused_at_once() {
        let mut chain: serde_json::Map<String, Value> =
            (0..20_000).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
        chain.insert("d20000".to_owned(), json!({"type": "string"}));
        assert_refused(&json!({"$ref": "#/$defs/d0", "$defs": chain}), &json!(1));
        chain.retain(|_, target| target.get("type").is_some() || target["$ref"].as_str() < Some("#/$defs/d11"));
        assert!((1000..MOST_REFERENCES).contains(&chain.len()), "{}", chain.len());
        assert_refused(&json!({"$ref": "#/$defs/d10000", "$defs": chain}), &json!(1));
    }

    #[test]
    fn schemas_that_are_nothing_but_themselves_end() {
        let schema = compiled(&json!({"$ref": "#", "allOf": [{"$ref": "#"}], "minProperties": 1}), false);
        assert_eq!(schema.violations(&json!({"a": 1}), 9), []);
        assert_ne!(schema.violations(&json!({}), 9), []);
    }

    #[test]
    fn large_data_is_checked() {
        let schema = json!({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"properties": {"x": {"$ref": "#/$defs/B"}}}, "B": {"type": "integer"}}});
        let schema = compiled(&schema, false);
        let mut data: Vec<Value> = vec![json!({"x": 1}); 60_000];
        assert_eq!(schema.violations(&data.clone().into(), 9), []);
        data.push(json!({"x": "s"}));
        assert_eq!(schema.violations(&data.into(), 9).len(), 1);
    }
}
