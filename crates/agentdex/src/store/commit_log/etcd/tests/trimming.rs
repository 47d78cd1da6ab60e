//! An etcd that is full, and the trimming of the log.

use std::collections::BTreeSet;

use super::*;

#[test]
fn etcd_that_is_full_takes_nothing_and_loses_nothing() {
    let Some(etcd) = Etcd::start(1, &["--quota-backend-bytes", "16777216"]) else { return };
    let (log, other) = (etcd.open(1, true), etcd.open(2, false));
    let full = (5..60).find(|number| {
        loop {
            match log.append(&commit(*number, *number, 3 * MAX_VALUE_BYTES / 4)) {
                Appended::Done(_) => return false,
                Appended::Full => return true,
                Appended::Unknown => {}
                appended => panic!("{appended:?}"),
            }
        }
    });
    let full = full.expect("it is full");
    assert_eq!(end(&log), full - 1);
    let mut last = 4;
    while last < full - 1 {
        last += arrived(&other, last, 1).len() as u64;
    }
}

#[test]
fn the_leader_drops_all_it_can_from_an_etcd_that_is_full() {
    let Some(etcd) = Etcd::start(1, &["--quota-backend-bytes", "16777216"]) else { return };
    let (logs, keys) = ([etcd.open(1, true), etcd.open(2, false)], Keys::new(CLUSTER));
    for number in 5..10 {
        assert_done(&logs[0], &commit(number, number, 10));
        logs.iter().for_each(|log| log.report(Progress { number, synced: number }));
    }
    let synced = |number: usize| {
        let value = etcd.read(Range::new(KeyRange::key(keys.member(&format!("node-{number}"))))).remove(0).1;
        String::from_utf8(value).unwrap().contains("\"synced\":9")
    };
    eventually("both have said what they have synced", || synced(1) && synced(2));
    let first = || {
        let range = Range::new(KeyRange::between(keys.commit(0), keys.commit(u64::MAX))).keys_only();
        etcd.read(range).into_iter().find_map(|(key, _)| keys.commit_number(&key)).unwrap()
    };
    assert!(first() < 8, "younger than an hour");
    (10..60)
        .find(|number| logs[0].append(&commit(*number, *number, 3 * MAX_VALUE_BYTES / 4)) == Appended::Full)
        .unwrap();
    eventually("all is dropped that is synced, but for the last", || first() == 9);
}

#[test]
fn the_leader_drops_what_all_nodes_have_and_a_node_that_was_away_for_too_long_is_refused() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let (root, keys) = (tempfile::tempdir().unwrap(), Keys::new(CLUSTER));
    let options = |number: usize| {
        let limits = Limits { kept_for: Duration::from_millis(400), ..LIMITS };
        NodeOptions { limits, ..etcd.node(number, number == 1) }
    };
    let open = |number: usize| Store::open(&root.path().join(number.to_string()), of_cluster(options(number))).unwrap();
    let [first, second] = [open(1), open(2)];
    let write = |versions: std::ops::Range<u64>| {
        versions.for_each(|version| write_version(&first, Precondition::Any, version).unwrap());
    };
    write(0..20);
    let number = |store: &Store| store.handle.committer.number();
    let commits = || {
        let range = Range::new(KeyRange::between(keys.commit(0), keys.commit(u64::MAX))).keys_only();
        let commits = etcd.read(range).into_iter().filter_map(|(key, _)| keys.commit_number(&key));
        commits.collect::<Vec<_>>()
    };
    let last = number(&first);
    eventually("all but the last commit is dropped", || commits() == [last]);
    eventually("the other node follows", || number(&second) == last);
    // A node that is away holds the log.
    second.close();
    write(20..40);
    let trimmed = || etcd.read(Range::new(KeyRange::key(keys.trimmed()))).remove(0).1;
    // Meanwhile the leader has checked the log several times.
    let mut seen = BTreeSet::new();
    eventually("some time passes", || {
        seen.insert(etcd.read(Range::new(KeyRange::key(keys.member("node-1")))).remove(0).1);
        seen.len() > 8
    });
    assert_eq!((commits().first(), trimmed()), (Some(&last), (last - 1).to_string().into_bytes()));
    let second = open(2);
    assert_eq!(number(&second), number(&first));
    second.close();
    // It doesn't once it was away for a day.
    let member = r#"{"seen": "1970-01-01T00:00:00Z", "synced": 3}"#;
    change(&etcd, async |client| client.put(keys.member("node-2"), member, 0).await.unwrap());
    write(40..45);
    eventually("it holds nothing any more", || commits() == [number(&first)]);
    assert!(refusal(&options(2), &root.path().join("2")).contains("no longer contains commit"));
    first.close();
}
