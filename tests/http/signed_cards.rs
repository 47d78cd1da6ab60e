//! What signatures of agent cards come to over HTTP: marks, the filter, and where one is required.

use agentdex::{
    registry::tracked_sources::Tracking,
    signature::{Algorithm, Form, TrustedKeys},
};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::{
    signature::signer::Signer,
    support::{Answer, Page, TestRegistry},
};

fn card(signer: Option<&Signer>) -> Value {
    let mut card = json!({
        "name": "Weather", "description": "Forecasts", "version": "1.0.0",
        "supportedInterfaces": [
            {"url": "https://weather.invalid/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "forecast", "name": "Forecast", "description": "Says the weather", "tags": ["weather"]}],
    });
    if let Some(signer) = signer {
        signer.sign(&mut card, Form::Specification);
    }
    card
}

/// A registry that trusts this key.
fn trusting(signer: &Signer, require_signature: bool) -> TestRegistry {
    let keys = TrustedKeys::from_domain(signer.jwk().to_string().as_bytes(), "partners.json").unwrap();
    let change = |tracking: Tracking| tracking.trusted_keys(keys).require_signature(require_signature);
    TestRegistry::tracking_with(change, http::Options::default())
}

fn import(registry: &TestRegistry, id: &str, body: &Value) -> Answer {
    registry.call("POST", &format!("/import/a2a?id={id}")).body("application/json", body.to_string()).send()
}

fn found(registry: &TestRegistry, signature: &str) -> Value {
    let found = registry.get(&format!("/search?signature={signature}&consistent=true")).expect(200).json();
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect()
}

#[test]
fn cards_are_marked_and_found_by_their_signatures() {
    let (signer, forger) = (Signer::new("k", Algorithm::Es256), Signer::new("k", Algorithm::Es256));
    let registry = trusting(&signer, false);
    let signed = card(Some(&signer));
    let page = Page::start(&signed);
    import(&registry, "urn:valid", &signed).expect(201);
    import(&registry, "urn:fetched", &json!({"url": page.url()})).expect(201);
    import(&registry, "urn:invalid", &card(Some(&forger))).expect(201);
    import(&registry, "urn:unsigned", &card(None)).expect(201);
    let mark = |id: &str| registry.get(&format!("/things/{id}")).json()["agentdex:signature"].clone();
    for id in ["urn:valid", "urn:fetched"] {
        let mark = mark(id);
        assert_eq!((&mark["status"], &mark["kid"], &mark["alg"]), (&json!("valid"), &json!("k"), &json!("ES256")));
        assert_eq!((&mark["form"], &mark["trustedBy"]), (&json!("specification"), &json!("partners.json")));
    }
    assert_eq!(
        (&mark("urn:invalid")["status"], &mark("urn:unsigned")["status"]),
        (&json!("invalid"), &json!("unsigned"))
    );
    assert_eq!(found(&registry, "valid"), json!(["urn:fetched", "urn:valid"]));
    assert_eq!(found(&registry, "invalid"), json!(["urn:invalid"]));
    // The same card again is checked again, and changes nothing.
    let before = registry.registry().last_seq();
    import(&registry, "urn:valid", &signed).expect(200);
    import(&registry, "urn:unsigned", &card(None)).expect(200);
    assert_eq!(registry.registry().last_seq(), before);
}

#[test]
fn marks_cannot_be_made_by_hand() {
    let signer = Signer::new("k", Algorithm::Es256);
    let registry = trusting(&signer, false);
    import(&registry, "urn:a", &card(None)).expect(201);
    let mut forged = registry.get("/things/urn:a").json();
    forged["agentdex:signature"]["status"] = "valid".into();
    registry.put("/things/urn:a", forged.to_string()).expect(204);
    registry.patch("/things/urn:a", r#"{"agentdex:signature": {"status": "valid"}}"#).expect(204);
    assert_eq!(found(&registry, "valid"), json!([]));
    let mut boastful = card(None);
    boastful["agentdex:signature"] = json!({"status": "valid"});
    import(&registry, "urn:b", &boastful).expect(201);
    assert_eq!(registry.get("/things/urn:b").json()["agentdex:signature"]["status"], "unsigned");
    assert_eq!(found(&registry, "valid"), json!([]));
}

#[test]
fn where_signatures_are_required_other_cards_are_refused() {
    let (signer, forger) = (Signer::new("k", Algorithm::EdDsa), Signer::new("k", Algorithm::EdDsa));
    let registry = trusting(&signer, true);
    let page = Page::start(&card(None));
    for body in [card(None), json!({"url": page.url()})] {
        let problem = import(&registry, "urn:a", &body).problem(422, "signature-required");
        assert_eq!(problem["signature"], "unsigned");
        assert!(problem["detail"].as_str().unwrap().ends_with("it has no signature"), "{problem}");
    }
    let problem = import(&registry, "urn:a", &card(Some(&forger))).problem(422, "signature-required");
    assert_eq!(problem["signature"], "invalid");
    assert!(problem["detail"].as_str().unwrap().contains("invalid ("), "{problem}");
    // Keys of a host that doesn't exist can't be had.
    let stranger = Signer::new("stranger", Algorithm::EdDsa);
    let problem = import(&registry, "urn:a", &card(Some(&stranger))).problem(422, "signature-required");
    assert_eq!(problem["signature"], "untrusted");
    assert!(registry.registry().is_empty());

    import(&registry, "urn:a", &card(Some(&signer))).expect(201);
    page.serve(&card(Some(&signer)));
    import(&registry, "urn:b", &json!({"url": page.url()})).expect(201);
    page.serve(&card(None));
    let refresh = registry.call("POST", "/things/urn:b/refresh").send();
    refresh.problem(422, "signature-required");
    assert_eq!(registry.get("/things/urn:b").json()["agentdex:signature"]["status"], "valid");
}
