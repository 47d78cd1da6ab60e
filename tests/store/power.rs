//! Power cuts: of what wasn't synced, some reaches the disk and some doesn't.
//!
//! In the hook before a flush the files are as the system has them; those of the last acknowledged write are on disk. A cut is
//! a mix of both, by pages of the files (by sectors of the witness), with new files that are there, not there, or cut off.
//! `AGENTDEX_POWER_CUTS` says how many are tried.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use agentdex::store::FlushHook;

use super::{
    damage::{Random, files, number, remove},
    *,
};

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files of a directory after a power cut.
fn cut(synced: &Files, written: &Files, random: &mut Random) -> Files {
    let mut left = Files::new();
    let names: BTreeSet<&PathBuf> = synced.keys().chain(written.keys()).collect();
    for name in names {
        let unit = if name.ends_with("witness") { 512 } else { 4096 };
        match (synced.get(name), written.get(name)) {
            (Some(old), Some(new)) => drop(left.insert(name.clone(), mixed(old, new, unit, random))),
            // Whether a removed file is gone depends on the directory, and so does whether a new one is there.
            (Some(old), None) if random.below(2) == 0 => drop(left.insert(name.clone(), old.clone())),
            (None, Some(new)) if random.below(2) == 0 => {
                let length = random.below(new.len() as u64 + 1) as usize;
                let length = if random.below(2) == 0 { new.len() } else { length };
                left.insert(name.clone(), new[..length].to_vec());
            }
            _ => {}
        }
    }
    left
}

fn mixed(old: &[u8], new: &[u8], unit: usize, random: &mut Random) -> Vec<u8> {
    let length = if random.below(2) == 0 { new.len() } else { old.len().min(new.len()) };
    let mut mixed = Vec::with_capacity(length);
    for start in (0..length).step_by(unit) {
        let end = length.min(start + unit);
        let from = if random.below(2) == 0 { new } else { old };
        let part = from.get(start..end.min(from.len())).unwrap_or_default();
        mixed.extend(part);
        mixed.resize(end, 0);
    }
    mixed
}

fn lay(files: &Files) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("store/blobs")).unwrap();
    for (name, bytes) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    directory
}

#[test]
fn no_power_cut_loses_what_was_acknowledged_or_has_a_store_refused() {
    let cuts = number("AGENTDEX_POWER_CUTS", 20);
    let directory = tempfile::tempdir().unwrap();
    let hooked: Arc<Mutex<Option<Files>>> = Arc::default();
    let (path, seen) = (directory.path().to_owned(), hooked.clone());
    let take = move || {
        *seen.lock().unwrap() = Some(read(&path));
        Ok(())
    };
    let options = Options::default().before_flush(FlushHook::new(take));
    let mut store = Some(Store::open(directory.path(), options.clone()).unwrap());
    let (mut texts, mut random) = (BTreeMap::new(), Random(11));
    for round in 0..cuts {
        for _ in 0..1 + random.below(6) {
            let id = format!("urn:{}", random.below(30));
            let open = store.as_ref().unwrap();
            if random.below(6) == 0 && texts.remove(&id).is_some() {
                open.submit(vec![write(&id, Precondition::Any, remove())]).wait().unwrap();
            } else {
                let length = if random.below(5) == 0 { 300_000 } else { random.below(3000) };
                let text = format!(r#"{{"round":{round},"text":"{}"}}"#, "x".repeat(length as usize));
                open.submit(vec![write(&id, Precondition::Any, put(&text))]).wait().unwrap();
                texts.insert(id, text);
            }
            if random.below(4) == 0 {
                // One that is witnessed before it is acknowledged.
                open.local().put_key(&format!("key{}", random.below(3)), format!("{round}").into_bytes()).unwrap();
            }
        }
        // What is acknowledged is on disk; the next write isn't yet.
        let synced = read(directory.path());
        let id = format!("urn:{}", random.below(40));
        let text = format!(r#"{{"last":{round},"text":"{}"}}"#, "y".repeat(random.below(100_000) as usize));
        let open = store.as_ref().unwrap();
        open.submit(vec![write(&id, Precondition::Any, put(&text))]).wait().unwrap();
        let written = hooked.lock().unwrap().take().unwrap();
        for _ in 0..3 {
            let left = lay(&cut(&synced, &written, &mut random));
            let after = Store::open(left.path(), Options::default()).expect("a healthy store opens after a power cut");
            let mut found: BTreeMap<String, String> =
                after.records(None).map(|record| record.unwrap()).map(|record| (record.id, record.text)).collect();
            let mut expected = texts.clone();
            if found.get(&id) == Some(&text) {
                expected.insert(id.clone(), text.clone());
            }
            assert_eq!(found.len(), expected.len(), "round {round}");
            found.retain(|id, text| expected.get(id) != Some(text));
            assert!(found.is_empty(), "round {round}: {:?}", found.keys());
            assert_eq!(after.check().unwrap().faults, [], "round {round}");
        }
        texts.insert(id, text);
        if random.below(8) == 0 {
            drop(store.take());
            store = Some(Store::open(directory.path(), options.clone()).unwrap());
        }
    }
}

/// The files that matter after a cut.
fn read(directory: &Path) -> Files {
    files(directory)
}
