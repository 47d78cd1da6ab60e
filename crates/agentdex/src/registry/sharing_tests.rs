//! Registries whose stores share a log: what one of them commits, the others have in memory.

use std::time::{Duration, Instant};

use super::{Options, QueryParameters, Registry};
use agentdex_api::MatchKind;

use crate::{
    access::{NewKey, Role},
    store::{Directories, Faults},
    td::Description,
};

/// Waits until a condition holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn open(directories: &Directories, number: usize) -> Registry {
    let store = directories.options(number, Options::default().store);
    Registry::builder(directories.path(number)).options(Options { store, ..Options::default() }).open().unwrap()
}

#[test]
fn keys_and_saved_queries_of_one_registry_are_those_of_the_other() {
    let directories = Directories::new(2, 1, Faults { lag: 2_000, ..Faults::default() });
    let registries = [0, 1].map(|number| open(&directories, number));
    let [one, other] = &registries;
    let new = NewKey { role: Role::Register, owner: "team".parse().unwrap(), ttl: None };
    let (key, text) = one.keys().create(new).unwrap();
    until("the key is known", || other.keys().authenticate(&text).is_some());
    assert_eq!(other.keys().list().len(), 1);
    let revoked = one.keys().revoked();
    assert!(other.keys().revoke(&key.id).unwrap());
    until("the key is revoked", || one.keys().authenticate(&text).is_none());
    assert!(revoked.has_changed().unwrap() && one.keys().list().is_empty());

    one.put(Description::new("Tides").id("urn:a").capability("tides")).unwrap();
    let query = |text: &str| QueryParameters { q: Some(text.into()), ..QueryParameters::default() };
    assert!(one.save_query("water", query("tides")).unwrap());
    until("the query is known", || other.saved_query("water").is_some());
    let events = other.query_events("water").unwrap();
    let before = one.last_seq();
    until("its matches are known", || events.is_known_after(before));
    one.put(Description::new("High tides").id("urn:b").capability("tides")).unwrap();
    until("it is compared with the change", || events.position() >= one.last_seq());
    let part = other.0.store.log_reader().changes(before, 1).unwrap();
    let change = part.entries[0].change().unwrap();
    assert_eq!((&*change.id, events.kind(change).unwrap()), ("urn:b", Some(MatchKind::Created)));

    // Of two who replace it at once, each replaces what is there.
    std::thread::scope(|scope| {
        for (registry, text) in [(one, "high tides"), (other, "low tides")] {
            scope.spawn(move || while registry.save_query("water", query(text)).is_err() {});
        }
    });
    let saved = |registry: &Registry| registry.saved_query("water").map(|saved| saved.query.q);
    until("both have the same query", || saved(one) == saved(other));
    assert!(one.remove_query("water").unwrap());
    until("the query is gone", || other.saved_query("water").is_none());
    assert!(!other.remove_query("water").unwrap());
    registries.iter().for_each(Registry::close);
}
