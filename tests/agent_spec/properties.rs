//! Properties by themselves: JSON Schemas with a title and a default that fits; and that no document,
//! however it was changed, brings validation down.

use agentdex::convert::agent_spec::Profile;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixtures::{
    Says::{self, Error, Nothing, Warning},
    agent, breaks, component, document, echo, flow, llm, passes, text, tool, validate,
};

/// What `[spec, sdk]` say of an input of a tool.
#[track_caller]
fn input_breaks(property: Value, rule: &str, within: &str, says: [Says; 2]) {
    breaks(tool(json!([property]), json!([])), rule, &format!("/inputs/0{within}"), says, &[]);
}

#[test]
fn properties_have_titles_that_are_names() {
    input_breaks(json!({"type": "string"}), "property-title-missing", "", [Error, Warning]);
    input_breaks(text(""), "property-title-malformed", "/title", [Error, Error]);
    for title in ["a b", "a.b", "a,b", "{a}", "a\"", "it's", "a\nb"] {
        input_breaks(text(title), "property-title-malformed", "/title", [Error, Error]);
    }
    passes(tool(json!([text("größe-2_x/y")]), json!([])));
    let nested = json!({"title": "a", "type": "array", "items": {"title": "City Name", "type": "string"}});
    input_breaks(nested, "property-title-malformed", "", [Nothing, Error]);
}

#[test]
fn properties_have_a_type() {
    input_breaks(json!({"title": "a"}), "property-type-missing", "", [Error, Warning]);
    for schema in [json!({"anyOf": [{"type": "string"}]}), json!({"enum": ["a"]}), json!({"oneOf": [{"type": "null"}]})]
    {
        let mut property = schema;
        property["title"] = "a".into();
        passes(tool(json!([property]), json!([])));
    }
}

#[test]
fn the_response_of_a_request_is_handed_on_without_a_type() {
    let response = json!({"title": "response"});
    let end = component("EndNode", "end", json!({"outputs": [response]}));
    breaks(end, "property-type-missing", "/outputs/0", [Warning, Warning], &[]);
    let request = component("ApiNode", "request", json!({"url": "https://api.example", "http_method": "GET"}));
    passes(request);
    let collected = component("EndNode", "end", json!({"outputs": [{"title": "collected_response"}]}));
    breaks(collected, "property-type-missing", "/outputs/0", [Warning, Warning], &[]);
    let other = component("EndNode", "end", json!({"outputs": [{"title": "answer"}]}));
    breaks(other, "property-type-missing", "/outputs/0", [Error, Warning], &[]);
    input_breaks(response, "property-type-missing", "", [Error, Warning]);
}

#[test]
fn schemas_are_valid_by_the_meta_schema() {
    let both = [Error, Error];
    let cases = [
        (json!({"type": "str"}), "/type"),
        (json!({"type": []}), "/type"),
        (json!({"type": ["string", "string"]}), "/type"),
        (json!({"type": "array", "items": [{}]}), "/items"),
        (json!({"type": "object", "properties": {"a/b": 5}}), "/properties/a~1b"),
        (json!({"anyOf": []}), "/anyOf"),
        (json!({"anyOf": [{"type": "null"}, {"minLength": -1}]}), "/anyOf/1/minLength"),
        (json!({"type": "string", "pattern": "("}), "/pattern"),
        (json!({"type": "number", "multipleOf": 0}), "/multipleOf"),
        (json!({"type": "object", "required": ["a", "a"]}), "/required"),
        (json!({"type": "string", "description": null}), "/description"),
        (json!({"type": "string", "$defs": {"x": "y"}}), "/$defs/x"),
    ];
    for (mut property, pointer) in cases {
        property["title"] = "a".into();
        input_breaks(property, "property-schema", pointer, both);
    }
    input_breaks(json!({"title": 5, "type": "string"}), "property-schema", "/title", both);
}

#[test]
fn remote_references_in_schemas_are_not_followed() {
    passes(tool(json!([{"title": "a", "$ref": "https://nowhere.invalid/schema.json"}]), json!([])));
}

#[test]
fn defaults_fit_the_type() {
    let with = |kind: Value, default: Value| json!({"title": "a", "type": kind, "default": default});
    let both = [Error, Error];
    input_breaks(with(json!("integer"), json!({"a": 1})), "property-default-type", "/default", both);
    input_breaks(with(json!("integer"), json!("1")), "property-default-type", "/default", both);
    input_breaks(with(json!(["null", "array"]), json!(false)), "property-default-type", "/default", both);
    input_breaks(with(json!("string"), json!(5)), "property-default-type", "/default", [Warning, Warning]);
    passes(tool(json!([with(json!("integer"), json!(true))]), json!([])));
    passes(tool(json!([with(json!(["string", "null"]), Value::Null)]), json!([])));
}

#[test]
fn the_sdk_takes_no_boolean_schemas_for_parts() {
    let array = json!({"title": "a", "type": "array", "items": true});
    input_breaks(array, "property-schema-unsupported", "", [Nothing, Error]);
    passes(tool(json!([{"title": "a", "type": "object", "additionalProperties": true}]), json!([])));
}

#[test]
fn rows_of_a_collection_are_objects() {
    let store = |entity: Value| {
        component("InMemoryCollectionDatastore", "store", json!({"datastore_schema": {"rows": entity}}))
    };
    let pointer = "/datastore_schema/rows";
    passes(store(json!({"type": "object", "properties": {}})));
    breaks(store(json!({"type": "object"})), "entity-not-object", pointer, [Warning, Error], &[]);
    let pointer = "/datastore_schema/rows/type";
    breaks(store(json!({"type": "string", "properties": {}})), "entity-not-object", pointer, [Error, Error], &[]);
}

/// Values of all kinds, among them what schemas are made of.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        Just(json!(0.5)),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from), object(inner)]
    })
}

fn object(members: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let names = prop::sample::select(&KEYWORDS[..]);
    let members = prop::collection::hash_map(names, members, 0..4);
    members
        .prop_map(|members| Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

const WORDS: [&str; 9] = ["string", "object", "next", "{{x}}", "a", "default", "", "-1", "x y"];
const KEYWORDS: [&str; 36] = [
    "type",
    "title",
    "description",
    "default",
    "items",
    "prefixItems",
    "properties",
    "patternProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "enum",
    "const",
    "required",
    "minLength",
    "maximum",
    "multipleOf",
    "uniqueItems",
    "$ref",
    "$id",
    "$anchor",
    "$defs",
    "dependencies",
    "dependentRequired",
    "$vocabulary",
    "examples",
    "additionalProperties",
    "format",
    "id",
    "name",
    "inputs",
    "outputs",
    "branches",
    "component_type",
];

/// Every place of a document.
fn places(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), member)).collect(),
        _ => Vec::new(),
    };
    for (token, child) in children {
        found.extend(places(child).into_iter().map(|place| format!("/{token}{place}")));
    }
    found
}

/// Documents to change.
fn documents() -> impl Strategy<Value = Value> {
    let map = component(
        "MapNode",
        "map",
        json!({"subflow": echo("inner", text("a"), text("b")), "reducers": {"b": "append"}}),
    );
    let special = component(
        "SpecializedAgent",
        "special",
        json!({
            "agent": agent(),
            "agent_specialization_parameters": component(
                "AgentSpecializationParameters", "more", json!({"additional_instructions": "{{more}}", "inputs": [text("more")]}),
            ),
        }),
    );
    let transform = component("ConversationSummarizationTransform", "transform", json!({"llm": llm()}));
    let all = [flow(), map, special, transform, tool(json!([text("a")]), json!([text("b")]))];
    prop::sample::select(all.map(document).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn schemas_are_judged_as_the_meta_schema_judges_them(schema in object(anything())) {
        let report = validate(&document(tool(json!([schema]), json!([]))), Profile::Sdk);
        let is_valid = !report.violations.iter().any(|found| found.rule == "property-schema");
        prop_assert_eq!(is_valid, jsonschema::draft202012::meta::is_valid(&schema), "{:#?}", report);
    }

    #[test]
    fn no_change_brings_validation_down(
        mut document in documents(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), anything()), 1..4),
    ) {
        for (index, value) in changes {
            let places = places(&document);
            let place = index.get(&places);
            if let Some(found) = document.pointer_mut(place) {
                *found = value;
            }
        }
        for profile in [Profile::Spec, Profile::Sdk] {
            let report = validate(&document, profile);
            prop_assert!(report.violations.iter().all(|found| !found.message.is_empty()));
        }
    }
}
