//! From one generation to the other and back.

use agentdex::convert::a2a::{Card, Generation, Options};
use proptest::{collection, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{card, fixture, fixtures, found, json, rendition, thing};

fn converted(name: &str, generation: Generation) -> (Value, Vec<(String, String)>) {
    let rendition = Card::parse(&fixture(name)).unwrap().as_version(generation);
    let warnings = found(&rendition.warnings);
    (json(&rendition.bytes), warnings.into_iter().map(|(rule, at)| (rule.to_owned(), at.to_owned())).collect())
}

#[test]
fn the_same_generation_is_the_card_itself() {
    for (name, bytes) in fixtures() {
        let card = Card::parse(&bytes).unwrap();
        let same = card.as_version(card.generation());
        assert_eq!((same.bytes, same.warnings), (bytes, Vec::new()), "{name}");
    }
}

#[test]
fn conversions_are_cards_of_the_other_generation() {
    for (name, bytes) in fixtures() {
        let old = Card::parse(&bytes).unwrap();
        let target = if old.generation() == Generation::V0 { Generation::V1 } else { Generation::V0 };
        let new = Card::parse(&old.as_version(target).bytes).unwrap();
        assert_eq!(new.generation(), target, "{name}");
        // A shape of 0.3 that says 1.0 is what is left where no interface speaks 0.3.
        let odd = found(new.warnings()).into_iter().filter(|(rule, _)| !["version-mismatch", "mode"].contains(rule));
        assert_eq!(odd.collect::<Vec<_>>(), [], "{name}");
        thing(&new);
    }
}

#[test]
fn a_card_of_0_3_is_said_in_1_0() {
    let (new, warnings) = converted("every_scheme_0_3", Generation::V1);
    let interface =
        |url: &str, binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "0.3"});
    assert_eq!(
        new["supportedInterfaces"],
        json!([
            interface("https://vault.example/a2a/v1", "HTTP+JSON"),
            interface("https://vault.example/rpc", "JSONRPC"),
            interface("vault.example:50051", "GRPC"),
        ])
    );
    let old = json(&fixture("every_scheme_0_3"));
    for name in [
        "url",
        "preferredTransport",
        "additionalInterfaces",
        "protocolVersion",
        "security",
        "supportsAuthenticatedExtendedCard",
    ] {
        assert!(new.get(name).is_none(), "{name}");
    }
    let mut capabilities = old["capabilities"].clone();
    capabilities.as_object_mut().unwrap().remove("stateTransitionHistory");
    capabilities["extendedAgentCard"] = true.into();
    assert_eq!(new["capabilities"], capabilities);
    let key = json!({"apiKeySecurityScheme": {"description": "Issued by the desk.", "location": "header", "name": "X-Vault-Key"}});
    assert_eq!(new["securitySchemes"]["key"], key);
    assert_eq!(new["securitySchemes"]["certificate"], json!({"mtlsSecurityScheme": {}}));
    assert_eq!(warnings, [("member-left-out".to_owned(), "/capabilities/stateTransitionHistory".to_owned())]);
}

#[test]
fn each_flow_is_a_scheme_in_1_0() {
    let (new, _) = converted("every_scheme_0_3", Generation::V1);
    let schemes = &new["securitySchemes"];
    let flows = |name: &str| {
        schemes[name]["oauth2SecurityScheme"]["flows"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(flows("oauth"), ["authorizationCode"]);
    assert_eq!(flows("oauth_clientCredentials"), ["clientCredentials"]);
    let read = json!({"list": ["read"]});
    assert_eq!(
        new["securityRequirements"],
        json!([
            {"schemes": {"oauth": read}},
            {"schemes": {"oauth_clientCredentials": read}},
            {"schemes": {"certificate": {"list": []}, "key": {"list": []}}},
        ])
    );
    assert_eq!(new["skills"][0]["securityRequirements"].as_array().unwrap().len(), 2);
}

#[test]
fn only_interfaces_of_one_version_fit_a_card_of_0_3() {
    let (old, warnings) = converted("several_interfaces_1_0", Generation::V0);
    assert_eq!(old["url"], "https://ferry.example/old");
    assert_eq!(old["preferredTransport"], "JSONRPC");
    assert_eq!(old["protocolVersion"], "0.3.0");
    assert_eq!(
        old["additionalInterfaces"],
        json!([{"url": "https://ferry.example/old-rest", "transport": "HTTP+JSON"}])
    );
    let left_out = warnings.iter().filter(|(rule, _)| rule == "interface-left-out").count();
    assert_eq!(left_out, 4);
}

#[test]
fn what_0_3_cannot_say_is_warned_of() {
    let (old, warnings) = converted("every_scheme_1_0", Generation::V0);
    assert_eq!(old["protocolVersion"], "1.0");
    assert_eq!(old["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(old["securitySchemes"]["certificate"], json!({"type": "mutualTLS", "description": "Of the house."}));
    let flows = "/securitySchemes/code/flows/authorizationCode/pkceRequired";
    let expected = [
        ("version-kept", "/supportedInterfaces"),
        ("flow-unknown", flows),
        ("flow-unknown", "/securitySchemes/device/flows/deviceCode"),
    ];
    assert_eq!(warnings, expected.map(|(rule, at)| (rule.to_owned(), at.to_owned())));
    let (unsigned, warnings) = converted("extensions_1_0", Generation::V0);
    assert!(unsigned.get("signatures").is_none());
    assert!(warnings.contains(&("signatures-left-out".to_owned(), "/signatures".to_owned())));
    assert_eq!(unsigned["x-house"], json(&fixture("extensions_1_0"))["x-house"]);
}

#[test]
fn what_the_first_interface_of_0_3_cannot_keep_is_warned_of() {
    let with = |interfaces: Value| {
        let mut new = json(&fixture("and_or_security_1_0"));
        new["supportedInterfaces"] = interfaces;
        let rendition = card(&new).as_version(Generation::V0);
        let warnings = found(&rendition.warnings).into_iter().map(|(rule, at)| format!("{rule} {at}")).collect();
        (json(&rendition.bytes), warnings)
    };
    let interface = |url: &str| json!({"url": url, "protocolBinding": "GRPC", "protocolVersion": "0.3", "x-own": 1});
    let (old, warnings): (_, Vec<String>) =
        with(json!([interface("https://a.example"), interface("https://b.example")]));
    assert_eq!(warnings, ["member-left-out /supportedInterfaces/0/x-own"]);
    assert_eq!(old["additionalInterfaces"], json!([{"url": "https://b.example", "transport": "GRPC", "x-own": 1}]));
    let (old, warnings) = with(json!([]));
    assert_eq!((&old["url"], warnings), (&json!(""), vec!["no-interface /supportedInterfaces".to_owned()]));
}

#[test]
fn requirements_written_the_other_way_are_read() {
    let mut odd = json(&fixture("and_or_security_1_0"));
    odd.as_object_mut().unwrap().remove("securityRequirements");
    odd["security"] = json!([{"key": []}, "login"]);
    let old = rendition(&card(&odd), Generation::V0);
    assert_eq!(old["security"], json!([{"key": []}, {"login": []}]));
}

fn text() -> impl Strategy<Value = String> {
    select(vec!["", "a", "Wetter für morgen", "\"\\\n", "☃", "x y", "…"]).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "oauth", "oauth_implicit", "k e y", "schemes", "ü/~", "nosec_sc"]).prop_map(str::to_owned)
}

/// An object of those members that are there.
fn object(members: Vec<(&'static str, Option<Value>)>) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
}

fn texts() -> impl Strategy<Value = Value> {
    collection::vec(text(), 0..3).prop_map(|texts| json!(texts))
}

fn scopes() -> impl Strategy<Value = Value> {
    collection::btree_map(name(), text(), 0..3).prop_map(|scopes| json!(scopes))
}

fn flow() -> impl Strategy<Value = Value> {
    let flow = select(vec!["authorizationCode", "clientCredentials", "implicit", "password"]);
    (flow, scopes(), option::of(text())).prop_map(|(name, scopes, refresh)| {
        let authorization = ["authorizationCode", "implicit"].contains(&name).then(|| "https://l.example/a".into());
        let token = (name != "implicit").then(|| "https://l.example/t".into());
        let members = vec![
            ("authorizationUrl", authorization),
            ("tokenUrl", token),
            ("refreshUrl", refresh.map(Value::from)),
            ("scopes", Some(scopes)),
        ];
        json!({name: object(members)})
    })
}

fn scheme() -> impl Strategy<Value = Value> {
    let api_key = (select(vec!["header", "query", "cookie"]), name())
        .prop_map(|(place, name)| json!({"type": "apiKey", "in": place, "name": name}));
    let http = (text(), option::of(text())).prop_map(|(scheme, format)| {
        object(vec![
            ("type", Some("http".into())),
            ("scheme", Some(scheme.into())),
            ("bearerFormat", format.map(Value::from)),
        ])
    });
    let oauth2 = (flow(), option::of(text())).prop_map(|(flows, url)| {
        object(vec![
            ("type", Some("oauth2".into())),
            ("flows", Some(flows)),
            ("oauth2MetadataUrl", url.map(Value::from)),
        ])
    });
    let login = text().prop_map(|url| json!({"type": "openIdConnect", "openIdConnectUrl": url}));
    let scheme = prop_oneof![api_key, http, oauth2, login, Just(json!({"type": "mutualTLS"}))];
    (scheme, option::of(text())).prop_map(|(mut scheme, description)| {
        if let Some(description) = description {
            scheme["description"] = description.into();
        }
        scheme
    })
}

fn security() -> impl Strategy<Value = Value> {
    let requirement = collection::btree_map(name(), collection::vec(text(), 0..2), 0..3);
    collection::vec(requirement, 0..3).prop_map(|requirements| json!(requirements))
}

fn skill() -> impl Strategy<Value = Value> {
    let parts = (text(), text(), text(), texts(), option::of(texts()), option::of(texts()), option::of(security()));
    parts.prop_map(|(id, name, description, tags, examples, modes, security)| {
        object(vec![
            ("id", Some(id.into())),
            ("name", Some(name.into())),
            ("description", Some(description.into())),
            ("tags", Some(tags)),
            ("examples", examples),
            ("inputModes", modes),
            ("security", security),
            ("x-own", Some(json!({"kept": [1, null]}))),
        ])
    })
}

fn capabilities() -> impl Strategy<Value = Value> {
    let extension = (option::of(text()), option::of(any::<bool>()), option::of(texts())).prop_map(
        |(description, required, params)| {
            object(vec![
                ("uri", Some("urn:example:extension".into())),
                ("description", description.map(Value::from)),
                ("required", required.map(Value::from)),
                ("params", params.map(|list| json!({"list": list}))),
            ])
        },
    );
    let flag = || option::of(any::<bool>());
    (flag(), flag(), option::of(collection::vec(extension, 0..2))).prop_map(|(streaming, push, extensions)| {
        object(vec![
            ("streaming", streaming.map(Value::from)),
            ("pushNotifications", push.map(Value::from)),
            ("extensions", extensions.map(Value::from)),
        ])
    })
}

/// A card of 0.3 with what 1.0 can say too.
fn old_card() -> impl Strategy<Value = Value> {
    let transport = || select(vec!["JSONRPC", "GRPC", "HTTP+JSON", "urn:example:pigeon"]);
    let url = || {
        select(vec!["https://a.example/a2a", "http://b.example:8080", "https://ü.example/x?y=z#f", "relative", "::"])
    };
    let additional = collection::vec((url(), transport()), 0..3);
    let interfaces = (url(), transport(), additional, select(vec!["0.3.0", "0.2.0"]));
    let texts_of = (text(), text(), text(), option::of(text()), option::of(text()));
    let security =
        (option::of(collection::btree_map(name(), scheme(), 0..4)), option::of(security()), option::of(any::<bool>()));
    let rest = (capabilities(), texts(), texts(), collection::vec(skill(), 0..3), option::of((text(), text())));
    (interfaces, texts_of, security, rest).prop_map(|(interfaces, texts, security, rest)| {
        let (url, transport, additional, protocol) = interfaces;
        let mut seen = vec![(url, transport)];
        let mut more = Vec::new();
        for one in additional {
            // A duplicate of the main interface says nothing.
            if one != seen[0] {
                more.push(json!({"url": one.0, "transport": one.1}));
                seen.push(one);
            }
        }
        let (name, description, version, documentation, icon) = texts;
        let (schemes, security, extended) = security;
        let (capabilities, inputs, outputs, skills, provider) = rest;
        object(vec![
            ("protocolVersion", Some(protocol.into())),
            ("name", Some(name.into())),
            ("description", Some(description.into())),
            ("version", Some(version.into())),
            ("url", Some(url.into())),
            ("preferredTransport", Some(transport.into())),
            ("additionalInterfaces", (!more.is_empty()).then(|| more.into())),
            ("capabilities", Some(capabilities)),
            ("defaultInputModes", Some(inputs)),
            ("defaultOutputModes", Some(outputs)),
            ("skills", Some(skills.into())),
            ("provider", provider.map(|(organization, url)| json!({"organization": organization, "url": url}))),
            ("documentationUrl", documentation.map(Value::from)),
            ("iconUrl", icon.map(Value::from)),
            ("securitySchemes", schemes.map(|schemes| json!(schemes))),
            ("security", security),
            ("supportsAuthenticatedExtendedCard", extended.map(Value::from)),
            ("x-own", Some("kept".into())),
        ])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_both_can_say_survives_the_way_to_1_0_and_back(old in old_card()) {
        let new = rendition(&card(&old), Generation::V1);
        prop_assert!(new.get("url").is_none() && new.get("security").is_none());
        let new = card(&new);
        prop_assert_eq!(new.generation(), Generation::V1);
        prop_assert_eq!(rendition(&new, Generation::V0), old);
    }

    #[test]
    fn every_card_becomes_a_valid_thing_and_comes_back(old in old_card()) {
        let options = Options { id: Some("urn:example:agent".into()), base: None };
        let thing = super::thing_with(&card(&old), &options).0;
        let again = json(&agentdex::convert::a2a::from_thing(&thing, Generation::V0).unwrap().bytes);
        let has_name = |skill: &&Value| skill["id"] != "" || skill["name"] != "";
        let mut expected = old.clone();
        // An agent without a name is called what its Thing is.
        expected["name"] = thing["title"].clone();
        expected["skills"] = old["skills"].as_array().unwrap().iter().filter(has_name).cloned().collect();
        prop_assert_eq!(again, expected);
    }

    #[test]
    fn an_agent_keeps_its_id_in_the_other_generation(old in old_card()) {
        let base = Some("https://host.example/.well-known/agent-card.json".to_owned());
        let options = Options { id: None, base };
        let id = |card: &Card| super::thing_with(card, &options).0["id"].clone();
        let old = card(&old);
        prop_assert_eq!(id(&card(&rendition(&old, Generation::V1))), id(&old));
    }
}

#[test]
fn first_interface_is_not_said_twice() {
    let interface = |url: &str| json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"});
    let urls = ["https://a.example/old", "https://a.example/old", "https://a.example/other"];
    let interfaces: Vec<Value> = urls.iter().map(|url| interface(url)).collect();
    let new = json!({
        "name": "a", "description": "d", "version": "1", "capabilities": {}, "skills": [],
        "defaultInputModes": [], "defaultOutputModes": [], "supportedInterfaces": interfaces,
    });
    let old = json(&card(&new).as_version(Generation::V0).bytes);
    assert_eq!(old["url"], urls[0]);
    assert_eq!(old["additionalInterfaces"], json!([{"url": urls[2], "transport": "JSONRPC"}]));
    let mut tenants = new.clone();
    let mut of_tenant = interface(urls[2]);
    of_tenant["tenant"] = "t".into();
    tenants["supportedInterfaces"].as_array_mut().unwrap().push(of_tenant);
    assert_eq!(
        json(&card(&tenants).as_version(Generation::V0).bytes)["additionalInterfaces"],
        old["additionalInterfaces"]
    );
}
