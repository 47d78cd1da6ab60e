//! Cards whose security is written in the words of several generations at once: what they are exported as is a card
//! that stays what it is.

use agentdex::convert::a2a::{Card, Generation, Options, from_thing};
use proptest::{collection, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::json;

fn object(members: Vec<(&'static str, Option<Value>)>) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
}

fn one_of(values: &[Value]) -> impl Strategy<Value = Option<Value>> + use<> {
    option::of(select(values.to_vec()))
}

fn flows() -> impl Strategy<Value = Value> {
    let names = select(vec!["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password", "x-own"]);
    let url = || one_of(&[json!("https://l.example/t"), json!("/t"), json!(""), json!(5), json!("javascript:1")]);
    let scopes =
        one_of(&[json!({}), json!({"read": "Reads", "": ""}), json!(["read", "write"]), json!("read"), Value::Null]);
    let flow = (url(), url(), url(), url(), scopes, one_of(&[json!(true), json!("true")])).prop_map(
        |(authorization, token, refresh, device, scopes, pkce)| {
            object(vec![
                ("authorizationUrl", authorization),
                ("tokenUrl", token),
                ("refresh_url", refresh),
                ("deviceAuthorizationUrl", device),
                ("scopes", scopes),
                ("pkceRequired", pkce),
            ])
        },
    );
    let odd = prop_oneof![9 => flow, 1 => Just(json!("x")), 1 => Just(Value::Null)];
    collection::btree_map(names, odd, 0..4).prop_map(|flows| json!(flows))
}

/// Members of schemes of any kind and generation, right or wrong.
fn members() -> impl Strategy<Value = Value> {
    let places = ["header", "Header", "query", "cookie", "body", ""].map(Value::from);
    let schemes = ["bearer", "Bearer", "BASIC", "digest", "DPoP", ""].map(Value::from);
    let places = || one_of(&places.clone());
    let first = (places(), places(), one_of(&[json!("X-Key"), json!(""), json!(7)]), one_of(&schemes));
    let rest = (
        option::of(flows()),
        one_of(&[json!("JWT"), json!("")]),
        one_of(&[json!("d"), json!("")]),
        one_of(&[json!("https://l.example/o"), json!("/o")]),
        one_of(&[json!({"a": 1}), json!(true)]),
    );
    (first, rest).prop_map(|((place, location, name, scheme), (flows, format, description, login, own))| {
        object(vec![
            ("in", place),
            ("location", location),
            ("name", name),
            ("scheme", scheme),
            ("flows", flows),
            ("bearerFormat", format),
            ("description", description),
            ("openIdConnectUrl", login.clone()),
            ("oauth2MetadataUrl", login),
            ("x-own", own),
        ])
    })
}

fn scheme() -> impl Strategy<Value = Value> {
    let types =
        ["apiKey", "apikey", "http", "oauth2", "OAuth2", "openIdConnect", "mutualTLS", "bearer", "basic", "web3", ""];
    let wrappers = select(vec![
        "apiKeySecurityScheme",
        "httpAuthSecurityScheme",
        "oauth2SecurityScheme",
        "openIdConnectSecurityScheme",
        "mtlsSecurityScheme",
        "api_key_security_scheme",
        "http_auth_security_scheme",
        "oauth2_security_scheme",
        "futureScheme",
    ]);
    let inner = prop_oneof![9 => members(), 1 => Just(json!(5)), 1 => Just(json!({}))];
    let wrapped = collection::btree_map(wrappers, inner, 0..3);
    let scheme = (one_of(&types.map(Value::from)), members(), wrapped, any::<bool>()).prop_map(
        |(type_, mut members, wrapped, is_bare)| {
            if is_bare {
                members = json!({});
            }
            let scheme = members.as_object_mut().unwrap();
            scheme.extend(type_.map(|type_| ("type".to_owned(), type_)));
            scheme.extend(wrapped.into_iter().map(|(name, inner)| (name.to_owned(), inner)));
            members
        },
    );
    prop_oneof![19 => scheme, 1 => Just(json!("bearer"))]
}

const NAMES: [&str; 7] = ["a", "oauth", "oauth_implicit", "k/e~y", "nosec_sc", "one_of_1", "schemes"];

fn requirements() -> impl Strategy<Value = Value> {
    let scopes = || {
        let lists = [
            json!([]),
            json!(["read"]),
            json!({"list": ["read", "write"]}),
            json!({"list": []}),
            json!("read"),
            json!(5),
        ];
        select(lists.to_vec())
    };
    let named = || collection::btree_map(select(NAMES.to_vec()), scopes(), 0..3).prop_map(|named| json!(named));
    let element = prop_oneof![
        4 => named(),
        4 => named().prop_map(|named| json!({"schemes": named})),
        1 => select(NAMES.to_vec()).prop_map(Value::from),
        1 => Just(json!({"schemes": ["a", "oauth"]})),
        1 => Just(json!(5)),
    ];
    prop_oneof![9 => collection::vec(element, 0..3).prop_map(Value::from), 1 => named()]
}

/// A card of either generation, with security in the words of both.
fn mixed_card() -> impl Strategy<Value = Value> {
    let schemes = collection::btree_map(select(NAMES.to_vec()), scheme(), 0..4);
    let required = || option::of(requirements());
    (any::<bool>(), any::<bool>(), schemes, required(), required(), required(), required()).prop_map(
        |(is_new, is_for_both, schemes, old, new, old_of_skill, new_of_skill)| {
            let interface =
                json!({"url": "https://x.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
            let url = json!("https://x.example/a2a");
            object(vec![
                ("name", Some("Agent".into())),
                ("description", Some("d".into())),
                ("version", Some("1".into())),
                ("capabilities", Some(json!({}))),
                ("defaultInputModes", Some(json!(["text/plain"]))),
                ("defaultOutputModes", Some(json!(["text/plain"]))),
                ("supportedInterfaces", is_new.then(|| json!([interface]))),
                ("url", (!is_new || is_for_both).then_some(url)),
                ("protocolVersion", (!is_new || is_for_both).then(|| "0.3.0".into())),
                ("preferredTransport", (!is_new || is_for_both).then(|| "JSONRPC".into())),
                ("securitySchemes", Some(json!(schemes))),
                ("security", old),
                ("securityRequirements", new),
                (
                    "skills",
                    Some(json!([object(vec![
                        ("id", Some("s".into())),
                        ("name", Some("S".into())),
                        ("description", Some("d".into())),
                        ("tags", Some(json!([]))),
                        ("security", old_of_skill),
                        ("securityRequirements", new_of_skill),
                    ])])),
                ),
            ])
        },
    )
}

/// A card of 1.0 with these schemes and requirements.
fn card(schemes: &Value, required: &Value) -> Value {
    json!({
        "name": "Agent", "description": "d", "version": "1", "capabilities": {}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [
            {"url": "https://x.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "securitySchemes": schemes, "securityRequirements": required,
    })
}

fn thing(card: &Value) -> Value {
    let card = Card::parse(card.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}: {card}"));
    let conversion = card.to_thing(&Options { id: Some("urn:example:a".into()), base: None }).unwrap();
    conversion.things[0].description.value().clone()
}

/// What a Thing requires, in its terms alone.
fn security(thing: &Value) -> Value {
    let of_forms: Vec<Value> = thing["actions"]["s"]["forms"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|form| json!([form.get("security"), form.get("scopes")]))
        .collect();
    json!([thing["securityDefinitions"], thing["security"], of_forms])
}

fn reaches_a_fixed_point(card: &Value) -> Result<(), TestCaseError> {
    for generation in [Generation::V0, Generation::V1] {
        let first = thing(card);
        let Ok(exported) = from_thing(&first, generation) else { continue };
        let exported = json(&exported.bytes);
        let second = thing(&exported);
        let again = from_thing(&second, generation);
        let again = again.map_err(|error| TestCaseError::fail(format!("{error}\n{card}\n{exported}")))?;
        let again = json(&again.bytes);
        // A card of 0.3 that says 1.0, as no interface speaks 0.3, is read as one of 0.3.
        let [mut left, mut right] = [again.clone(), exported];
        for card in [&mut left, &mut right] {
            card.as_object_mut().unwrap().remove("protocolVersion");
        }
        prop_assert_eq!(&left, &right, "{} of {}", generation, card);
        prop_assert_eq!(security(&thing(&again)), security(&second), "{} of {}", generation, card);
    }
    Ok(())
}

#[test]
fn a_scheme_in_both_spellings_is_read_from_the_one_that_can_be() {
    let key = json!({"location": "header", "name": "K"});
    for (scheme, warning) in [
        (json!({"apiKeySecurityScheme": 5, "api_key_security_scheme": key}), "member-type"),
        (json!({"apiKeySecurityScheme": null, "api_key_security_scheme": key}), "member-spelling"),
    ] {
        let both = card(&json!({"k": scheme}), &json!([]));
        let read = Card::parse(both.to_string().as_bytes()).unwrap();
        assert!(read.warnings().iter().any(|found| found.rule == warning), "{:?}", read.warnings());
        assert_eq!(thing(&both)["securityDefinitions"]["k"]["name"], "K");
        reaches_a_fixed_point(&both).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_mixed_cards_are_exported_as_stays_what_it_is(card in mixed_card()) {
        reaches_a_fixed_point(&card)?;
    }
}

#[test]
fn schemes_of_shared_cards_in_the_words_of_the_other_generation_stay_what_they_are() {
    let Some(cards) = super::corpus::cards() else { return };
    for (file, bytes) in &cards {
        let old = json(bytes);
        let new = json(&Card::parse(bytes).unwrap().as_version(Generation::V1).bytes);
        for (mut card, other) in [(old.clone(), &new), (new.clone(), &old)] {
            for name in ["securitySchemes", "security", "securityRequirements"] {
                card.as_object_mut().unwrap().extend(other.get(name).map(|value| (name.to_owned(), value.clone())));
            }
            reaches_a_fixed_point(&card).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}
