//! What an import reports that replaces another: clients are not authenticated here.

use agentdex::{
    registry::Import,
    signature::{Algorithm, Form},
};

use super::{signatures::trusted, *};
use crate::signature::signer::Signer;

fn rules(imported: &Imported) -> Vec<String> {
    imported.things[0].warnings.iter().map(|warning| warning.rule.to_string()).collect()
}

#[test]
fn loss_of_a_signature_and_another_source_are_reported() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let mut signed = card("a", "first");
    signer.sign(&mut signed, Form::Specification);
    let (honest, other) = (Page::start(&signed), Page::start(&card("a", "doctored")));
    let fixture = Fixture::with(|tracking| tracking.trusted_keys(trusted(&signer)));
    assert!(rules(&fixture.track(&honest)).is_empty());
    assert!(rules(&fixture.track(&honest)).is_empty());
    let dry = block_on(fixture.registry.track(TrackRequest::new(other.url(), Format::A2a).dry_run(true))).unwrap();
    assert!(["signature-lost", "source-changed"].iter().all(|rule| rules(&dry).contains(&rule.to_string())), "{dry:?}");
    let taken = fixture.track(&other);
    assert_eq!(rules(&taken), ["signature-lost", "source-changed"]);
    let warnings = &taken.things[0].warnings;
    assert!(warnings[0].message.contains("\"k\"") && warnings[1].message.contains(&honest.url()), "{warnings:?}");
    assert_eq!(fixture.thing("urn:card:a")["agentdex:signature"]["status"], "unsigned");
    // Back again, it is valid, and only the source is another.
    assert_eq!(rules(&fixture.track(&honest)), ["source-changed"]);
    // What comes by hand isn't signed either.
    let document = super::convert(&FetchedDocument {
        format: Format::A2a,
        document: card("a", "third").to_string().as_bytes(),
        url: "https://agents.example/",
        base: None,
        id: None,
    });
    let imported = block_on(fixture.registry.import(Import::new(document.unwrap()))).unwrap();
    assert!(rules(&imported).contains(&"signature-lost".to_owned()), "{imported:?}");
}

#[test]
fn converter_cannot_speak_for_the_registry() {
    let claim = |document: &FetchedDocument<'_>| {
        let mut conversion = super::convert(document)?;
        let claims = r#""\u0061gentdex:signature": {"status": "valid", "checkedAt": "2026-01-01T00:00:00Z"}, "agentdex:status": "stale","#;
        for thing in &mut conversion.things {
            let claiming = thing.description.text().replacen('{', &format!("{{{claims}"), 1);
            thing.description = Document::parse(claiming.as_bytes()).unwrap();
        }
        Ok(conversion)
    };
    let document = card("a", "first").to_string();
    let document = FetchedDocument {
        format: Format::A2a,
        document: document.as_bytes(),
        url: "https://a.example/",
        base: None,
        id: None,
    };
    let fixture = Fixture::start();
    let imported = block_on(fixture.registry.import(Import::new(claim(&document).unwrap()))).unwrap();
    assert_eq!(rules(&imported), ["registry-owned-member"]);
    let thing = fixture.thing("urn:card:a");
    assert!(thing.get("agentdex:signature").is_none() && thing.get("agentdex:status").is_none(), "{thing}");
    // Neither can a tracked source, at any poll.
    let fixture = Fixture::with(|tracking| tracking.convert(Arc::new(claim)));
    let source = Page::start(&card("a", "first"));
    fixture.track(&source);
    source.serve(&card("a", "second"));
    fixture.refresh("urn:card:a");
    let thing = fixture.thing("urn:card:a");
    assert_eq!((&thing["description"], &thing["agentdex:signature"]["status"]), (&json!("second"), &json!("unsigned")));
    assert!(thing.get("agentdex:status").is_none(), "{thing}");
}

#[test]
fn another_spelling_of_the_url_is_the_same_source() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let before = fixture.import("urn:card:a");
    let spelled =
        source.url().replace("http://127.0.0.1", "HTTP://127.1").replace("/card.json", "/x/../c%61rd.json#me");
    let imported = block_on(fixture.registry.track(TrackRequest::new(spelled.clone(), Format::A2a))).unwrap();
    assert_eq!(rules(&imported), Vec::<String>::new());
    let after = fixture.import("urn:card:a");
    assert_eq!((after.tracked_since, after.revisions), (before.tracked_since, before.revisions));
    // It is stored as it was given last, and is no redirect.
    assert_eq!((after.source, after.location), (spelled, None));
}
