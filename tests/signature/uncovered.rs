//! Empty things that somebody adds to a card that was signed in a form without them.

use agentdex::signature::{Algorithm, Form, Status};
use serde_json::{Value, json};

use super::{check, fault, signer::Signer, trusting};

fn card_1() -> Value {
    json!({
        "name": "Bank", "description": "d", "version": "1",
        "supportedInterfaces": [{"url": "https://bank.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "securitySchemes": {
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://bank.example/t", "scopes": {"pay": "Pays"}}}}}
        },
        "securityRequirements": [{"schemes": {"oauth": {"list": ["pay"]}}}],
        "skills": [{
            "id": "pay", "name": "Pay", "description": "Pays", "tags": ["money"],
            "securityRequirements": [{"schemes": {"oauth": {"list": ["pay"]}}}]
        }]
    })
}

fn card_0() -> Value {
    json!({
        "name": "Bank", "description": "d", "version": "1", "url": "https://bank.example/a2a", "protocolVersion": "0.3.0",
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "securitySchemes": {"oauth": {"type": "openIdConnect", "openIdConnectUrl": "https://bank.example/oidc"}},
        "security": [{"oauth": ["pay"]}],
        "skills": [{"id": "pay", "name": "Pay", "description": "Pays", "tags": ["money"]}]
    })
}

/// Puts a value somewhere: into an object, or at the end of a list.
fn put(card: &mut Value, pointer: &str, value: Value) {
    let (owner, name) = pointer.rsplit_once('/').unwrap();
    match card.pointer_mut(owner).unwrap() {
        Value::Array(items) => items.push(value),
        owner => owner[name] = value,
    }
}

/// What becomes of a signed card when this is added to it: why it is invalid, or that it isn't.
fn with(card: &Value, form: Form, pointer: &str, value: &Value) -> Option<String> {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let keys = trusting(&[&signer]);
    let mut card = card.clone();
    signer.sign(&mut card, form);
    assert_eq!(check(&card, &keys).status, Status::Valid);
    put(&mut card, pointer, value.clone());
    match check(&card, &keys).status {
        Status::Valid => None,
        _ => Some(fault(&card, &keys)),
    }
}

#[test]
fn empty_things_that_say_something_make_a_stripped_card_invalid() {
    for (pointer, value) in [
        ("/securityRequirements/1", json!({})),
        ("/securityRequirements/1", json!({"schemes": {}})),
        ("/securityRequirements/1", json!({"schemes": null})),
        ("/securityRequirements/1", json!("")),
        ("/securityRequirements/1", json!([])),
        ("/securityRequirements/0/schemes", json!({})),
        ("/securityRequirements", json!({})),
        ("/securityRequirements/0/schemes/oauth/list/1", json!("")),
        ("/skills/0/securityRequirements/1", json!({})),
        ("/skills/0/security", json!([{}])),
        ("/skills/0/security", json!({})),
        ("/skills/1", json!({})),
        ("/skills/0/tags/1", json!("")),
        ("/supportedInterfaces/1", json!({"url": ""})),
        ("/supportedInterfaces/1", json!({})),
        ("/supported_interfaces", json!([])),
        ("/security_requirements", json!([{}])),
        ("/securitySchemes/open", json!({})),
        ("/securitySchemes/oauth/mtlsSecurityScheme", json!({})),
        ("/securitySchemes/oauth/apiKeySecurityScheme", json!({"name": ""})),
        ("/securitySchemes/oauth/oauth2SecurityScheme/flows/implicit", json!({})),
        ("/securitySchemes/oauth/oauth2SecurityScheme/flows/clientCredentials/scopes/all", json!("")),
        ("/capabilities/extensions", json!([{}])),
        ("/url", json!("")),
        ("/x-unknown", json!("")),
    ] {
        let reason = with(&card_1(), Form::Stripped, pointer, &value);
        let reason = reason.unwrap_or_else(|| panic!("{pointer} {value} isn't noticed"));
        // What was there before and is gone is a change, what is new isn't covered.
        let expected = reason.contains("doesn't cover") || reason.contains("may have been changed");
        assert!(expected && (reason.contains("changed") || reason.contains(pointer)), "{pointer}: {reason}");
    }
    for (pointer, value) in [
        ("/security/1", json!({})),
        ("/skills/0/security", json!([{}])),
        ("/skills/0/securityRequirements", json!([{}])),
        ("/securityRequirements", json!([{}])),
        ("/supportedInterfaces", json!([])),
        ("/supportedInterfaces", Value::Null),
        ("/supportedInterfaces", json!([{"url": ""}])),
        ("/additionalInterfaces", json!([{"url": ""}])),
        ("/preferredTransport", json!("")),
    ] {
        let reason = with(&card_0(), Form::Stripped, pointer, &value);
        let reason = reason.unwrap_or_else(|| panic!("{pointer} {value} isn't noticed"));
        assert!(reason.contains(&format!("doesn't cover the empty member {pointer}")), "{pointer}: {reason}");
    }
}

#[test]
fn empty_things_that_say_nothing_are_no_change() {
    for (pointer, value) in [
        ("/documentationUrl", json!("")),
        ("/iconUrl", Value::Null),
        ("/provider", json!({"organization": "", "url": ""})),
        ("/capabilities/extensions", json!([])),
        ("/skills/0/examples", json!([])),
        ("/skills/0/inputModes", json!([])),
        ("/skills/0/security", json!([])),
        ("/supportedInterfaces/0/tenant", json!("")),
    ] {
        assert_eq!(with(&card_1(), Form::Stripped, pointer, &value), None, "{pointer}");
    }
    // What the SDKs strip of honest cards.
    for (pointer, value) in [
        ("/securityRequirements/1", json!({"schemes": {"key": {}}})),
        ("/securityRequirements/1", json!({"schemes": {"key": {"list": []}}})),
        ("/securitySchemes/tls", json!({"mtlsSecurityScheme": {}})),
        ("/securitySchemes/tls", json!({"mtlsSecurityScheme": {"description": ""}})),
    ] {
        assert_eq!(with(&card_1(), Form::Stripped, pointer, &value), None, "{pointer}");
    }
    assert_eq!(with(&card_0(), Form::Stripped, "/security/1", &json!({"key": []})), None);
}

#[test]
fn defaults_that_are_read_as_requirements_are_covered_in_the_form_of_the_specification() {
    let mut old_spelling = card_1();
    old_spelling["securityRequirements"] = json!([{"oauth": ["pay"]}]);
    old_spelling["skills"][0].as_object_mut().unwrap().remove("securityRequirements");
    for (pointer, value) in [
        ("/securityRequirements/0/schemes", json!({})),
        ("/securityRequirements/0/schemes", Value::Null),
        ("/skills/0/securityRequirements", json!({})),
        ("/skills/0/securityRequirements", json!("")),
        ("/skills/0/security", json!({})),
    ] {
        let reason = with(&old_spelling, Form::Specification, pointer, &value);
        let reason = reason.unwrap_or_else(|| panic!("{pointer} {value} isn't noticed"));
        assert!(reason.contains(&format!("doesn't cover the empty member {pointer},")), "{pointer}: {reason}");
    }
    for (pointer, value) in [("/skills/0/securityRequirements", json!([])), ("/skills/0/examples", json!([]))] {
        assert_eq!(with(&old_spelling, Form::Specification, pointer, &value), None, "{pointer}");
    }
    // Odd, but signed as it is.
    let (signer, mut odd) = (Signer::new("k", Algorithm::EdDsa), card_1());
    odd["security"] = json!({});
    signer.sign(&mut odd, Form::Plain);
    assert_eq!(check(&odd, &trusting(&[&signer])).status, Status::Valid);
}
