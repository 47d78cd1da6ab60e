//! The change log: what it says, and how long.

use std::time::Duration;

use agentdex::change::{Epoch, Position};

use super::*;
use crate::support::copy_all;

#[test]
fn change_says_what_the_record_can_no_longer_tell() {
    let mut store = TestStore::open();
    store.put("urn:kept", r#"{"kept":1}"#);
    store.put("urn:updated", r#"{"a":1,"b":1}"#);
    store.put("urn:updated", r#"{"a":2}"#);
    store.put("urn:removed", r#"{"c":1}"#);
    store
        .write(write("urn:removed", Precondition::Any, Operation::Remove(DeletionReason::Removed)))
        .expect("it is there");
    let expected = [
        r#"1 thing_created urn:kept {"kept":1}"#,
        r#"2 thing_created urn:updated {"a":1,"b":1}"#,
        r#"3 thing_updated urn:updated {"a":2,"b":null}"#,
        r#"4 thing_created urn:removed {"c":1}"#,
        "5 thing_deleted urn:removed",
    ];
    assert_eq!(store.log(), expected, "from memory");
    store.reopen();
    assert_eq!(store.log(), expected, "from disk");
}

#[test]
fn change_names_the_capabilities_before_and_after_and_the_actor() {
    let mut store = TestStore::open();
    for (text, keys) in [("{}", &["a", "b"][..]), (r#"{"x":1}"#, &["b"])] {
        let capabilities = keys.iter().map(|key| (*key).to_owned()).collect();
        let operation = Operation::Put {
            text: text.into(),
            capabilities,
            expiry: Expiry::default(),
            patch: None,
            original: None,
            created: None,
            declares: Declares::itself(),
        };
        let write = Write { actor: Some("eve".into()), ..write("urn:a", Precondition::Any, operation) };
        store.write(write).expect("it succeeds");
    }
    store.write(write("urn:a", Precondition::Any, Operation::Remove(DeletionReason::Removed))).expect("it is there");
    store.reopen();
    let changes = store.changes(Seq::ZERO, 10).expect("reading succeeds").changes();
    let sketch: Vec<String> = changes
        .iter()
        .map(|change| format!("{:?} {:?} {:?}", change.actor, change.capabilities_before, change.capabilities_after))
        .collect();
    assert_eq!(sketch, [r#"Some("eve") [] ["a", "b"]"#, r#"Some("eve") ["a", "b"] ["b"]"#, r#"None ["b"] []"#]);
}

#[test]
fn deletion_says_why() {
    let mut store = TestStore::open();
    let remove = |id: &str, reason| write(id, Precondition::Any, Operation::Remove(reason));
    for id in ["urn:removed", "urn:gone"] {
        store.put(id, "{}");
    }
    for id in ["urn:purged", "urn:replaced"] {
        store.write(write(id, Precondition::Any, put_expiring("{}", past(None)))).expect("it succeeds");
    }
    store.write(remove("urn:removed", DeletionReason::Removed)).expect("it is there");
    store.write(remove("urn:gone", DeletionReason::SourceGone)).expect("it is there");
    store.write(write("urn:purged", Precondition::Any, Operation::Purge)).expect("it is due");
    store.put("urn:replaced", "{}");
    let expected = [
        ("urn:removed", DeletionReason::Removed),
        ("urn:gone", DeletionReason::SourceGone),
        ("urn:purged", DeletionReason::Expired),
        ("urn:replaced", DeletionReason::Expired),
    ];
    for _ in 0..2 {
        let log = store.changes(Seq::ZERO, 100).expect("reading succeeds").changes();
        let reasons = log.iter().filter_map(|change| Some((change.id.as_str(), change.reason?)));
        assert_eq!(reasons.collect::<Vec<_>>(), expected);
        for (id, reason) in expected {
            let history = store.history(id, Seq::ZERO, 100).expect("reading succeeds");
            assert!(history.iter().any(|change| change.reason == Some(reason)), "{history:?}");
        }
        store.reopen();
    }
}

#[test]
fn readers_further_back_share_what_was_loaded() {
    let mut store = TestStore::open();
    (0..100).for_each(|index| assert!(matches!(store.put(&format!("urn:{index}"), "{}"), Outcome::Created(_))));
    assert_eq!(store.cached_changes(Seq::ZERO, 100).map(|changes| changes.len()), Some(100));
    store.reopen();
    assert!(store.cached_changes(Seq::ZERO, 100).is_none(), "nothing is loaded yet");
    assert_eq!(store.cached_changes(nth(100), 100).map(|changes| changes.len()), Some(0));
    assert!(store.cached_changes(nth(101), 100).is_none(), "a position beyond the end");
    let loaded = store.changes(nth(10), 20).expect("reading succeeds").changes();
    let cached = store.cached_changes(nth(20), 100).expect("they are loaded");
    assert_eq!(cached.iter().map(|change| number_of(change.seq())).collect::<Vec<_>>(), (21..=30).collect::<Vec<_>>());
    assert!(std::sync::Arc::ptr_eq(&loaded[10], cached[0].change().expect("it is a change")));
}

#[test]
fn log_is_read_in_parts() {
    let mut store = TestStore::open();
    for index in 0..10 {
        store.put(&format!("urn:{index}"), "{}");
    }
    for _ in 0..2 {
        let part = store.changes(nth(3), 4).expect("reading succeeds");
        let numbers: Vec<u64> = part.changes().iter().map(|change| number_of(change.seq)).collect();
        assert_eq!((numbers, part.last, part.oldest, part.truncated), (vec![4, 5, 6, 7], nth(10), nth(1), false));
        let end = store.changes(nth(10), 4).expect("reading succeeds");
        assert_eq!((end.changes().len(), end.truncated), (0, false));
        let beyond = store.changes(nth(11), 4).expect("reading succeeds");
        assert_eq!((beyond.changes().len(), beyond.truncated), (0, true));
        store.reopen();
    }
}

#[test]
fn history_is_of_one_thing() {
    let store = TestStore::open();
    for text in ["{}", r#"{"a":1}"#, r#"{"a":2}"#] {
        store.put("urn:a", text);
        store.put("urn:ab", text);
    }
    let history = |since, limit| -> Vec<u64> {
        let changes = store.history("urn:a", since, limit).expect("reading succeeds");
        assert!(changes.iter().all(|change| change.id == "urn:a"));
        changes.iter().map(|change| number_of(change.seq)).collect()
    };
    assert_eq!(history(Seq::ZERO, 10), [1, 3, 5]);
    assert_eq!(history(nth(1), 1), [3]);
    assert_eq!(history(nth(5), 10), Vec::<u64>::new());
}

#[test]
fn log_is_trimmed_by_count() {
    let mut store = TestStore::with(Options::default().retained_changes(1000));
    let tickets: Vec<Ticket> = (0..2500)
        .map(|index| store.submit(vec![write(&format!("urn:{index:04}"), Precondition::Any, put("{}"))]))
        .collect();
    for ticket in tickets {
        ticket.wait().expect("it succeeds");
    }
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    for _ in 0..2 {
        let part = store.changes(nth(1000), 10).expect("reading succeeds");
        assert_eq!((part.truncated, part.oldest, part.last), (true, nth(1501), nth(2500)));
        let part = store.changes(nth(1500), usize::MAX).expect("reading succeeds");
        assert_eq!((part.truncated, part.changes().len()), (false, 1000));
        assert_eq!(store.history("urn:1499", Seq::ZERO, 10).expect("reading succeeds").len(), 0);
        assert_eq!(store.history("urn:1500", Seq::ZERO, 10).expect("reading succeeds").len(), 1);
        store.reopen();
    }
}

#[test]
fn record_whose_creation_is_forgotten_can_be_changed() {
    let store = TestStore::with(Options::default().retained_changes(1));
    store.put("urn:a", "{}");
    store.put("urn:b", "{}");
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    assert_eq!(store.put("urn:a", r#"{"a":1}"#), Outcome::Updated(nth(3)));
    store.write(write("urn:a", Precondition::Any, Operation::Remove(DeletionReason::Removed))).expect("it is there");
    assert_eq!(store.changes(nth(1), 10).expect("reading succeeds").changes().len(), 3);
    assert!(store.changes(Seq::ZERO, 10).expect("reading succeeds").truncated);
}

#[test]
fn log_is_trimmed_by_age() {
    let store = TestStore::with(Options::default().retained_for(Duration::from_secs(60)).retained_at_any_age(0));
    store.put("urn:a", "{}");
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    assert_eq!(store.log().len(), 1);
    store.trim_log(Timestamp::now().plus_seconds(61)).expect("trimming succeeds");
    let part = store.changes(nth(1), 10).expect("reading succeeds");
    assert_eq!((part.truncated, part.oldest, part.last), (false, nth(1).next(), nth(1)));
    assert!(store.changes(Seq::ZERO, 10).expect("reading succeeds").truncated);
    assert_eq!(store.text("urn:a").as_deref(), Some("{}"));
}

#[test]
fn position_outlives_the_process() {
    let mut store = TestStore::open();
    let position = |seq| Position { epoch: Epoch(7), seq: Seq(seq) };
    store.local().set_position("mqtt", position(1)).expect("it succeeds");
    store.local().set_position("mqtt", position(2)).expect("it succeeds");
    store.local().set_position("gone", position(3)).expect("it succeeds");
    store.local().remove_position("gone").expect("it succeeds");
    for _ in 0..2 {
        assert_eq!(store.local().position("mqtt"), Some(position(2)));
        assert_eq!(store.local().position("gone"), None);
        store.reopen();
    }
}

#[test]
fn session_outlives_the_process() {
    let mut store = TestStore::open();
    let kept = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    for (name, bytes) in [("one", b"1".as_slice()), ("gone", b"2"), ("one", b"3"), ("two", b"")] {
        store.local().put_session(name, bytes.to_vec()).expect("it succeeds");
    }
    store.local().remove_session("gone").expect("it succeeds");
    for _ in 0..2 {
        assert_eq!(store.local().sessions().expect("reading succeeds"), [kept("one", b"3"), kept("two", b"")]);
        store.reopen();
    }
    store.local().remove_session("one").expect("it succeeds");
    store.reopen();
    assert_eq!(store.local().sessions().expect("reading succeeds"), [kept("two", b"")]);
}

#[test]
fn session_is_as_durable_as_the_next_write() {
    let store = TestStore::open();
    store.local().put_session("reader", b"1".to_vec()).expect("it succeeds");
    store.put("urn:a", "{}");
    let crashed = tempfile::tempdir().expect("a temporary directory");
    copy_all(store.directory.path(), crashed.path());
    let crashed = Store::open(crashed.path(), Options::default()).expect("it opens");
    assert_eq!(crashed.local().sessions().expect("reading succeeds"), [("reader".to_owned(), b"1".to_vec())]);
}

#[test]
fn durable_end_moves_with_the_log_and_not_with_renewals() {
    let store = TestStore::open();
    let mut durable = store.durable();
    assert_eq!(*durable.borrow_and_update(), Seq::ZERO);
    store.put("urn:a", "{}");
    assert!(durable.has_changed().expect("the store is open"));
    assert_eq!(*durable.borrow_and_update(), nth(1));
    store.put("urn:a", "{}");
    assert!(!durable.has_changed().expect("the store is open"));
}
