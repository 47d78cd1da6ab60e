//! Type casts according to the type compatibility rules of Agent Spec.
//!
//! An output can be connected to an input if its type is a subtype of the input's type. In addition, every type can be
//! cast to a string, and integers, numbers, and booleans can be cast to each other. The same rules apply to the items
//! of arrays, and to the members of objects, which must include all members of the target.

pub mod effort;

use serde_json::{Map, Value};

use self::effort::{Answer, Effort};

type Members = Map<String, Value>;

/// One of the types that a schema allows.
#[derive(Debug, Clone, Copy)]
enum Alternative<'v> {
    /// Everything.
    Any,
    /// More than types can tell: `allOf`, `$ref` and the like. It is taken to go with everything.
    Opaque,
    Basic(Kind, &'v Members),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Numeric,
    Null,
    List,
    Object,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "string" => Kind::Text,
            "integer" | "number" | "boolean" => Kind::Numeric,
            "null" => Kind::Null,
            "array" => Kind::List,
            "object" => Kind::Object,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Kind {
        match value {
            Value::String(_) => Kind::Text,
            Value::Number(_) | Value::Bool(_) => Kind::Numeric,
            Value::Null => Kind::Null,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Object,
        }
    }
}

fn alternatives(schema: &Value) -> Vec<Alternative<'_>> {
    let mut found = Vec::new();
    expand(schema, &mut found);
    found
}

fn expand<'v>(schema: &'v Value, into: &mut Vec<Alternative<'v>>) {
    let Some(members) = schema.as_object() else { return into.push(Alternative::Any) };
    let basic = |name: &Value| name.as_str().and_then(Kind::named).map(|kind| Alternative::Basic(kind, members));
    match members.get("type") {
        Some(Value::Array(names)) => return into.extend(names.iter().filter_map(basic)),
        Some(name) => return into.extend(basic(name)),
        None => {}
    }
    if let Some(union) = ["anyOf", "oneOf"].iter().find_map(|keyword| members.get(*keyword)?.as_array()) {
        return union.iter().for_each(|schema| expand(schema, into));
    }
    if ["allOf", "$ref", "$dynamicRef", "not", "if"].iter().any(|keyword| members.contains_key(*keyword)) {
        return into.push(Alternative::Opaque);
    }
    let constant = members.get("const").map(std::slice::from_ref);
    match constant.or_else(|| members.get("enum")?.as_array().map(Vec::as_slice)) {
        Some(values) => {
            let mut kinds: Vec<Kind> = Vec::new();
            for kind in values.iter().map(Kind::of) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            into.extend(kinds.into_iter().map(|kind| Alternative::Basic(kind, members)));
        }
        None => into.push(Alternative::Any),
    }
}

/// Type comparison according to the text of the specification.
#[derive(Debug, Clone, Copy)]
pub struct Casting<'e> {
    pub effort: &'e Effort,
}

impl Casting<'_> {
    /// True if a value of `from` can be cast to `to`.
    pub fn casts(self, from: &Value, to: &Value) -> Answer {
        let (sources, targets) = (alternatives(from), alternatives(to));
        self.effort.spend(1 + sources.len() + targets.len())?;
        let takes_all =
            |target: &Alternative<'_>| !matches!(target, Alternative::Basic(kind, _) if *kind != Kind::Text);
        if targets.iter().any(takes_all) {
            return Ok(true);
        }
        for source in sources {
            if !self.casts_to_one_of(source, &targets)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn casts_to_one_of(self, source: Alternative<'_>, targets: &[Alternative<'_>]) -> Answer {
        let (kind, from) = match source {
            Alternative::Any => return Ok(false),
            Alternative::Opaque => return Ok(true),
            Alternative::Basic(kind, from) => (kind, from),
        };
        for target in targets {
            self.effort.spend(1)?;
            let Alternative::Basic(wanted, to) = *target else { continue };
            let casts = wanted == kind
                && match kind {
                    Kind::List => self.member_casts(from, to, "items")?,
                    Kind::Object => self.object_casts(from, to)?,
                    Kind::Text | Kind::Numeric | Kind::Null => true,
                };
            if casts {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if the schemas under `keyword` cast. A missing one allows everything.
    fn member_casts(self, from: &Members, to: &Members, keyword: &str) -> Answer {
        match (from.get(keyword), to.get(keyword)) {
            (_, None) => Ok(true),
            (from, Some(to)) => self.casts(from.unwrap_or(&Value::Bool(true)), to),
        }
    }

    fn object_casts(self, from: &Members, to: &Members) -> Answer {
        let (known, wanted) = (properties(from), properties(to));
        for (name, wanted) in wanted.into_iter().flatten() {
            match known.and_then(|known| known.get(name)) {
                Some(property) if self.casts(property, wanted)? => {}
                _ => return Ok(false),
            }
        }
        let others = from.get("additionalProperties");
        match to.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Ok(true),
            Some(Value::Bool(false)) => Ok(matches!(others, None | Some(Value::Bool(false)))),
            Some(to) => {
                let mut unlisted = known.into_iter().flatten().filter(|(name, _)| !has(wanted, name)).peekable();
                match others {
                    Some(Value::Bool(false)) => {}
                    // An object that lists its members is taken at its word.
                    None if unlisted.peek().is_some() => {}
                    others => {
                        if !self.casts(others.unwrap_or(&Value::Bool(true)), to)? {
                            return Ok(false);
                        }
                    }
                }
                for (_, property) in unlisted {
                    if !self.casts(property, to)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// True if `value` can be a value of `schema`, including conversions.
    pub fn fits(self, value: &Value, schema: &Value) -> Answer {
        for alternative in alternatives(schema) {
            self.effort.spend(1)?;
            let fits = match (alternative, value) {
                (Alternative::Any | Alternative::Opaque | Alternative::Basic(Kind::Text, _), _) => true,
                (Alternative::Basic(Kind::List, of), Value::Array(entries)) => self.entries_fit(entries, of)?,
                (Alternative::Basic(Kind::Object, of), Value::Object(members)) => self.members_fit(members, of)?,
                (Alternative::Basic(kind, _), value) => kind == Kind::of(value),
            };
            if fits {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn entries_fit(self, entries: &[Value], of: &Members) -> Answer {
        let Some(items) = of.get("items") else { return Ok(true) };
        for entry in entries {
            if !self.fits(entry, items)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn members_fit(self, members: &Members, of: &Members) -> Answer {
        let known = properties(of);
        let required = of.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let has_default = |name: &str| known.and_then(|known| known.get(name)?.get("default")).is_some();
        if required.into_iter().any(|name| !members.contains_key(name) && !has_default(name)) {
            return Ok(false);
        }
        for (name, member) in members {
            let schema = known.and_then(|known| known.get(name)).or_else(|| of.get("additionalProperties"));
            let fits = match schema {
                None | Some(Value::Bool(true)) => true,
                Some(Value::Bool(false)) => false,
                Some(schema) => self.fits(member, schema)?,
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn properties(of: &Members) -> Option<&Members> {
    of.get("properties")?.as_object()
}

fn has(properties: Option<&Members>, name: &str) -> bool {
    properties.is_some_and(|properties| properties.contains_key(name))
}

/// Describes the type of `schema` in a few words, such as `integer or list of string`.
pub fn describe(schema: &Value) -> String {
    const SHOWN: usize = 4;
    let members = schema.as_object();
    let names = match members.and_then(|members| members.get("type")) {
        Some(Value::String(name)) => vec![with_items(name, schema)],
        Some(Value::Array(names)) => {
            names.iter().take(SHOWN + 1).filter_map(Value::as_str).map(|name| with_items(name, schema)).collect()
        }
        _ => {
            let union = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array());
            union.into_iter().flatten().take(SHOWN + 1).map(describe).collect()
        }
    };
    match names.len() {
        0 => "any type".to_owned(),
        1..=SHOWN => names.join(" or "),
        _ => format!("{} or others", names[..SHOWN].join(" or ")),
    }
}

fn with_items(name: &str, schema: &Value) -> String {
    let simple = schema.get("items").and_then(|items| items.get("type")?.as_str());
    match (name, simple) {
        ("array", Some(items)) => format!("array of {items}"),
        _ => name.to_owned(),
    }
}

/// True if `schema` declares no types other than numbers. Undeclared and unsupported types count as numbers.
pub fn is_numeric(schema: &Value) -> bool {
    let kinds = alternatives(schema);
    let numeric = |alternative: &Alternative<'_>| match alternative {
        Alternative::Any | Alternative::Opaque => true,
        Alternative::Basic(kind, of) => *kind == Kind::Numeric && of.get("type").is_none_or(|name| name != "boolean"),
    };
    !kinds.is_empty() && kinds.iter().all(numeric)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn casts(from: &Value, to: &Value) -> Answer {
        Casting { effort: &Effort::for_document() }.casts(from, to)
    }

    #[test]
    fn basic_types_cast_by_the_table() {
        let types = ["string", "integer", "number", "boolean", "null", "array", "object"];
        let numeric = ["integer", "number", "boolean"];
        for from in types {
            for to in types {
                let expected = from == to || to == "string" || numeric.contains(&from) && numeric.contains(&to);
                assert_eq!(casts(&json!({"type": from}), &json!({"type": to})), Ok(expected), "{from} to {to}");
            }
            assert_eq!(casts(&json!({"type": from}), &json!({})), Ok(true), "{from} to anything");
        }
    }

    #[test]
    fn types_with_parts_cast_part_by_part() {
        let array = |items: &str| json!({"type": "array", "items": {"type": items}});
        let object = |members: Value| json!({"type": "object", "properties": members});
        let map = |values: Value| json!({"type": "object", "properties": {}, "additionalProperties": values});
        let nullable = json!({"anyOf": [{"type": "number"}, {"type": "null"}]});
        let (text, integer) = (json!({"type": "string"}), json!({"type": "integer"}));
        let cases = [
            (array("integer"), array("boolean"), true),
            (array("string"), array("integer"), false),
            (json!({"type": "array"}), array("integer"), false),
            (array("integer"), json!({"type": "array"}), true),
            (object(json!({"a": integer, "b": text})), object(json!({"a": text})), true),
            (object(json!({"a": text})), object(json!({"a": text, "b": text})), false),
            (object(json!({"a": text})), object(json!({"a": integer})), false),
            (map(integer.clone()), map(text.clone()), true),
            (map(text.clone()), map(integer.clone()), false),
            (object(json!({"a": integer})), map(text.clone()), true),
            (object(json!({"a": text})), map(integer.clone()), false),
            (object(json!({})), map(json!(false)), true),
            (map(integer.clone()), map(json!(false)), false),
            (json!({"type": "number"}), json!({"type": ["number", "null"]}), true),
            (json!({"type": ["number", "null"]}), json!({"type": "number"}), false),
            (json!({"type": "boolean"}), nullable.clone(), true),
            (nullable.clone(), json!({"type": ["null", "integer"]}), true),
            (text.clone(), nullable.clone(), false),
            (json!({"oneOf": [{"type": "integer"}]}), nullable, true),
            (json!({}), integer.clone(), false),
            (json!({}), text, true),
            (json!({"enum": [1, 2]}), integer.clone(), true),
            (json!({"const": "a"}), integer.clone(), false),
            (json!({"$ref": "#/$defs/a"}), integer, true),
        ];
        for (from, to, expected) in cases {
            assert_eq!(casts(&from, &to), Ok(expected), "{from} to {to}");
        }
    }

    #[test]
    fn defaults_may_need_a_conversion() {
        let fits = |value: Value, schema: Value| Casting { effort: &Effort::for_document() }.fits(&value, &schema);
        assert_eq!(fits(json!(5), json!({"type": "string"})), Ok(true));
        assert_eq!(fits(json!("5"), json!({"type": "integer"})), Ok(false));
        assert_eq!(fits(json!(null), json!({"type": ["integer", "null"]})), Ok(true));
        assert_eq!(fits(json!([[1], []]), json!({"type": "array", "items": {"type": "array"}})), Ok(true));
        assert_eq!(fits(json!([1, "a"]), json!({"type": "array", "items": {"type": "integer"}})), Ok(false));
        let required = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
        assert_eq!(fits(json!({}), required), Ok(false));
        assert_eq!(
            fits(json!({"a": 1}), json!({"type": "object", "additionalProperties": {"type": "null"}})),
            Ok(false)
        );
    }

    #[test]
    fn types_are_described_in_short() {
        assert_eq!(describe(&json!({"type": "array", "items": {"type": "string"}})), "array of string");
        assert_eq!(describe(&json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})), "integer or null");
        assert_eq!(describe(&json!({"title": "a"})), "any type");
        let types = ["string", "integer", "number", "boolean", "null", "array"];
        assert_eq!(describe(&json!({"type": types})), "string or integer or number or boolean or others");
    }

    /// Schemas of all kinds.
    pub fn schema() -> impl Strategy<Value = Value> {
        let names = prop::sample::select(&["string", "integer", "number", "boolean", "null", "array", "object"][..]);
        let leaf = prop_oneof![
            Just(json!({})),
            names.clone().prop_map(|name| json!({"type": name})),
            prop::collection::hash_set(names, 1..4)
                .prop_map(|names| json!({"type": names.into_iter().collect::<Vec<_>>()})),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
                prop::collection::vec(inner.clone(), 1..4).prop_map(|any_of| json!({"anyOf": any_of})),
                (prop::collection::btree_map("[ab]", inner.clone(), 0..3), inner).prop_map(|(properties, others)| {
                    json!({"type": "object", "properties": properties, "additionalProperties": others})
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn everything_casts_to_itself_and_to_a_string(schema in schema()) {
            prop_assert_eq!(casts(&schema, &schema), Ok(true));
            prop_assert_eq!(casts(&schema, &json!({"type": "string"})), Ok(true));
        }
    }
}
