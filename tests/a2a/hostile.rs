//! Cards that are made to hurt: each is answered, and one of twice the size in about twice the time.

use std::time::Instant;

use agentdex::convert::{
    Error,
    a2a::{Card, Generation, Options, from_thing},
};
use serde_json::{Map, Value, json};

/// Times that cards are measured, since other work on the machine is measured too.
const TRIES: usize = 10;
/// Work that grows with the square of the size takes four times as long for twice the size.
const MOST_GROWTH: f64 = 3.0;

fn all(text: &str) {
    let Ok(card) = Card::parse(text.as_bytes()) else { return };
    if let Ok(conversion) = card.to_thing(&Options::default()) {
        let thing: Value = serde_json::from_str(conversion.things[0].description.text()).unwrap();
        for generation in [Generation::V0, Generation::V1] {
            let _ = from_thing(&thing, generation);
        }
    }
    for generation in [Generation::V0, Generation::V1] {
        let _ = card.as_version(generation);
    }
}

/// Compares a card of about this size with one of half of it.
fn grows_with_its_size(size: usize, text: impl Fn(usize) -> String) {
    let [half, whole] = [text(size / 2), text(size)];
    let took = |text: &str| {
        let start = Instant::now();
        all(text);
        start.elapsed().as_secs_f64()
    };
    let mut growths = (0..TRIES).map(|_| {
        let before = took(&half);
        took(&whole) / before
    });
    assert!(growths.any(|growth| growth < MOST_GROWTH), "{}", whole.chars().take(100).collect::<String>());
}

fn card(changes: Value) -> String {
    let mut card = json!({"name": "x", "url": "https://x.example", "capabilities": {}, "skills": []});
    card.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    card.to_string()
}

#[test]
fn limits_are_named() {
    let deep =
        format!(r#"{{"name": "x", "url": "https://x", "skills": [], "x": {}1{}}}"#, "[".repeat(64), "]".repeat(64));
    assert!(matches!(Card::parse(deep.as_bytes()), Err(Error::LimitExceeded { maximum: 64, .. })));
    let large = card(json!({"description": "x".repeat(1 << 20)}));
    assert!(matches!(Card::parse(large.as_bytes()), Err(Error::DocumentTooLarge { .. })));
    assert!(matches!(Card::parse(b"{\"url\": \"\xff\"}"), Err(Error::MalformedJson { .. })));
}

#[test]
fn a_card_with_very_many_skills_is_cut() {
    let skill = |number| json!({"id": format!("s{number}"), "name": "n", "description": "d", "tags": []});
    let text = card(json!({"skills": (0..3000).map(skill).collect::<Vec<_>>(), "capabilities": {"streaming": true}}));
    let card = Card::parse(text.as_bytes()).unwrap();
    let (thing, warnings) = super::thing_with(&card, &Options::default());
    assert!(warnings.iter().any(|warning| warning.rule == "too-many-skills"));
    assert_eq!(thing["actions"].as_object().unwrap().len(), 1000);
}

#[test]
fn a_card_with_very_many_interfaces_is_cut() {
    let interface = |number| json!({"url": format!("https://x.example/{number}"), "transport": "JSONRPC"});
    let text = card(json!({"additionalInterfaces": (0..10_000).map(interface).collect::<Vec<_>>()}));
    let card = Card::parse(text.as_bytes()).unwrap();
    let (thing, warnings) = super::thing_with(&card, &Options::default());
    assert!(warnings.iter().any(|warning| warning.rule == "too-many-interfaces"));
    assert_eq!(thing["actions"]["sendMessage"]["forms"].as_array().unwrap().len(), 16);
}

#[test]
fn a_description_that_would_be_too_large_is_refused() {
    let skill = |number| json!({"id": format!("s{number}"), "name": "n", "description": "d".repeat(1500), "tags": []});
    let text = card(json!({"skills": (0..490).map(skill).collect::<Vec<_>>()}));
    let refused = Card::parse(text.as_bytes()).unwrap().to_thing(&Options::default());
    assert!(matches!(refused, Err(Error::DocumentTooLarge { .. })), "{refused:?}");
}

#[test]
fn sizes_of_everything_are_answered_in_time_that_grows_with_them() {
    let flows = json!({
        "authorizationCode": {}, "clientCredentials": {}, "deviceCode": {}, "implicit": {}, "password": {},
    });
    grows_with_its_size(4000, |size| {
        let schemes: Map<String, Value> =
            (0..size).map(|n| (format!("s{n}"), json!({"type": "oauth2", "flows": flows.clone()}))).collect();
        let all_of_them: Map<String, Value> = schemes.keys().map(|name| (name.clone(), json!([]))).collect();
        card(json!({"securitySchemes": schemes, "security": [all_of_them]}))
    });
    grows_with_its_size(60_000, |size| {
        card(json!({"security": (0..size).map(|n| json!({format!("{n}"): []})).collect::<Vec<_>>()}))
    });
    grows_with_its_size(30_000, |size| card(json!({"security": vec![json!({"a": ["x"], "b": []}); size]})));
    grows_with_its_size(60_000, |size| card(json!({"skills": vec![json!({"tags": 1}); size]})));
    grows_with_its_size(400_000, |size| card(json!({"defaultInputModes": vec![json!(5); size]})));
    grows_with_its_size(200_000, |size| card(json!({"skills": vec![Value::Null; size]})));
    grows_with_its_size(300_000, |size| card(json!({"description": "//@".repeat(size)})));
    grows_with_its_size(100_000, |size| card(json!({"description": "https://a@".repeat(size)})));
    grows_with_its_size(500_000, |size| card(json!({"url": format!("https://{}", "a/".repeat(size))})));
    all(&card(json!({"url": "https://x.example/\u{1f600}%%%{{}}"})));
    grows_with_its_size(10_000, |size| {
        card(json!({"supportedInterfaces": vec![json!({"url": "x", "protocolVersion": "9999999999999.1"}); size]}))
    });
    grows_with_its_size(50_000, |size| {
        let skills = r#"{"id":"a","id":"a"},"#.repeat(size);
        format!(r#"{{"url": "https://x", "skills": [{}]}}"#, skills.trim_end_matches(','))
    });
    // Names that are longer and longer: the size is the square of their number.
    grows_with_its_size(1300 * 1300, |size| {
        let name = |n: usize| ("nosec_sc".to_owned() + &"_".repeat(n), json!({}));
        card(json!({"securitySchemes": (0..size.isqrt()).map(name).collect::<Map<_, _>>()}))
    });
}

#[test]
fn combinations_that_contain_themselves_end() {
    let definitions: Map<String, Value> = (0..16)
        .map(|n| (format!("c{n}"), json!({"scheme": "combo", "oneOf": vec![format!("c{}", n + 1); 50]})))
        .chain([
            ("c16".into(), json!({"scheme": "nosec"})),
            ("me".into(), json!({"scheme": "combo", "allOf": ["me", "me"]})),
        ])
        .collect();
    let exported = |security: &str| {
        let thing = json!({
            "title": "x", "securityDefinitions": definitions, "security": security,
            "actions": {"a": {"forms": [{"href": "https://x.example", "subprotocol": "a2a"}]}},
        });
        from_thing(&thing, Generation::V1)
    };
    // All of them are `nosec`, in 50 to the power of 16 ways.
    assert_eq!(super::json(&exported("c0").unwrap().bytes).get("securityRequirements"), None);
    assert!(exported("me").unwrap_err().to_string().contains("contain themselves"));
}

#[test]
fn what_is_made_of_very_many_forms_is_bounded() {
    let mut definitions: Map<String, Value> =
        (0..100).map(|n| (format!("k{n}"), json!({"scheme": "apikey", "name": format!("K{n}")}))).collect();
    let all: Vec<Value> = definitions.keys().map(|name| name.as_str().into()).collect();
    for n in 0..64 {
        let mut names = all.clone();
        names.rotate_left(n);
        definitions.insert(format!("all{n}"), json!({"scheme": "combo", "allOf": names}));
    }
    definitions.insert(
        "any".into(),
        json!({"scheme": "combo", "oneOf": (0..64).map(|n| format!("all{n}")).collect::<Vec<_>>()}),
    );
    let thing = |security: &dyn Fn(usize) -> Value| {
        let form =
            |n: usize| json!({"href": format!("https://x.example/{n}"), "subprotocol": "a2a", "security": security(n)});
        let action =
            |n: usize| (format!("a{n}"), json!({"forms": (0..12).map(|m| form(12 * n + m)).collect::<Vec<_>>()}));
        json!({
            "title": "x", "securityDefinitions": definitions, "security": "any",
            "actions": (0..1000).map(action).collect::<Map<_, _>>(),
        })
    };
    let exported = from_thing(&thing(&|_| "any".into()), Generation::V1).unwrap();
    let card = super::json(&exported.bytes);
    assert_eq!(card["supportedInterfaces"].as_array().unwrap().len(), 100);
    assert_eq!(super::found(&exported.warnings), [("too-many-interfaces", "/actions")]);
    assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 64);
    assert!(exported.bytes.len() < 1 << 20);
    // Each action with 64 alternatives of 100 schemes of its own.
    let of_action = |n: usize| json!(["any", format!("k{}", n / 12 % 100), format!("all{}", n / 12 % 64)]);
    let refused = from_thing(&thing(&of_action), Generation::V1).unwrap_err().to_string();
    assert!(refused.contains("too many combinations of schemes"), "{refused}");
}
