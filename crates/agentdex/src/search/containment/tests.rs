use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{outcome::Note, *};
use crate::td::internal::{Edition, JsonSchema, Patterns};

fn read(schema: &Value) -> Schema {
    Read::new(schema, Bases::of(schema, None), &mut Limits::default()).schema()
}

/// The verdict and its words.
fn verdict(giver: &Value, taker: &Value) -> (Certainty, Vec<String>) {
    let (giver, taker) = (read(giver), read(taker));
    let verdict = explain(&giver, &taker);
    assert_eq!(decide(&giver, &taker).certainty, verdict.certainty);
    let words = |note: &Note| match verdict.certainty {
        Certainty::Cannot => note.reason.clone(),
        _ => note.doubt("x"),
    };
    (verdict.certainty, verdict.notes.iter().map(words).collect())
}

#[test]
fn doubts_and_reasons_name_the_part_and_the_limit() {
    let cases = [
        (json!({"type": "string"}), json!({"type": "string", "maxLength": 4}), "`x` may be longer than 4 characters"),
        (json!({"type": "integer"}), json!({"type": "integer", "minimum": 0}), "`x` may be less than 0"),
        (json!({"type": ["string", "null"]}), json!({"type": "string"}), "`x` may be null"),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["b", "c"]}), "`x` may be \"a\""),
        (
            json!({"type": "number"}),
            json!({"type": "number", "unit": "W"}),
            "`x` has no declared unit, but W is expected",
        ),
        (json!({}), json!({"type": "string"}), "`x` can be anything, not only a string"),
        (
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}),
            "`x[].a` may be absent",
        ),
        (json!({"type": "integer"}), json!({"type": "string"}), "`x` has to be converted from integer to string"),
        (json!({"type": "object"}), json!({"type": "number"}), "object can't be cast to number"),
        (json!({"const": "a"}), json!({"enum": ["b", "c"]}), "\"a\" isn't \"b\" or \"c\""),
        (json!({"type": "integer", "maximum": 3}), json!({"type": "integer", "minimum": 4}), "it is less than 4"),
    ];
    for (giver, taker, expected) in cases {
        assert_eq!(verdict(&giver, &taker).1, [expected], "{giver} {taker}");
    }
}

#[test]
fn schema_that_conversions_keep_counts() {
    let source = json!({"@type": "@json", "@value": {"type": "object", "minProperties": 1, "properties": {"a": {"type": "integer"}}, "required": ["a"]}});
    for term in ["agentspec:jsonSchema", "mcp:jsonSchema"] {
        let kept = json!({"properties": {"x": {"type": "object", term: source}}});
        let text = json!({"properties": {"x": {"properties": {"a": {"type": "string"}}}}});
        let (certainty, words) = verdict(&kept, &text);
        assert!(certainty != Certainty::Fits && words[0].contains("integer"), "{words:?}");
    }
}

#[test]
fn unions_of_which_several_may_hold_fit() {
    let union = json!({"anyOf": [{"type": "integer"}, {"type": "number"}]});
    assert_eq!(verdict(&json!({"type": "integer"}), &union).0, Certainty::Fits);
    assert_eq!(verdict(&union, &json!({"type": "number"})).0, Certainty::Fits);
}

#[test]
fn references_lead_to_the_nearest_definitions() {
    let nested = json!({"$defs": {"P": {"type": "string"}}, "properties": {
        "x": {"$defs": {"P": {"type": "integer"}}, "$ref": "#/$defs/P"}, "y": {"$ref": "#/$defs/P"}, "z": {"$ref": "#"},
    }});
    let whole = json!({"properties": {"x": {"type": "integer"}, "y": {"type": "string"}}});
    assert_eq!(verdict(&nested, &whole).0, Certainty::Unstated, "an object without the type");
    let document = json!({"schemaDefinitions": {"P": {"const": 1}}});
    let schema = json!({"$ref": "#/schemaDefinitions/P"});
    let read = |schema: &Value| Read::new(schema, Bases::of(schema, Some(&document)), &mut Limits::default()).schema();
    assert_eq!(decide(&read(&schema), &read(&json!({"const": 1}))).certainty, Certainty::Fits);
    for lost in ["#/schemaDefinitions/Q", "https://example.com/schema", "#/schemaDefinitions/P/"] {
        let lost = json!({"$ref": lost});
        assert_eq!(decide(&read(&lost), &read(&schema)).certainty, Certainty::Unstated, "{lost}");
        assert_eq!(decide(&read(&schema), &read(&lost)).certainty, Certainty::Unstated, "{lost}");
    }
}

#[test]
fn hostile_schemas_take_little() {
    let circle = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    let own = json!({"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"type": "string"}]}]});
    let doubling: Map<String, Value> = (0..60)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            let next = if n == 59 { json!({"type": "string"}) } else { next };
            (format!("d{n}"), json!({"type": "object", "properties": {"a": next, "b": next}, "required": ["a"]}))
        })
        .collect();
    let doubling = json!({"$defs": doubling, "$ref": "#/$defs/d0"});
    let unions = |count: usize| {
        let branch = |n: usize| json!({"type": "object", "properties": {"k": {"const": n}, "v": {"$ref": "#"}}});
        json!({"anyOf": (0..count).map(branch).collect::<Vec<_>>()})
    };
    let many = json!({"allOf": [unions(200), unions(200), unions(200)]});
    let values = |from: usize| json!({"enum": (from..from + 900).map(|n| format!("v{n}")).collect::<Vec<_>>()});
    let all =
        [circle, own, doubling, unions(60), many, values(0), values(1), json!({"type": "string", "pattern": "(a*)*b"})];
    let started = std::time::Instant::now();
    for giver in &all {
        for taker in &all {
            let (giver, taker) = (read(giver), read(taker));
            assert!(giver.len() < 10_000, "{}", giver.len());
            explain(&giver, &taker);
        }
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// Small values.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..12i64).prop_map(Value::from),
        (-2..12i64).prop_map(|number| json!(number as f64 / 2.0)),
        "[ab]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn with(mut schema: Value, more: Vec<(&str, Value)>) -> Value {
    schema.as_object_mut().unwrap().extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    schema
}

/// Schemas with all compared keywords, except for those not asserted by a validator.
fn schema() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(&["string", "integer", "number", "boolean", "null", "array", "object"][..]);
    let keyword = |name: &'static str, values: Vec<Value>| {
        prop::option::of(prop::sample::select(values)).prop_map(move |value| value.map(|value| (name, value)))
    };
    let numbers = (
        prop::sample::select(&["integer", "number"][..]),
        keyword("minimum", vec![json!(0), json!(2), json!(2.5)]),
        keyword("exclusiveMinimum", vec![json!(-1), json!(1)]),
        keyword("maximum", vec![json!(3), json!(8)]),
        keyword("exclusiveMaximum", vec![json!(4), json!(9)]),
        keyword("multipleOf", vec![json!(1), json!(2), json!(4), json!(0.5)]),
    )
        .prop_map(|(name, one, two, three, four, five)| {
            with(json!({"type": name}), [one, two, three, four, five].into_iter().flatten().collect())
        });
    let texts = (
        keyword("minLength", vec![json!(1), json!(2)]),
        keyword("maxLength", vec![json!(1), json!(3)]),
        keyword("pattern", vec![json!("^a"), json!("b$")]),
    )
        .prop_map(|(one, two, three)| {
            with(json!({"type": "string"}), [one, two, three].into_iter().flatten().collect())
        });
    let leaf = prop_oneof![
        1 => Just(json!({})),
        1 => Just(json!({"$ref": "#/$defs/d"})),
        2 => names.clone().prop_map(|name| json!({"type": name})),
        1 => prop::collection::hash_set(names, 1..4)
            .prop_map(|names| json!({"type": names.into_iter().collect::<Vec<_>>()})),
        2 => prop::collection::vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        1 => value().prop_map(|value| json!({"const": value})),
        3 => numbers,
        3 => texts,
        1 => Just(json!({"minLength": 2, "minimum": 1})),
    ];
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let lists = (
            prop::option::of(inner.clone()),
            prop::option::of(prop::collection::vec(inner.clone(), 1..3)),
            keyword("minItems", vec![json!(1), json!(2)]),
            keyword("maxItems", vec![json!(1), json!(2), json!(3)]),
            keyword("uniqueItems", vec![json!(true)]),
        )
            .prop_map(|(items, first, one, two, three)| {
                let own = [items.map(|items| ("items", items)), first.map(|first| ("prefixItems", first.into()))];
                with(json!({"type": "array"}), own.into_iter().chain([one, two, three]).flatten().collect())
            });
        let objects = (
            prop::collection::btree_map("[ab]", inner.clone(), 0..3),
            prop::collection::hash_set("[ab]", 0..2),
            prop::option::of(prop_oneof![Just(json!(true)), Just(json!(false)), inner.clone()]),
            keyword("minProperties", vec![json!(1)]),
            keyword("maxProperties", vec![json!(1)]),
        )
            .prop_map(|(members, required, others, one, two)| {
                let members = Value::Object(members.into_iter().collect());
                let required = json!(required.into_iter().collect::<Vec<_>>());
                let own = others.map(|others| ("additionalProperties", others));
                let base = json!({"type": "object", "properties": members, "required": required});
                with(base, [own, one, two].into_iter().flatten().collect())
            });
        let combined =
            (prop::sample::select(&["anyOf", "oneOf", "allOf"][..]), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(keyword, parts)| json!({keyword: parts}));
        let beside = (inner.clone(), inner).prop_map(|(own, part)| {
            with(
                json!({"allOf": [part]}),
                own.as_object()
                    .unwrap()
                    .iter()
                    .filter(|(name, _)| *name != "allOf")
                    .map(|(name, value)| (leaked(name), value.clone()))
                    .collect(),
            )
        });
        prop_oneof![2 => lists, 3 => objects, 2 => combined, 1 => beside]
    })
}

/// Names of keywords, of which there are few.
fn leaked(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// Adds the definition for `#/$defs/d` to the schema.
fn rooted((schema, definition): (Value, Value)) -> Value {
    let definition = json!({"type": "object", "properties": {"a": definition}});
    with(json!({"allOf": [schema]}), vec![("$defs", json!({"d": definition}))])
}

/// Closes the schema against members it doesn't list.
fn closed(schema: &Value, is_part: bool) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    let has = |name: &str| members.contains_key(name);
    let all =
        |values: &Value, is_part| values.as_array().unwrap().iter().map(|one| closed(one, is_part)).collect::<Value>();
    let each = |(name, value): (&String, &Value)| {
        let value = match name.as_str() {
            "anyOf" | "oneOf" | "allOf" => all(value, true),
            "prefixItems" => all(value, false),
            "items" | "additionalProperties" => closed(value, false),
            "properties" | "$defs" => {
                let part = |(name, inner): (&String, &Value)| (name.clone(), closed(inner, false));
                Value::Object(value.as_object().unwrap().iter().map(part).collect())
            }
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    let mut schema = Value::Object(members.iter().map(each).collect());
    let is_listed = |part: &Value| part.to_string().contains("\"properties\"");
    if !is_part
        && (has("properties")
            || ["anyOf", "oneOf", "allOf"].iter().any(|name| members.get(*name).is_some_and(is_listed)))
    {
        schema["unevaluatedProperties"] = false.into();
    }
    schema
}

fn compiled(schema: &Value) -> JsonSchema {
    JsonSchema::compile(schema, Edition::Draft202012, Patterns::Linear).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn values_of_what_fits_are_valid_and_those_of_what_cannot_are_not(
        giver in (schema(), schema()).prop_map(rooted),
        taker in (schema(), schema()).prop_map(rooted),
        values in prop::collection::vec(value(), 40),
    ) {
        let (certainty, words) = verdict(&giver, &taker);
        prop_assert_eq!(certainty == Certainty::Fits, words.is_empty(), "{:?}", words);
        let (given, taken) = (compiled(&closed(&giver, false)), compiled(&taker));
        for value in values.iter().filter(|value| given.mismatches(value, 1).is_empty()) {
            let is_valid = taken.mismatches(value, 1).is_empty();
            prop_assert!(is_valid || certainty != Certainty::Fits, "{value}");
            let is_whole = !value.is_array() && !value.is_object();
            prop_assert!(!is_valid || !is_whole || certainty != Certainty::Cannot, "{value}: {words:?}");
        }
    }

    #[test]
    fn schemas_are_read_the_same_and_their_values_can_be_those_of_themselves(
        schema in (schema(), schema()).prop_map(rooted),
        values in prop::collection::vec(value(), 40),
    ) {
        let (one, two) = (read(&schema), read(&schema));
        prop_assert_eq!(&one, &two);
        let compiled = compiled(&schema);
        let is_valid = |value: &&Value| !value.is_array() && !value.is_object() && compiled.mismatches(value, 1).is_empty();
        if let Some(value) = values.iter().find(is_valid) {
            prop_assert!(decide(&one, &two).certainty != Certainty::Cannot, "{value}");
        }
    }
}
