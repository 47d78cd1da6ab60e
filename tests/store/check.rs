//! What a check finds in a store that was damaged.

use agentdex::store::{CopiedDirectory, Verdict, inspect};

use super::{damage::files, *};

fn store() -> TestStore {
    let store = TestStore::open();
    for (id, text) in [("urn:a", "{}"), ("urn:b", "{}"), ("urn:b", "{\"b\": 2}"), ("urn:c", "{}")] {
        let operation = Operation::Put {
            text: text.into(),
            capabilities: Vec::new(),
            expiry: Expiry { ttl: (id == "urn:c").then_some(600), expires: (id == "urn:c").then_some(Timestamp::MAX) },
            patch: None,
            original: None,
            created: None,
            declares: Declares::itself(),
        };
        let write = Write { id: id.into(), precondition: Precondition::Any, operation, actor: None };
        store.submit(vec![write]).wait().unwrap();
    }
    store
}

#[test]
fn a_sound_store_has_no_faults() {
    let mut store = store();
    for _ in 0..2 {
        let checked = store.check().unwrap();
        assert_eq!((checked.records, checked.changes, checked.faults), (3, 4, Vec::new()));
        store.reopen();
    }
}

#[test]
fn what_is_missing_or_too_many_is_named() {
    let seq = |number: u64| nth(number).0.to_be_bytes();
    let remove = |prefix: &'static str, rest: &[u8]| [prefix.as_bytes(), rest].concat();
    let cases = [
        (remove("t/", &seq(1)), None, "the record \"urn:a\": its text is missing"),
        (remove("e/", b"urn:c"), None, "the record \"urn:c\": its expiry is missing"),
        (remove("r/", b"urn:a"), None, "the number of records: the counter says 3, but there are 2"),
        (remove("r/", b"urn:a"), Some("x"), "its value can't be read"),
        (remove("l/", &seq(2)), None, &format!("the log before the change {}: ", nth(3))),
        (remove("l/", &seq(4)), None, "the end of the log"),
        (remove("t/", &99_u64.to_be_bytes()), Some("{}"), "the text 99: neither a record nor the log refers to it"),
        (remove("t/", &seq(4)), Some("{"), "can't be read"),
        (
            remove("h/", &[b"urn:b\0", &seq(3)[..]].concat()),
            None,
            &format!("the history: it lacks the change {}", nth(3)),
        ),
        (remove("i/", b"urn:nobody"), Some("x"), "the metadata of \"urn:nobody\": the record doesn't exist"),
    ];
    for (key, value, expected) in cases {
        let mut store = store();
        let raw = store.open_raw();
        match value {
            Some(value) => drop(raw.insert(&key, value).unwrap()),
            None => drop(raw.remove(&key).unwrap()),
        }
        raw.flush().unwrap();
        drop(raw);
        let before = files(store.directory.path());
        let inspection = inspect(&CopiedDirectory::of(store.directory.path()).unwrap()).unwrap();
        let faults = inspection.checked.faults;
        assert_ne!(inspection.verdict, Verdict::InOrder);
        assert!(files(store.directory.path()) == before, "a check wrote something");
        // What isn't summed costs what it is about; the rest decides who sees what, and which keys are valid.
        let is_refused = Store::open(store.directory.path(), Options::default()).is_err();
        assert_eq!(is_refused, inspection.verdict == Verdict::Refused, "{expected}");
        assert!(faults.iter().any(|fault| fault.to_string().contains(expected)), "{expected}: {faults:?}");
    }
}
