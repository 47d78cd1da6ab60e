//! Members that only the registry sets: nobody sets them by hand.

use agentdex::{Precondition, registry::Write};

use super::*;

/// A description that claims what only the registry can know, in a spelling that hides it.
const CLAIMS: &str = r#"{
    "@context": "https://www.w3.org/2022/wot/td/v1.1",
    "id": "urn:card:a",
    "title": "a",
    "\u0061gentdex:signature": {"status": "valid", "kid": "k", "checkedAt": "2026-01-01T00:00:00Z"},
    "agentdex:status": "stale",
    "security": "none",
    "securityDefinitions": {"none": {"scheme": "nosec"}}
}"#;

fn says_nothing(fixture: &Fixture) {
    let thing = fixture.thing("urn:card:a");
    assert!(thing.get("agentdex:signature").is_none() && thing.get("agentdex:status").is_none(), "{thing}");
    assert!(fixture.found(Filters { signature: vec!["valid".into()], ..Filters::default() }).is_empty());
    assert!(fixture.found(Filters { status: vec!["stale".into()], ..Filters::default() }).is_empty());
}

#[test]
fn nobody_sets_a_signature_by_hand() {
    let fixture = Fixture::start();
    let patch = r#"{"agentdex:signature": {"status": "valid"}, "agentdex:status": "stale", "title": "b"}"#;
    let unmarked = CLAIMS.replace("\\u0061gentdex:signature", "x:one").replace("agentdex:status", "x:two");
    let writes = [
        Write::register(CLAIMS),
        Write::put(CLAIMS),
        Write::put(unmarked),
        Write::patch("urn:card:a", patch),
        Write::put_at("urn:card:a", CLAIMS).when(Precondition::Present),
    ];
    for (number, write) in writes.into_iter().enumerate() {
        let written = block_on(fixture.registry.write(write)).unwrap();
        let rules: Vec<&str> = written.warnings.iter().map(|warning| warning.rule.as_ref()).collect();
        assert_eq!(rules.contains(&"registry-owned-member"), number != 2, "{number}: {rules:?}");
        says_nothing(&fixture);
    }
}

#[test]
fn description_that_is_put_back_as_it_is_keeps_its_own_members() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let served = fixture.thing("urn:card:a");
    assert_eq!(served["agentdex:signature"]["status"], "unsigned");
    let seq = fixture.registry.find("urn:card:a").unwrap().unwrap().seq();
    for write in [
        Write::put(served.to_string()),
        Write::put(served.to_string()).when(Precondition::Seq(seq)),
        Write::put(served.to_string()).when(Precondition::Present),
        Write::patch("urn:card:a", "{\"registration\": {\"ttl\": 60}}"),
    ] {
        let written = block_on(fixture.registry.write(write)).unwrap();
        assert!(written.warnings.is_empty() && written.effect == Effect::Unchanged, "{written:?}");
    }
    // The description is the same where these members are missing, or others.
    let mut unmarked = served.clone();
    unmarked.as_object_mut().unwrap().remove("agentdex:signature");
    let mut forged = served.clone();
    forged["agentdex:signature"]["status"] = "valid".into();
    forged["agentdex:status"] = "stale".into();
    let patch = json!({"agentdex:signature": {"status": "valid"}, "agentdex:status": "stale"});
    for (write, warnings) in [
        (Write::put(unmarked.to_string()), 0),
        (Write::put(forged.to_string()), 1),
        (Write::patch("urn:card:a", patch.to_string()), 1),
        (Write::patch("urn:card:a", "{\"agentdex:signature\": null}"), 0),
    ] {
        let written = block_on(fixture.registry.write(write)).unwrap();
        assert!(written.warnings.len() == warnings && written.effect == Effect::Unchanged, "{written:?}");
    }
    let other = Write::put(served.to_string()).when(Precondition::Seq(agentdex::Seq(seq.0 + 1)));
    let error = block_on(fixture.registry.write(other)).unwrap_err();
    assert!(matches!(error, Error::PreconditionFailed { .. }), "{error}");
    let error = block_on(fixture.registry.write(Write::register(served.to_string()))).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    assert!(fixture.is_tracked("urn:card:a"));
    assert_eq!(fixture.thing("urn:card:a"), served);
}

#[test]
fn description_that_is_changed_by_hand_is_no_longer_signed_and_as_stale_as_before() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::with(|tracking| tracking.stale_after(1));
    fixture.track(&source);
    source.break_down();
    fixture.refresh("urn:card:a");
    assert_eq!(fixture.thing("urn:card:a")["agentdex:status"], "stale");
    block_on(fixture.registry.write(Write::patch("urn:card:a", "{\"title\": \"mine\"}"))).unwrap();
    let thing = fixture.thing("urn:card:a");
    assert_eq!((thing.get("agentdex:signature"), &thing["agentdex:status"]), (None, &json!("stale")));
    source.serve(&card("a", "second"));
    fixture.refresh("urn:card:a");
    let thing = fixture.thing("urn:card:a");
    assert_eq!((&thing["title"], thing.get("agentdex:status")), (&json!("mine"), None));
}

#[test]
fn card_cannot_speak_for_the_registry() {
    let source = Page::start(&json!({
        "name": "a", "description": "d", "url": "https://agents.example/a2a", "version": "1", "skills": [],
        "capabilities": {}, "defaultInputModes": [], "defaultOutputModes": [],
        "agentdex:signature": {"status": "valid"}, "agentdex:status": "stale"
    }));
    let directory = TempDir::new().unwrap();
    let registry = open(&directory, Tracking::new(fetcher()).in_background(false));
    let id = block_on(registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap().things.remove(0).id;
    let thing: Value = serde_json::from_str(registry.find(&id).unwrap().unwrap().text()).unwrap();
    assert_eq!(thing["agentdex:signature"]["status"], "unsigned");
    assert!(thing.get("agentdex:status").is_none(), "{thing}");
}
