//! Sources that break: back-off, stale, and back again. Nothing is removed.

use agentdex::{
    ChangeKind::{Created, Updated},
    registry::tracked_sources::SourceStatus,
};

use super::*;

#[test]
fn source_that_fails_again_and_again_is_stale() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    source.break_down();
    let mut pauses = Vec::new();
    for failures in 1..=4 {
        let import = fixture.refresh("urn:card:a");
        assert_eq!((import.failures, import.status), (failures, SourceStatus::Current));
        pauses.push((import.next_try.0 - import.last_fetch.0) / 60_000);
    }
    assert!(pauses.is_sorted() && pauses[0] <= 5 && pauses[3] >= 35, "{pauses:?}");
    assert_eq!(fixture.changes(), [Created]);

    let import = fixture.refresh("urn:card:a");
    assert_eq!((import.failures, import.status), (5, SourceStatus::Stale));
    let error = import.last_error.unwrap();
    assert!(error.contains(&source.url()) && error.contains("500 Internal Server Error"), "{error}");
    assert!(import.last_success < import.last_fetch);
    let thing = fixture.thing("urn:card:a");
    assert_eq!((&thing["agentdex:status"], &thing["description"]), (&json!("stale"), &json!("first")));
    assert!(fixture.registry.original("urn:card:a").unwrap().is_some());
    assert_eq!(fixture.registry.find("urn:card:a").unwrap().unwrap().format(), Some("a2a"));
    assert_eq!(fixture.changes(), [Created, Updated]);

    let status = |status: &str| fixture.found(Filters { status: vec![status.into()], ..Filters::default() });
    assert_eq!((status("stale"), status("current")), (vec!["urn:card:a".to_owned()], vec![]));

    // It stays so, and stays tracked.
    assert_eq!(fixture.refresh("urn:card:a").failures, 6);
    assert_eq!(fixture.changes(), [Created, Updated]);
}

#[test]
fn stale_source_that_returns_is_current() {
    for (description, changed) in [("first", false), ("second", true)] {
        let source = Page::start(&card("a", "first"));
        let fixture = Fixture::with(|tracking| tracking.stale_after(1));
        fixture.track(&source);
        let before = fixture.thing("urn:card:a");
        source.answer(Reply::new("410 Gone", &[], ""));
        assert_eq!(fixture.refresh("urn:card:a").status, SourceStatus::Stale);
        source.serve(&card("a", description));
        let import = fixture.refresh("urn:card:a");
        assert_eq!((import.status, import.failures, import.last_error), (SourceStatus::Current, 0, None));
        let thing = fixture.thing("urn:card:a");
        assert_eq!((thing.get("agentdex:status"), &thing["description"]), (None, &json!(description)));
        assert_eq!(thing != before, changed);
        let current = Filters { status: vec!["current".into()], ..Filters::default() };
        assert_eq!(fixture.found(current), ["urn:card:a"]);
        assert_eq!(fixture.changes(), [Created, Updated, Updated]);
        assert_eq!(import.revisions.len(), if changed { 2 } else { 1 });
    }
}

#[test]
fn server_that_asks_for_a_pause_gets_it() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    for status in ["503 Service Unavailable", "429 Too Many Requests"] {
        source.answer(Reply::new(status, &[("retry-after", "18000")], ""));
        let import = fixture.refresh("urn:card:a");
        assert_eq!(import.next_try.0 - import.last_fetch.0, 18_000_000, "{status}");
    }
    source.answer(Reply::new("503 Service Unavailable", &[("retry-after", "99999999")], ""));
    let import = fixture.refresh("urn:card:a");
    assert_eq!(import.next_try.0 - import.last_fetch.0, 24 * 3_600_000);
}

#[test]
fn failure_is_noted_where_the_description_has_no_room_for_it() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::with(|tracking| tracking.stale_after(1));
    fixture.track(&source);
    let room = agentdex::td::MAX_DOCUMENT_BYTES - fixture.registry.find("urn:card:a").unwrap().unwrap().text().len();
    let long = "x".repeat(room - 10);
    source.serve(&json!({"name": "a"}));
    let convert = move |document: &FetchedDocument<'_>| {
        let mut conversion = convert(document)?;
        let first = &mut conversion.things[0];
        let longer = first.description.text().replace("null", &format!("\"first{long}\""));
        first.description = Document::parse(longer.as_bytes()).unwrap();
        Ok(conversion)
    };
    let fixture = Fixture::with(|tracking| tracking.stale_after(1).convert(Arc::new(convert)));
    fixture.track(&source);
    source.break_down();
    for failures in 1..=3 {
        let import = fixture.refresh("urn:card:a");
        assert_eq!((import.failures, import.status), (failures, SourceStatus::Stale));
    }
    assert_eq!(fixture.thing("urn:card:a").get("agentdex:status"), None);
    assert_eq!(fixture.changes(), [Created]);
}

#[test]
fn what_is_noted_of_a_failure_lets_nobody_in() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    let url = source.site.url("/card.json?token=hunter2");
    block_on(fixture.registry.track(TrackRequest::new(&url, Format::A2a))).unwrap();
    for reply in [
        Reply::new("500 Internal Server Error", &[], ""),
        Reply::redirect("/elsewhere?token=hunter2"),
        Reply::redirect("http://10.0.0.1/?token=hunter2"),
        Reply::redirect("http://user:hunter2@127.0.0.1/"),
    ] {
        source.answer(reply);
        let import = fixture.refresh("urn:card:a");
        let error = import.last_error.unwrap();
        assert!(!error.contains("hunter2") && error.contains("/card.json?…"), "{error}");
        assert_eq!(import.source, url);
    }
}

#[test]
fn what_cannot_be_taken_is_a_failure_and_the_last_good_one_stays() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    for (reply, reason) in [
        (Reply::json("{\"no\": \"card\"}"), "no card"),
        (Reply::json("not JSON at all"), "no card"),
        (Reply::new("200 OK", &[("content-type", "text/html")], "<p>moved</p>"), "only JSON"),
        (Reply::redirect("http://10.0.0.1/card.json"), "a private address"),
        (
            Reply::json(&format!(
                "{{\"name\": \"a\", \"description\": 5, \"x\": {}1{}}}",
                "[".repeat(70),
                "]".repeat(70)
            )),
            "",
        ),
        // A description that isn't text makes no Thing Description.
        (Reply::json("{\"name\": \"a\", \"description\": 5}"), "description"),
    ] {
        source.answer(reply);
        let import = fixture.refresh("urn:card:a");
        let error = import.last_error.unwrap();
        assert!(import.failures > 0 && error.contains(reason), "{reason}: {error}");
        assert_eq!(import.revisions.len(), 1);
        assert_eq!(fixture.thing("urn:card:a")["description"], "first");
    }
    source.serve(&card("a", "second"));
    fixture.refresh("urn:card:a");
    assert_eq!(fixture.thing("urn:card:a")["description"], "second");
}

#[test]
fn document_about_another_thing_is_not_taken_for_this_one() {
    let source = Page::start(&card("a", "first"));
    let stubborn = |document: &FetchedDocument<'_>| convert(&FetchedDocument { id: None, ..*document });
    let fixture = Fixture::with(|tracking| tracking.convert(Arc::new(stubborn)));
    fixture.track(&source);
    source.serve(&card("b", "second"));
    let error = fixture.refresh("urn:card:a").last_error.unwrap();
    assert!(error.contains("urn:card:b") && error.contains("urn:card:a"), "{error}");
    assert_eq!(fixture.registry.len(), 1);
}

#[test]
fn nothing_is_imported_where_fetching_fails() {
    let fixture = Fixture::start();
    let source = Page::start(&card("a", "first"));
    source.break_down();
    let error = block_on(fixture.registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap_err();
    assert!(matches!(error, Error::FetchFailed { status: Some(500), .. }), "{error}");
    source.answer(Reply::json("{}"));
    let error = block_on(fixture.registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap_err();
    assert_eq!(error.code(), "invalid-document", "{error}");
    let error = block_on(fixture.registry.track(TrackRequest::new("http://10.0.0.1/", Format::A2a))).unwrap_err();
    assert!(matches!(error, Error::FetchRefused { .. }), "{error}");
    assert!(fixture.registry.is_empty() && fixture.registry.tracked_sources().unwrap().is_empty());
}

#[test]
fn registry_without_a_fetcher_fetches_nothing() {
    let directory = TempDir::new().unwrap();
    let source = Page::start(&card("a", "first"));
    let registry = Registry::builder(directory.path()).open().unwrap();
    let error = block_on(registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap_err();
    assert!(matches!(&error, Error::FetchRefused { reason, .. } if reason.contains("without a fetcher")), "{error}");
    assert!(source.site.heads().is_empty());
    assert_eq!(block_on(registry.refresh_due(Timestamp::MAX)).unwrap(), 0);
}
