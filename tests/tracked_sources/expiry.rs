//! A Thing that would expire is renewed as long as its source is tracked, without a poll.

use agentdex::{
    ChangeKind::Created,
    registry::{Options, Write},
    store::Expiry,
};

use super::*;
use crate::support::next_millisecond;

fn track(fixture: &Fixture, source: &Page, ttl: u64) -> Imported {
    block_on(fixture.registry.track(TrackRequest::new(source.url(), Format::A2a).ttl(Some(ttl)))).unwrap()
}

fn expiry(fixture: &Fixture) -> Expiry {
    fixture.registry.find("urn:card:a").unwrap().unwrap().expiry()
}

/// Does what is due in `seconds`; returns how many sources were polled, and whether the Thing was renewed.
fn after(fixture: &Fixture, seconds: u64) -> (usize, bool) {
    let before = expiry(fixture).expires;
    next_millisecond();
    let polls = block_on(fixture.registry.refresh_due(Timestamp::now().plus_seconds(seconds))).unwrap();
    (polls, expiry(fixture).expires > before)
}

#[test]
fn renewal_needs_no_poll() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    track(&fixture, &source, 600);
    let import = fixture.import("urn:card:a");
    assert_eq!(after(&fixture, 270), (0, false));
    assert_eq!(after(&fixture, 301), (0, true));
    // Also where the source is broken: nothing is removed because of that.
    source.break_down();
    let failed = fixture.refresh("urn:card:a");
    assert_eq!((failed.failures, after(&fixture, 301)), (1, (0, true)));
    assert_eq!(source.site.heads().len(), 2);
    assert_eq!(fixture.changes(), [Created]);
    let pauses = [&import, &failed].map(|import| (import.next_try.0 - import.last_fetch.0) / 60_000);
    assert!(pauses[0] >= 53 && pauses[1] >= 4, "{pauses:?}");
    block_on(fixture.registry.untrack("urn:card:a")).unwrap();
    assert_eq!(after(&fixture, 100_000), (0, false));
}

#[test]
fn registry_with_a_default_ttl_renews_the_things_of_tracked_sources() {
    for options in [Options::default().default_ttl(600), Options::default().max_ttl(600)] {
        let source = Page::start(&card("a", "first"));
        let directory = TempDir::new().unwrap();
        let registry = Registry::builder(directory.path()).options(options).tracking(tracking()).open().unwrap();
        let fixture = Fixture { registry, directory };
        assert!(fixture.track(&source).things[0].warnings.is_empty());
        assert_eq!(expiry(&fixture).ttl, Some(600));
        assert_eq!(after(&fixture, 301), (0, true));
        source.serve(&card("a", "second"));
        fixture.refresh("urn:card:a");
        assert_eq!(expiry(&fixture).ttl, Some(600));
    }
}

#[test]
fn shortest_time_to_live_is_a_minute() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    let warnings = track(&fixture, &source, 2).things.remove(0).warnings;
    let is_reported =
        |warning: &Violation| warning.rule == "ttl-out-of-range" && warning.message.contains("60 s is used");
    assert!(warnings.iter().any(is_reported), "{warnings:?}");
    assert_eq!(expiry(&fixture).ttl, Some(60));
    assert!(track(&fixture, &source, 61).things[0].warnings.is_empty());
}

#[test]
fn time_to_live_that_is_set_by_hand_is_kept_up_with() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    track(&fixture, &source, 3600);
    assert_eq!(after(&fixture, 300), (0, false));
    let patch = Write::patch("urn:card:a", "{\"registration\": {\"ttl\": 120}}");
    block_on(fixture.registry.write(patch)).unwrap();
    assert_eq!(after(&fixture, 61), (0, true));
    assert_eq!(expiry(&fixture).ttl, Some(120));
}

#[test]
fn renewals_go_on_after_a_restart() {
    let source = Page::start(&card("a", "first"));
    let fixture = Fixture::start();
    track(&fixture, &source, 600);
    let Fixture { registry, directory } = fixture;
    drop(registry);
    let fixture = Fixture { registry: open(&directory, tracking()), directory };
    assert_eq!(after(&fixture, 301), (0, true));
}
