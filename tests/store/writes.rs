//! What a write does, and when it is refused.

use agentdex::{
    Error,
    store::{Original, Patch},
};

use super::*;

fn found_by_failure(result: agentdex::Result<Outcome>) -> (Precondition, Option<Seq>) {
    match result {
        Err(Error::PreconditionFailed { expected, found, .. }) => (expected, found),
        other => panic!("expected a failed precondition, got {other:?}"),
    }
}

#[test]
fn put_creates_then_replaces_then_renews() {
    let store = TestStore::open();
    assert_eq!(store.put("urn:a", r#"{"a":1}"#), Outcome::Created(nth(1)));
    assert_eq!(store.put("urn:a", r#"{"a":2}"#), Outcome::Updated(nth(2)));
    assert_eq!(store.put("urn:a", r#"{"a":2}"#), Outcome::Renewed(nth(2)));
    assert_eq!(store.put("urn:a", r#"{ "a" : 2 }"#), Outcome::Renewed(nth(2)));
    assert_eq!(store.text("urn:a").as_deref(), Some(r#"{"a":2}"#));
    assert_eq!(store.len(), 1);
}

#[test]
fn removed_record_is_gone() {
    let store = TestStore::open();
    store.put("urn:a", "{}");
    assert_eq!(
        store.write(write("urn:a", Precondition::Any, Operation::Remove(DeletionReason::Removed))).ok(),
        Some(Outcome::Removed(nth(2)))
    );
    assert_eq!(store.text("urn:a"), None);
    assert_eq!(store.len(), 0);
}

#[test]
fn preconditions_are_checked() {
    let store = TestStore::open();
    store.put("urn:a", "{}");
    let (seq, other) = (Precondition::Seq(nth(1)), Precondition::Seq(nth(7)));
    for (id, precondition, holds) in [
        ("urn:a", Precondition::Any, true),
        ("urn:a", Precondition::Present, true),
        ("urn:a", seq, true),
        ("urn:a", Precondition::Absent, false),
        ("urn:a", other, false),
        ("urn:b", Precondition::Present, false),
        ("urn:b", seq, false),
        ("urn:b", Precondition::Absent, true),
    ] {
        let result = store.write(write(id, precondition, put("{}")));
        assert_eq!(result.is_ok(), holds, "{id} {precondition:?}");
        if !holds {
            let there = (id == "urn:a").then_some(nth(1));
            assert_eq!(found_by_failure(result), (precondition, there));
        }
    }
}

#[test]
fn what_is_not_there_is_neither_removed_nor_renewed() {
    let store = TestStore::open();
    let renew = Operation::Renew { expiry: future(None) };
    for operation in [Operation::Remove(DeletionReason::Removed), renew] {
        let result = store.write(write("urn:a", Precondition::Any, operation));
        assert_eq!(found_by_failure(result), (Precondition::Present, None));
    }
    assert_eq!(store.log(), Vec::<String>::new());
}

#[test]
fn transaction_that_fails_leaves_nothing() {
    let store = TestStore::open();
    store.put("urn:taken", "{}");
    let result = store
        .submit(vec![
            write("urn:new", Precondition::Any, put_expiring("{}", future(Some(1000)))),
            write("urn:taken", Precondition::Any, Operation::Remove(DeletionReason::Removed)),
            write("urn:taken", Precondition::Any, put(r#"{"again":true}"#)),
            write("urn:taken", Precondition::Absent, put("{}")),
        ])
        .wait();
    assert!(matches!(result, Err(Error::PreconditionFailed { .. })), "{result:?}");
    assert_eq!(store.ids(), ["urn:taken"]);
    assert_eq!(store.log(), ["1 thing_created urn:taken {}"]);
    assert_eq!(store.put("urn:next", "{}"), Outcome::Created(nth(2)));
}

#[test]
fn writes_of_a_transaction_see_each_other() {
    let store = TestStore::open();
    let outcomes = store
        .submit(vec![
            write("urn:a", Precondition::Absent, put("{}")),
            write("urn:a", Precondition::Seq(nth(1)), put(r#"{"a":1}"#)),
            write("urn:a", Precondition::Present, Operation::Remove(DeletionReason::Removed)),
            write("urn:a", Precondition::Absent, put(r#"{"a":2}"#)),
        ])
        .wait();
    let expected =
        vec![Outcome::Created(nth(1)), Outcome::Updated(nth(2)), Outcome::Removed(nth(3)), Outcome::Created(nth(4))];
    assert_eq!(outcomes.map(|applied| applied.outcomes).ok(), Some(expected));
    assert_eq!(
        store.log(),
        [
            "1 thing_created urn:a {}",
            r#"2 thing_updated urn:a {"a":1}"#,
            "3 thing_deleted urn:a",
            r#"4 thing_created urn:a {"a":2}"#
        ]
    );
}

#[test]
fn of_racing_creations_one_succeeds() {
    let store = TestStore::open();
    let tickets: Vec<Ticket> =
        (0..50).map(|_| store.submit(vec![write("urn:a", Precondition::Absent, put("{}"))])).collect();
    let created = tickets.into_iter().filter_map(|ticket| ticket.wait().ok()).count();
    assert_eq!(created, 1);
}

#[test]
fn ids_that_the_layout_cannot_hold_are_refused() {
    let store = TestStore::open();
    for id in ["", "urn:a\0b"] {
        let result = store.write(write(id, Precondition::Any, put("{}")));
        assert!(matches!(result, Err(Error::InvalidId { .. })), "{id:?}: {result:?}");
    }
}

#[test]
fn original_is_kept_replaced_and_dropped() {
    let store = TestStore::open();
    let put_original = |text: &str, original: Option<&[u8]>| {
        let original = original.map(|bytes| Original {
            format: "a2a".into(),
            media_type: "application/json".into(),
            bytes: bytes.to_vec(),
            ..Original::default()
        });
        let operation = Operation::Put {
            text: text.into(),
            capabilities: vec![],
            expiry: Expiry::default(),
            patch: None,
            original,
            created: None,
            declares: Declares::itself(),
        };
        store.write(write("urn:a", Precondition::Any, operation)).expect("it succeeds")
    };
    let original = || store.original("urn:a").expect("reading succeeds").map(|original| original.bytes);
    let format = || store.find("urn:a").expect("reading succeeds").and_then(|record| record.format);

    put_original("{}", Some(b"one"));
    assert_eq!((original(), format()), (Some(b"one".to_vec()), Some("a2a".into())));
    // Equal text: a renewal. It replaces an original that is given and keeps one where none is given.
    assert_eq!(put_original("{}", Some(b"two")), Outcome::OriginalUpdated(nth(1)));
    assert_eq!(put_original("{}", Some(b"two")), Outcome::Renewed(nth(1)));
    assert_eq!(original(), Some(b"two".to_vec()));
    assert_eq!(put_original("{}", None), Outcome::Renewed(nth(1)));
    assert_eq!(original(), Some(b"two".to_vec()));
    put_original(r#"{"a":1}"#, None);
    assert_eq!((original(), format()), (None, None));
}

#[test]
fn metadata_goes_when_the_description_changes() {
    let mut store = TestStore::open();
    let put = |text: &str, bytes: Option<&[u8]>| {
        let (format, media_type) = ("a2a".to_owned(), "application/json".to_owned());
        let original = bytes.map(|bytes| Original { format, media_type, bytes: bytes.to_vec(), ..Original::default() });
        let operation = Operation::Put {
            text: text.into(),
            capabilities: vec![],
            expiry: Expiry::default(),
            patch: None,
            original,
            created: None,
            declares: Declares::itself(),
        };
        write("urn:a", Precondition::Any, operation)
    };
    let noting = |note: Option<&str>| {
        write("urn:a", Precondition::Any, Operation::Metadata(note.map(|note| note.as_bytes().to_vec())))
    };
    let note = |store: &TestStore| {
        store.metadata("urn:a").expect("reading succeeds").map(|note| String::from_utf8(note).unwrap())
    };
    assert!(matches!(store.write(noting(Some("x"))), Err(Error::PreconditionFailed { .. })));
    store.write(put("{}", Some(b"one"))).expect("it succeeds");
    assert_eq!(store.write(noting(Some("yes"))).expect("there is an original"), Outcome::Renewed(nth(1)));
    // A renewal keeps it, with or without another original.
    store.write(put("{}", Some(b"two"))).expect("it succeeds");
    store.write(put("{}", None)).expect("it succeeds");
    store.reopen();
    assert_eq!(note(&store).as_deref(), Some("yes"));
    assert_eq!(store.all_metadata().expect("reading succeeds"), [("urn:a".to_owned(), b"yes".to_vec())]);
    store.submit(vec![put(r#"{"a":1}"#, Some(b"two")), noting(Some("anew"))]).wait().expect("it succeeds");
    assert_eq!(note(&store).as_deref(), Some("anew"));
    store.write(put(r#"{"a":2}"#, Some(b"three"))).expect("it succeeds");
    assert_eq!((note(&store), store.all_metadata().expect("reading succeeds")), (None, vec![]));

    store.write(put(r#"{"a":3}"#, None)).expect("it succeeds");
    store.write(noting(Some("nothing to note"))).expect("it changes nothing");
    assert_eq!(note(&store), None);
    store.submit(vec![put("{}", Some(b"four")), noting(Some("gone"))]).wait().expect("it succeeds");
    store.write(write("urn:a", Precondition::Any, Operation::Remove(DeletionReason::Removed))).expect("it is there");
    store.submit(vec![put("{}", Some(b"five")), noting(None)]).wait().expect("it succeeds");
    assert_eq!(note(&store), None);
}

#[test]
fn format_that_changes_alone_is_a_change() {
    let mut store = TestStore::open();
    store.put("urn:a", "{}");
    let convert = |store: &TestStore, format: &str| {
        let original = Original {
            format: format.into(),
            media_type: "text/plain".into(),
            bytes: b"same".to_vec(),
            ..Original::default()
        };
        let (capabilities, expiry) = (vec![], Expiry::default());
        let operation = Operation::Put {
            text: "{}".into(),
            capabilities,
            expiry,
            patch: None,
            original: Some(original),
            created: None,
            declares: Declares::itself(),
        };
        store.write(write("urn:a", Precondition::Any, operation)).expect("it succeeds")
    };
    assert_eq!(convert(&store, "a2a"), Outcome::Updated(nth(2)));
    assert_eq!(convert(&store, "a2a"), Outcome::Renewed(nth(2)));
    assert_eq!(convert(&store, "agent-spec"), Outcome::Updated(nth(3)));
    store.reopen();
    let record = store.find("urn:a").expect("reading succeeds").expect("it is there");
    assert_eq!((record.format.as_deref(), record.text.as_str(), record.seq), (Some("agent-spec"), "{}", nth(3)));
    assert_eq!(store.log(), ["1 thing_created urn:a {}", "2 thing_updated urn:a {}", "3 thing_updated urn:a {}"]);
}

#[test]
fn large_descriptions_are_stored_whole() {
    let mut store = TestStore::open();
    let texts: Vec<String> = (0..20).map(|index| format!(r#"{{"{}":{index}}}"#, "x".repeat(1_000_000))).collect();
    for (index, text) in texts.iter().enumerate() {
        store.put(&format!("urn:{index}"), text);
    }
    store.reopen();
    for (index, text) in texts.iter().enumerate() {
        assert!(store.text(&format!("urn:{index}")).as_ref() == Some(text), "{index}");
    }
}

#[test]
fn closed_store_finishes_what_it_was_given_and_takes_no_more() {
    let store = TestStore::open();
    let before = store.submit(vec![write("urn:a", Precondition::Any, put("{}"))]);
    store.close();
    let after = store.submit(vec![write("urn:b", Precondition::Any, put("{}"))]);
    assert_eq!(before.wait().map(|applied| applied.outcomes).ok(), Some(vec![Outcome::Created(nth(1))]));
    assert!(matches!(after.wait(), Err(Error::ShuttingDown)));
    assert_eq!(*store.durable().borrow(), nth(1));
    assert!(matches!(store.find("urn:a"), Err(Error::ShuttingDown)), "the directory is released");
}

#[test]
fn patch_of_an_older_description_is_made_again() {
    let store = TestStore::open();
    let put_with = |text: &str, since: u64, patch: Option<&str>| {
        let patch = Some(Patch { since: nth(since), text: patch.map(str::to_owned) });
        let (text, capabilities, expiry) = (text.to_owned(), Vec::new(), Expiry::default());
        let operation = Operation::Put {
            text,
            capabilities,
            expiry,
            patch,
            original: None,
            created: None,
            declares: Declares::itself(),
        };
        store.write(write("urn:a", Precondition::Any, operation)).expect("it succeeds")
    };
    store.put("urn:a", r#"{"a":1}"#);
    assert_eq!(put_with(r#"{"a":2}"#, 1, Some(r#"{"a":2}"#)), Outcome::Updated(nth(2)));
    // Made of the first, where the second is there now: neither its text nor that there is none counts.
    assert_eq!(put_with(r#"{"b":1}"#, 1, Some(r#"{"a":null,"c":1}"#)), Outcome::Updated(nth(3)));
    assert_eq!(put_with(r#"{"b":2}"#, 2, None), Outcome::Updated(nth(4)));
    assert_eq!(put_with(r#"{"b":2}"#, 4, None), Outcome::Renewed(nth(4)));
    let expected = [
        r#"1 thing_created urn:a {"a":1}"#,
        r#"2 thing_updated urn:a {"a":2}"#,
        r#"3 thing_updated urn:a {"a":null,"b":1}"#,
        r#"4 thing_updated urn:a {"b":2}"#,
    ];
    let sorted = |change: String| change.replace(r#"{"b":1,"a":null}"#, r#"{"a":null,"b":1}"#);
    assert_eq!(store.log().into_iter().map(sorted).collect::<Vec<_>>(), expected);
}
