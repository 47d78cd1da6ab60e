//! When a source is no longer tracked: on request, by a change by hand, by removal.

use std::sync::OnceLock;

use agentdex::{
    Precondition,
    access::{AccessRequest, Caller, Visibility},
    registry::{Import, Write, Written},
    store,
};

use super::*;

fn write(fixture: &Fixture, write: Write) -> Written {
    block_on(fixture.registry.write(write)).unwrap()
}

/// The description of a Thing with another description in it.
fn edited(fixture: &Fixture, id: &str, description: &str) -> String {
    let mut thing = fixture.thing(id);
    thing["description"] = description.into();
    thing.to_string()
}

fn rules(written: &Written) -> Vec<&str> {
    written.warnings.iter().map(|warning| warning.rule.as_ref()).collect()
}

#[test]
fn edit_by_hand_stays_and_what_is_something_else_stops_it() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    // What says the same changes nothing.
    let same = edited(&fixture, "urn:card:a", "first");
    assert!(rules(&write(&fixture, Write::put(same))).is_empty());
    let put = edited(&fixture, "urn:card:a", "mine");
    assert!(rules(&write(&fixture, Write::put(put))).is_empty());
    source.serve(&card("a", "second"));
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 1);
    assert_eq!(fixture.thing("urn:card:a")["description"], "mine");
    assert!(write(&fixture, Write::patch("urn:card:a", "{\"description\": \"second\"}")).warnings.is_empty());
    assert!(fixture.is_tracked("urn:card:a"));

    let other = r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:card:a", "title": "Something else",
        "security": "none", "securityDefinitions": {"none": {"scheme": "nosec"}}}"#;
    // Nothing is dropped that nobody asks to replace.
    assert!(rules(&write(&fixture, Write::put(other))).is_empty() && fixture.is_tracked("urn:card:a"));
    let expected = ["tracking-stopped", "declarations-ended"];
    assert_eq!(rules(&write(&fixture, Write::put(other).replacing(true).dry_run(true))), expected);
    assert!(fixture.is_tracked("urn:card:a"));
    assert_eq!(rules(&write(&fixture, Write::put(other).replacing(true))), expected);
    assert!(!fixture.is_tracked("urn:card:a") && fixture.registry.tracked_sources().unwrap().is_empty());
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 0);
    assert_eq!(fixture.thing("urn:card:a")["title"], "Something else");
}

#[test]
fn poll_publishes_no_original_that_an_edit_hides() {
    let source = Page::start(&card("a", "falcon"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let set = |visibility: Visibility| {
        let access = AccessRequest { visibility: Some(visibility), ..AccessRequest::default() };
        write(&fixture, Write::access("urn:card:a", access))
    };
    set(Visibility::Private);
    let put = edited(&fixture, "urn:card:a", "clean");
    write(&fixture, Write::put(put));
    assert_eq!(rules(&set(Visibility::Public)), ["versions-hidden"]);
    let anybody = fixture.registry.as_caller(Caller::Anonymous);
    let original = |registry: &agentdex::Registry| {
        let original = registry.original("urn:card:a").unwrap();
        original.map(|original| String::from_utf8(original.bytes).unwrap())
    };
    for description in ["falcon", "falcon again"] {
        source.serve(&card("a", description));
        assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 1);
        assert!(original(&fixture.registry).unwrap().contains(description));
        assert_eq!(original(&anybody), None);
        assert!(!anybody.find_version("urn:card:a", "latest").unwrap().text().contains("falcon"));
        assert!(anybody.find("urn:card:a").unwrap().unwrap().text().contains("clean"));
    }
}

#[test]
fn import_by_hand_stops_it_too() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let import = |description: &str| {
        let document = card("a", description).to_string();
        let url = source.url();
        let document = FetchedDocument {
            format: Format::A2a,
            document: document.as_bytes(),
            url: &url,
            base: Some(&url),
            id: None,
        };
        let import = Import::new(convert(&document).unwrap());
        let verification = fixture.thing("urn:card:a")["agentdex:signature"].clone();
        let import = import.signed(serde_json::from_value(verification).ok());
        block_on(fixture.registry.import(import)).unwrap().things.remove(0)
    };
    assert!(rules(&import("first")).is_empty());
    assert!(fixture.is_tracked("urn:card:a"));
    assert_eq!(rules(&import("second")), ["tracking-stopped"]);
    assert!(!fixture.is_tracked("urn:card:a"));
}

#[test]
fn removal_stops_it() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    fixture.registry.remove("urn:card:a").unwrap();
    assert!(fixture.registry.tracked_sources().unwrap().is_empty());
    block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap();
    assert!(fixture.registry.is_empty());
    assert_eq!(source.site.heads().len(), 1);
}

#[test]
fn untracked_thing_stays_as_it_is() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    block_on(fixture.registry.untrack("urn:card:a")).unwrap();
    source.serve(&card("a", "second"));
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 0);
    assert_eq!(fixture.thing("urn:card:a")["description"], "first");
    assert!(fixture.registry.original("urn:card:a").unwrap().is_some());
    for id in ["urn:card:a", "urn:unknown"] {
        assert!(matches!(block_on(fixture.registry.untrack(id)), Err(Error::NotTracked { .. })));
    }
    assert_eq!(fixture.changes().len(), 1);
}

#[test]
fn untracked_thing_is_not_stale_for_ever() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::with(|tracking| tracking.stale_after(1));
    fixture.track(&source);
    source.break_down();
    fixture.refresh("urn:card:a");
    let stale = fixture.thing("urn:card:a");
    block_on(fixture.registry.untrack("urn:card:a")).unwrap();
    let thing = fixture.thing("urn:card:a");
    assert_eq!((&stale["agentdex:status"], thing.get("agentdex:status")), (&json!("stale"), None));
    assert_eq!(thing["agentdex:signature"], stale["agentdex:signature"]);
    assert!(!fixture.is_tracked("urn:card:a") && fixture.registry.original("urn:card:a").unwrap().is_some());
    assert!(fixture.found(Filters { status: vec!["stale".into()], ..Filters::default() }).is_empty());
    assert!(matches!(block_on(fixture.registry.untrack("urn:card:a")), Err(Error::NotTracked { .. })));
}

#[test]
fn state_that_cannot_be_read_hides_no_other_and_can_be_removed() {
    let Fixture { registry, directory } = Fixture::start();
    for name in ["a", "b"] {
        let source = Page::start(&card(name, "first"));
        block_on(registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap();
    }
    drop(registry);
    let store = store::Store::open(directory.path(), store::Options::default()).unwrap();
    let (precondition, operation) = (Precondition::Present, store::Operation::Metadata(Some(b"{".to_vec())));
    block_on(store.submit(vec![store::Write { id: "urn:card:a".into(), precondition, operation, actor: None }]))
        .unwrap();
    store.close();
    drop(store);
    let fixture = Fixture { registry: open(&directory, tracking()), directory };
    let ids: Vec<String> = fixture.registry.tracked_sources().unwrap().into_iter().map(|import| import.id).collect();
    assert_eq!(ids, ["urn:card:b"]);
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 1);
    block_on(fixture.registry.untrack("urn:card:a")).unwrap();
    assert!(!fixture.is_tracked("urn:card:a"));
}

/// A source that does something each time it is asked, before it answers with a changed card.
fn meddling_source(meddle: impl Fn() + Send + Sync + 'static) -> Site {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    Site::start(move |_| match asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => Reply::json(&card("a", "first").to_string()),
        _ => {
            meddle();
            Reply::json(&card("a", "second").to_string())
        }
    })
}

#[test]
fn change_by_hand_while_the_source_is_asked_wins() {
    let registry: Arc<OnceLock<Registry>> = Arc::default();
    let held = registry.clone();
    let site = meddling_source(move || {
        held.get().unwrap().patch("urn:card:a", "{\"description\": \"mine\"}").unwrap();
    });
    let fixture = Fixture::start();
    registry.set(fixture.registry.clone()).unwrap();
    block_on(fixture.registry.track(TrackRequest::new(site.url("/card.json"), Format::A2a))).unwrap();
    block_on(fixture.registry.refresh_source("urn:card:a")).unwrap();
    assert_eq!(fixture.thing("urn:card:a")["description"], "mine");
    assert!(fixture.is_tracked("urn:card:a"));
}

#[test]
fn poll_of_one_source_is_not_reconciled_with_another() {
    let registry: Arc<OnceLock<Registry>> = Arc::default();
    let (held, other) = (registry.clone(), Page::start(&card("a", "of another")));
    let elsewhere = other.url();
    let site = meddling_source(move || {
        block_on(held.get().unwrap().track(TrackRequest::new(elsewhere.clone(), Format::A2a))).unwrap();
    });
    let fixture = Fixture::start();
    registry.set(fixture.registry.clone()).unwrap();
    block_on(fixture.registry.track(TrackRequest::new(site.url("/card.json"), Format::A2a))).unwrap();
    assert_eq!(block_on(fixture.registry.refresh_source("urn:card:a")).unwrap(), RefreshResult::Unchanged);
    let import = fixture.import("urn:card:a");
    assert_eq!((import.source, import.revisions.len()), (other.url(), 1));
    assert_eq!(fixture.thing("urn:card:a")["description"], "of another");
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 1);
}

#[test]
fn untracking_while_the_source_is_asked_wins() {
    let registry: Arc<OnceLock<Registry>> = Arc::default();
    let held = registry.clone();
    let site = meddling_source(move || block_on(held.get().unwrap().untrack("urn:card:a")).unwrap());
    let fixture = Fixture::start();
    registry.set(fixture.registry.clone()).unwrap();
    block_on(fixture.registry.track(TrackRequest::new(site.url("/card.json"), Format::A2a))).unwrap();
    assert_eq!(block_on(fixture.registry.refresh_source("urn:card:a")).unwrap(), RefreshResult::Stopped);
    assert_eq!(fixture.thing("urn:card:a")["description"], "first");
    assert!(!fixture.is_tracked("urn:card:a"));
}

#[test]
fn removal_while_the_source_is_asked_wins() {
    let registry: Arc<OnceLock<Registry>> = Arc::default();
    let held = registry.clone();
    let site = meddling_source(move || drop(held.get().unwrap().remove("urn:card:a").unwrap()));
    let fixture = Fixture::start();
    registry.set(fixture.registry.clone()).unwrap();
    block_on(fixture.registry.track(TrackRequest::new(site.url("/card.json"), Format::A2a))).unwrap();
    assert_eq!(block_on(fixture.registry.refresh_source("urn:card:a")).unwrap(), RefreshResult::Stopped);
    assert!(fixture.registry.is_empty());
}

#[test]
fn registry_that_cannot_fetch_names_the_source_and_can_stop_tracking_it() {
    let source = Page::start(&card("a", "first"));
    let Fixture { registry, directory } = Fixture::start();
    block_on(registry.track(TrackRequest::new(format!("{}?token=secret", source.url()), Format::A2a))).unwrap();
    drop(registry);
    let registry = Registry::builder(directory.path()).open().unwrap();
    match block_on(registry.refresh_source("urn:card:a")) {
        Err(Error::FetchRefused { url, .. }) => assert_eq!(url, format!("{}?…", source.url())),
        other => panic!("{other:?}"),
    }
    block_on(registry.untrack("urn:card:a")).unwrap();
    assert!(matches!(block_on(registry.refresh_source("urn:card:a")), Err(Error::NotTracked { .. })));
}
