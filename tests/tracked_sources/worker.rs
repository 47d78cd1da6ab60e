//! The thread that polls sources.

use std::time::Instant;

use super::*;
use crate::support::eventually;

fn in_background(tracking: Tracking) -> Tracking {
    tracking.in_background(true).interval(Duration::from_secs(1))
}

#[test]
fn changes_are_noticed_by_themselves() {
    let (one, other) = (Page::start(&card("a", "first")), Page::start(&card("b", "first")));
    let fixture = Fixture::with(in_background);
    fixture.track(&one);
    fixture.track(&other);
    one.serve(&card("a", "second"));
    other.serve(&card("b", "third"));
    eventually("the update", || fixture.thing("urn:card:a")["description"] == "second");
    eventually("the update", || fixture.thing("urn:card:b")["description"] == "third");
}

#[test]
fn panic_is_a_failure_of_its_document_alone() {
    let (one, other) = (Page::start(&card("a", "first")), Page::start(&card("b", "first")));
    let convert = |document: &FetchedDocument<'_>| {
        assert!(!String::from_utf8_lossy(document.document).contains("boom"), "a bug in the converter");
        convert(document)
    };
    let fixture = Fixture::with(|tracking| in_background(tracking).convert(Arc::new(convert)));
    fixture.track(&one);
    fixture.track(&other);
    one.serve(&card("a", "boom"));
    eventually("the failures", || fixture.import("urn:card:a").failures > 1);
    assert!(fixture.import("urn:card:a").last_error.unwrap().contains("panicked"));
    assert_eq!(fixture.thing("urn:card:a")["description"], "first");
    other.serve(&card("b", "second"));
    eventually("the update", || fixture.thing("urn:card:b")["description"] == "second");
    one.serve(&card("a", "mended"));
    eventually("the update", || fixture.thing("urn:card:a")["description"] == "mended");
}

#[test]
fn slow_source_holds_up_nobody() {
    let options = fetch::Options::default()
        .allowed(AllowList::parse(["127.0.0.0/8"]).unwrap())
        .timeout(Duration::from_secs(600))
        .phase_timeout(Duration::from_secs(600));
    let fetcher = Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap();
    let (slow, quick) = (Page::start(&card("slow", "first")), Page::start(&card("quick", "first")));
    let fixture = Fixture::with(|tracking| in_background(tracking).fetcher(fetcher));
    fixture.track(&slow);
    fixture.track(&quick);
    slow.answer(Reply::raw(&[b"", b"late"], Duration::from_secs(300)));
    let asked = slow.site.heads().len();
    eventually("the poll", || slow.site.heads().len() > asked);
    for description in ["second", "third"] {
        quick.serve(&card("quick", description));
        eventually("the update", || fixture.thing("urn:card:quick")["description"] == description);
    }
}

#[test]
fn source_that_was_tracked_before_a_restart_is_polled_after_it() {
    let source = Page::start(&card("a", "first"));
    let Fixture { registry, directory } = Fixture::with(|tracking| tracking.interval(Duration::from_secs(1)));
    block_on(registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap();
    drop(registry);
    source.serve(&card("a", "second"));
    let fixture = Fixture { registry: open(&directory, in_background(tracking())), directory };
    eventually("the update", || fixture.thing("urn:card:a")["description"] == "second");
}

#[test]
fn registry_closes_while_a_source_keeps_it_waiting() {
    for close in [false, true] {
        let source = Page::start(&card("a", "first"));
        let options = fetch::Options::default()
            .allowed(AllowList::parse(["127.0.0.0/8"]).unwrap())
            .timeout(Duration::from_secs(600))
            .phase_timeout(Duration::from_secs(600));
        let fetcher = Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap();
        let Fixture { registry, directory } = Fixture::with(|tracking| in_background(tracking).fetcher(fetcher));
        block_on(registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap();
        source.answer(Reply::raw(&[b"", b"late"], Duration::from_secs(300)));
        eventually("the poll", || source.site.heads().len() > 1);
        let started = Instant::now();
        if close {
            registry.close();
        }
        drop(registry);
        // The directory is free long before the source answers, or the fetch is aborted.
        let reopened = open(&directory, tracking());
        assert!(started.elapsed() < Duration::from_secs(250), "{:?}", started.elapsed());
        assert_eq!(reopened.tracked_sources().unwrap().len(), 1);
    }
}
