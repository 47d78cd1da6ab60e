//! The search index as a follower of the log: what searches see while it lags, fails and recovers.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use agentdex::{
    Registry, Seq,
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    registry::{self, FollowerState, FollowerStatus, Write},
    search::{FacetField, Search},
    store::{self, Gaps},
    td,
};
use tempfile::TempDir;

use crate::support::{copy_all, eventually, nth};

fn agent(id: &str, title: &str) -> String {
    format!(
        r#"{{"@context": "https://www.w3.org/2022/wot/td/v1.1", "@type": "lmos:Agent", "id": "{id}", "title": "{title}",
            "securityDefinitions": {{"nosec_sc": {{"scheme": "nosec"}}}}, "security": "nosec_sc"}}"#
    )
}

fn open(directory: &Path) -> Registry {
    Registry::builder(directory).open().expect("the registry opens")
}

fn found(registry: &Registry, words: &str) -> Vec<String> {
    let answer = registry.search(Search::words(words)).expect("search answers");
    answer.hits.into_iter().map(|hit| hit.id).collect()
}

/// The search index.
pub(crate) fn index(registry: &Registry) -> FollowerStatus {
    registry.status().followers.into_iter().find(|follower| follower.name == "search").expect("the search follower")
}

fn is_failing(registry: &Registry) -> bool {
    matches!(index(registry).state, FollowerState::Failing { .. })
}

/// Puts a file where the index of a running registry is, so that whatever is written fails.
fn take_away(directory: &Path) {
    fs::rename(directory.join("search"), directory.join("away")).expect("the index is moved");
    fs::write(directory.join("search"), "").expect("a file in its place");
}

fn bring_back(directory: &Path) {
    fs::remove_file(directory.join("search")).expect("the file is removed");
    fs::rename(directory.join("away"), directory.join("search")).expect("the index is back");
}

#[test]
fn only_what_all_searches_need_keeps_a_registry_from_being_ready() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let not_ready_while_rebuilding = |name: &str| {
        let mut status = registry.status();
        for follower in &mut status.followers {
            follower.seq = Some(nth(1));
            follower.state = match follower.name == name {
                true => FollowerState::Rebuilding { done: 1, total: 9 },
                false => FollowerState::Following,
            };
        }
        status.not_ready()
    };
    assert_eq!(not_ready_while_rebuilding("search"), Some("search: rebuilding, 1 of 9 records done".to_owned()));
    assert!(registry.status().followers.iter().any(|follower| follower.name == "shapes"));
    assert_eq!(not_ready_while_rebuilding("shapes"), None);
}

#[test]
fn an_index_that_cannot_be_written_answers_as_before_and_recovers() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:before", "Weather")).unwrap();
    registry.refresh().unwrap();
    assert_eq!(registry.status().not_ready(), None);

    take_away(directory.path());
    registry.register(agent("urn:after", "Weather")).unwrap();
    eventually("the failure", || is_failing(&registry));
    assert_eq!(found(&registry, "weather"), ["urn:before"]);
    let status = registry.status();
    assert_eq!(status.searchable(), Some(nth(1)));
    assert!(status.not_ready().is_some_and(|reason| reason.starts_with("search: ")), "{status:?}");
    assert_eq!(index(&registry).rebuilds, 1, "it was built when it was new, and not again");

    bring_back(directory.path());
    eventually("the recovery", || registry.status().not_ready().is_none());
    eventually("the change", || found(&registry, "weather") == ["urn:after", "urn:before"]);
    assert_eq!(index(&registry).rebuilds, 1);
}

#[test]
fn an_index_lacks_as_many_changes_as_were_made() {
    let directory = TempDir::new().unwrap();
    let store = store::Options::default().gaps(Gaps::seeded(7));
    let options = registry::Options::default().store(store);
    let registry = Registry::builder(directory.path()).options(options).open().unwrap();
    registry.register(agent("urn:before", "Weather")).unwrap();
    registry.refresh().unwrap();
    assert_eq!(index(&registry).lag, 0);

    take_away(directory.path());
    (0..20).for_each(|number| drop(registry.register(agent(&format!("urn:{number}"), "Tides")).unwrap()));
    eventually("the failure", || is_failing(&registry));
    assert!(registry.last_seq() > Seq(30));
    assert_eq!(index(&registry).lag, 20);
    bring_back(directory.path());
    eventually("the recovery", || registry.status().not_ready().is_none());
    registry.refresh().unwrap();
    assert_eq!(index(&registry).lag, 0);
}

#[test]
fn what_was_removed_is_never_found_however_far_the_index_is_behind() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:stays", "Weather")).unwrap();
    registry.register(agent("urn:goes", "Weather")).unwrap();
    registry.refresh().unwrap();

    take_away(directory.path());
    // More changes than are read at once, with the deletion after them.
    std::thread::scope(|scope| {
        for writer in 0..50 {
            let registry = registry.clone();
            scope.spawn(move || {
                for number in 0..84 {
                    registry.register(agent(&format!("urn:{writer}:{number}"), "Tides")).unwrap();
                }
            });
        }
    });
    registry.remove("urn:goes").unwrap();
    assert!(registry.last_seq() > nth(4096));
    assert_eq!(found(&registry, "weather"), ["urn:stays"]);
    bring_back(directory.path());
}

#[test]
fn a_failed_rebuild_leaves_nothing_and_is_not_tried_in_a_hurry() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    registry.close();
    drop(registry);
    // The index is gone, and a new one can't be put in its place.
    fs::remove_dir_all(directory.path().join("search")).unwrap();
    fs::create_dir_all(directory.path().join("search/CURRENT.new")).unwrap();

    let registry = open(directory.path());
    eventually("the failure", || is_failing(&registry));
    let left: Vec<_> = fs::read_dir(directory.path().join("search"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != "CURRENT.new")
        .collect();
    assert!(left.is_empty() || !is_failing(&registry), "{left:?}");
    assert!(index(&registry).failures <= 3, "{:?}", index(&registry));
    fs::remove_dir(directory.path().join("search/CURRENT.new")).unwrap();
    eventually("the recovery", || registry.status().not_ready().is_none());
    assert_eq!(found(&registry, "weather"), ["urn:a"]);
}

#[test]
fn a_search_finds_what_was_acknowledged_longer_ago_than_the_refresh_interval() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let interval = registry.options().refresh_interval;
    for number in 0..5 {
        registry.register(agent(&format!("urn:{number}"), "Weather")).unwrap();
        let written = SystemTime::now();
        std::thread::sleep(interval);
        // A clock that has just been set back doesn't tell that the time is over.
        let is_over = written.elapsed().map_or(true, |elapsed| elapsed + Duration::from_millis(5) >= interval);
        let started = Instant::now();
        let (found, waited) = (found(&registry, "weather").len(), started.elapsed());
        // A search waits for the index for a second at most.
        assert!(found == number + 1 || !is_over || waited >= Duration::from_secs(1), "{found} after {waited:?}");
    }
}

#[test]
fn waiting_for_the_index_takes_no_thread() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let seqs: Vec<Seq> = runtime.block_on(async {
        let waits: Vec<_> = (0..100)
            .map(|number: usize| {
                let registry = registry.clone();
                async move {
                    registry.write(Write::put(agent(&format!("urn:{number}"), "Weather"))).await.unwrap();
                    registry.refreshed().await.unwrap()
                }
            })
            .map(|wait| tokio::spawn(wait))
            .collect();
        let mut seqs = Vec::new();
        for wait in waits {
            seqs.push(wait.await.unwrap());
        }
        seqs
    });
    assert_eq!(seqs.len(), 100);
    assert_eq!(registry.search_as_indexed(&Search::words("weather")).unwrap().total, 101);
}

#[test]
fn an_index_whose_unsynced_files_are_damaged_is_rebuilt() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    registry.refresh().unwrap();
    // As a crash of the system leaves it: the last files were never synced, and one has lost its content.
    let copy = TempDir::new().unwrap();
    copy_all(directory.path(), copy.path());
    drop(registry);
    let home = copy.path().join("search");
    let index_directory = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    let damaged = fs::read_dir(index_directory.unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "store"))
        .expect("a document store");
    let mut bytes = fs::read(&damaged).unwrap();
    let middle = bytes.len() / 4;
    bytes[middle] ^= 0xff;
    fs::write(&damaged, bytes).unwrap();

    let registry = open(copy.path());
    eventually("the rebuild", || registry.status().not_ready().is_none());
    assert_eq!(index(&registry).rebuilds, 1);
    assert_eq!(found(&registry, "weather"), ["urn:a"]);
}

/// A copy of the directory of a registry that was closed: merges of its index may end, and remove files, a moment later.
pub(crate) fn copy_of(directory: &Path) -> TempDir {
    fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                fs::create_dir(&target)?;
                copy(&entry.path(), &target)?;
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
        Ok(())
    }
    let mut made = None;
    eventually("a copy", || {
        let target = TempDir::new().unwrap();
        made = copy(directory, target.path()).is_ok().then_some(target);
        made.is_some()
    });
    made.unwrap()
}

/// The position that an index was committed with, as its list of segments has it.
fn position_of(index: &Path) -> String {
    let list = fs::read_to_string(index.join("meta.json")).unwrap();
    let list: serde_json::Value = serde_json::from_str(list.rsplit_once('\n').unwrap().0).unwrap();
    list["payload"].as_str().unwrap().to_owned()
}

/// The directory of the index that is in use.
pub(crate) fn current_index(directory: &Path) -> PathBuf {
    let current = fs::read_to_string(directory.join("search/CURRENT")).unwrap();
    directory.join("search").join(current.split_whitespace().last().unwrap())
}

#[test]
fn a_stale_index_shows_no_facet_and_no_suggestion_of_what_is_hidden_by_now() {
    let directory = TempDir::new().unwrap();
    let us = || {
        let owner = "us".parse().unwrap();
        Caller::Principal(Arc::new(Principal { owner, role: Role::Register, key: String::new(), expires: None }))
    };
    let registry = open(directory.path());
    let ours = registry.as_caller(us());
    let tagged = |id: &str, title: &str, tag: &str| td::Description::new(title).id(id).tag(tag).capability("forecast");
    ours.put(tagged("urn:public", "Weather", "open")).unwrap();
    ours.put(tagged("urn:hidden", "Weather by zeppelin", "secret")).unwrap();
    registry.refresh().unwrap();
    drop(ours);
    registry.close();
    drop(registry);
    let stale = copy_of(&current_index(directory.path()));

    let registry = open(directory.path());
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    registry.as_caller(us()).write_blocking(Write::access("urn:hidden", private)).unwrap();
    registry.refresh().unwrap();
    registry.close();
    drop(registry);
    // As if the index had lost the change.
    let copy = copy_of(directory.path());
    let index_path = current_index(copy.path());
    let list = fs::read_to_string(stale.path().join("meta.json")).unwrap();
    let list = list.rsplit_once('\n').unwrap().0.replace(&position_of(stale.path()), &position_of(&index_path));
    let sum = ring::digest::digest(&ring::digest::SHA256, list.as_bytes());
    let sum: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{list}\n{sum}");
    fs::remove_dir_all(&index_path).unwrap();
    fs::create_dir(&index_path).unwrap();
    copy_all(stale.path(), &index_path);
    fs::write(index_path.join("meta.json"), list).unwrap();

    let registry = open(copy.path());
    let search = || {
        let mut search = Search::words("weather zepelin");
        search.facets = vec![FacetField::Tag];
        search
    };
    let told = |registry: &Registry| {
        let answer = registry.search(search()).unwrap();
        let tags: Vec<(String, u64)> =
            answer.facets[&FacetField::Tag].iter().map(|facet| (facet.value.clone(), facet.count)).collect();
        let mut hits: Vec<String> = answer.hits.into_iter().map(|hit| hit.id).collect();
        hits.sort();
        (answer.total, hits, tags, answer.suggestions)
    };
    let everything = (
        2,
        vec!["urn:hidden".to_owned(), "urn:public".to_owned()],
        vec![("open".to_owned(), 1), ("secret".to_owned(), 1)],
        vec!["weather zeppelin".to_owned()],
    );
    let public = (1, vec!["urn:public".to_owned()], vec![("open".to_owned(), 1)], Vec::new());
    let (ours, stranger) = (registry.as_caller(us()), registry.as_caller(Caller::Anonymous));
    assert_eq!((told(&registry), told(&ours)), (everything.clone(), everything.clone()));
    assert_eq!(told(&stranger), public);
    // What comes and goes while the index is in use.
    let open_to_all = AccessRequest { visibility: Some(Visibility::Public), ..AccessRequest::default() };
    ours.write_blocking(Write::access("urn:hidden", open_to_all)).unwrap();
    registry.refresh().unwrap();
    assert_eq!(told(&stranger), everything);
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    ours.write_blocking(Write::access("urn:hidden", private)).unwrap();
    assert_eq!(told(&stranger), public);
    registry.refresh().unwrap();
    assert_eq!((told(&stranger), told(&ours)), (public, everything));
    assert_eq!(index(&registry).rebuilds, 0, "it is that index");
}
