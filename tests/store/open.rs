//! Opening a directory: one process, one format.

use agentdex::{Error, store::Original};

use super::*;

#[test]
fn store_keeps_its_identity() {
    let mut store = TestStore::open();
    let identity = (store.epoch(), store.registry_id());
    store.reopen();
    assert_eq!((store.epoch(), store.registry_id()), identity);
    assert_ne!(TestStore::open().epoch(), identity.0);
}

#[test]
fn records_and_log_are_there_again() {
    let mut store = TestStore::open();
    for index in 0..100 {
        store.put(&format!("urn:{index:03}"), &format!(r#"{{"index":{index}}}"#));
    }
    store.write(write("urn:000", Precondition::Any, Operation::Remove(DeletionReason::Removed))).expect("it is there");
    store.reopen();
    assert_eq!(store.ids().len(), 99);
    assert_eq!(store.len(), 99);
    assert_eq!(store.text("urn:042").as_deref(), Some(r#"{"index":42}"#));
    assert_eq!(store.log().len(), 101);
    assert_eq!(*store.durable().borrow(), nth(101));
    assert_eq!(store.put("urn:new", "{}"), Outcome::Created(nth(102)));
}

#[test]
fn second_open_says_that_the_directory_is_in_use() {
    let store = TestStore::open();
    match Store::open(store.directory.path(), Options::default()).map(|_| ()) {
        Err(Error::StoreInUse { path, by_this_process }) => {
            assert_eq!((path.as_path(), by_this_process), (store.directory.path(), true));
        }
        other => panic!("expected StoreInUse, got {other:?}"),
    }
}

#[test]
fn lock_that_is_let_go_in_time_is_waited_for() {
    let store = TestStore::open();
    let path = store.directory.path().to_owned();
    let (begins, begun) = std::sync::mpsc::channel();
    let opened = std::thread::spawn(move || {
        begins.send(()).expect("somebody waits for it");
        Store::open(&path, Options::default()).is_ok()
    });
    begun.recv().expect("it begins");
    let TestStore { store, directory, .. } = store;
    drop(store);
    assert!(opened.join().expect("no panic"));
    drop(directory);
}

#[test]
fn unknown_format_version_is_refused() {
    let mut store = TestStore::open();
    store.put("urn:a", "{}");
    let tree = store.open_raw();
    tree.insert("m/format", &99_u32.to_be_bytes()).expect("sled writes");
    drop(tree);
    match Store::open(store.directory.path(), Options::default()).map(|_| ()) {
        Err(error @ Error::UnsupportedStoreFormat { .. }) => {
            assert!(error.to_string().contains("the store format 99, but this version reads format 5"), "{error}");
        }
        other => panic!("expected UnsupportedStoreFormat, got {other:?}"),
    }
}

#[test]
fn text_goes_when_neither_its_record_nor_the_log_needs_it() {
    let mut store = TestStore::with(Options::default().retained_changes(2));
    for text in ["{}", r#"{"a":1}"#, r#"{"a":2}"#] {
        store.put("urn:updated", text);
        store.put("urn:removed", text);
        let original =
            Original { format: "a2a".into(), media_type: String::new(), bytes: text.into(), ..Original::default() };
        let Operation::Put { text, capabilities, expiry, patch, .. } = put(text) else { unreachable!() };
        let put = Operation::Put {
            text,
            capabilities,
            expiry,
            patch,
            original: Some(original),
            created: None,
            declares: Declares::itself(),
        };
        store.write(write("urn:imported", Precondition::Any, put)).expect("it is written");
    }
    store.put("urn:created", "{}");
    store
        .write(write("urn:removed", Precondition::Any, Operation::Remove(DeletionReason::Removed)))
        .expect("it is there");
    let under = |tree: &sled::Db, prefix: &str| {
        let keys = tree.scan_prefix(prefix).keys().map(|key| key.expect("sled reads").to_vec());
        let seq = |key: Vec<u8>| Seq(u64::from_be_bytes(*key.last_chunk().expect("a seq")));
        keys.map(|key| number_of(seq(key))).collect::<Vec<_>>()
    };
    let tree = store.open_raw();
    // Those of the creations are in the log, the others are current.
    assert_eq!((under(&tree, "t/"), under(&tree, "o/")), (vec![1, 2, 3, 7, 9, 10], vec![9]));
    drop(tree);
    store.reopen();
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    let tree = store.open_raw();
    assert_eq!((under(&tree, "t/"), under(&tree, "l/")), (vec![7, 9, 10], vec![10, 11]));
}

#[test]
fn directory_of_another_program_is_refused_and_untouched() {
    for segment_bytes in [512 * 1024, 2 * 1024 * 1024] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = sled::Config::new().path(directory.path().join("store")).segment_size(segment_bytes);
        config.open().and_then(|tree| tree.insert("key", "value")).expect("sled writes");
        match Store::open(directory.path(), Options::default()).map(|_| ()) {
            Err(error @ Error::UnsupportedStoreFormat { .. }) => {
                assert!(error.to_string().contains("has the store format of another program"), "{error}");
            }
            other => panic!("expected UnsupportedStoreFormat, got {other:?}"),
        }
        assert_eq!(config.open().expect("sled opens it").len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn directory_is_made_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a/b");
    let _store = Store::open(&path, Options::default()).expect("it opens");
    let mode = path.metadata().expect("it exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
