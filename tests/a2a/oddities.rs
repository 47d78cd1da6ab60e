//! Cards that are odd in ways that once lost or opened something.

use agentdex::convert::a2a::{Card, Generation, Options, from_thing};
use serde_json::{Value, json};

use super::{card, found, json, thing_with};

fn old(changes: Value) -> Value {
    with(
        json!({
            "name": "Agent", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": "https://x.example/a2a",
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
        }),
        changes,
    )
}

fn new(changes: Value) -> Value {
    with(
        json!({
            "name": "Agent", "description": "d", "version": "1", "supportedInterfaces": [interface("https://x.example/a2a")],
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
        }),
        changes,
    )
}

fn with(mut card: Value, changes: Value) -> Value {
    card.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    card
}

fn interface(url: &str) -> Value {
    json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"})
}

fn rendition(value: &Value, generation: Generation) -> (Value, Vec<(String, String)>) {
    let rendition = card(value).as_version(generation);
    let warnings = found(&rendition.warnings).into_iter().map(|(rule, at)| (rule.to_owned(), at.to_owned())).collect();
    (json(&rendition.bytes), warnings)
}

fn comes_back(value: &Value) {
    let card = card(value);
    let (thing, _) = thing_with(&card, &Options::default());
    let again = from_thing(&thing, Generation::V1).unwrap_or_else(|error| panic!("{error}\n{thing}"));
    assert_eq!(json(&again.bytes), json(&card.as_version(Generation::V1).bytes));
}

#[test]
fn key_in_the_url_of_an_interface_is_a_security_scheme() {
    let url = "https://x.example/a2a?token=x1v9Qw7Lm2Rt5&v=1";
    for document in [old(json!({"url": url})), new(json!({"supportedInterfaces": [interface(url)]}))] {
        let (thing, _) = thing_with(&card(&document), &Options::default());
        for form in
            thing["actions"].as_object().unwrap().values().flat_map(|action| action["forms"].as_array().unwrap())
        {
            let security = (&form["href"], &form["security"]);
            assert_eq!(security, (&json!("https://x.example/a2a?v=1"), &json!(["token_sc"])), "{thing}");
        }
        let key = json!({"scheme": "apikey", "in": "query", "name": "token"});
        assert_eq!(thing["securityDefinitions"]["token_sc"], key);
    }
}

#[test]
fn scopes_that_repeat_leave_room_for_others() {
    let flows = json!({"clientCredentials": {"tokenUrl": "https://l.example/t", "scopes": {}}});
    let with_security = |alternatives: Vec<Value>| {
        let schemes = json!({"o": {"type": "oauth2", "flows": flows}});
        let card = card(&old(json!({"securitySchemes": schemes, "security": alternatives})));
        let (thing, warnings) = thing_with(&card, &Options::default());
        let actions = thing["actions"].as_object().unwrap();
        let scopes = actions.values().find_map(|action| action["forms"][0]["scopes"].as_array()).unwrap().len();
        (scopes, warnings.into_iter().filter(|warning| warning.rule == "requirement").count())
    };
    let repeated = std::iter::repeat_n(json!({"o": ["r", "w"]}), 60).chain([json!({"o": ["late"]})]);
    assert_eq!(with_security(repeated.collect()), (3, 0));
    let many = (0..120).map(|number| json!({"o": [number.to_string()]}));
    assert_eq!(with_security(many.collect()), (100, 1));
}

#[test]
fn relative_urls_of_different_hosts_are_different_agents() {
    let relative = card(&old(json!({"url": "/a2a"})));
    let id = |card: &Card, host: &str| {
        let base = Some(format!("https://{host}/.well-known/agent-card.json"));
        thing_with(card, &Options { id: None, base }).0["id"].clone()
    };
    assert_ne!(id(&relative, "a.example"), id(&relative, "b.example"));
    assert_eq!(id(&relative, "x.example"), id(&card(&old(json!({}))), "a.example"));
    assert!(relative.to_thing(&Options::default()).is_err());
    let grpc = |url: &str| id(&card(&old(json!({"url": url, "preferredTransport": "GRPC"}))), "a.example");
    assert_eq!(grpc("x.example:443"), grpc("grpc://x.example:443"));
}

#[test]
fn a_card_for_both_has_its_own_half_of_0_3() {
    let half = json!({
        "url": "https://x.example/old", "preferredTransport": "GRPC", "protocolVersion": "0.3.0",
        "additionalInterfaces": [{"url": "https://x.example/rest", "transport": "HTTP+JSON"}],
        "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "header", "name": "K"}}},
        "securityRequirements": [{"schemes": {"k": {"list": []}}}], "security": [{"k": []}, {}],
    });
    let (card, warnings) = rendition(&new(half.clone()), Generation::V0);
    for name in ["url", "preferredTransport", "protocolVersion", "additionalInterfaces", "security"] {
        assert_eq!(card[name], half[name], "{name}");
    }
    assert_eq!((warnings, card.get("supportedInterfaces")), (vec![], None));
}

#[test]
fn renditions_have_what_strict_readers_require() {
    let bare = json!({
        "provider": {"organization": "o"}, "skills": [{"id": "s"}],
        "capabilities": {"extensions": [{}]},
        "securitySchemes": {"o": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://l.example/t"}}}},
    });
    let (card, _) = rendition(&old(bare), Generation::V1);
    assert_eq!(card["skills"][0], json!({"id": "s", "name": "", "description": "", "tags": []}));
    assert_eq!(card["provider"]["url"], "");
    assert_eq!(card["capabilities"]["extensions"][0]["uri"], "");
    assert_eq!(card["securitySchemes"]["o"]["oauth2SecurityScheme"]["flows"]["clientCredentials"]["scopes"], json!({}));
}

#[test]
fn a_flow_that_0_3_has_not_opens_nothing() {
    let flow =
        json!({"deviceAuthorizationUrl": "https://l.example/d", "tokenUrl": "https://l.example/t", "scopes": {}});
    let required = |requirements: Value| {
        new(json!({
            "securitySchemes": {
                "device": {"oauth2SecurityScheme": {"flows": {"deviceCode": flow.clone()}}},
                "key": {"apiKeySecurityScheme": {"location": "header", "name": "K"}},
            },
            "securityRequirements": requirements,
        }))
    };
    let one = |name: &str| json!({"schemes": {name: {"list": []}}});
    let (card, warnings) = rendition(&required(json!([one("device"), one("key")])), Generation::V0);
    assert_eq!(card["security"], json!([{"key": []}]));
    assert!(card["securitySchemes"].get("device").is_none());
    assert!(warnings.contains(&("flow-unknown".to_owned(), "/securitySchemes/device/flows/deviceCode".to_owned())));
    let (card, _) = rendition(&required(json!([one("device")])), Generation::V0);
    assert_eq!(card["security"], json!([{"device": []}]));
}

#[test]
fn nothing_of_a_scheme_is_lost_or_moved() {
    comes_back(&old(json!({
        "securitySchemes": {
            "dpop": {"type": "http", "scheme": "DPoP", "bearerFormat": "JWT"},
            "digest": {"type": "http", "scheme": "digest", "bearerFormat": "x"},
            "bare": {"type": "http"},
            "tls": {"type": "mutualTLS", "name": "cert", "scheme": "tls", "in": "x"},
            "web3": {"type": "web3", "chain": 1},
            "nameless": {"type": "apiKey", "in": "header"},
            "body": {"type": "apiKey", "in": "body", "name": "K"},
            "flowless": {"type": "oauth2", "flows": {"x-ciba": {"u": 1}}, "x": 1},
            "oauth": {"type": "oauth2", "x": 1, "flows": {
                "x-ciba": {"u": 1}, "clientCredentials": {"tokenUrl": "/token", "scopes": {"r": "Read"}, "audience": "api"},
                "implicit": {"authorizationUrl": "https://l.example/a", "scopes": {}},
            }},
        },
        "security": [{"dpop": [], "digest": []}, {"bare": []}, {"tls": [], "web3": []}, {"nameless": []}, {"body": []},
            {"flowless": []}, {"oauth": ["r"]}, {"undeclared": []}],
    })));
    comes_back(&new(json!({
        "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "header", "name": "K", "x": 1}, "note": 1},
            "future": {"futureScheme": {"a": 1}}},
        "securityRequirements": [{"schemes": {"k": {"list": [], "x": 1}, "future": {"list": []}}, "x": 1}],
    })));
    let many: Vec<Value> = (0..100).map(|number| json!({format!("k{number}"): []})).collect();
    comes_back(&old(json!({"security": many})));
    comes_back(&old(json!({"documentationUrl": "/doc", "iconUrl": "data:image/png;base64,AA"})));
}

#[test]
fn what_a_rendition_cannot_keep_is_said() {
    let key = json!({"k": {"apiKeySecurityScheme": {"location": "Header", "name": "K"}}, "f": {"futureScheme": {}}});
    let odd = new(json!({
        "securitySchemes": key, "securityRequirements": [{"schemes": {"k": {"list": [], "x": 1}, "f": {}}}],
    }));
    let (card, warnings) = rendition(&odd, Generation::V0);
    assert_eq!(card["securitySchemes"], json!({"k": {"type": "apiKey", "in": "header", "name": "K"}}));
    assert_eq!(card["security"], json!([{"f": [], "k": []}]));
    let warned = |rule: &str, at: &str| warnings.contains(&(rule.to_owned(), at.to_owned()));
    assert!(warned("member-left-out", "/securityRequirements") && warned("scheme-unknown", "/securitySchemes/f"));
    let (card, warnings) = rendition(&old(json!({"security": [5]})), Generation::V1);
    assert!(card.get("securityRequirements").is_none() && warnings.contains(&("security-open".into(), String::new())));
    let (_, warnings) = rendition(&old(json!({"authentication": {"schemes": ["Bearer"]}})), Generation::V1);
    assert_eq!(warnings, [("security-open".to_owned(), "/authentication".to_owned())]);
    let tenant = |tenant: &str| with(interface("https://x.example"), json!({"tenant": tenant}));
    let (card, _) = rendition(&new(json!({"supportedInterfaces": [tenant("a"), tenant("b")]})), Generation::V0);
    assert_eq!(card.get("additionalInterfaces"), None);
}

#[test]
fn schemes_that_readers_of_0_3_refuse_are_left_out() {
    let odd = new(json!({"securitySchemes": {
        "nameless": {"apiKeySecurityScheme": {"location": "header"}},
        "body": {"apiKeySecurityScheme": {"location": "body", "name": "K"}},
        "http": {"httpAuthSecurityScheme": {}}, "oauth": {"oauth2SecurityScheme": {}},
        "login": {"openIdConnectSecurityScheme": {}}, "tls": {"mtlsSecurityScheme": {}},
    }}));
    let (old, warnings) = rendition(&odd, Generation::V0);
    assert_eq!(old["securitySchemes"], json!({"tls": {"type": "mutualTLS"}}));
    assert_eq!(warnings.iter().filter(|(rule, _)| rule == "scheme-incomplete").count(), 5);
}

#[test]
fn no_rendition_hands_out_a_dangerous_url() {
    let odd = old(json!({
        "iconUrl": "javascript:1", "provider": {"organization": "o", "url": "java\tscript:2"},
        "additionalInterfaces": [{"url": "javascript:3", "transport": "GRPC"}],
        "securitySchemes": {"o": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "JavaScript:4", "scopes": {}}}}},
    }));
    let (new, _) = rendition(&odd, Generation::V1);
    assert!(!new.to_string().to_ascii_lowercase().contains("script:"), "{new}");
    let (thing, _) = thing_with(&card(&odd), &Options::default());
    assert!(!thing.to_string().to_ascii_lowercase().contains("script:"), "{thing}");
}

#[test]
fn endpoints_are_resolved_as_interfaces_are() {
    let base = Some("https://x.example/.well-known/agent-card.json".to_owned());
    let flows = json!({"clientCredentials": {"tokenUrl": "/token", "scopes": ["read"]}});
    let odd = card(&old(json!({
        "provider": {"organization": "o", "url": "/about"}, "securitySchemes": {"o": {"type": "oauth2", "flows": flows}},
        "security": [{"o": ["read"]}],
    })));
    assert_eq!(found(odd.warnings()), [("member-type", "/securitySchemes/o/flows/clientCredentials/scopes")]);
    let (thing, _) = thing_with(&odd, &Options { id: None, base });
    assert_eq!(thing["securityDefinitions"]["o"]["token"], "https://x.example/token");
    assert_eq!(thing["securityDefinitions"]["o"]["scopes"], json!(["read"]));
    assert_eq!(thing["lmos:metadata"]["lmos:vendor"]["lmos:url"], "https://x.example/about");
}

#[test]
fn interfaces_are_found_where_they_are() {
    for list in [json!([5]), json!([{}])] {
        let odd = card(&old(json!({"supportedInterfaces": list})));
        assert_eq!(odd.generation(), Generation::V0);
        assert!(thing_with(&odd, &Options::default()).0.get("actions").is_some());
    }
    let listed = json!([{"url": "https://b.example", "transport": "JSONRPC"}]);
    let (thing, _) = thing_with(&card(&old(json!({"url": "", "additionalInterfaces": listed}))), &Options::default());
    assert_eq!(thing["actions"]["s"]["forms"][0]["href"], "https://b.example");
    let own = with(interface("https://x.example"), json!({"protocolBinding": "http://json.rest.example/b"}));
    let (thing, _) = thing_with(&card(&new(json!({"supportedInterfaces": [own]}))), &Options::default());
    assert_eq!(thing["actions"]["s"]["forms"][0]["a2a:binding"], "http://json.rest.example/b");
    for (version, is_known) in [("", false), ("banana", false), ("9.9", false), ("1.0.0", true), ("0.3", true)] {
        let odd = with(interface("https://x.example"), json!({"protocolVersion": version}));
        let odd = card(&new(json!({"supportedInterfaces": [odd]})));
        let warned = found(odd.warnings()).contains(&("version-unknown", "/supportedInterfaces/0/protocolVersion"));
        assert_eq!(warned, !is_known, "{version:?}");
    }
}

#[test]
fn many_skills_at_many_interfaces_get_fewer_forms() {
    let skill = |number| json!({"id": format!("s{number}"), "name": "n", "description": "d", "tags": []});
    let url = |number| interface(&format!("https://x.example/{number}"));
    let many = card(&new(json!({
        "skills": (0..499).map(skill).collect::<Vec<_>>(), "supportedInterfaces": (0..16).map(url).collect::<Vec<_>>(),
    })));
    let (thing, warnings) = thing_with(&many, &Options::default());
    assert!(found(&warnings).contains(&("too-many-interfaces", "")));
    assert!(!thing["actions"]["s0"]["forms"].as_array().unwrap().is_empty());
    assert_eq!(json(&from_thing(&thing, Generation::V1).unwrap().bytes), json(many.bytes()));
}

#[test]
fn capabilities_of_a_private_shape_are_the_skills() {
    for skills in [None, Some(json!([]))] {
        let mut card = json!({
            "name": "Mill data", "description": "Grinding data.", "url": "https://mill.example/a2a", "version": "2.0",
            "provider": {"organization": "Mill", "url": "https://mill.example"},
            "capabilities": [{"name": "flour-prices", "description": "Prices of flour"}, {"name": "feed"}],
        });
        if let Some(skills) = skills {
            card["skills"] = skills;
        }
        let text = card.to_string();
        assert_eq!(agentdex::convert::detect(&text).unwrap(), agentdex::convert::Format::A2a);
        let import = agentdex::convert::Format::A2a.import().unwrap();
        let input = agentdex::convert::Input::json(text.as_bytes());
        let conversion = import.to_things(&input, &agentdex::convert::ImportOptions::default()).unwrap();
        let thing = conversion.things[0].description.value();
        assert_eq!(
            (&thing["title"], &thing["lmos:capabilities"][0]["lmos:id"]),
            (&json!("Mill data"), &json!("flour-prices"))
        );
        assert!(thing.to_string().contains("https://mill.example/a2a"), "{thing}");
    }
    let other = json!({"name": "A", "endpoint": "https://a.example", "capabilities": [{"name": "b"}]});
    assert!(agentdex::convert::detect(&other.to_string()).is_err(), "{other}");
}

#[test]
fn security_scheme_without_a_type_is_read_by_its_members() {
    for (scheme, expected) in [
        (
            json!({"openIdConnectUrl": "https://id.example/.well-known/openid-configuration", "description": null}),
            "a2a:openIdConnect",
        ),
        (json!({"scheme": "bearer"}), "bearer"),
        (json!({"in": "header", "name": "X-Key"}), "apikey"),
        (json!({"flows": {"clientCredentials": {"tokenUrl": "https://id.example/token", "scopes": {}}}}), "oauth2"),
    ] {
        let card = old(json!({"securitySchemes": {"login": scheme}, "security": [{"login": []}]}));
        let card = Card::parse(card.to_string().as_bytes()).unwrap();
        let rules: Vec<_> = card.warnings().iter().map(|warning| warning.pointer.as_str()).collect();
        assert!(rules.contains(&"/securitySchemes/login"), "{scheme}: {:?}", card.warnings());
        let conversion = card.to_thing(&Options::default()).unwrap();
        let definitions = conversion.things[0].description.value()["securityDefinitions"].clone();
        let schemes: Vec<_> =
            definitions.as_object().unwrap().values().map(|one| one["scheme"].as_str().unwrap()).collect();
        assert!(schemes.contains(&expected), "{scheme}: {definitions}");
    }
}

#[test]
fn what_a_private_member_says_of_credentials_decides() {
    for nothing in [
        json!({"authentication": {"required": false}}),
        json!({"authentication": {"required": false, "schemes": ["bearer"]}}),
        json!({"authentication": {"schemes": ["none"]}}),
        json!({"authentication": {"type": "none"}}),
        json!({"authentication": "none"}),
        json!({"authentication": null}),
        json!({"authentication": {"schemes": []}}),
        json!({"auth": {"type": "public"}}),
        json!({"requiresAuth": false}),
        json!({"authentication": {"required": false}, "securitySchemes": {"k": {"type": "http", "scheme": "bearer"}}}),
    ] {
        for document in [old(nothing.clone()), new(nothing)] {
            let (thing, warnings) = thing_with(&card(&document), &Options::default());
            assert_eq!(thing["securityDefinitions"][thing["security"].as_str().unwrap()]["scheme"], "nosec", "{thing}");
            assert!(!found(&warnings).iter().any(|(rule, _)| *rule == "security-open"), "{document}: {warnings:?}");
            assert!(!rendition(&document, Generation::V1).1.iter().any(|(rule, _)| rule == "security-open"));
        }
    }
    for (asked, pointer) in [
        (json!({"authentication": {"schemes": ["Bearer"]}}), "/authentication"),
        (json!({"authentication": {"required": true}}), "/authentication"),
        (json!({"auth": {"type": "bearer"}}), "/auth"),
        (json!({"requiresAuth": true}), "/requiresAuth"),
    ] {
        for document in [old(asked.clone()), new(asked)] {
            let (thing, warnings) = thing_with(&card(&document), &Options::default());
            assert_eq!(thing["securityDefinitions"][thing["security"].as_str().unwrap()]["scheme"], "auto", "{thing}");
            assert!(found(&warnings).contains(&("security-open", pointer)), "{document}: {warnings:?}");
        }
    }
}

#[test]
fn a_thousand_skills_are_kept() {
    let skill = |n: usize| json!({"id": format!("s{n}"), "name": format!("Skill {n}"), "description": "d", "tags": []});
    let kept = |count: usize| {
        let skills: Vec<Value> = (0..count).map(skill).collect();
        let card = old(json!({"skills": skills}));
        let conversion = Card::parse(card.to_string().as_bytes()).unwrap().to_thing(&Options::default()).unwrap();
        let thing = conversion.things[0].description.value();
        let actions = thing["actions"].as_object().unwrap().len();
        (actions, thing["lmos:capabilities"].as_array().unwrap().len(), conversion.warnings.len())
    };
    assert_eq!(kept(1000), (1000, 1000, 0));
    assert_eq!(kept(1200), (1000, 1000, 1));
}
