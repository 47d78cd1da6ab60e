//! A search index that is damaged: it is found out, built again, and answers nothing wrong meanwhile.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use agentdex::{
    Error, Registry,
    registry::FollowerState,
    search::{FacetField, Search},
    td::Description,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    followers::{copy_of, current_index, index},
    support::{TestRegistry, copy_all, eventually},
};

/// Things enough for files of every kind.
const THINGS: usize = 40;

fn fill(registry: &Registry) {
    for number in 0..=THINGS {
        let agent = Description::new(format!("Weather agent {number}")).id(format!("urn:example:{number}"));
        registry.put(agent.tag("weather").tag(format!("tag-{}", number % 5)).capability("forecast")).unwrap();
    }
    registry.refresh().unwrap();
    // A file of deletions.
    registry.remove("urn:example:0").unwrap();
    registry.refresh().unwrap();
}

/// True once searches answer. While they don't, the registry says that it isn't ready; an answer is right.
fn answers(registry: &Registry, of: &str) -> bool {
    let mut search = Search::words("\"weather agent\" forecast");
    search.facets = vec![FacetField::Tag];
    search.limit = THINGS;
    let status = registry.status();
    let answer = match registry.search_as_indexed(&search) {
        Ok(answer) => answer,
        Err(Error::IndexRebuilding { .. }) => {
            let reason = registry.status().not_ready().or(status.not_ready());
            // It may have been built since.
            assert!(reason.is_some_and(|reason| reason.starts_with("search: ")) || answers(registry, of), "{of}");
            return false;
        }
        Err(error) => panic!("{of}: {error:?}"),
    };
    let ids: BTreeSet<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!((answer.total, ids.len()), (THINGS as u64, THINGS), "{of}");
    let tags: Vec<u64> = answer.facets[&FacetField::Tag].iter().map(|facet| facet.count).collect();
    assert_eq!(tags, [40, 8, 8, 8, 8, 8], "{of}");
    true
}

fn files_of(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// Flips a bit of a file that may be open.
fn flip(path: &Path, at: u64) {
    let byte = fs::read(path).unwrap()[at as usize];
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte ^ 0x10]).unwrap();
}

#[test]
fn a_flipped_bit_in_any_file_is_found_at_the_start() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    fill(&registry);
    assert!(answers(&registry, "before"));
    registry.close();
    drop(registry);
    let whole = copy_of(directory.path());
    let index_path = current_index(whole.path());
    let mut files = files_of(&index_path);
    files.retain(|file| file.metadata().unwrap().len() > 0);
    files.extend(files_of(&whole.path().join("search")));
    files.push(whole.path().join("vectors"));
    let kinds: BTreeSet<String> =
        files.iter().map(|file| file.extension().unwrap_or_default().to_string_lossy().into_owned()).collect();
    for kind in ["fast", "fieldnorm", "idx", "json", "pos", "store", "term", "del"] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
    for file in files {
        let damaged = TempDir::new().unwrap();
        copy_all(whole.path(), damaged.path());
        let name = file.strip_prefix(whole.path()).unwrap();
        flip(&damaged.path().join(name), file.metadata().unwrap().len() / 3);
        let name = name.display().to_string();
        let registry = Registry::open(damaged.path()).unwrap();
        eventually(&name, || answers(&registry, &name));
        assert_eq!(index(&registry).rebuilds, u64::from(!name.starts_with("vectors")), "{name}");
        eventually("readiness", || registry.status().not_ready().is_none());
        registry.close();
    }
}

#[test]
fn a_flipped_bit_in_any_file_is_found_while_it_runs() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    fill(&registry);
    let kinds = ["del", "fast", "fieldnorm", "idx", "pos", "store", "term"];
    for (number, kind) in kinds.into_iter().enumerate() {
        assert_eq!(index(&registry).rebuilds, 1 + number as u64, "{kind}");
        let files = files_of(&current_index(directory.path()));
        let file = files.iter().find(|file| file.extension().is_some_and(|extension| extension == kind)).unwrap();
        flip(file, file.metadata().unwrap().len() / 3);
        registry.inspect_index();
        eventually(kind, || answers(&registry, kind));
    }
    let failures = index(&registry).failures;
    assert_eq!((index(&registry).rebuilds, failures), (1 + kinds.len() as u64, kinds.len() as u64));
    // What was written meanwhile is there.
    registry.put(Description::new("Tides").id("urn:example:tides")).unwrap();
    assert_eq!(registry.search(Search::words("tides").consistent()).unwrap().total, 1);
}

#[test]
fn an_index_whose_files_are_whole_is_built_again_once_for_a_search_that_fails() {
    let directory = TempDir::new().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    fill(&registry);
    registry.inspect_index();
    eventually("the rebuild", || index(&registry).rebuilds == 2);
    eventually("an answer", || answers(&registry, "whole"));
    // Another failure right after it is that of the search, and not of the index.
    registry.inspect_index();
    assert!(answers(&registry, "trusted"));
    assert_eq!((index(&registry).rebuilds, index(&registry).state), (2, FollowerState::Following));
}

#[test]
fn a_search_that_meets_damage_answers_503_until_the_index_is_built_again() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_owned();
    let registry = TestRegistry::start_in(directory, Default::default(), Default::default());
    fill(registry.registry());
    let files = files_of(&current_index(&path));
    // Nothing of the stored documents can be read, but for where they are.
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "store")) {
        let length = file.metadata().unwrap().len() as usize;
        OpenOptions::new().write(true).open(file).unwrap().write_all(&vec![0xff; length / 2]).unwrap();
    }
    let mut met = 0;
    eventually("an answer", || {
        let answer = registry.call("GET", "/search?q=weather&limit=50").send();
        if answer.status == 503 {
            met += 1;
            answer.problem(503, "index-rebuilding");
            assert!(!answer.header("retry-after").is_empty());
            return false;
        }
        let answer = answer.expect(200).json();
        assert_eq!(answer["hits"].as_array().map(Vec::len), Some(THINGS), "{answer}");
        true
    });
    assert!(met > 0);
    eventually("readiness", || registry.call("GET", "/health/ready").send().status == 200);
    let followers = registry.call("GET", "/health/ready").send().json();
    let search =
        followers["followers"].as_array().and_then(|all| all.iter().find(|follower| follower["name"] == "search"));
    assert_eq!(
        search.map(|search: &Value| (search["rebuilds"].as_u64(), search["failures"].as_u64())),
        Some((Some(2), Some(1)))
    );
    // Everything else was served all the time.
    registry.call("GET", "/things/urn:example:1").send().expect(200);
}
