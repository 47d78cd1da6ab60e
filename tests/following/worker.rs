//! The thread that looks at sources by itself.

use std::time::Instant;

use super::*;

/// Waits until something holds, for a long time if need be.
fn until(holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to pass");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn in_background(following: Following) -> Following {
    Following { in_background: true, interval: Duration::from_secs(1), ..following }
}

#[test]
fn changes_are_noticed_by_themselves() {
    let (one, other) = (Page::start(&card("a", "first")), Page::start(&card("b", "first")));
    let fixture = Fixture::with(in_background);
    fixture.follow(&one);
    fixture.follow(&other);
    one.serve(&card("a", "second"));
    other.serve(&card("b", "third"));
    until(|| fixture.thing("urn:card:a")["description"] == "second");
    until(|| fixture.thing("urn:card:b")["description"] == "third");
}

#[test]
fn what_was_followed_before_a_restart_is_looked_at_after_it() {
    let source = Page::start(&card("a", "first"));
    let Fixture { registry, directory } =
        Fixture::with(|following| Following { interval: Duration::from_secs(1), ..following });
    block_on(registry.follow(Follow::new(source.url(), Format::A2a))).unwrap();
    drop(registry);
    source.serve(&card("a", "second"));
    let fixture = Fixture { registry: open(&directory, in_background(following())), directory };
    until(|| fixture.thing("urn:card:a")["description"] == "second");
}

#[test]
fn registry_closes_while_a_source_keeps_it_waiting() {
    for close in [false, true] {
        let source = Page::start(&card("a", "first"));
        let Fixture { registry, directory } = Fixture::with(in_background);
        block_on(registry.follow(Follow::new(source.url(), Format::A2a))).unwrap();
        source.answer(Reply::raw(&[b"", b"late"], Duration::from_secs(300)));
        until(|| source.site.heads().len() > 1);
        let started = Instant::now();
        if close {
            registry.close();
        }
        drop(registry);
        // The directory is free at once, long before the source would have been given up.
        let reopened = open(&directory, following());
        assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
        assert_eq!(reopened.imports().unwrap().len(), 1);
    }
}
