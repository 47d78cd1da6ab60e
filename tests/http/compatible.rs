//! `POST /search/compatible`, `GET /things/{id}/compatible`.

use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, eventually, nth};

/// An agent with actions: name, what goes in, what comes out.
pub(super) fn agent(id: &str, title: &str, actions: &[(&str, Value, Value)]) -> String {
    let forms = json!([{"href": "https://agents.example/a"}]);
    let action = |(name, input, output): &(&str, Value, Value)| {
        ((*name).to_owned(), json!({"input": input, "output": output, "forms": forms}))
    };
    let actions: serde_json::Map<String, Value> = actions.iter().map(action).collect();
    json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": format!("urn:example:{id}"), "title": title,
        "security": "open", "securityDefinitions": {"open": {"scheme": "nosec"}}, "actions": actions,
    })
    .to_string()
}

/// Data of members with types.
pub(super) fn data(members: &[(&str, &str)]) -> Value {
    let members = members.iter().map(|(name, type_)| ((*name).to_owned(), json!({"type": type_})));
    json!({"type": "object", "properties": Value::Object(members.collect())})
}

fn weather() -> TestRegistry {
    let registry = TestRegistry::start();
    for document in [
        agent(
            "forecast",
            "Forecast",
            &[
                ("forecast", data(&[("city", "string")]), data(&[("temperature", "number"), ("wind", "number")])),
                ("alarm", data(&[("city", "string"), ("phone", "string")]), data(&[("ok", "boolean")])),
            ],
        ),
        agent(
            "geocoder",
            "Geocoder",
            &[("locate", data(&[("City name", "string")]), data(&[("lat", "number"), ("lon", "number")]))],
        ),
        agent(
            "at",
            "Weather at a place",
            &[("at", data(&[("lat", "number"), ("lon", "number")]), data(&[("temperature", "number")]))],
        ),
    ] {
        registry.registry().put(&document).unwrap();
    }
    registry
}

fn search(registry: &TestRegistry, body: &Value) -> Answer {
    registry.call("POST", "/search/compatible").body("application/json", body.to_string()).send()
}

/// The capabilities that are found, in order.
fn found(registry: &TestRegistry, body: &Value) -> Vec<String> {
    let answer = search(registry, body).expect(200).json();
    let hits = answer["hits"].as_array().unwrap();
    assert_eq!(answer["total"], hits.len());
    hits.iter().map(|hit| hit["capability"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn capability_is_found_by_what_goes_in_and_comes_out() {
    let registry = weather();
    let (have, want) = (data(&[("City", "string"), ("day", "string")]), data(&[("Temperature", "string")]));
    let answer = search(&registry, &json!({"have": have, "want": want})).expect(200);
    let hit = &answer.json()["hits"][0];
    assert_eq!(answer.json()["total"], 1);
    assert_eq!((&hit["id"], &hit["capability"]), (&json!("urn:example:forecast"), &json!("forecast")));
    assert_eq!(hit["input"], json!([{"from": "City", "to": "city"}]));
    assert_eq!(
        hit["output"],
        json!([{
            "from": "temperature", "to": "Temperature", "converted": true,
            "doubts": ["`temperature` has to be converted from number to string"],
        }])
    );
    let why = "takes `City` as `city`; gives `temperature` as `Temperature` (converted); but `temperature` has to be converted from number to string";
    assert_eq!(hit["why"], why);
    assert_eq!(hit["links"][0]["href"], "/things/urn:example:forecast");
    assert_eq!(hit["missing"], Value::Null);
    assert_eq!(answer.header("agentdex-seq"), nth(3).to_string());
}

#[test]
fn one_side_is_enough_and_what_uses_more_of_it_comes_first() {
    let registry = weather();
    assert_eq!(found(&registry, &json!({"want": data(&[("temperature", "number")])})), ["at", "forecast"]);
    let have = data(&[("city", "string"), ("phone", "string")]);
    assert_eq!(found(&registry, &json!({"have": have})), ["alarm", "forecast", "locate"]);
    assert_eq!(found(&registry, &json!({"want": data(&[("price", "number")])})), [""; 0]);
}

#[test]
fn of_what_fits_as_well_the_more_relevant_comes_first() {
    let registry = weather();
    registry.registry().refresh().unwrap();
    let want = data(&[("temperature", "number")]);
    assert_eq!(found(&registry, &json!({"want": want, "query": "forecast"})), ["forecast", "at"]);
    assert_eq!(found(&registry, &json!({"want": want, "query": "place"})), ["at", "forecast"]);
}

#[test]
fn near_misses_say_the_one_thing_that_is_missing() {
    let registry = weather();
    let query = |have: Value, want: Option<Value>| {
        let mut body = json!({"have": have, "near_misses": true});
        body.as_object_mut().unwrap().extend(want.map(|want| ("want".to_owned(), want)));
        let hits = search(&registry, &body).expect(200).json()["hits"].clone();
        let miss = |hit: &Value| (hit["capability"].clone(), hit["missing"]["pointer"].clone(), hit["why"].clone());
        hits.as_array().unwrap().iter().map(miss).collect::<Vec<_>>()
    };
    let expected = [
        (json!("forecast"), Value::Null, json!("takes `city`")),
        (json!("locate"), Value::Null, json!("takes `city` as `City name`; but `city` might not mean `City name`")),
        (json!("alarm"), json!("/input/properties/phone"), json!("it needs `phone` (string), which `have` lacks")),
    ];
    assert_eq!(query(data(&[("city", "string")]), None), expected);
    let expected = [
        (json!("at"), json!("/input/properties/lon"), json!("`lon`: object can't be cast to number")),
        (json!("forecast"), json!("/input/properties/city"), json!("it needs `city` (string), which `have` lacks")),
    ];
    let have = data(&[("lat", "integer"), ("lon", "object")]);
    assert_eq!(query(have, Some(data(&[("temperature", "number")]))), expected);
}

#[test]
fn schemas_decide_and_doubts_are_named() {
    let registry = TestRegistry::start();
    let of = |schema: Value| json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
    let needs = of(json!({"type": "string", "enum": ["b", "c"]}));
    registry.registry().put(agent("u", "U", &[("use", needs, of(json!({"type": "integer"})))])).unwrap();
    let hits = |body: Value| search(&registry, &body).expect(200).json()["hits"].clone();
    assert_eq!(hits(json!({"have": of(json!({"enum": ["a"]}))})), json!([]));
    let near = json!({"have": of(json!({"enum": ["a"]})), "want": of(json!({"type": "number"})), "near_misses": true});
    assert_eq!(hits(near)[0]["missing"]["message"], "`x`: \"a\" isn't \"b\" or \"c\"");
    let sure = hits(json!({"have": of(json!({"const": "b"})), "want": of(json!({"type": "number"}))}));
    assert_eq!((&sure[0]["fit"], &sure[0]["input"][0]["doubts"]), (&json!(1.0), &Value::Null), "{sure}");
    let doubtful = hits(
        json!({"have": {"properties": {"x": {"const": "b"}}}, "want": of(json!({"type": "integer", "minimum": 0}))}),
    );
    assert_eq!(doubtful[0]["input"][0]["doubts"], json!(["`x` may be absent"]));
    assert_eq!(doubtful[0]["why"], "takes `x`; gives `x`; but `x` may be absent, `x` may be less than 0");
    assert!(doubtful[0]["fit"].as_f64().unwrap() < 0.5, "{doubtful}");
}

#[test]
fn schemas_of_the_description_are_resolved() {
    let registry = TestRegistry::start();
    let mut thing: Value =
        serde_json::from_str(&agent("d", "D", &[("use", json!({"$ref": "#/schemaDefinitions/Place"}), json!({}))]))
            .unwrap();
    thing["schemaDefinitions"] = json!({"Place": data(&[("city", "string")])});
    registry.registry().put(thing.to_string()).unwrap();
    assert_eq!(found(&registry, &json!({"have": data(&[("city", "string")])})), ["use"]);
    assert_eq!(found(&registry, &json!({"have": data(&[("day", "string")])})), [""; 0]);
}

#[test]
fn things_that_are_gone_or_expired_are_not_found() {
    let registry = weather();
    let want = json!({"want": data(&[("temperature", "number")])});
    registry.delete("/things/urn:example:at").expect(204);
    assert_eq!(found(&registry, &want), ["forecast"]);
    let mut short: Value =
        serde_json::from_str(&agent("short", "Short", &[("now", json!({}), data(&[("temperature", "number")]))]))
            .unwrap();
    short["registration"] = json!({"ttl": 1});
    registry.put("/things/urn:example:short", short.to_string()).expect(201);
    eventually("the Thing expires", || found(&registry, &want) == ["forecast"]);
    registry.patch("/things/urn:example:forecast", json!({"actions": {"forecast": null}}).to_string()).expect(204);
    assert_eq!(found(&registry, &want), [""; 0]);
}

#[test]
fn shapes_are_read_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || agentdex::Registry::builder(directory.path()).open().unwrap();
    let registry = open();
    registry.put(agent("a", "A", &[("a", data(&[("city", "string")]), data(&[("x", "number")]))])).unwrap();
    registry.close();
    drop(registry);
    let registry = open();
    crate::support::await_index(&registry);
    let query = agentdex::registry::CompatibleQuery { want: Some(data(&[("x", "string")])), ..Default::default() };
    assert_eq!(registry.search_compatible(&query).unwrap().found.total, 1);
}

#[test]
fn neighbors_of_a_thing_can_take_its_output_or_give_its_input() {
    let registry = weather();
    let neighbors = registry.get("/things/urn:example:at/compatible").expect(200).json();
    let at = &neighbors["capabilities"][0];
    assert_eq!((&at["capability"], &at["takes_output"]), (&json!("at"), &json!([])));
    assert_eq!(at["gives_input"].as_array().unwrap().len(), 1);
    assert_eq!(at["gives_input"][0]["id"], "urn:example:geocoder");
    assert_eq!(at["gives_input"][0]["output"][0], json!({"from": "lat", "to": "lat"}));
    let geocoder = registry.get("/things/urn:example:geocoder/compatible?limit=5").expect(200).json();
    assert_eq!(geocoder["capabilities"][0]["takes_output"][0]["capability"], "at");
    registry.get("/things/urn:example:none/compatible").problem(404, "not-found");
    registry.get("/things/urn:example:at/compatible?limit=0").problem(400, "invalid-parameter");
}

#[test]
fn bad_queries_are_refused_with_what_is_wrong() {
    let registry = weather();
    let mut deep = json!({"type": "string"});
    for _ in 0..20 {
        deep = json!({"type": "array", "items": deep});
    }
    for (body, code, detail) in [
        ("{}".to_owned(), "invalid-query", "give `have`, the schema of the available data"),
        (json!({"have": 5}).to_string(), "invalid-query", "`have` must be a data schema"),
        (
            json!({"have": {"properties": {"a": {"type": "array", "items": {"type": "strng"}}}}}).to_string(),
            "invalid-query",
            "`have` contains the unknown type \"strng\" at /properties/a/items/type",
        ),
        (
            json!({"have": {}, "limits": 5}).to_string(),
            "invalid-query",
            "unknown field `limits`, expected one of `have`",
        ),
        ("{\"have\": {".to_owned(), "invalid-query", "line 1 column 10"),
        (
            json!({"have": {"properties": {"x": deep}}}).to_string(),
            "limit-exceeded",
            "nesting of a data schema exceeds",
        ),
        (json!({"have": {}, "want": null}).to_string(), "invalid-query", "`want` must be a data schema"),
        (json!({"have": {}, "query": null}).to_string(), "invalid-query", "invalid type: null, expected a string"),
        (json!({"have": {}, "limit": 1_u64 << 53}).to_string(), "invalid-query", "larger than 9007199254740991"),
        (json!({"want": {}, "offset": 10_000}).to_string(), "limit-exceeded", "offset + limit exceeds"),
    ] {
        let call = registry.call("POST", "/search/compatible").body("application/json", body.clone());
        let problem = call.send().problem(400, code);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{body}: {problem}");
    }
    let text = registry.call("POST", "/search/compatible").body("text/plain", "{}").send();
    text.problem(415, "unsupported-media-type");
    registry.get("/search/compatible").problem(405, "method-not-allowed");
}
