//! What changed is imported again, what didn't is left alone.

use agentdex::{
    ChangeKind::{Created, Updated},
    registry::{
        Effect, IfExists,
        tracked_sources::{SourceStatus, TrackRequest},
    },
};

use super::*;

#[test]
fn import_is_remembered_with_where_it_came_from() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    let before = Timestamp::now();
    let request = TrackRequest::new(source.url(), Format::A2a).actor(Some("eve".into()));
    let imported = block_on(fixture.registry.track(request)).unwrap();
    assert_eq!(imported.ids_with(Effect::Created).collect::<Vec<_>>(), ["urn:card:a"]);
    let thing = fixture.thing("urn:card:a");
    assert_eq!(thing["base"], source.url());
    let original = fixture.registry.original("urn:card:a").unwrap().unwrap();
    assert_eq!(original.bytes, card("a", "first").to_string().as_bytes());
    let import = fixture.import("urn:card:a");
    assert_eq!((import.id.as_str(), import.source, import.format.as_str()), ("urn:card:a", source.url(), "a2a"));
    assert_eq!((import.status, import.failures, import.last_error), (SourceStatus::Current, 0, None));
    assert!(import.tracked_since >= before && import.last_success == import.tracked_since);
    let pause = (import.next_try.0 - import.last_fetch.0) / 60_000;
    assert!((53..=66).contains(&pause), "{pause} minutes");
    assert_eq!(import.revisions.len(), 1);
    let hash = agentdex::signature::digest(&original.bytes);
    assert_eq!(import.revisions[0].hash, hash);
    assert!(hash.starts_with("sha256:") && hash.len() == 71);
    assert_eq!(fixture.registry.tracked_sources().unwrap().len(), 1);
}

#[test]
fn unchanged_document_changes_nothing() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let before = fixture.import("urn:card:a");
    let after = fixture.refresh("urn:card:a");
    assert_eq!(fixture.changes(), [Created]);
    assert_eq!(after.revisions, before.revisions);
    assert_eq!(after.last_success, before.next_try);
    assert!(after.next_try > before.next_try);
    // Nothing is due now.
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::now())).unwrap(), 0);
}

#[test]
fn server_that_can_tell_sends_the_document_once() {
    let text = card("a", "first").to_string();
    let source = Page::start(&card("a", "first"));
    let headers =
        [("content-type", "application/json"), ("etag", "\"1\""), ("last-modified", "Sun, 22 Nov 2026 00:00:00 GMT")];
    source.answer(Reply::new("200 OK", &headers, &text));
    let fixture = Fixture::start();
    fixture.track(&source);
    assert_eq!(fixture.import("urn:card:a").etag.as_deref(), Some("\"1\""));
    source.answer(Reply::new("304 Not Modified", &[("cache-control", "max-age=36000")], ""));
    let after = fixture.refresh("urn:card:a");
    let head = source.site.heads().pop().unwrap().to_lowercase();
    assert!(head.contains("if-none-match: \"1\"\r\n") && head.contains("if-modified-since: sun, 22 nov"), "{head}");
    assert_eq!((after.etag.as_deref(), after.failures), (Some("\"1\""), 0));
    let hours = (after.next_try.0 - after.last_fetch.0) / 3_600_000;
    assert!((8..=11).contains(&hours), "{hours} hours");
    assert_eq!(fixture.changes(), [Created]);
}

#[test]
fn changed_document_is_an_update_and_another_revision() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    // Its name is another, but it is the same Thing.
    source.serve(&card("b", "second"));
    let after = fixture.refresh("urn:card:a");
    assert_eq!(fixture.thing("urn:card:a")["description"], "second");
    assert_eq!(fixture.changes(), [Created, Updated]);
    assert_eq!(after.revisions.len(), 2);
    assert_ne!(after.revisions[0].hash, after.revisions[1].hash);
    assert_eq!(after.revisions[1].seen, after.last_success);
    assert_eq!(
        fixture.registry.original("urn:card:a").unwrap().unwrap().bytes,
        card("b", "second").to_string().as_bytes()
    );
    // Another spelling is another revision, and no change of the Thing.
    source.answer(Reply::json(&format!(" {}", card("b", "second"))));
    assert_eq!(fixture.refresh("urn:card:a").revisions.len(), 3);
    assert_eq!(fixture.changes(), [Created, Updated]);
    assert_eq!(fixture.registry.original("urn:card:a").unwrap().unwrap().bytes[0], b' ');
}

#[test]
fn source_can_be_polled_before_its_time() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    assert_eq!(block_on(fixture.registry.refresh_source("urn:card:a")).unwrap(), RefreshResult::Unchanged);
    source.serve(&card("a", "second"));
    assert_eq!(block_on(fixture.registry.refresh_source("urn:card:a")).unwrap(), RefreshResult::Updated);
    source.break_down();
    let before = fixture.import("urn:card:a");
    let error = block_on(fixture.registry.refresh_source("urn:card:a")).unwrap_err();
    assert!(matches!(error, Error::FetchFailed { status: Some(500), .. }), "{error}");
    let after = fixture.import("urn:card:a");
    assert!(after.last_error.is_some_and(|error| error.contains("500")));
    // Whoever asks often makes nothing stale, and puts nothing off.
    assert_eq!((after.failures, after.next_try), (0, before.next_try));
    let error = block_on(fixture.registry.refresh_source("urn:unknown")).unwrap_err();
    assert!(matches!(error, Error::NotTracked { .. }), "{error}");
}

#[test]
fn tracked_source_survives_a_restart() {
    let source = Page::start(&card("a", "first"));
    let Fixture { registry, directory } = Fixture::start();
    block_on(registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap();
    let before = registry.tracked_sources().unwrap();
    drop(registry);
    let fixture = Fixture { registry: open(&directory, tracking()), directory };
    assert_eq!(fixture.registry.tracked_sources().unwrap(), before);
    source.serve(&card("a", "second"));
    fixture.refresh("urn:card:a");
    assert_eq!(fixture.thing("urn:card:a")["description"], "second");
}

#[test]
fn tracking_again_continues_the_revisions() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let since = fixture.import("urn:card:a").tracked_since;
    source.serve(&card("a", "second"));
    let imported = fixture.track(&source);
    assert_eq!(imported.things[0].effect, Effect::Updated);
    assert!(imported.things[0].warnings.is_empty(), "{:?}", imported.things[0].warnings);
    let import = fixture.import("urn:card:a");
    assert_eq!((import.tracked_since, import.revisions.len()), (since, 2));
    assert_eq!(fixture.track(&source).things[0].effect, Effect::Unchanged);
    assert_eq!(fixture.registry.tracked_sources().unwrap(), [fixture.import("urn:card:a")]);
}

#[test]
fn existing_things_and_dry_runs_are_left_alone() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    let dry = TrackRequest::new(source.url(), Format::A2a).dry_run(true);
    assert_eq!(block_on(fixture.registry.track(dry)).unwrap().things[0].effect, Effect::Created);
    assert!(fixture.registry.is_empty() && fixture.registry.tracked_sources().unwrap().is_empty());
    fixture.track(&source);
    source.serve(&card("a", "second"));
    let refusing = TrackRequest::new(source.url(), Format::A2a).if_exists(IfExists::Refuse);
    assert!(matches!(block_on(fixture.registry.track(refusing)), Err(Error::AlreadyExists { .. })));
    assert_eq!(fixture.import("urn:card:a").revisions.len(), 1);
    let named = TrackRequest::new(source.url(), Format::A2a).id(Some("urn:mine".into()));
    block_on(fixture.registry.track(named)).unwrap();
    assert_eq!(fixture.thing("urn:mine")["title"], "a");
    assert!(fixture.is_tracked("urn:mine"));
}

#[test]
fn moment_of_expiry_that_was_set_by_hand_stays() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let expires = json!({"registration": {"expires": "2100-01-01T00:00:00Z"}});
    block_on(fixture.registry.write(agentdex::registry::Write::patch("urn:card:a", expires.to_string()))).unwrap();
    let expiry = || fixture.registry.find("urn:card:a").unwrap().unwrap().registration(Timestamp::now()).expires;
    let before = expiry();
    assert!(before.is_some());
    source.serve(&card("a", "second"));
    fixture.refresh("urn:card:a");
    assert_eq!(fixture.thing("urn:card:a")["description"], "second");
    assert_eq!(expiry(), before);
}
