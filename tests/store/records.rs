//! Reading records.

use super::*;
use crate::support::next_millisecond;

#[test]
fn records_come_in_the_order_of_their_ids() {
    let store = TestStore::open();
    let mut ids: Vec<String> = (0..300).map(|index| format!("urn:{index}")).collect();
    ids.extend(["urn:ä".to_owned(), "urn:\u{10000}".into(), "urn:\u{ffff}".into(), "a:b".into(), "x:0".into()]);
    for id in &ids {
        store.put(id, "{}");
    }
    ids.sort();
    assert_eq!(store.ids(), ids);
}

#[test]
fn records_start_where_they_are_told_to() {
    let store = TestStore::open();
    for id in ["urn:a", "urn:b", "urn:c"] {
        store.put(id, "{}");
    }
    let from = |start: &str| -> Vec<String> {
        store.records(Some(start)).map(|record| record.expect("reading succeeds").id).collect()
    };
    assert_eq!(from("urn:b"), ["urn:b", "urn:c"]);
    assert_eq!(from("urn:b\0"), ["urn:c"]);
    assert_eq!(from("zzz"), Vec::<String>::new());
}

#[test]
fn record_tells_when_it_was_created_and_modified() {
    let mut store = TestStore::open();
    store.put("urn:a", "{}");
    let created = store.find("urn:a").expect("reading succeeds").expect("it is there");
    assert_eq!(created.created, created.modified);
    next_millisecond();
    store.put("urn:a", r#"{"a":1}"#);
    store.reopen();
    let updated = store.find("urn:a").expect("reading succeeds").expect("it is there");
    assert_eq!(updated.created, created.created);
    assert!(updated.modified > created.modified);
    assert_eq!(updated.seq, nth(2));
}

#[test]
fn damaged_records_are_not_served_and_all_others_are() {
    let mut store = TestStore::open();
    for id in ["urn:a", "urn:b", "urn:c", "urn:d"] {
        store.put(id, "{}");
    }
    let text_of = |store: &TestStore, id: &str| {
        let seq = store.find(id).unwrap().unwrap().seq;
        [b"t/".as_slice(), &seq.0.to_be_bytes()].concat()
    };
    let (b, d) = (text_of(&store, "urn:b"), text_of(&store, "urn:d"));
    let raw = store.open_raw();
    raw.remove(b).unwrap();
    raw.insert(d, &[0xff]).unwrap();
    raw.flush().unwrap();
    drop(raw);
    store.reopen();
    let ids = |store: &TestStore| store.records(None).map(|record| record.unwrap().id).collect::<Vec<_>>();
    assert_eq!(ids(&store), ["urn:a", "urn:c"]);
    assert_eq!(store.damaged(), 2);
    assert!(store.find("urn:b").is_err() && store.find("urn:d").is_err());
    assert!(store.find("urn:a").unwrap().is_some());
    // Writes to others go on.
    store.put("urn:e", "{}");
    assert_eq!(ids(&store), ["urn:a", "urn:c", "urn:e"]);
    let faults = store.check().unwrap().faults;
    assert!(faults.iter().any(|fault| fault.to_string().contains("urn:b")), "{faults:?}");
}
