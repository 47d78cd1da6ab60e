//! Expiry: what is due isn't found, and a restart purges nobody who would have renewed.

use super::*;

fn expired_ids(store: &Store) -> Vec<String> {
    store.expired(Timestamp::now(), 100).expect("reading succeeds")
}

#[test]
fn expired_record_is_not_found() {
    let store = TestStore::open();
    store.put("urn:live", "{}");
    store.write(write("urn:due", Precondition::Any, put_expiring("{}", past(None)))).expect("it succeeds");
    store.write(write("urn:later", Precondition::Any, put_expiring("{}", future(None)))).expect("it succeeds");
    assert_eq!(store.text("urn:due"), None);
    assert!(store.find_unpurged("urn:due").expect("reading succeeds").is_some());
    assert_eq!(store.records_unpurged(None).count(), 3);
    assert_eq!(store.original("urn:due").ok(), Some(None));
    assert_eq!(store.ids(), ["urn:later", "urn:live"]);
    assert_eq!(store.len(), 2);
    assert_eq!(expired_ids(&store), ["urn:due"]);
}

#[test]
fn what_expires_is_counted_as_time_goes_on() {
    let store = TestStore::open();
    let moment = |seconds| Expiry { ttl: None, expires: Some(Timestamp::now().plus_seconds(seconds)) };
    for (id, seconds) in [("urn:a", 1000), ("urn:b", 2000), ("urn:c", 3000)] {
        store.write(write(id, Precondition::Any, put_expiring("{}", moment(seconds)))).expect("it succeeds");
    }
    let expired = |seconds| store.expired(Timestamp::now().plus_seconds(seconds), 10).expect("reading succeeds");
    assert_eq!(expired(2500), ["urn:a", "urn:b"]);
    // Known by now, and still not due by the clock.
    assert_eq!((expired(0), store.len()), (vec![], 3));
    // What is renewed, removed or new among what was scanned already counts at once.
    let renewal = write("urn:a", Precondition::Any, Operation::Renew { expiry: moment(9000) });
    store.write(renewal).expect("it is there");
    store.write(write("urn:d", Precondition::Any, put_expiring("{}", moment(500)))).expect("it succeeds");
    assert_eq!(expired(2500), ["urn:d", "urn:b"]);
    let removal = write("urn:b", Precondition::Any, Operation::Remove(DeletionReason::Removed));
    store.write(removal).expect("it is there");
    assert_eq!(expired(5000), ["urn:d", "urn:c"]);
    assert_eq!(expired(9999), ["urn:d", "urn:c", "urn:a"]);
}

#[test]
fn many_that_expire_at_once_are_found_in_steps() {
    let store = TestStore::open();
    let ids: Vec<String> = (0..5000).map(|index| format!("urn:{index:04}")).collect();
    let expiry = past(None);
    let writes = ids.iter().map(|id| write(id, Precondition::Any, put_expiring("{}", expiry)));
    store.submit(writes.collect()).wait().expect("it succeeds");
    let counted: Vec<u64> = (0..6).map(|_| store.len()).collect();
    assert!(counted[0] > 0, "one question looks through a bounded number of them");
    assert!(counted.is_sorted_by(|before, after| before >= after) && counted[5] == 0, "{counted:?}");
    assert_eq!(store.expired(Timestamp::now(), usize::MAX).expect("reading succeeds"), ids);
    let purges = ids.iter().map(|id| write(id, Precondition::Any, Operation::Purge));
    store.submit(purges.collect()).wait().expect("it succeeds");
    assert!(expired_ids(&store).is_empty() && store.is_empty());
}

#[test]
fn purge_that_is_not_due_ends_its_command() {
    let store = TestStore::open();
    store.write(write("urn:owner", Precondition::Any, put("{}"))).expect("it succeeds");
    store.write(write("urn:part", Precondition::Any, put("{}"))).expect("it succeeds");
    let purge = write("urn:owner", Precondition::Any, Operation::Purge);
    let removal = write("urn:part", Precondition::Present, Operation::Remove(DeletionReason::SourceGone));
    let outcomes = store.submit(vec![purge, removal]).wait().expect("it succeeds");
    assert_eq!(outcomes, [Outcome::NotDue, Outcome::NotDue]);
    assert!(store.find("urn:part").expect("reading succeeds").is_some());
}

#[test]
fn expired_record_counts_as_absent() {
    let store = TestStore::open();
    let expired = || write("urn:a", Precondition::Any, put_expiring("{}", past(None)));
    for refused in [
        write("urn:a", Precondition::Present, put("{}")),
        write("urn:a", Precondition::Seq(nth(1)), put("{}")),
        write("urn:a", Precondition::Any, Operation::Remove(DeletionReason::Removed)),
        write("urn:a", Precondition::Any, Operation::Renew { expiry: future(None) }),
    ] {
        store.write(expired()).expect("it succeeds");
        let sketch = format!("{refused:?}");
        assert!(store.write(refused).is_err(), "{sketch}");
    }
}

#[test]
fn put_on_an_expired_record_logs_its_deletion_and_creates() {
    let mut store = TestStore::open();
    store.write(write("urn:a", Precondition::Any, put_expiring(r#"{"old":1}"#, past(None)))).expect("it succeeds");
    assert_eq!(
        store.write(write("urn:a", Precondition::Absent, put(r#"{"new":1}"#))).ok(),
        Some(Outcome::Created(nth(3)))
    );
    for _ in 0..2 {
        assert_eq!(
            store.log(),
            [r#"1 thing_created urn:a {"old":1}"#, "2 thing_deleted urn:a", r#"3 thing_created urn:a {"new":1}"#]
        );
        assert_eq!(store.len(), 1);
        assert_eq!(expired_ids(&store), Vec::<String>::new());
        store.reopen();
    }
}

#[test]
fn purge_takes_only_what_is_still_due() {
    let store = TestStore::open();
    store.write(write("urn:due", Precondition::Any, put_expiring("{}", past(None)))).expect("it succeeds");
    store.write(write("urn:renewed", Precondition::Any, put_expiring("{}", future(None)))).expect("it succeeds");
    let outcomes: Vec<Outcome> = ["urn:due", "urn:renewed", "urn:unknown"]
        .map(|id| store.write(write(id, Precondition::Any, Operation::Purge)).expect("a purge succeeds"))
        .into();
    assert_eq!(outcomes, [Outcome::Removed(nth(3)), Outcome::NotDue, Outcome::NotDue]);
    assert_eq!(store.log().last().map(String::as_str), Some("3 thing_deleted urn:due"));
    assert_eq!(expired_ids(&store), Vec::<String>::new());
}

#[test]
fn renewal_is_durable_and_no_change() {
    let mut store = TestStore::open();
    store.write(write("urn:a", Precondition::Any, put_expiring("{}", future(None)))).expect("it succeeds");
    let later = Expiry { ttl: None, expires: Some(Timestamp::now().plus_seconds(5000)) };
    let renewal = write("urn:a", Precondition::Seq(nth(1)), Operation::Renew { expiry: later });
    assert_eq!(store.write(renewal).ok(), Some(Outcome::Renewed(nth(1))));
    for _ in 0..2 {
        let record = store.find("urn:a").expect("reading succeeds").expect("it is there");
        assert_eq!((record.expiry, record.seq), (later, nth(1)));
        assert_eq!(store.log().len(), 1);
        store.reopen();
    }
    // And it can be taken off and put on.
    for expiry in [Expiry::default(), later] {
        let renewal = write("urn:a", Precondition::Any, Operation::Renew { expiry });
        store.write(renewal).expect("it is there");
        assert_eq!(store.find("urn:a").expect("reading succeeds").map(|record| record.expiry), Some(expiry));
    }
}

#[test]
fn restart_gives_every_ttl_a_grace() {
    let mut store = TestStore::open();
    store.write(write("urn:ttl", Precondition::Any, put_expiring("{}", past(Some(600))))).expect("it succeeds");
    store.write(write("urn:absolute", Precondition::Any, put_expiring("{}", past(None)))).expect("it succeeds");
    let far = Expiry { ttl: Some(1), expires: Some(Timestamp::now().plus_seconds(9000)) };
    store.write(write("urn:far", Precondition::Any, put_expiring("{}", far))).expect("it succeeds");
    let opened = Timestamp::now();
    store.reopen();
    let expiry = |id: &str| store.find(id).expect("reading succeeds").map(|record| record.expiry);
    let graced = expiry("urn:ttl").expect("it has a grace");
    assert!(graced.expires >= Some(opened.plus_seconds(600)), "{graced:?}");
    assert_eq!(graced.ttl, Some(600));
    assert_eq!(expiry("urn:absolute"), None);
    assert_eq!(expiry("urn:far"), Some(far));
    assert_eq!(expired_ids(&store), ["urn:absolute"]);
}

#[test]
fn grace_is_there_at_once_and_stays() {
    let mut store = TestStore::open();
    let ids: Vec<String> = (0..700).map(|index| format!("urn:{index:03}")).collect();
    let writes = ids.iter().map(|id| write(id, Precondition::Any, put_expiring("{}", past(Some(600)))));
    store.submit(writes.collect()).wait().expect("it succeeds");
    assert_eq!(store.len(), 0);
    let opened = Timestamp::now();
    store.reopen();
    assert_eq!((store.len(), expired_ids(&store)), (700, vec![]));
    assert_eq!(store.ids(), ids);
    let purge = write("urn:000", Precondition::Any, Operation::Purge);
    assert_eq!(store.write(purge).ok(), Some(Outcome::NotDue));
    // Twice closed in the middle of writing it, and once more.
    for _ in 0..3 {
        store.reopen();
        for id in &ids {
            let expiry = store.find(id).expect("reading succeeds").map(|record| record.expiry);
            assert!(expiry.is_some_and(|expiry| expiry.expires >= Some(opened.plus_seconds(600))), "{id}: {expiry:?}");
        }
    }
    assert_eq!(store.log().len(), 700);
}
