//! A log whose positions have gaps: what is missing is told from what was never there.

use agentdex::store::Gaps;

use super::*;

fn options() -> Options {
    Options::default().gaps(Gaps::seeded(7))
}

fn with(options: Options, writes: u64) -> TestStore {
    let store = TestStore::with(options);
    (0..writes).for_each(|index| assert!(matches!(store.put(&format!("urn:{index}"), "{}"), Outcome::Created(_))));
    store
}

/// The positions of the first changes of a log.
fn positions(count: usize) -> Vec<Seq> {
    std::iter::successors(Some(Seq::ZERO), |last| Some(Gaps::seeded(7).after(*last))).skip(1).take(count).collect()
}

fn read(store: &Store, since: Seq, limit: usize) -> Vec<Seq> {
    let part = store.changes(since, limit).expect("reading succeeds");
    assert!(!part.truncated, "after {since}");
    part.changes().iter().map(|change| change.seq).collect()
}

#[test]
fn every_number_is_a_position_to_read_on_from() {
    let mut store = with(options(), 200);
    let all = positions(200);
    assert!(all[199] > Seq(400), "{:?}", all[199]);
    for _ in 0..2 {
        for since in (0..=all[199].0).map(Seq) {
            let after = &all[all.partition_point(|seq| *seq <= since)..];
            let cached = |store: &Store| store.cached_changes(since, 7).expect("it has just been read");
            // Where some of them are in memory, these are enough.
            for read in [read(&store, since, 7), cached(&store).iter().map(|entry| entry.seq()).collect()] {
                assert_eq!(read, after[..read.len()], "after {since}");
                assert!(read.len() <= 7 && (!read.is_empty() || after.is_empty()), "after {since}");
            }
        }
        assert!(store.changes(Seq(all[199].0 + 1), 7).expect("reading succeeds").truncated, "beyond the end");
        store.reopen();
    }
}

#[test]
fn as_many_changes_are_retained_as_there_may_be() {
    let mut store = with(options().retained_changes(100), 400);
    let all = positions(400);
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    for _ in 0..2 {
        assert_eq!(read(&store, all[299], usize::MAX), &all[300..]);
        assert_eq!(read(&store, Seq(all[300].0 - 1), 1), [all[300]]);
        let behind = store.changes(all[298], 10).expect("reading succeeds");
        assert_eq!((behind.truncated, behind.changes().len(), behind.oldest), (true, 0, all[300]));
        store.reopen();
    }
    for _ in 0..2 {
        store.put("urn:more", "{}");
        store.put("urn:more", r#"{"a":1}"#);
        store
            .write(write("urn:more", Precondition::Any, Operation::Remove(DeletionReason::Removed)))
            .expect("it is there");
        store.trim_log(Timestamp::now()).expect("trimming succeeds");
        assert_eq!(store.check().expect("reading succeeds").changes, 100);
    }
}

#[test]
fn a_log_that_was_trimmed_whole_goes_on() {
    let mut store = with(options().retained_for(Duration::ZERO).retained_at_any_age(0), 3);
    let all = positions(4);
    store.trim_log(Timestamp::now().plus_seconds(1)).expect("trimming succeeds");
    for _ in 0..2 {
        assert!(store.changes(all[1], 10).expect("reading succeeds").truncated);
        assert_eq!(read(&store, all[2], 10), []);
        store.reopen();
    }
    store.put("urn:more", "{}");
    for _ in 0..2 {
        assert!(store.changes(all[1], 10).expect("reading succeeds").truncated);
        assert_eq!(read(&store, all[2], 10), [all[3]]);
        store.reopen();
    }
}

#[test]
fn check_takes_no_gap_for_a_loss_and_no_loss_for_a_gap() {
    let mut store = with(options(), 9);
    let all = positions(9);
    assert_eq!(store.check().expect("reading succeeds").faults, []);
    let raw = store.open_raw();
    raw.remove([b"l/".as_slice(), &all[4].0.to_be_bytes()].concat()).expect("sled writes");
    raw.flush().expect("sled writes");
    drop(raw);
    store.reopen();
    let faults = store.check().expect("reading succeeds").faults;
    assert!(
        faults.iter().any(|fault| fault.to_string().starts_with(&format!("the log before the change {}: ", all[5]))),
        "{faults:?}"
    );
    // A reader learns of it as well, from wherever it comes.
    assert_eq!(read(&store, Seq::ZERO, 4), &all[..4]);
    for since in [all[3], Seq(all[4].0 - 1)] {
        assert!(store.changes(since, 9).expect("reading succeeds").truncated, "after {since}");
    }
    assert_eq!(read(&store, all[4], 9), &all[5..]);
}

#[test]
fn distances_are_numbers_of_changes() {
    let mut store = with(options(), 200);
    let all = positions(200);
    for _ in 0..2 {
        let reader = store.log_reader();
        let ordinal = |position| reader.ordinal(position).expect("reading succeeds");
        let end = ordinal(all[199]);
        for position in (0..=all[199].0).map(Seq) {
            let after = all.iter().filter(|seq| **seq > position).count();
            assert_eq!(end - ordinal(position), after as i64, "after {position}");
        }
        store.reopen();
    }
}

#[test]
fn each_change_names_the_position_before_it() {
    let mut store = with(options(), 100);
    let all = positions(100);
    for _ in 0..2 {
        let changes = store.changes(Seq::ZERO, 100).expect("reading succeeds").changes();
        assert_eq!(changes[0].previous, Seq::ZERO);
        assert!(changes.windows(2).all(|pair| pair[1].previous == pair[0].seq));
        let history = store.history("urn:7", Seq::ZERO, 1).expect("reading succeeds");
        assert_eq!((history[0].seq, history[0].previous), (all[7], all[6]));
        store.reopen();
    }
    let dense = with(Options::default().gaps(Gaps::NONE), 3);
    let changes = dense.changes(Seq::ZERO, 100).expect("reading succeeds").changes();
    assert_eq!(changes.iter().map(|change| change.previous.0).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn what_a_snapshot_has_is_restored_with_its_gaps() {
    let store = with(options().retained_changes(10), 40);
    let all = positions(41);
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    let pairs: Vec<_> = store.snapshot().expect("there is no other").collect();
    let home = tempfile::tempdir().expect("a temporary directory");
    let pairs = pairs.into_iter().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())));
    agentdex::store::restore(home.path(), pairs, agentdex::store::Purpose::Registry).expect("it is empty");
    let restored = Store::open(home.path(), options()).expect("it opens");
    assert_eq!(read(&restored, all[29], 100), &all[30..40]);
    assert!(restored.changes(all[28], 100).expect("reading succeeds").truncated);
    let put = write("urn:more", Precondition::Any, put("{}"));
    assert_eq!(restored.submit(vec![put]).wait().expect("it succeeds"), [Outcome::Created(all[40])]);
}

#[test]
fn the_environment_decides_where_a_test_does_not() {
    let asked = std::env::var("AGENTDEX_TEST_GAPS").is_ok();
    assert_eq!(nth(100) > Seq(100), asked && cfg!(debug_assertions));
    let store = with(Options::default(), 20);
    assert_eq!(*store.durable().borrow(), nth(20));
}
