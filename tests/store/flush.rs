//! Acknowledged means flushed: nothing is shown or acknowledged before, and a flush that fails
//! closes the store.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use agentdex::{
    Error,
    store::{Applied, FlushHook},
};

use super::*;

fn with_hook(group_size: usize, hook: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> TestStore {
    let options = Options::default().group_size(group_size).before_flush(FlushHook::new(hook));
    TestStore::with_in(directory_on_disk(), options)
}

#[test]
fn failed_flush_acknowledges_nothing_and_closes_the_store() {
    let failing = Arc::new(AtomicBool::new(false));
    let disk = failing.clone();
    let mut store = with_hook(8, move || match disk.load(Ordering::SeqCst) {
        true => Err(io::Error::other("no space left")),
        false => Ok(()),
    });
    store.put("urn:before", r#"{"a":1}"#);
    failing.store(true, Ordering::SeqCst);
    let mut tickets: Vec<Ticket> = (0..100)
        .map(|index| store.submit(vec![write(&format!("urn:{index}"), Precondition::Any, put("{}"))]))
        .collect();
    tickets.push(store.submit(vec![write(
        "urn:before",
        Precondition::Any,
        Operation::Remove(DeletionReason::Removed),
    )]));
    for ticket in tickets {
        match ticket.wait() {
            Err(Error::WritesClosed { reason }) => assert_eq!(reason, "no space left"),
            other => panic!("acknowledged: {other:?}"),
        }
    }
    // It stays closed when the disk is well again, shows what was durable, and nothing else.
    failing.store(false, Ordering::SeqCst);
    let later = store.submit(vec![write("urn:later", Precondition::Any, put("{}"))]).wait();
    assert!(matches!(later, Err(Error::WritesClosed { .. })), "{later:?}");
    assert_eq!(store.closed_to_writes().as_deref(), Some("no space left"));
    assert!(store.trim_log(Timestamp::now()).is_err());
    assert_eq!(store.ids(), ["urn:before"]);
    assert_eq!(store.text("urn:0"), None);
    assert_eq!(store.text("urn:before").as_deref(), Some(r#"{"a":1}"#));
    assert_eq!(store.log(), [r#"1 thing_created urn:before {"a":1}"#]);
    assert_eq!((*store.durable().borrow(), store.len()), (nth(1), 1));
    // Reopened it takes writes; what the failed group left is whole or absent, in log and records alike.
    store.reopen();
    assert_eq!(store.closed_to_writes(), None);
    assert_eq!(store.len(), store.ids().len() as u64);
    assert!(matches!(store.put("urn:again", "{}"), Outcome::Created(_)));
}

#[test]
fn acknowledgements_never_exceed_flushes_times_group_size() {
    const GROUP_SIZE: usize = 4;
    let flushes = Arc::new(AtomicU64::new(0));
    let counter = flushes.clone();
    let store = with_hook(GROUP_SIZE, move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        for writer in 0..8 {
            let (store, acknowledged, flushes) = (&store, &acknowledged, &flushes);
            scope.spawn(move || {
                for index in 0..50 {
                    store.put(&format!("urn:{writer}:{index}"), "{}");
                    // Counted after the fact, so never above what the flushes so far allow.
                    let count = acknowledged.fetch_add(1, Ordering::SeqCst) + 1;
                    let most = flushes.load(Ordering::SeqCst) * GROUP_SIZE as u64;
                    assert!(count <= most, "{count} acknowledged, {most} flushed at most");
                }
            });
        }
    });
    assert_eq!(acknowledged.load(Ordering::SeqCst), 400);
}

#[test]
fn concurrent_writers_share_flushes() {
    let flushes = Arc::new(AtomicU64::new(0));
    let counter = flushes.clone();
    let store = with_hook(256, move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let tickets: Vec<Ticket> = (0..1000)
        .map(|index| store.submit(vec![write(&format!("urn:{index}"), Precondition::Any, put("{}"))]))
        .collect();
    for ticket in tickets {
        ticket.wait().expect("it succeeds");
    }
    // Three full groups of 256, and one of 232.
    assert_eq!(flushes.load(Ordering::SeqCst), 4);
}

/// A store whose flushes, once armed, tell that they have begun and wait to be let go.
struct HeldUp {
    // Dropped before the store, should a test fail: else the committer would wait for ever.
    go_on: mpsc::Sender<()>,
    in_flush: mpsc::Receiver<()>,
    armed: Arc<AtomicBool>,
    store: TestStore,
}

impl HeldUp {
    fn open() -> HeldUp {
        let (entered, in_flush) = mpsc::channel();
        let (go_on, gate) = mpsc::channel::<()>();
        let (gate, armed) = (Mutex::new(gate), Arc::new(AtomicBool::new(false)));
        let arm = armed.clone();
        let store = with_hook(8, move || {
            if arm.load(Ordering::SeqCst) {
                entered.send(()).map_err(io::Error::other)?;
                // An error means that the test has failed and is over.
                let _ = gate.lock().expect("not poisoned").recv();
            }
            Ok(())
        });
        HeldUp { go_on, in_flush, armed, store }
    }

    /// Lets another thread commit a transaction and returns when it is applied, but not flushed.
    fn submit(&self, writes: Vec<Write>) -> Committing {
        self.armed.store(true, Ordering::SeqCst);
        let ticket = self.store.submit(writes);
        let ticket = Committing(thread::spawn(|| ticket.wait()));
        self.in_flush.recv().expect("the committer flushes");
        self.armed.store(false, Ordering::SeqCst);
        ticket
    }

    fn let_go(&self) {
        self.go_on.send(()).expect("the hook listens");
    }
}

/// A thread that commits.
struct Committing(thread::JoinHandle<agentdex::Result<Applied>>);

impl Committing {
    fn wait(self) -> agentdex::Result<Applied> {
        self.0.join().expect("a commit doesn't panic")
    }
}

#[test]
fn writers_that_come_during_a_flush_share_the_next_one() {
    let held_up = HeldUp::open();
    let store = &held_up.store;
    let first = held_up.submit(vec![write("urn:first", Precondition::Any, put("{}"))]);
    let submit = |index| store.submit(vec![write(&format!("urn:{index}"), Precondition::Any, put("{}"))]);
    // Two full groups of eight, and one of four.
    let tickets: Vec<Ticket> = (0..20).map(submit).collect();
    held_up.armed.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let writers: Vec<_> = tickets.into_iter().map(|ticket| scope.spawn(|| ticket.wait())).collect();
        held_up.let_go();
        for _ in 0..3 {
            held_up.in_flush.recv().expect("a group is flushed");
            held_up.let_go();
        }
        for writer in writers {
            writer.join().expect("a writer doesn't panic").expect("it succeeds");
        }
    });
    first.wait().expect("it succeeds");
    assert!(held_up.in_flush.try_recv().is_err(), "a fourth flush for three groups");
    assert_eq!(store.len(), 21);
}

#[test]
fn a_transaction_is_committed_however_it_is_waited_for() {
    let store = TestStore::open();
    let submit = |id: &str| store.submit(vec![write(id, Precondition::Any, put("{}"))]);
    let durable = || *store.durable().borrow();
    drop(submit("urn:dropped"));
    submit("urn:waited").wait().expect("it succeeds");
    assert_eq!(durable(), nth(2), "in the order of submission");
    pollster::block_on(submit("urn:polled")).expect("it succeeds");
    assert_eq!(durable(), nth(3));
    let mut end = store.durable();
    drop(submit("urn:dropped alone"));
    pollster::block_on(end.wait_for(|seq| *seq == nth(4))).expect("the store is open");
    let left = submit("urn:left");
    store.close();
    assert!(left.wait().is_ok(), "what was submitted before the store closed is committed");
    assert!(matches!(submit("urn:late").wait(), Err(Error::ShuttingDown)));
}

/// A power failure leaves a single incomplete commit at most.
#[test]
fn what_retention_drops_is_synced_before_the_next_commit() {
    let flushes = Arc::new(AtomicU64::new(0));
    let counter = flushes.clone();
    let count = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let options = Options::default().retained_changes(3).retained_at_any_age(3).before_flush(FlushHook::new(count));
    let store = TestStore::with_in(directory_on_disk(), options);
    (0..10).for_each(|number| {
        store.put("urn:a", &format!(r#"{{"a":{number}}}"#));
    });
    let before = flushes.load(Ordering::SeqCst);
    store.trim_log(Timestamp::now()).expect("it succeeds");
    assert!(store.changes(Seq::ZERO, 1).expect("reading succeeds").truncated);
    assert_eq!(flushes.load(Ordering::SeqCst), before);
    store.put("urn:b", "{}");
    assert_eq!(flushes.load(Ordering::SeqCst), before + 2);
}

/// sled splits pages when they are read, and writes large ones to files of their own.
#[test]
fn store_whose_directory_was_removed_can_be_closed() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        for writes in 10..30 {
            let directory = directory_on_disk();
            let store = Store::open(directory.path(), Options::default()).expect("it opens");
            for number in 0..writes {
                let text = format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000));
                let id = format!("urn:{number}");
                store.submit(vec![write(&id, Precondition::Any, put(&text))]).wait().expect("it succeeds");
            }
            drop(directory);
            store.records(None).for_each(drop);
            drop(store);
        }
        done.send(()).expect("the test waits");
    });
    is_done.recv_timeout(Duration::from_secs(120)).expect("closing ends");
}

#[test]
fn a_panic_in_a_commit_leaves_nobody_waiting() {
    let panicking = Arc::new(AtomicBool::new(false));
    let armed = panicking.clone();
    let store = with_hook(4, move || match armed.load(Ordering::SeqCst) {
        true => panic!("an invariant of sled is broken"),
        false => Ok(()),
    });
    store.put("urn:before", "{}");
    panicking.store(true, Ordering::SeqCst);
    let tickets: Vec<Ticket> =
        (0..20).map(|index| store.submit(vec![write(&format!("urn:{index}"), Precondition::Any, put("{}"))])).collect();
    thread::scope(|scope| {
        for (index, ticket) in tickets.into_iter().enumerate() {
            scope.spawn(move || {
                let outcome = if index % 2 == 0 { ticket.wait() } else { pollster::block_on(ticket) };
                assert!(matches!(outcome, Err(Error::WritesClosed { .. })), "{outcome:?}");
            });
        }
    });
    assert_eq!(store.closed_to_writes().as_deref(), Some("a commit panicked"));
    assert_eq!(store.ids(), ["urn:before"]);
}

#[test]
fn nothing_is_shown_before_it_is_durable() {
    let held_up = HeldUp::open();
    let store = &held_up.store;
    store.put("urn:a", r#"{"a":1}"#);
    store.put("urn:b", r#"{"b":1}"#);
    store.write(write("urn:c", Precondition::Any, put_expiring("{}", past(None)))).expect("it succeeds");
    let before = (store.ids(), store.log(), store.len());
    let ticket = held_up.submit(vec![
        write("urn:a", Precondition::Any, put(r#"{"a":2}"#)),
        write("urn:b", Precondition::Any, Operation::Remove(DeletionReason::Removed)),
        write("urn:c", Precondition::Any, put_expiring(r#"{"c":2}"#, future(None))),
        write("urn:d", Precondition::Any, put("{}")),
    ]);
    assert_eq!((store.ids(), store.log(), store.len()), before);
    assert_eq!(store.text("urn:a").as_deref(), Some(r#"{"a":1}"#));
    assert_eq!(store.text("urn:b").as_deref(), Some(r#"{"b":1}"#));
    assert_eq!(store.text("urn:c"), None);
    assert_eq!(store.text("urn:d"), None);
    assert_eq!(store.history("urn:a", Seq::ZERO, 10).expect("reading succeeds").len(), 1);
    held_up.let_go();
    ticket.wait().expect("it succeeds");
    assert_eq!(store.ids(), ["urn:a", "urn:c", "urn:d"]);
    assert_eq!(store.text("urn:a").as_deref(), Some(r#"{"a":2}"#));
    assert_eq!(store.text("urn:c").as_deref(), Some(r#"{"c":2}"#));
    assert_eq!(store.history("urn:a", Seq::ZERO, 10).expect("reading succeeds").len(), 2);
}

#[test]
fn long_scan_shows_nothing_before_it_is_durable() {
    let held_up = HeldUp::open();
    let store = &held_up.store;
    let id = |index: u32| format!("urn:{index:04}");
    // Stretches of ten: some will go, some are new, some stay, longer and shorter than the chunks of a scan.
    let (there, goes) =
        (|index: &u32| index / 10 % 3 != 1, |index: &u32| (index / 10).is_multiple_of(3) || *index > 700);
    let create = |index| write(&id(index), Precondition::Absent, put("{}"));
    store.submit((0..900).filter(there).map(create).collect()).wait().expect("it succeeds");
    let before = store.ids();
    let removals = (0..900)
        .filter(there)
        .filter(goes)
        .map(|index| write(&id(index), Precondition::Any, Operation::Remove(DeletionReason::Removed)));
    let creations = (0..900).filter(|index| !there(index)).map(create);
    let ticket = held_up.submit(removals.chain(creations).collect());
    assert_eq!(store.ids(), before);
    assert_eq!(store.len(), before.len() as u64);
    held_up.let_go();
    ticket.wait().expect("it succeeds");
    let after: Vec<String> = (0..900).filter(|index| !there(index) || !goes(index)).map(id).collect();
    assert_eq!(store.ids(), after);
}
