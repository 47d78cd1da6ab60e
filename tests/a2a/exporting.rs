//! Things as cards.

use agentdex::convert::{
    Error,
    a2a::{Card, FORMS_BINDING, Generation, from_thing},
};
use serde_json::{Value, json};

use super::{fixtures, json, thing};

fn exported(thing: &Value, generation: Generation) -> Value {
    json(&from_thing(thing, generation).unwrap().bytes)
}

fn refused(thing: &Value, generation: Generation) -> String {
    match from_thing(thing, generation) {
        Err(Error::NotExpressible { format: "a2a", reason }) => reason,
        other => panic!("{other:?}"),
    }
}

fn agent(changes: Value) -> Value {
    let mut thing = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": "urn:example:weather", "title": "Weather", "base": "https://weather.example/api/",
        "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "lmos:capabilities": [
            {"id": "urn:cap:forecast", "name": "forecast", "description": "Says the weather", "examples": ["rain?", 5], "tags": ["sky"]},
        ],
        "actions": {
            "forecast": {"title": "Forecast", "input": {"type": "string"}, "forms": [{"href": "forecast{?city}", "htv:methodName": "GET"}]},
            "alert": {"description": "Warns", "forms": [{"href": "https://alert.example/", "contentType": "text/plain"}]},
        },
    });
    for (name, value) in changes.as_object().unwrap() {
        thing[name] = value.clone();
    }
    thing
}

#[test]
fn a_thing_that_was_a_card_gives_the_card_again() {
    for (name, bytes) in fixtures() {
        let card = Card::parse(&bytes).unwrap();
        let mut expected = json(&card.as_version(Generation::V1).bytes);
        // They are of the card as it was signed.
        expected.as_object_mut().unwrap().remove("signatures");
        if name == "for_both" {
            // Both spellings are in one scheme; what is said is the same.
            expected["securitySchemes"]["key"] =
                json!({"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}});
        }
        assert_eq!(exported(&thing(&card), Generation::V1), expected, "{name}");
    }
}

#[test]
fn a_card_of_0_3_with_an_empty_list_of_interfaces_stays_one_of_0_3() {
    let (_, bytes) = fixtures().into_iter().find(|(name, _)| name == "every_scheme_0_3").unwrap();
    let mut card = json(&bytes);
    card["supportedInterfaces"] = json!([]);
    let read = Card::parse(card.to_string().as_bytes()).unwrap();
    let card = card.as_object_mut().unwrap();
    card.remove("supportedInterfaces");
    card["additionalInterfaces"].as_array_mut().unwrap().remove(0);
    card["capabilities"].as_object_mut().unwrap().remove("stateTransitionHistory");
    let mut again = exported(&thing(&read), Generation::V0);
    again["capabilities"].as_object_mut().unwrap().remove("stateTransitionHistory");
    assert_eq!(again, Value::Object(card.clone()));
}

#[test]
fn what_was_changed_in_the_thing_is_changed_in_the_card() {
    let (_, bytes) = fixtures().into_iter().find(|(name, _)| name == "every_scheme_0_3").unwrap();
    let mut thing = thing(&Card::parse(&bytes).unwrap());
    thing["title"] = "Safe".into();
    thing["lmos:capabilities"][0]["lmos:name"] = "Take out".into();
    thing["securityDefinitions"]["key"]["name"] = "X-Safe-Key".into();
    let card = exported(&thing, Generation::V1);
    assert_eq!(card["name"], "Safe");
    assert_eq!(card["skills"][0]["name"], "Take out");
    assert_eq!(card["securitySchemes"]["key"]["apiKeySecurityScheme"]["name"], "X-Safe-Key");
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "0.3");
}

#[test]
fn a2a_forms_are_interfaces() {
    let form = |href: &str, more: Value| {
        let mut form = json!({"href": href, "subprotocol": "a2a"});
        form.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        form
    };
    let thing = agent(json!({
        "version": {"instance": "2.1"}, "description": "Looks at the sky",
        "lmos:metadata": {"lmos:vendor": {"lmos:name": "Sky", "lmos:url": "https://sky.example"}},
        "links": [{"rel": "service-doc", "href": "manual"}, {"rel": "icon", "href": "javascript:x"}],
        "actions": {"forecast": {"forms": [
            form("a2a", json!({})),
            form("rest/v1/message:send", json!({"a2a:binding": "HTTP+JSON", "a2a:protocolVersion": "0.3"})),
            form("mqtt://weather.example/x", json!({"subprotocol": "other"})),
        ]}, "alert": {"forms": [form("a2a", json!({}))]}},
        "events": {"rain": {"forms": [form("a2a", json!({"op": "subscribeevent"}))]}},
    }));
    let expected = json!({
        "name": "Weather", "description": "Looks at the sky", "version": "2.1", "protocolVersion": "0.3.0",
        "url": "https://weather.example/api/a2a", "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "https://weather.example/api/rest", "transport": "HTTP+JSON"}],
        "provider": {"organization": "Sky", "url": "https://sky.example"},
        "documentationUrl": "https://weather.example/api/manual",
        "capabilities": {"streaming": true, "extensions": [{
            "uri": "urn:agentdex:a2a:thing", "description": "The card was generated from the Thing Description with this id.",
            "params": {"id": "urn:example:weather"},
        }]},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "urn:cap:forecast", "name": "forecast", "description": "Says the weather", "tags": ["sky"], "examples": ["rain?"]},
            {"id": "alert", "name": "alert", "description": "alert", "tags": []},
        ],
    });
    assert_eq!(exported(&thing, Generation::V0), expected);
    let new = exported(&thing, Generation::V1);
    let interface =
        json!({"url": "https://weather.example/api/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"});
    assert_eq!(new["supportedInterfaces"][0], interface);
    assert!(Card::parse(new.to_string().as_bytes()).unwrap().warnings().is_empty());
}

#[test]
fn http_forms_are_a_binding_of_their_own_in_1_0() {
    let card = exported(&agent(json!({})), Generation::V1);
    let urls: Vec<_> = card["supportedInterfaces"].as_array().unwrap().iter().map(|one| one["url"].clone()).collect();
    assert_eq!(urls, ["https://alert.example/", "https://weather.example/api/forecast"]);
    assert_eq!(card["supportedInterfaces"][0]["protocolBinding"], FORMS_BINDING);
    let extension = &card["capabilities"]["extensions"][0];
    assert_eq!(extension["uri"], FORMS_BINDING);
    let form = &extension["params"]["actions"]["urn:cap:forecast"]["forms"][0];
    assert_eq!(form, &json!({"href": "https://weather.example/api/forecast{?city}", "htv:methodName": "GET"}));
    assert!(Card::parse(card.to_string().as_bytes()).unwrap().warnings().is_empty());
    assert!(refused(&agent(json!({})), Generation::V0).contains("request version 1.0"));
}

#[test]
fn what_a_card_cannot_say_is_an_error() {
    let mqtt = json!({"actions": {"a": {"forms": [{"href": "mqtt://x.example/a"}]}}});
    for generation in [Generation::V0, Generation::V1] {
        let reason = "/actions: an agent card needs actions with A2A or HTTP forms; found";
        assert_eq!(refused(&agent(mqtt.clone()), generation), format!("{reason} mqtt"));
        assert_eq!(refused(&agent(json!({"actions": {}})), generation), format!("{reason} no forms"));
    }
    let elsewhere = json!({"a": {"forms": [
        {"href": "https://{region}.x.example/mcp", "subprotocol": "mcp"}, {"href": "https://{region}.x.example/a"},
    ]}});
    let found = "found URLs without a fixed host, mcp";
    assert!(refused(&agent(json!({"actions": elsewhere})), Generation::V1).ends_with(found));
    for (definition, is_sayable) in [
        (json!({"scheme": "psk"}), false),
        (json!({"scheme": "ace:ACESecurityScheme"}), false),
        (json!({"scheme": "apikey", "in": "body", "name": "k"}), false),
        (json!({"scheme": "apikey", "in": "header"}), false),
        (json!({"scheme": "basic", "in": "query"}), false),
        (json!({"scheme": "oauth2", "flow": "other"}), false),
        (json!({"scheme": "combo", "oneOf": ["locked", "locked"]}), false),
        (json!({"scheme": "combo", "oneOf": ["locked_a", "locked_b"]}), false),
        (json!({"scheme": "digest"}), true),
        (json!({"scheme": "apikey", "name": "k"}), true),
        (json!({"scheme": "auto"}), false),
    ] {
        let locked = agent(json!({"securityDefinitions": {"locked": definition.clone()}, "security": ["locked"]}));
        match is_sayable {
            true => drop(exported(&locked, Generation::V1)),
            false => assert!(refused(&locked, Generation::V1).starts_with("/security"), "{definition}"),
        }
    }
    assert_eq!(refused(&json!([]), Generation::V1), "a Thing Description must be a JSON object");
}

#[test]
fn an_agent_with_a_card_of_its_own_gets_no_other() {
    let form =
        json!({"href": "https://agents.example", "subprotocol": "a2a", "a2a:agentCard": "https://agents.example"});
    let reason = refused(&agent(json!({"actions": {"ask": {"forms": [form]}}})), Generation::V1);
    assert!(reason.contains("its own card at https://agents.example"), "{reason}");
}

#[test]
fn combinations_are_requirements_again() {
    let thing = agent(json!({
        "securityDefinitions": {
            "key": {"scheme": "apikey", "in": "header", "name": "K"},
            "token": {"scheme": "bearer"},
            "oauth": {"scheme": "oauth2", "flow": "client", "token": "https://l.example/t", "scopes": ["r", "w"]},
            "unused": {"scheme": "psk"},
            "both": {"scheme": "combo", "allOf": ["key", "either"]},
            "either": {"scheme": "combo", "oneOf": ["token", "oauth", "open"]},
            "open": {"scheme": "nosec"},
        },
        "security": ["both"],
        "actions": {"a": {"forms": [{"href": "a", "scopes": "r"}]}},
    }));
    let card = exported(&thing, Generation::V1);
    let names: Vec<_> = card["securitySchemes"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["key", "oauth", "token"]);
    assert_eq!(
        card["securityRequirements"],
        json!([
            {"schemes": {"key": {"list": []}, "token": {"list": []}}},
            {"schemes": {"key": {"list": []}, "oauth": {"list": ["r"]}}},
            {"schemes": {"key": {"list": []}}},
        ])
    );
    let flow = json!({"tokenUrl": "https://l.example/t", "scopes": {"r": "", "w": ""}});
    assert_eq!(card["securitySchemes"]["oauth"]["oauth2SecurityScheme"]["flows"]["clientCredentials"], flow);
}

/// A Thing with the security that forms may have of their own.
fn guarded(security: &str, actions: Value) -> Value {
    agent(json!({
        "securityDefinitions": {
            "open": {"scheme": "nosec"}, "key": {"scheme": "apikey", "in": "header", "name": "K"},
            "psk": {"scheme": "psk"}, "unknown": {"scheme": "auto"},
            "oauth": {"scheme": "oauth2", "flow": "client", "token": "https://l.example/t", "scopes": ["a", "b"]},
            "either": {"scheme": "combo", "oneOf": ["key", "unknown"]},
            "both": {"scheme": "combo", "allOf": ["key", "unknown"]},
        },
        "security": security, "lmos:capabilities": [], "actions": actions,
    }))
}

#[test]
fn a_flow_has_the_endpoints_that_readers_require() {
    let thing = agent(json!({
        "securityDefinitions": {"oauth": {"scheme": "oauth2", "flow": "code", "authorization": "https://l.example/a"}},
        "security": "oauth", "actions": {"a": {"forms": [{"href": "a2a", "subprotocol": "a2a"}]}},
    }));
    let flow = json!({"authorizationUrl": "https://l.example/a", "tokenUrl": "", "scopes": {}});
    let old = exported(&thing, Generation::V0);
    assert_eq!(old["securitySchemes"]["oauth"]["flows"]["authorizationCode"], flow);
    let new = exported(&thing, Generation::V1);
    assert_eq!(new["securitySchemes"]["oauth"]["oauth2SecurityScheme"]["flows"]["authorizationCode"], flow);
}

#[test]
fn what_a_form_requires_its_skill_requires() {
    let form = |security: Value| json!({"forms": [{"href": "a2a", "subprotocol": "a2a", "security": security}]});
    let key = json!([{"schemes": {"key": {"list": []}}}]);
    let card =
        exported(&guarded("open", json!({"go": form(json!("key")), "see": form(json!(["open"]))})), Generation::V1);
    assert_eq!(card.get("securityRequirements"), None);
    assert_eq!(card["skills"][0]["securityRequirements"], key);
    assert_eq!(card["skills"][1].get("securityRequirements"), None);
    let mut scoped = form(json!("oauth"));
    scoped["forms"][0]["scopes"] = json!(["a"]);
    let card = exported(&guarded("key", json!({"go": scoped, "see": form(json!("open"))})), Generation::V0);
    assert_eq!(card["security"], json!([{"key": []}]));
    assert_eq!(card["skills"][0]["security"], json!([{"oauth": ["a"]}]));
    assert_eq!(card["skills"][1]["security"], json!([{}]));
    let http = json!({"go": {"forms": [{"href": "https://h.example/go", "security": "both"}]}});
    let card = exported(&guarded("open", http), Generation::V1);
    assert_eq!(card["skills"][0]["securityRequirements"], key);
    assert!(!card["capabilities"].to_string().contains("security"));
}

#[test]
fn no_card_is_more_open_than_its_thing() {
    let form = |security: &str| json!({"href": "a2a", "subprotocol": "a2a", "security": security});
    let cases = [
        ("open", json!({"go": {"forms": [form("psk")]}}), "/securityDefinitions/psk"),
        (
            "open",
            json!({"go": {"forms": [form("key"), form("open")]}}),
            "/actions/go: its forms have different security",
        ),
        ("open", json!({"go": {"forms": [form("unknown")]}}), "/actions/go: the scheme is `auto`"),
        (
            "unknown",
            json!({"go": {"forms": [{"href": "a2a", "subprotocol": "a2a"}]}}),
            "/security: the scheme is `auto`",
        ),
    ];
    for (security, actions, reason) in cases {
        let refused = refused(&guarded(security, actions), Generation::V1);
        assert!(refused.contains(reason), "{refused}");
    }
    for security in ["either", "both"] {
        let thing = guarded(security, json!({"go": {"forms": [{"href": "a2a", "subprotocol": "a2a"}]}}));
        assert_eq!(exported(&thing, Generation::V0)["security"], json!([{"key": []}]), "{security}");
    }
}

#[test]
fn only_actions_that_a_card_can_call_are_skills() {
    let card = exported(
        &agent(json!({"actions": {
            "chat": {"forms": [{"href": "a2a", "subprotocol": "a2a"}]}, "forecast": {"forms": [{"href": "f"}]},
        }})),
        Generation::V1,
    );
    let ids: Vec<_> = card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].clone()).collect();
    assert_eq!(ids, ["chat"]);
}

#[test]
fn http_forms_survive_the_card_that_lists_them() {
    let card = Card::parse(exported(&agent(json!({})), Generation::V1).to_string().as_bytes()).unwrap();
    let (again, warnings) = super::thing_with(&card, &Default::default());
    assert_eq!(warnings, []);
    let form = &again["actions"]["urn:cap:forecast"]["forms"][0];
    assert_eq!(form, &json!({"href": "https://weather.example/api/forecast{?city}", "htv:methodName": "GET"}));
    assert_eq!(again["actions"]["urn:cap:forecast"]["input"], json!({"type": "string"}));
    assert_eq!(exported(&again, Generation::V1), json(card.bytes()));
    assert!(refused(&again, Generation::V0).contains("request version 1.0"));
    let broken = String::from_utf8_lossy(card.bytes())
        .replace("https://alert.example/\"}", "https://alert.example/\",\"op\":5}");
    let broken = Card::parse(broken.replace("\"contentType\":\"text/plain\"", "\"contentType\":7").as_bytes()).unwrap();
    let (thing, warnings) = super::thing_with(&broken, &Default::default());
    assert!(thing.get("actions").is_none());
    assert!(super::found(&warnings).contains(&("forms-unusable", "/capabilities/extensions")));
}
