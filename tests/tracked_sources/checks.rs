//! Cards are checked again at each poll, whatever is stored of them, and a result is published once.

use agentdex::{
    ChangeKind::{Created, Updated},
    registry::Import,
    signature::{Algorithm, Form},
    td::Document,
};

use super::{
    signatures::{Domain, signature},
    *,
};
use crate::signature::signer::Signer;

fn signer(kid: &str) -> Signer {
    Signer::new(kid, Algorithm::EdDsa)
}

#[test]
fn revocation_is_one_change_and_the_whole_mark_is_new() {
    let (key, other) = (signer("k"), signer("other"));
    let domain = Domain::start(&key);
    let fixture = domain.fixture(|tracking| tracking);
    domain.track(&fixture).unwrap();
    let valid = signature(&fixture);
    domain.publish(&[&other]);
    (0..4).for_each(|_| drop(fixture.refresh("urn:card:a")));
    let member = signature(&fixture);
    let expected = json!({
        "status": "untrusted", "kid": "k", "alg": "EdDSA", "reason": "no trusted key has the id \"k\"",
        "checkedAt": member["checkedAt"]
    });
    assert_eq!(member, expected);
    assert_ne!(member["checkedAt"], valid["checkedAt"]);
    assert_eq!(fixture.changes(), [Created, Updated]);
    domain.publish(&[&key]);
    (0..3).for_each(|_| drop(fixture.refresh("urn:card:a")));
    let again = signature(&fixture);
    let mut expected = valid.clone();
    expected["checkedAt"] = again["checkedAt"].clone();
    assert_eq!(again, expected);
    assert_eq!(fixture.changes(), [Created, Updated, Updated]);
}

#[test]
fn key_set_that_is_withdrawn_ends_trust_at_once() {
    for status in ["404 Not Found", "410 Gone"] {
        let key = signer("k");
        let domain = Domain::start(&key);
        let fixture = domain.fixture(|tracking| tracking);
        domain.track(&fixture).unwrap();
        *domain.keys.lock().unwrap() = Reply::new(status, &[], "");
        fixture.refresh("urn:card:a");
        let member = signature(&fixture);
        assert_eq!(member["status"], "untrusted", "{member}");
        assert!(member["reason"].as_str().unwrap().contains(&status[..3]), "{member}");
    }
}

#[test]
fn keys_that_cannot_be_had_for_long_end_trust() {
    let key = signer("k");
    let domain = Domain::start(&key);
    let fixture = domain.fixture(|tracking| tracking.stale_after(3));
    domain.track(&fixture).unwrap();
    *domain.keys.lock().unwrap() = Reply::new("500 Oops", &[], "");
    for unchecked in 1..=2 {
        assert_eq!(fixture.refresh("urn:card:a").unchecked, unchecked);
        assert_eq!(signature(&fixture)["status"], "valid");
    }
    fixture.refresh("urn:card:a");
    assert_eq!(signature(&fixture)["status"], "untrusted");
    // Another reason for the same is no news.
    *domain.keys.lock().unwrap() = Reply::new("502 Oops", &[], "");
    fixture.refresh("urn:card:a");
    assert_eq!(fixture.changes(), [Created, Updated]);
    domain.publish(&[&key]);
    assert_eq!(fixture.refresh("urn:card:a").unchecked, 0);
    assert_eq!(signature(&fixture)["status"], "valid");
}

/// A card of 0.3 that is read as cards are.
fn whole_card(domain: &Domain, change: impl FnOnce(&mut Value), key: &Signer) -> Value {
    let mut card = json!({
        "name": "a", "description": "d", "version": "1", "url": domain.url("/a2a"), "protocolVersion": "0.3.0",
        "capabilities": {}, "defaultInputModes": [], "defaultOutputModes": [],
        "skills": [{"id": "pay", "name": "Pay", "description": "Pays", "tags": []}]
    });
    change(&mut card);
    key.sign(&mut card, Form::Specification);
    *domain.card.lock().unwrap() = card.clone();
    card
}

fn status(registry: &Registry, id: &str) -> Value {
    let thing: Value = serde_json::from_str(registry.find(id).unwrap().unwrap().text()).unwrap();
    thing["agentdex:signature"]["status"].clone()
}

fn poll(registry: &Registry, id: &str) {
    let moment = registry.find_tracked_source(id).unwrap().unwrap().next_try;
    assert_eq!(block_on(registry.refresh_due(moment)).unwrap(), 1);
}

#[test]
fn card_with_secrets_is_checked_as_it_was_sent() {
    let key = signer("k");
    let domain = Domain::start(&key);
    whole_card(&domain, |card| card["documentationUrl"] = "https://u:secret@bank.example/doc".into(), &key);
    let directory = TempDir::new().unwrap();
    let tracking = Tracking::new(domain.fetcher(fetch::Options::default())).in_background(false);
    let registry = open(&directory, tracking);
    let tracked = block_on(registry.track(TrackRequest::new(domain.url("/card.json"), Format::A2a))).unwrap();
    let id = tracked.things[0].id.as_str();
    assert_eq!(status(&registry, id), "valid");
    assert!(!String::from_utf8_lossy(&registry.original(id).unwrap().unwrap().bytes).contains("secret"));
    poll(&registry, id);
    assert_eq!(status(&registry, id), "valid");
    domain.publish(&[&signer("other")]);
    poll(&registry, id);
    assert_eq!(status(&registry, id), "untrusted");
}

#[test]
fn card_that_came_by_hand_in_the_meantime_is_checked_still() {
    let key = signer("k");
    let domain = Domain::start(&key);
    let card = whole_card(&domain, |_| {}, &key);
    let directory = TempDir::new().unwrap();
    let tracking = Tracking::new(domain.fetcher(fetch::Options::default())).in_background(false);
    let registry = open(&directory, tracking);
    let id =
        block_on(registry.track(TrackRequest::new(domain.url("/card.json"), Format::A2a))).unwrap().things.remove(0).id;
    let spaced = format!(" {card}");
    let found = block_on(registry.check_card(&Document::parse(spaced.as_bytes()).unwrap(), None)).unwrap();
    let read = agentdex::convert::a2a::Card::parse(spaced.as_bytes()).unwrap();
    let conversion = read.to_thing(&agentdex::convert::a2a::Options { id: None, base: None }).unwrap();
    let imported = block_on(registry.import(Import::new(conversion).signed(Some(found)))).unwrap();
    assert_eq!((imported.things[0].id.as_str(), imported.things[0].effect), (id.as_str(), Effect::OriginalUpdated));
    domain.publish(&[&signer("other")]);
    poll(&registry, &id);
    assert_eq!(status(&registry, &id), "untrusted");
}

#[test]
fn card_is_checked_as_one_from_where_it_came_in_the_end() {
    let key = signer("k");
    let domain = Domain::start(&key);
    // Only who serves it over https can vouch for this one.
    let mut signed = card("a", "first");
    signed["url"] = domain.url("/a2a").replace("https:", "http:").into();
    key.sign(&mut signed, Form::Specification);
    *domain.card.lock().unwrap() = signed;
    let short = Page::start(&json!({}));
    short.answer(Reply::redirect(&domain.url("/card.json?token=secret")));
    let fixture = domain.fixture(|tracking| tracking);
    block_on(fixture.registry.track(TrackRequest::new(short.url(), Format::A2a))).unwrap();
    let import = fixture.import("urn:card:a");
    assert_eq!((import.source, import.location), (short.url(), Some(domain.url("/card.json"))));
    let found = signature(&fixture);
    assert_eq!(found["status"], "valid", "{found}");
    fixture.refresh("urn:card:a");
    assert_eq!((signature(&fixture), fixture.changes()), (found, vec![Created]));
}

#[test]
fn signed_card_says_itself_where_its_agent_is() {
    let key = signer("k");
    let domain = Domain::start(&key);
    whole_card(&domain, |card| card["url"] = "/a2a".into(), &key);
    let href = |registry: &Registry| {
        let thing: Value = serde_json::from_str(registry.find("urn:x").unwrap().unwrap().text()).unwrap();
        thing["actions"]["pay"]["forms"][0]["href"].clone()
    };
    let request = TrackRequest::new(domain.url("/card.json"), Format::A2a).id(Some("urn:x".into()));
    let tracking = || Tracking::new(domain.fetcher(fetch::Options::default())).in_background(false);
    let directory = TempDir::new().unwrap();
    let registry = open(&directory, tracking());
    block_on(registry.track(request.clone())).unwrap();
    assert_eq!((status(&registry, "urn:x"), href(&registry)), (json!("untrusted"), domain.url("/a2a").into()));
    registry.close();
    drop(registry);
    // The same card, once its key is trusted.
    let registry = open(&directory, tracking().trusted_keys(super::signatures::trusted(&key)));
    poll(&registry, "urn:x");
    assert_eq!((status(&registry, "urn:x"), href(&registry)), (json!("valid"), Value::Null));
}
