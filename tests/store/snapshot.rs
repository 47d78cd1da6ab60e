//! What a snapshot has, whatever is written while it is read, and what is restored from it.

use std::collections::BTreeMap;

use agentdex::store::{Original, Pair, Purpose, Record, restore};
use proptest::prelude::*;

use super::*;

/// All that readers see of a store.
fn content(store: &Store) -> BTreeMap<String, String> {
    let last = *store.durable().borrow();
    let mut content = BTreeMap::new();
    for record in store.records_unpurged(None) {
        let record = record.unwrap();
        let original = store.original(&record.id).unwrap().map(|original| original.bytes);
        let history = store.history(&record.id, Seq::ZERO, 1000).unwrap();
        let metadata = store.metadata(&record.id).unwrap();
        // A start moves expiries by their grace.
        let Record { id, text, seq, created, modified, expiry: Expiry { ttl, .. }, format, .. } = record;
        let shown =
            format!("{text} {seq} {created} {modified} {ttl:?} {format:?} {original:?} {metadata:?} {history:?}");
        content.insert(id, shown);
    }
    let mut since = Seq::ZERO;
    loop {
        let part = store.changes(since, 100).unwrap();
        assert!(!part.truncated);
        let Some(end) = part.entries.last() else { break };
        since = end.seq();
        for change in part.changes() {
            content.insert(format!("change {:06}", change.seq.0), format!("{change:?}"));
        }
    }
    content.insert("last".into(), last.to_string());
    let epoch = format!("{:?}", store.epoch());
    content.values_mut().for_each(|shown| *shown = shown.replace(&epoch, "-"));
    content
}

fn put(store: &Store, id: u8, text: &str) {
    let expiry = Expiry { ttl: id.is_multiple_of(3).then_some(600), ..Expiry::default() };
    store.submit(vec![write(&format!("urn:{id}"), text, expiry)]).wait().unwrap();
}

fn write(id: &str, text: &str, expiry: Expiry) -> Write {
    Write {
        id: id.to_owned(),
        precondition: Precondition::Any,
        operation: Operation::Put {
            text: text.to_owned(),
            expiry,
            capabilities: vec!["c".into()],
            patch: None,
            original: id.len().is_multiple_of(2).then(|| Original {
                format: "agent-spec".into(),
                media_type: "application/json".into(),
                bytes: text.as_bytes().to_vec(),
                ..Original::default()
            }),
            created: None,
            declares: Declares::itself(),
        },
        actor: None,
    }
}

fn remove(store: &Store, id: u8) {
    let operation = Operation::Remove(DeletionReason::Removed);
    let write = Write { id: format!("urn:{id}"), precondition: Precondition::Any, operation, actor: None };
    // There may be none.
    let _ = store.submit(vec![write]).wait();
}

fn pairs(snapshot: impl Iterator<Item = agentdex::Result<(sled::IVec, sled::IVec)>>) -> Vec<Pair> {
    snapshot.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn snapshot_has_what_was_there_when_it_began(
        before in prop::collection::vec((any::<u8>(), any::<bool>()), 1..300),
        during in prop::collection::vec((any::<u8>(), any::<bool>(), 0..400usize), 0..200),
    ) {
        let store = TestStore::open();
        let change = |id: u8, stays: bool, what: &str| match stays {
            true => put(&store, id, &format!("{{\"{what}\": {id}}}")),
            false => remove(&store, id),
        };
        before.iter().for_each(|(id, stays)| change(*id, *stays || id % 4 > 0, "before"));
        let expected = content(&store);
        let mut snapshot = store.snapshot().unwrap();
        let mut taken = Vec::new();
        for (id, stays, read) in during {
            taken.extend(snapshot.by_ref().take(read));
            change(id, stays, "during");
        }
        taken.extend(snapshot);
        let home = tempfile::tempdir().unwrap();
        restore(home.path(), pairs(taken.into_iter()).into_iter().map(Ok), Purpose::Registry).unwrap();
        let restored = Store::open(home.path(), Options::default()).unwrap();
        prop_assert_eq!(content(&restored), expected);
        prop_assert_ne!(restored.epoch(), store.epoch());
        prop_assert_eq!(restored.registry_id(), store.registry_id());
    }
}

#[test]
fn there_is_one_snapshot_at_a_time_and_retention_waits_for_it() {
    let store = TestStore::with(Options::default().retained_changes(1));
    (0..10).for_each(|id| put(&store, id, "{}"));
    let snapshot = store.snapshot().unwrap();
    assert!(matches!(store.snapshot().map(drop), Err(agentdex::Error::Overloaded { .. })));
    store.trim_log(Timestamp::now()).unwrap();
    assert_eq!(store.changes(Seq::ZERO, 100).unwrap().changes().len(), 10);
    drop(snapshot);
    store.trim_log(Timestamp::now()).unwrap();
    assert!(store.changes(Seq::ZERO, 100).unwrap().truncated);
    let taken = pairs(store.snapshot().unwrap());
    assert_eq!(taken.iter().filter(|(key, _)| key.starts_with(b"r/")).count(), 10);
    assert!(store.snapshot().is_ok(), "one that was read to its end is over");
}

#[test]
fn nothing_is_restored_over_something() {
    let store = TestStore::open();
    put(&store, 1, "{}");
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "mine").unwrap();
    let refused =
        restore(home.path(), pairs(store.snapshot().unwrap()).into_iter().map(Ok), Purpose::Registry).unwrap_err();
    assert!(refused.to_string().contains("restoring into"), "{refused}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}
