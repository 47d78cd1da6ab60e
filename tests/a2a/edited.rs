//! Things that were cards, changed by hand since: the card says what the Thing says now.

use agentdex::convert::a2a::{Generation, Options, from_thing};
use serde_json::{Value, json};

use super::{card, json, thing};

/// The Thing of a card with two schemes, one of which is required, and a stream.
fn agent() -> Value {
    thing(&card(&json!({
        "name": "Agent", "description": "d", "version": "1",
        "supportedInterfaces": [{"url": "https://x.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "x-own": 1}],
        "capabilities": {"streaming": true, "pushNotifications": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "K"}},
            "token": {"httpAuthSecurityScheme": {"scheme": "bearer"}},
        },
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "skills": [{"id": "s", "name": "S", "description": "Does it", "tags": ["t"], "x-own": 2}],
    })))
}

fn exported(thing: &Value, generation: Generation) -> Value {
    json(&from_thing(thing, generation).unwrap().bytes)
}

fn requires(name: &str) -> Value {
    json!([{"schemes": {name: {"list": []}}}])
}

#[test]
fn security_of_the_thing_is_required() {
    let mut thing = agent();
    thing["security"] = "token".into();
    assert_eq!(exported(&thing, Generation::V1)["securityRequirements"], requires("token"));
    thing["securityDefinitions"]["open"] = json!({"scheme": "nosec"});
    thing["security"] = "open".into();
    assert_eq!(exported(&thing, Generation::V1).get("securityRequirements"), None);
}

#[test]
fn security_of_a_form_is_required_by_the_skill() {
    let mut thing = agent();
    thing["actions"]["s"]["forms"][0]["security"] = "token".into();
    let card = exported(&thing, Generation::V1);
    assert_eq!(card["securityRequirements"], requires("key"));
    assert_eq!(card["skills"][0]["securityRequirements"], requires("token"));
    assert_eq!(card["skills"][0]["x-own"], 2);
}

#[test]
fn forms_that_lead_elsewhere_are_the_interfaces() {
    let mut thing = agent();
    thing["actions"]["s"]["forms"][0]["href"] = "https://new.example/a2a".into();
    thing["events"]["messageStream"]["forms"][0]["href"] = "https://new.example/a2a".into();
    let card = exported(&thing, Generation::V1);
    let interface = json!({"url": "https://new.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    assert_eq!(card["supportedInterfaces"], json!([interface]));
    assert_eq!(card["capabilities"], json!({"streaming": true, "pushNotifications": true}));
    assert_eq!(exported(&thing, Generation::V0)["url"], "https://new.example/a2a");
}

#[test]
fn a_card_of_0_3_stays_one_when_it_moves() {
    let mut thing = thing(&card(&json!({
        "name": "Old", "description": "d", "version": "1", "url": "https://x.example/a2a", "protocolVersion": "0.3.0",
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportsAuthenticatedExtendedCard": true, "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "K"}},
        "security": [{"k": []}], "skills": [],
    })));
    thing["actions"]["sendMessage"]["forms"][0]["href"] = "https://new.example/a2a".into();
    let card = exported(&thing, Generation::V0);
    assert_eq!(card["url"], "https://new.example/a2a");
    assert_eq!((&card["security"], &card["protocolVersion"]), (&json!([{"k": []}]), &json!("0.3.0")));
    assert_eq!(card["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(card["skills"], json!([]));
    let new = exported(&thing, Generation::V1);
    assert_eq!((&new["capabilities"]["extendedAgentCard"], new.get("protocolVersion")), (&json!(true), None));
    assert_eq!(new["securityRequirements"], requires("k"));
}

#[test]
fn actions_come_and_go_as_skills() {
    let mut thing = agent();
    thing["actions"]["other"] = json!({"title": "Other", "forms": thing["actions"]["s"]["forms"]});
    let ids = |thing: &Value| -> Vec<Value> {
        let card = exported(thing, Generation::V1);
        card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].clone()).collect()
    };
    assert_eq!(ids(&thing), ["s", "other"]);
    thing["actions"].as_object_mut().unwrap().remove("s");
    assert_eq!(ids(&thing), ["other"]);
}

#[test]
fn without_its_event_it_does_not_stream() {
    let mut thing = agent();
    thing.as_object_mut().unwrap().remove("events");
    let card = exported(&thing, Generation::V1);
    assert_eq!(card["capabilities"], json!({"streaming": false, "pushNotifications": true}));
    assert_eq!(card["supportedInterfaces"][0]["x-own"], 1);
}

#[test]
fn scopes_of_the_card_stay_where_each_skill_requires_something_else() {
    let flows = json!({"clientCredentials": {"tokenUrl": "https://l.example/t"}});
    let mut thing = thing(&card(&json!({
        "name": "Agent", "description": "d", "version": "1", "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": "https://x.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": flows}}},
        "securityRequirements": [{"schemes": {"o": {"list": ["read"]}}}],
        "skills": [{
            "id": "s", "name": "S", "description": "d", "tags": [],
            "securityRequirements": [{"schemes": {"o": {"list": ["write"]}}}],
        }],
    })));
    let scopes = |card: &Value| {
        [card, &card["skills"][0]].map(|owner| owner["securityRequirements"][0]["schemes"]["o"]["list"][0].clone())
    };
    assert_eq!(scopes(&exported(&thing, Generation::V1)), ["read", "write"]);
    thing["actions"]["s"]["title"] = "Other".into();
    assert_eq!(scopes(&exported(&thing, Generation::V1)), ["read", "write"]);
}

#[test]
fn what_is_edited_is_written_as_its_generation_has_it() {
    let mut thing = thing(&card(&json!({
        "name": "Old", "description": "d", "version": "1", "url": "https://x.example/a2a", "protocolVersion": "1.0",
        "preferredTransport": "REST", "supportedInterfaces": [], "capabilities": {}, "skills": [],
        "additionalInterfaces": [{"url": "https://x.example/a2a", "transport": "rest"}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    })));
    thing["title"] = "New".into();
    let old = exported(&thing, Generation::V0);
    let transport = (&old["url"], &old["preferredTransport"], &old["protocolVersion"]);
    assert_eq!(transport, (&json!("https://x.example/a2a"), &json!("HTTP+JSON"), &json!("0.3.0")));
    assert_eq!(
        (&old["name"], old.get("additionalInterfaces"), old.get("supportedInterfaces")),
        (&json!("New"), None, None)
    );
    let interface = json!({"url": "https://x.example/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"});
    assert_eq!(exported(&thing, Generation::V1)["supportedInterfaces"], json!([interface]));
}

#[test]
fn a_card_that_is_edited_has_no_signature_and_flows_of_1_0() {
    let flows = json!({
        "clientCredentials": {"tokenUrl": "https://l.example/t", "scopes": {}},
        "implicit": {"authorizationUrl": "https://l.example/a", "scopes": {}},
    });
    let mut thing = thing(&card(&json!({
        "name": "Agent", "description": "d", "version": "1", "capabilities": {}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": "https://x.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": flows}}},
        "securityRequirements": [{"schemes": {"o": {"list": []}}}],
        "signatures": [{"protected": "e30", "signature": "AA"}],
    })));
    thing["title"] = "Other".into();
    let card = exported(&thing, Generation::V1);
    assert_eq!(card.get("signatures"), None);
    // Readers of 1.0 take one flow in a scheme.
    let required = [requires("o"), requires("o_implicit")].map(|one| one[0].clone());
    assert_eq!(card["securityRequirements"], json!(required));
    assert_eq!(card["securitySchemes"]["o"]["oauth2SecurityScheme"]["flows"].as_object().unwrap().len(), 1);
}

#[test]
fn a_relative_interface_is_where_its_card_was_from() {
    let relative = card(&json!({
        "name": "Agent", "description": "d", "version": "1", "url": "/a2a", "protocolVersion": "0.3.0", "skills": [],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    }));
    let base = Some("https://x.example/.well-known/agent-card.json".to_owned());
    let mut thing = super::thing_with(&relative, &Options { id: None, base }).0;
    thing["title"] = "Other".into();
    assert_eq!(exported(&thing, Generation::V0)["url"], "https://x.example/a2a");
}

#[test]
fn a_card_that_left_open_what_it_requires_still_does() {
    let mut thing = thing(&card(&json!({
        "name": "Agent", "description": "d", "version": "1", "url": "https://x.example/a2a", "protocolVersion": "0.3.0",
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "K"}},
    })));
    thing["title"] = "Other".into();
    let card = exported(&thing, Generation::V0);
    assert_eq!((card.get("security"), &card["securitySchemes"]["k"]["name"]), (None, &json!("K")));
    thing["security"] = "k".into();
    assert_eq!(exported(&thing, Generation::V0)["security"], json!([{"k": []}]));
}
