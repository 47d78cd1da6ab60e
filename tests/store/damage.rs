//! Damaged files: a store is what it was, or says what is lost, or it is refused and left as it is.
//!
//! `AGENTDEX_DAMAGES` says how many random ones are tried of each kind of store, `AGENTDEX_DAMAGE_SEED` where they begin,
//! `AGENTDEX_DAMAGE_RECORDS` how many records an older store has.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::ErrorKind,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use agentdex::{
    Error,
    access::{AccessRequest, Caller, Visibility},
    store::{Author, salvage},
};

use super::*;

/// All files under a directory with what they have, but for those that are removed meanwhile.
pub(super) fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some((path.strip_prefix(directory).unwrap().to_owned(), read.unwrap())),
    };
    paths(directory).into_iter().filter_map(read).collect()
}

fn paths(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn copy_of(directory: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for path in paths(directory) {
        let to = copy.path().join(path.strip_prefix(directory).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&path, &to).unwrap();
    }
    fs::create_dir_all(copy.path().join("store/blobs")).unwrap();
    copy
}

pub(super) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().expect("a number"))
}

/// Numbers that look random, from a seed.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % limit.max(1)
    }
}

/// Everything that readers get of a store.
#[derive(Debug, PartialEq)]
struct Everything {
    texts: BTreeMap<String, String>,
    changes: Vec<Seq>,
    history: BTreeMap<String, Vec<Seq>>,
    keys: Vec<String>,
    unseen: Vec<String>,
}

impl Everything {
    fn of(store: &Store) -> Everything {
        let texts: BTreeMap<String, String> = store
            .records(None)
            .map(|record| record.expect("lists go on"))
            .map(|record| (record.id, record.text))
            .collect();
        let (mut changes, mut since) = (Vec::new(), Seq::ZERO);
        loop {
            let part = store.changes(since, 1000).expect("the log can be read");
            // From here on it is read again.
            let Some(last) = part.entries.last().map(|entry| entry.seq()).filter(|_| !part.truncated) else { break };
            changes.extend(part.entries.iter().map(|entry| entry.seq()));
            since = last;
        }
        let history = |id: &String| {
            let changes = store.history(id, Seq::ZERO, 100).expect("a history can be read");
            (id.clone(), changes.iter().map(|change| change.seq).collect())
        };
        let history = texts.keys().step_by(1 + texts.len() / 300).map(history).collect();
        let keys = store.local().keys().expect("keys can be read").into_iter().map(|(id, _)| id).collect();
        let mut unseen = store.unseen_ids(&Default::default());
        unseen.sort();
        Everything { texts, changes, history, keys, unseen }
    }

    /// True if nothing of it is another text, another key or seen by more than in `other`.
    fn is_part_of(&self, other: &Everything) -> bool {
        self.texts.iter().all(|(id, text)| other.texts.get(id) == Some(text))
            && self.keys == other.keys
            && other.unseen.iter().all(|id| self.unseen.contains(id) || !self.texts.contains_key(id))
    }
}

fn text(index: u64, round: u64) -> String {
    // Some are so long that their pages lie in files of their own.
    let length = if index % 97 == 13 { 60_000 } else { 40 + index * 7 % 900 };
    format!(r#"{{"index":{index},"round":{round},"text":"{}"}}"#, "x".repeat(usize::try_from(length).unwrap()))
}

/// A store that was opened `rounds` times; in the later ones a part of it was written again, hidden and removed.
fn written(records: u64, rounds: u64) -> TempDir {
    let mut store = TestStore::open();
    for round in 0..rounds {
        let some: Vec<u64> = (0..records).filter(|index| round == 0 || index % 5 == round % 5).collect();
        for indexes in some.chunks(50) {
            let put = |index: &u64| write(&format!("urn:{index:06}"), Precondition::Any, put(&text(*index, round)));
            store.submit(indexes.iter().map(put).collect()).wait().unwrap();
        }
        let private = AccessRequest {
            owner: "us".parse().ok(),
            visibility: Some(Visibility::Private),
            ..AccessRequest::default()
        };
        let hidden = write(&format!("urn:{:06}", 5 + round), Precondition::Any, Operation::Access);
        store.submit_as(Author::new(Caller::Trusted, private), vec![hidden]).wait().unwrap();
        store.write(write(&format!("urn:{:06}", 20 + round), Precondition::Any, remove())).unwrap();
        store.local().put_key(&format!("key{round}"), b"{}".to_vec()).unwrap();
        store.reopen();
    }
    store.store = None;
    let TestStore { directory, .. } = store;
    directory
}

pub(super) fn remove() -> Operation {
    Operation::Remove(DeletionReason::Removed)
}

/// Damages some file: a wrong bit, an end that is cut off, a file that is gone.
fn damage(directory: &Path, random: &mut Random) -> String {
    let all = paths(directory);
    let log = directory.join("store/db");
    let path = if random.below(3) > 0 { &log } else { &all[random.below(all.len() as u64) as usize] };
    let file = File::options().read(true).write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    let name = path.strip_prefix(directory).unwrap().display().to_string();
    match random.below(10) {
        0 => {
            fs::remove_file(path).unwrap();
            format!("{name} is gone")
        }
        1 => {
            let to = random.below(length);
            file.set_len(to).unwrap();
            format!("{name} ends at {to} of {length}")
        }
        _ => {
            let mut byte = [0];
            // In what is used of it.
            let place = (0..100)
                .map(|_| random.below(length))
                .find(|place| file.read_exact_at(&mut byte, *place).is_ok() && byte != [0]);
            let place = place.unwrap_or_default();
            file.read_exact_at(&mut byte, place).unwrap();
            byte[0] ^= 1 << random.below(8);
            file.write_all_at(&byte, place).unwrap();
            format!("{name} has a wrong bit at {place}")
        }
    }
}

#[derive(Debug, Default)]
struct Found {
    whole: u64,
    partly: u64,
    refused: u64,
    salvaged: u64,
    of: u64,
}

fn try_damages(original: &Path, count: u64, seed: u64) -> Found {
    let store = Store::open(copy_of(original).path(), Options::default()).unwrap();
    let expected = Everything::of(&store);
    drop(store);
    let mut found = Found::default();
    for round in 0..count {
        let mut random = Random(seed + round);
        random.below(1);
        let directory = copy_of(original);
        let what = format!("seed {}: {}", seed + round, damage(directory.path(), &mut random));
        let before = files(directory.path());
        match Store::open(directory.path(), Options::default()) {
            Ok(store) => {
                let there = Everything::of(&store);
                assert!(there.is_part_of(&expected), "{what}: another text, key or access is served");
                if there == expected {
                    found.whole += 1;
                } else {
                    found.partly += 1;
                    let faults = store.check().expect("a check says what is lost").faults;
                    assert!(!faults.is_empty() && store.damaged() > 0, "{what}: something is lost without a word");
                }
            }
            Err(Error::StoreBehind { .. } | Error::StoreDamaged { .. } | Error::UnsupportedStoreFormat { .. }) => {
                found.refused += 1;
                assert!(files(directory.path()) == before, "{what}: files of a store that is refused changed");
                let to = tempfile::tempdir().unwrap();
                found.of += expected.texts.len() as u64;
                match salvage(directory.path(), to.path()) {
                    Ok(salvaged) => {
                        found.salvaged += salvaged.records;
                        let store = Store::open(to.path(), Options::default()).expect("what is salvaged opens");
                        assert_eq!(store.check().unwrap().faults, [], "{what}");
                        let there = Everything::of(&store);
                        assert_eq!(there.texts.len() as u64, salvaged.records, "{what}");
                        if salvaged.is_proven {
                            assert!(there.is_part_of(&expected), "{what}: another text, key or access is salvaged");
                        } else {
                            assert_eq!(there.unseen.len(), there.texts.len(), "{what}: all are private");
                            assert!(there.keys.is_empty(), "{what}: keys are valid");
                        }
                    }
                    Err(error @ (Error::StoreDamaged { .. } | Error::UnsupportedStoreFormat { .. })) => {
                        println!("{what}: {error}");
                    }
                    Err(other) => panic!("{what}: {other:?}"),
                }
            }
            Err(other) => panic!("{what}: {other:?}"),
        }
    }
    found
}

#[test]
fn damage_of_a_young_store_loses_nothing_without_a_word() {
    let count = number("AGENTDEX_DAMAGES", 30);
    let found = try_damages(written(200, 1).path(), count, number("AGENTDEX_DAMAGE_SEED", 1));
    println!("{found:?}");
    assert!(found.refused > count / 4, "{found:?}");
}

#[test]
fn damage_of_an_older_store_loses_nothing_without_a_word() {
    let (count, records) = (number("AGENTDEX_DAMAGES", 30), number("AGENTDEX_DAMAGE_RECORDS", 1000));
    let found = try_damages(written(records, 4).path(), count, number("AGENTDEX_DAMAGE_SEED", 1));
    println!("{found:?}");
    assert!(found.whole + found.partly > 0 && found.refused > 0, "{found:?}");
}
