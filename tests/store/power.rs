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

use agentdex::store::{CopiedDirectory, FlushHook, Verdict, inspect};

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

/// A store whose power is cut, and what of it was acknowledged.
struct Cut {
    /// Closed before its directory is removed.
    store: Option<Store>,
    directory: TempDir,
    options: Options,
    texts: BTreeMap<String, String>,
    /// The files before each of the last two flushes.
    hooked: Arc<Mutex<Vec<Files>>>,
    random: Random,
}

impl Cut {
    fn new() -> Cut {
        Cut::with(Options::default())
    }

    fn with(options: Options) -> Cut {
        let directory = directory_on_disk();
        let hooked: Arc<Mutex<Vec<Files>>> = Arc::default();
        let (path, seen) = (directory.path().to_owned(), hooked.clone());
        let take = move || {
            let mut seen = seen.lock().unwrap();
            if seen.len() == 2 {
                seen.remove(0);
            }
            seen.push(files(&path));
            Ok(())
        };
        let options = options.before_flush(FlushHook::new(take));
        let store = Some(Store::open(directory.path(), options.clone()).unwrap());
        Cut { directory, options, store, texts: BTreeMap::new(), hooked, random: Random(11) }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Writes a few records, and now and then a key, which is witnessed before it is acknowledged.
    fn write_some(&mut self, round: u64) {
        for _ in 0..1 + self.random.below(6) {
            let id = format!("urn:{}", self.random.below(30));
            if self.random.below(6) == 0 && self.texts.remove(&id).is_some() {
                self.store().submit(vec![write(&id, Precondition::Any, remove())]).wait().unwrap();
            } else {
                let length = if self.random.below(5) == 0 { 300_000 } else { self.random.below(3000) };
                self.put(&id, round, length);
            }
            if self.random.below(4) == 0 {
                let key = format!("key{}", self.random.below(3));
                self.store().local().put_key(&key, round.to_string().into_bytes()).unwrap();
            }
        }
    }

    fn put(&mut self, id: &str, round: u64, length: u64) {
        let text = text(round, length);
        self.store().submit(vec![write(id, Precondition::Any, put(&text))]).wait().unwrap();
        self.texts.insert(id.into(), text);
    }

    /// Writes more at once, and returns the files without it, which are on disk, and with it, of which a part is.
    fn write_last(&mut self, round: u64, lengths: &[u64]) -> (Files, Files) {
        let synced = files(self.directory.path());
        let texts: BTreeMap<String, String> =
            lengths.iter().map(|length| (format!("urn:{}", self.random.below(40)), text(round, *length))).collect();
        let writes = texts.iter().map(|(id, text)| write(id, Precondition::Any, put(text))).collect();
        self.store().submit(writes).wait().unwrap();
        self.texts.extend(texts);
        (synced, self.hooked.lock().unwrap().pop().unwrap())
    }

    /// Opens what a cut leaves: it has what was acknowledged, or the last writes as well.
    fn assert_survives(&mut self, before: &BTreeMap<String, String>, (synced, written): &(Files, Files), round: u64) {
        let left = lay(&cut(synced, written, &mut self.random));
        let inspection = inspect(&CopiedDirectory::of(left.path()).unwrap()).unwrap();
        assert_eq!(inspection.verdict, Verdict::InOrder, "round {round}: {:?}", inspection.checked.faults);
        let after = Store::open(left.path(), Options::default()).expect("a healthy store opens after a power cut");
        let found: BTreeMap<String, String> =
            after.records(None).map(|record| record.unwrap()).map(|record| (record.id, record.text)).collect();
        assert!(found == *before || found == self.texts, "round {round}: {:?}", found.keys());
        assert_eq!(after.check().unwrap().faults, [], "round {round}");
    }
}

fn text(round: u64, length: u64) -> String {
    format!(r#"{{"round":{round},"text":"{}"}}"#, "x".repeat(length as usize))
}

#[test]
fn no_power_cut_loses_what_was_acknowledged_or_has_a_store_refused() {
    let mut cut = Cut::new();
    for round in 0..number("AGENTDEX_POWER_CUTS", 20) {
        cut.write_some(round);
        let (before, length) = (cut.texts.clone(), cut.random.below(100_000));
        let files = cut.write_last(round, &[length]);
        for _ in 0..3 {
            cut.assert_survives(&before, &files, round);
        }
        if cut.random.below(8) == 0 {
            drop(cut.store.take());
            cut.store = Some(Store::open(cut.directory.path(), cut.options.clone()).unwrap());
        }
    }
}

/// Retention doesn't wait for the disk, but the next commit does.
#[test]
fn no_power_cut_after_retention_has_a_store_refused() {
    let mut cut = Cut::with(Options::default().retained_changes(20).retained_at_any_age(20));
    for round in 0..number("AGENTDEX_POWER_CUTS", 10) {
        (0..12).for_each(|_| cut.write_some(round));
        let (before, synced) = (cut.texts.clone(), files(cut.directory.path()));
        cut.hooked.lock().unwrap().clear();
        cut.store().trim_log(Timestamp::now()).unwrap();
        cut.write_last(round, &[2_000]);
        let dropped = cut.hooked.lock().unwrap().pop().expect("it is synced before the next commit");
        let files = (synced, dropped);
        (0..6).for_each(|_| cut.assert_survives(&before, &files, round));
    }
}

/// Of a write that goes over the end of a segment of the log, the rest of one may be lost and the next one may be there.
#[test]
fn a_write_that_is_torn_at_the_end_of_a_segment_is_not_there() {
    let heads = |files: &Files| -> Vec<Vec<u8>> {
        let log = &files[Path::new("store/db")];
        log.chunks(2 * 1024 * 1024).map(|segment| segment[..20].to_vec()).collect()
    };
    let mut cut = Cut::new();
    let mut crossed = 0;
    for round in 0.. {
        // One record in most rounds, and some of several segments together.
        let lengths = if cut.random.below(20) == 0 { vec![300_000; 8] } else { vec![cut.random.below(300_000)] };
        let before = cut.texts.clone();
        let files = cut.write_last(round, &lengths);
        if heads(&files.0) == heads(&files.1) {
            continue;
        }
        for _ in 0..5 {
            cut.assert_survives(&before, &files, round);
        }
        crossed += 1;
        if crossed == number("AGENTDEX_POWER_CUTS", 5) {
            break;
        }
    }
}
