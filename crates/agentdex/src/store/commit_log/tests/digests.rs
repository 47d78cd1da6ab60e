//! Digests of stores with the same log.

use std::collections::BTreeSet;

use sled::IVec;

use super::*;
use crate::store::{digests::Digests, layout};

/// Asks for digests, and returns those of all stores.
fn digests(cluster: &Cluster) -> Vec<Digests> {
    let number = cluster.stores[0].ask_for_digests().unwrap();
    let computed = || {
        let digests = cluster.log.memory.digests();
        (digests.len() == STORES && digests.iter().all(|digests| digests.number == number)).then_some(digests)
    };
    let started = Instant::now();
    loop {
        if let Some(digests) = computed() {
            return digests;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", cluster.log.memory.digests());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn digests_tell_a_byte_that_differs_in_any_family() {
    let cluster = Cluster::new(7, Faults { delay: 900, lag: 900, ..Faults::default() });
    // All families occur, also while others are written.
    let is_done = AtomicBool::new(false);
    let before = thread::scope(|scope| {
        scope.spawn(|| {
            let mut all = Transactions::new(3);
            for _ in 0..1_500 {
                all.next(&cluster.stores[1]);
            }
            is_done.store(true, Ordering::Release);
        });
        let mut last = digests(&cluster);
        while !is_done.load(Ordering::Acquire) {
            assert!(last.iter().all(|digests| *digests == last[0]), "{last:?}");
            last = digests(&cluster);
        }
        last
    });
    assert_eq!(before[0].problem, None);
    cluster.converge();
    let trees: Vec<_> = cluster.stores.iter().map(|store| store.view.tree.db().unwrap()).collect();
    for tree in &trees {
        tree.insert(layout::parts_key("urn:z"), b"part").unwrap();
    }
    let (db, mut families) = (&trees[2], BTreeSet::new());
    let pairs: Vec<_> = db.scan_prefix([]).map(Result::unwrap).collect();
    for (key, value) in pairs {
        let Some(family) = layout::family_of(&key).filter(|family| *family != "state") else { continue };
        if !families.insert(family) {
            continue;
        }
        let changed = match value.split_last() {
            Some((last, rest)) => [rest, &[last ^ 1]].concat(),
            None => vec![1],
        };
        for (new, expected) in [(IVec::from(changed), Some(family)), (value, None)] {
            db.insert(&key, new).unwrap();
            let digests = digests(&cluster);
            assert_eq!(digests[0], digests[1]);
            let differing =
                digests[0].families.iter().find(|(name, digest)| digests[2].families.get(*name) != Some(digest));
            assert_eq!(differing.map(|(name, _)| name.as_str()), expected);
        }
    }
    let expected = [
        "audit-trail",
        "changes",
        "edits",
        "expiries",
        "expiry-times",
        "history",
        "keys",
        "metadata",
        "namespaces",
        "originals",
        "parts",
        "queries",
        "records",
        "restrictions",
        "texts",
    ];
    assert_eq!(families.into_iter().collect::<Vec<_>>(), expected);
    drop(trees);
    cluster.close();
}

#[test]
fn digests_are_missing_while_a_backup_is_read() {
    let cluster = Cluster::new(1, Faults::default());
    let snapshot = cluster.stores[1].snapshot().unwrap();
    let all = digests(&cluster);
    assert!(all[0].problem.is_none() && all[0] == all[2], "{all:?}");
    assert!(all[1].problem.as_ref().is_some_and(|problem| problem.contains("another backup")), "{all:?}");
    drop(snapshot);
    let all = digests(&cluster);
    assert!(all.iter().all(|digests| *digests == all[0] && digests.problem.is_none()), "{all:?}");
    cluster.close();
}
