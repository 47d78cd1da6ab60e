//! A source that is polled beside documents in other formats: it drops none of them.

use agentdex::registry::{IfExists, Import};

use super::*;

/// A version of an agent in another format.
fn other_version(id: &str, version: &str) -> Import {
    let description = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": id, "title": "a", "version": {"instance": version},
        "security": "none", "securityDefinitions": {"none": {"scheme": "nosec"}},
    });
    let source = Source { format: Format::Aos, media_type: "application/json".into(), bytes: b"{}".to_vec() };
    let description = Document::parse(description.to_string().as_bytes()).unwrap();
    let things = vec![ConvertedThing { id: id.into(), description, source }];
    Import::new(Conversion { things, ..Conversion::default() }).if_exists(IfExists::Replace)
}

/// A converter that gives the Thing of a card the version 2.0.0.
fn convert_with_version(document: &FetchedDocument<'_>) -> agentdex::Result<Conversion> {
    let mut conversion = super::convert(document)?;
    for thing in &mut conversion.things {
        let text = thing.description.text().replacen('{', r#"{"version": {"instance": "2.0.0"}, "#, 1);
        thing.description = Document::parse(text.as_bytes()).unwrap();
    }
    Ok(conversion)
}

fn formats(fixture: &Fixture) -> Vec<String> {
    let versions = fixture.registry.versions("urn:card:a").unwrap();
    versions.into_iter().filter_map(|version| version.format).collect()
}

#[test]
fn poll_keeps_what_is_there_in_another_format_and_says_why() {
    let fixture = Fixture::with(|tracking| tracking.convert(Arc::new(convert_with_version)).stale_after(1));
    let source = Page::start(&card("a", "first"));
    fixture.track(&source);
    fixture.registry.import_blocking(other_version("urn:card:a", "1.0.0")).unwrap();
    assert_eq!((formats(&fixture), fixture.is_tracked("urn:card:a")), (vec!["a2a".to_owned(), "aos".to_owned()], true));
    // It has one version, the one that its source has now; that would end the one in the other format.
    source.serve(&card("a", "second"));
    let state = fixture.refresh("urn:card:a");
    let error = state.last_error.clone().unwrap();
    assert!(error.contains("the stored original document (format aos)") && error.contains("`replace=true`"), "{error}");
    assert_eq!(fixture.thing("urn:card:a")["description"], "first");
    assert_eq!(formats(&fixture), ["a2a", "aos"], "not even what says that the source is stale drops it");
    let refused = block_on(fixture.registry.refresh_source("urn:card:a")).unwrap_err();
    assert!(matches!(&refused, Error::LossyImport { original: Some(format), .. } if format == "aos"), "{refused:?}");
    // Asked for, it is dropped.
    let request = || TrackRequest::new(source.url(), Format::A2a);
    block_on(fixture.registry.track(request().replace(true))).unwrap();
    assert_eq!(
        (formats(&fixture), fixture.thing("urn:card:a")["description"].clone()),
        (vec!["a2a".to_owned()], json!("second"))
    );
    source.serve(&card("a", "third"));
    assert_eq!(fixture.refresh("urn:card:a").last_error, None);
    assert_eq!(fixture.thing("urn:card:a")["description"], "third");
}

#[test]
fn document_by_url_does_not_replace_one_in_another_format() {
    let fixture = Fixture::start();
    fixture.registry.import_blocking(other_version("urn:card:a", "1.0.0")).unwrap();
    let source = Page::start(&card("a", "first"));
    for dry_run in [true, false] {
        let request = TrackRequest::new(source.url(), Format::A2a).if_exists(IfExists::Replace).dry_run(dry_run);
        let refused = block_on(fixture.registry.track(request)).unwrap_err();
        assert!(matches!(&refused, Error::LossyImport { .. }), "{refused:?}");
        assert!(!fixture.is_tracked("urn:card:a"));
    }
    let request = TrackRequest::new(source.url(), Format::A2a).replace(true);
    block_on(fixture.registry.track(request)).unwrap();
    assert!(fixture.is_tracked("urn:card:a"));
}
