//! The store's promises: what a write does, what readers see, what a crash can't take.

use std::{
    thread,
    time::{Duration, Instant},
};

use agentdex::{
    change::{DeletionReason, Precondition, Seq, Timestamp},
    store::{Declares, Expiry, Operation, Options, Outcome, Store, Ticket, Write},
};
use tempfile::TempDir;

use crate::support::{directory_on_disk, nth, number_of};

mod audit;
mod check;
mod crash;
mod damage;
mod declarations;
mod expiry;
mod flush;
mod gaps;
mod log;
mod model;
mod namespaces;
mod open;
mod power;
mod records;
mod snapshot;
mod writes;

/// A store in a directory that goes away with it.
struct TestStore {
    store: Option<Store>,
    options: Options,
    directory: TempDir,
}

impl TestStore {
    fn open() -> TestStore {
        TestStore::with(Options::default())
    }

    fn with(options: Options) -> TestStore {
        TestStore::with_in(tempfile::tempdir().expect("a temporary directory"), options)
    }

    fn with_in(directory: TempDir, options: Options) -> TestStore {
        let store = Store::open(directory.path(), options.clone()).expect("an empty directory opens");
        TestStore { store: Some(store), options, directory }
    }

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(Store::open(self.directory.path(), self.options.clone()).expect("it opens again"));
    }

    /// Closes the store and opens the tree that it is stored in.
    fn open_raw(&mut self) -> sled::Db {
        self.store = None;
        let config = sled::Config::new().path(self.directory.path().join("store")).segment_size(2 * 1024 * 1024);
        // sled's own threads hold the lock a moment longer than the store.
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match config.open() {
                Ok(tree) => return tree,
                Err(error) => assert!(Instant::now() < deadline, "sled doesn't open it: {error}"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn put(&self, id: &str, text: &str) -> Outcome {
        self.write(write(id, Precondition::Any, put(text))).expect("a put without precondition succeeds")
    }

    fn write(&self, write: Write) -> agentdex::Result<Outcome> {
        self.submit(vec![write]).wait().map(|outcomes| outcomes[0])
    }

    fn text(&self, id: &str) -> Option<String> {
        self.find(id).expect("reading succeeds").map(|record| record.text)
    }

    fn ids(&self) -> Vec<String> {
        self.records(None).map(|record| record.expect("reading succeeds").id).collect()
    }

    /// Number, kind, id and description (or patch) of each change.
    fn log(&self) -> Vec<String> {
        let part = self.changes(Seq::ZERO, usize::MAX).expect("reading succeeds");
        assert!(!part.truncated);
        part.changes().iter().map(|change| sketch(change)).collect()
    }
}

impl std::ops::Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store.as_ref().expect("open")
    }
}

fn sketch(change: &agentdex::Change) -> String {
    let text = change.td.as_ref().or(change.patch.as_ref()).map_or("", |text| text.get());
    format!("{} {} {} {text}", number_of(change.seq), change.kind, change.id).trim_end().to_owned()
}

fn write(id: &str, precondition: Precondition, operation: Operation) -> Write {
    Write { id: id.to_owned(), precondition, operation, actor: None }
}

fn put(text: &str) -> Operation {
    put_expiring(text, Expiry::default())
}

fn put_expiring(text: &str, expiry: Expiry) -> Operation {
    Operation::Put {
        text: text.to_owned(),
        capabilities: Vec::new(),
        expiry,
        patch: None,
        original: None,
        created: None,
        declares: Declares::itself(),
    }
}

/// An expiry that is over.
fn past(ttl: Option<u64>) -> Expiry {
    Expiry { ttl, expires: Some(Timestamp(Timestamp::now().0 - 1000)) }
}

/// An expiry far ahead.
fn future(ttl: Option<u64>) -> Expiry {
    Expiry { ttl, expires: Some(Timestamp::now().plus_seconds(1000)) }
}
