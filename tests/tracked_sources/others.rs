//! What other callers do, or what happened to the clock, is not a failure of a source, and ends no tracking.

use agentdex::registry::tracked_sources::SourceStatus;

use super::*;
use crate::support::{eventually, eventually_async};

/// An answer that begins at once and takes half a minute.
fn dripping() -> Reply {
    let head = &b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"[..];
    let pieces: Vec<&[u8]> = std::iter::once(head).chain(std::iter::repeat_n(&b" "[..], 300)).collect();
    Reply::raw(&pieces, Duration::from_millis(100))
}

/// A registry with one place for fetches of callers, and a caller whose fetch takes it.
fn crowded() -> Fixture {
    let options = fetch::Options::default()
        .allowed(AllowList::parse(["127.0.0.0/8"]).unwrap())
        .timeout(Duration::from_secs(60))
        .phase_timeout(Duration::from_secs(5))
        .at_once(1);
    let fetcher = Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap();
    Fixture::with(|tracking| tracking.fetcher(fetcher).stale_after(1))
}

fn crowd(fixture: &Fixture) {
    let site = Site::start(|_| dripping());
    let (registry, url) = (fixture.registry.clone(), site.url("/x.json"));
    std::thread::spawn(move || block_on(registry.track(TrackRequest::new(url, Format::A2a))));
    eventually("the fetch", || !site.heads().is_empty());
}

#[test]
fn callers_take_no_turn_from_what_is_due() {
    let source = Page::start(&card("a", "first"));
    let fixture = crowded();
    fixture.track(&source);
    crowd(&fixture);
    let import = fixture.refresh("urn:card:a");
    assert_eq!((import.status, import.failures, import.last_error), (SourceStatus::Current, 0, None));
    assert_eq!(source.site.heads().len(), 2);
}

#[test]
fn poll_without_a_turn_is_not_a_failure() {
    let source = Page::start(&card("a", "first"));
    let fixture = crowded();
    fixture.track(&source);
    let before = fixture.import("urn:card:a");
    crowd(&fixture);
    let error = block_on(fixture.registry.refresh_source("urn:card:a")).unwrap_err();
    assert!(matches!(error, Error::FetchBusy { .. }), "{error}");
    assert_eq!(fixture.import("urn:card:a"), before);
    assert_eq!(fixture.thing("urn:card:a").get("agentdex:status"), None);
}

#[test]
fn source_that_was_not_polled_is_due_again() {
    let (one, other) = (Page::start(&card("a", "first")), Page::start(&card("b", "first")));
    let fixture = Fixture::start();
    fixture.track(&one);
    fixture.track(&other);
    fixture.registry.close();
    for _ in 0..2 {
        let error = block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap_err();
        assert!(matches!(error, Error::ShuttingDown), "{error}");
    }
}

#[test]
fn source_is_polled_although_nobody_waited_for_its_import() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    block_on(async {
        let mut request = Box::pin(fixture.registry.track(TrackRequest::new(source.url(), Format::A2a)));
        let mut is_polled_or_done = async || {
            let poll = std::future::poll_fn(|context| std::task::Poll::Ready(request.as_mut().poll(context)));
            poll.await.is_ready() || fixture.is_tracked("urn:card:a")
        };
        eventually_async("the import", &mut is_polled_or_done).await;
    });
    assert!(fixture.is_tracked("urn:card:a"));
    assert_eq!(block_on(fixture.registry.refresh_due(Timestamp::MAX)).unwrap(), 1);
}

#[test]
fn clock_that_was_wrong_once_ends_no_tracking() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let in_days = |days: u64| Timestamp::now().plus_seconds(days * 24 * 60 * 60);
    assert_eq!(block_on(fixture.registry.refresh_due(in_days(7300))).unwrap(), 1);
    assert!(fixture.import("urn:card:a").next_try > in_days(7299));
    let Fixture { registry, directory } = fixture;
    drop(registry);
    let registry = open(&directory, tracking());
    assert_eq!(block_on(registry.refresh_due(in_days(2))).unwrap(), 1);
}
