//! Data directories as earlier versions wrote them: each format that a version had is a fixture, which every later
//! version opens with all that is in it.

use std::{fs, path::Path, process::Command, sync::Arc};

use agentdex::{
    Error, Registry,
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    change::Seq,
    convert::Format,
    registry::{QueryName, Write},
};
use serde_json::Value;

use crate::{process::ServerProcess, support::eventually};

/// A fixture, and what has to be there.
struct Fixture {
    file: &'static str,
    check: fn(&Path),
}

/// Of format 3, as agentdex 0.1.0 wrote it:
/// - a directory with agents of an owner (one is private, one expires, one is an agent card, one was removed), an API key, a
///   namespace and a saved query;
/// - a directory and a backup with agents of two owners: one was made private, one id was given up and taken by another
///   owner, one is in a namespace, one in a namespace whose name was given up and claimed by another owner, one in a
///   namespace that is nobody's;
/// - a directory with three configurations of two parts each, whose expiries changed after their import: without their parts,
///   before format 4;
/// - a directory with a configuration of three parts, one of which was edited by hand, two parts whose document was edited and
///   removed, an agent that was imported and edited, a tracked card and a `server.json`.
///
/// Of format 4: a directory with the same, all documents there, and with two versions of the `server.json`; and one whose agents
/// were published after their first versions, or their originals, had been stored as private ones.
const FIXTURES: [Fixture; 7] = [
    Fixture { file: "format-3-expiries.tar.gz", check: check_expiries },
    Fixture { file: "format-3-parts.tar.gz", check: check_parts },
    Fixture { file: "format-4.tar.gz", check: check_declarations },
    Fixture { file: "format-4-hidden.tar.gz", check: check_hidden_texts },
    Fixture { file: "format-3.tar.gz", check },
    Fixture { file: "format-3-owners.tar.gz", check: check_owners },
    Fixture { file: "format-3.backup", check: check_owners },
];

#[test]
fn everything_in_a_directory_of_an_earlier_version_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), FIXTURES.len(), "each is looked at");
    for Fixture { file, check } in FIXTURES {
        let directory = if file.ends_with(".backup") {
            let directory = tempfile::tempdir().unwrap();
            agentdex::registry::restore(fs::File::open(folder.join(file)).unwrap(), directory.path()).unwrap();
            directory
        } else {
            unpacked(file)
        };
        check(directory.path());
        // A server starts on it, and it is the same afterwards.
        let server = ServerProcess::start(directory.path(), &["--auth"]);
        assert_eq!(server.stop().code(), Some(0));
        check(directory.path());
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name.to_string_lossy().starts_with("store"));
        assert_eq!(names, ["store"], "nothing of the upgrade is left");
    }
}

fn unpacked(file: &str) -> tempfile::TempDir {
    let (directory, folder) =
        (tempfile::tempdir().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store"));
    let unpacked =
        Command::new("tar").arg("-xzf").arg(folder.join(file)).arg("-C").arg(directory.path()).status().unwrap();
    assert!(unpacked.success());
    directory
}

/// Copies a folder with what is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

#[test]
fn upgrade_that_was_interrupted_is_done_again_or_finished() {
    // While it was being written: half of it is not taken for the whole.
    let directory = unpacked("format-3-owners.tar.gz");
    let (store, made) = (directory.path().join("store"), directory.path().join("store.upgrade"));
    copy(&store, &made);
    let db = fs::OpenOptions::new().write(true).open(made.join("db")).unwrap();
    db.set_len(1000).unwrap();
    check_owners(directory.path());
    assert!(!made.exists());

    // Between the two last steps, where folders can't be exchanged at once: the new one was complete.
    let upgraded = directory;
    let directory = unpacked("format-3-owners.tar.gz");
    fs::rename(directory.path().join("store"), directory.path().join("store.format-3")).unwrap();
    copy(&upgraded.path().join("store"), &directory.path().join("store.upgrade"));
    check_owners(directory.path());
    assert!(!directory.path().join("store.format-3").exists() && !directory.path().join("store.upgrade").exists());
}

fn caller(owner: Option<&str>) -> Caller {
    match owner {
        None => Caller::Anonymous,
        Some(owner) => Caller::Principal(Arc::new(Principal {
            owner: owner.parse().unwrap(),
            role: Role::Register,
            key: String::new(),
            expires: None,
        })),
    }
}

/// The agents that a caller reads, and of which it reads something in the log.
fn sight(registry: &Registry, owner: Option<&str>) -> (Vec<String>, Vec<String>) {
    let registry = registry.as_caller(caller(owner));
    let is_plain = |id: &String| !id.starts_with("urn:uuid:");
    let read = registry.list().map(|thing| thing.unwrap().id().to_owned()).filter(is_plain).collect();
    let changes = registry.changes(Seq::ZERO, 100).unwrap().changes;
    let shown = changes.iter().map(|change| format!("{} {}", change.kind, change.id));
    (read, shown.filter(|shown| !shown.contains("urn:uuid:")).collect())
}

/// The text of an agent, and the names of the documents that have it as a part.
fn part(registry: &Registry, id: &str) -> (String, Vec<String>) {
    let thing = registry.find(&format!("urn:agentspec:local:{id}")).unwrap().unwrap();
    let documents = thing.part_of().iter().map(|id| id.rsplit(':').next().unwrap().to_owned());
    (thing.text().to_owned(), documents.collect())
}

fn check_parts(directory: &Path) {
    let registry = Registry::open(directory).unwrap();
    eventually("the index is there", || registry.check().is_ok());
    assert_eq!(registry.check().unwrap().faults, vec![]);
    assert_eq!(registry.len(), 9);
    // What was edited was no part any more, and a part without its document was nobody's.
    let edited = part(&registry, "a");
    assert!(edited.0.contains("mailto:a@example.org") && edited.1.is_empty(), "{edited:?}");
    for (id, documents) in [("b", &["one"][..]), ("c", &["one"]), ("x", &[]), ("y", &[]), ("one", &[])] {
        let (text, found) = part(&registry, id);
        assert_eq!(
            (found, text.contains("partOf")),
            (documents.iter().map(|id| (*id).to_owned()).collect(), false),
            "{id}"
        );
    }
    assert!(part(&registry, "e").0.contains("mailto:e@example.org"));
    assert_eq!(registry.tracked_sources().unwrap().len(), 1);
    // It goes on as what it is now; a dry run leaves the directory as it is.
    let removed = registry.write_blocking(Write::remove("urn:agentspec:local:one").dry_run(true)).unwrap();
    let [warning] = removed.warnings.as_slice() else { panic!("{:?}", removed.warnings) };
    assert!(warning.message.ends_with("urn:agentspec:local:b, urn:agentspec:local:c"), "{warning:?}");
    registry.close();
}

fn check_expiries(directory: &Path) {
    let registry = Registry::open(directory).unwrap();
    eventually("the index is there", || registry.check().is_ok());
    assert_eq!(registry.check().unwrap().faults, vec![]);
    assert_eq!(registry.len(), 9);
    for (document, parts, ttl) in [
        ("one", ["a", "b"], Some(1_000_000_000)),
        ("two", ["c", "d"], None),
        ("three", ["e", "f"], Some(1_000_000_000)),
    ] {
        let expiry = |id: &str| registry.find(&format!("urn:agentspec:local:{id}")).unwrap().unwrap().expiry();
        assert_eq!((expiry(document).ttl, expiry(document).expires.is_some()), (ttl, ttl.is_some()), "{document}");
        for id in parts {
            assert_eq!((expiry(id), part(&registry, id).1), (expiry(document), vec![document.to_owned()]), "{id}");
        }
    }
    registry.close();
}

fn check_declarations(directory: &Path) {
    let registry = Registry::open(directory).unwrap();
    eventually("the index is there", || registry.check().is_ok());
    assert_eq!(registry.check().unwrap().faults, vec![]);
    for id in ["a", "b", "c"] {
        assert_eq!(part(&registry, id).1, ["one"]);
    }
    assert!(part(&registry, "a").0.contains("mailto:a@example.org"));
    assert!(part(&registry, "e").0.contains("mailto:e@example.org"));
    let original = registry.original("urn:agentspec:local:e").unwrap().unwrap();
    assert!(!String::from_utf8(original.bytes).unwrap().contains("mailto"));
    let versions = registry.versions("urn:agentdex:mcp:com.example/w").unwrap();
    let versions: Vec<_> = versions.iter().map(|version| (version.version.as_deref(), version.is_served)).collect();
    assert_eq!(versions, [(Some("2.0.0"), true), (Some("1.0.0"), false)]);
    assert_eq!(registry.tracked_sources().unwrap().len(), 1);
    registry.close();
}

/// Format 4 showed a version, and the original under an edit, to whoever saw the agent.
fn check_hidden_texts(directory: &Path) {
    let registry = Registry::open(directory).unwrap();
    eventually("the index is there", || registry.check().is_ok());
    assert_eq!(registry.check().unwrap().faults, vec![]);
    let all = |id: &str| [format!("{id} 2.0.0"), format!("{id} 1.0.0")];
    let [edited, original] = ["urn:edited 1.0.0", "urn:edited original"].map(str::to_owned);
    let ([given, _], [served, _]) = (all("urn:given"), all("urn:versions"));
    let shown = all("urn:shown");
    for (owner, expected) in [
        (None, [&[edited.clone(), given.clone()], &shown[..], &[served]].concat()),
        // What was hers goes on to be hers to read.
        (
            Some("alice"),
            [&[edited.clone(), original], &all("urn:given")[..], &shown[..], &all("urn:versions")].concat(),
        ),
        (
            Some("bob"),
            [&[edited, given, "urn:given 1.0.0, not readable".to_owned()], &shown[..], &all("urn:versions")[..1]]
                .concat(),
        ),
    ] {
        let registry = registry.as_caller(caller(owner));
        let mut found = Vec::new();
        for thing in registry.list() {
            let id = thing.unwrap().id().to_owned();
            found.extend(registry.versions(&id).unwrap().into_iter().map(|version| {
                let readable = if version.is_readable { "" } else { ", not readable" };
                format!("{id} {}{readable}", version.version.unwrap())
            }));
            found.extend(registry.original(&id).unwrap().map(|_| format!("{id} original")));
        }
        assert_eq!(found, expected, "{owner:?}");
    }
    registry.close();
}

fn check_owners(directory: &Path) {
    let registry = Registry::open(directory).unwrap();
    // The index is built again, since it has who sees what.
    eventually("the index is there", || registry.check().is_ok());
    let checked = registry.check().unwrap();
    assert_eq!((checked.records, checked.changes, checked.faults), (8, 13, vec![]));
    let notes: Vec<_> = checked.notes.iter().map(|note| note.place.as_str()).collect();
    assert_eq!(notes, ["the record \"urn:left\"", "the record \"urn:nobodys\""]);
    let (read, shown) = sight(&registry, None);
    assert_eq!(read, ["urn:gone", "urn:lasting", "urn:public"]);
    let expected = [
        "thing_created urn:public",
        "thing_updated urn:public",
        // What came before is not to be seen any more.
        "thing_deleted urn:turned",
        "thing_created urn:gone",
        "thing_deleted urn:gone",
        "thing_created urn:gone",
        "thing_created urn:lasting",
    ];
    assert_eq!(shown, expected);
    let (read, shown) = sight(&registry, Some("bob"));
    assert_eq!(read, ["urn:crew", "urn:gone", "urn:lasting", "urn:public"], "the agents of the team before aren't its");
    assert_eq!((shown.len(), shown[6].as_str()), (8, "thing_created urn:crew"));
    let (read, _) = sight(&registry, Some("alice"));
    let ids = ["urn:crew", "urn:gone", "urn:lasting", "urn:left", "urn:nobodys", "urn:public", "urn:turned"];
    assert_eq!(read, ids);
    let claimed = registry.namespaces().list();
    let claimed: Vec<_> =
        claimed.iter().map(|one| (one.name.as_str(), one.owner.as_str(), one.members.len())).collect();
    assert_eq!(claimed, [("crew", "alice", 1), ("team", "bob", 0)]);
    assert_has_query(&registry);
    registry.close();
}

/// Asserts that the saved query of an earlier version is there, that everybody sees it, and that admins change it.
fn assert_has_query(registry: &Registry) {
    let saved = registry.saved_queries();
    let [query] = &saved[..] else { panic!("{saved:?}") };
    assert_eq!((&query.owner, query.visibility, &query.namespace), (&None, Visibility::Public, &None));
    let caller = |role| {
        let owner = "alice".parse().unwrap();
        registry.as_caller(Caller::Principal(Arc::new(Principal { owner, role, key: String::new(), expires: None })))
    };
    let (alice, admin, name) = (caller(Role::Register), caller(Role::Admin), QueryName::from(query));
    for reader in [registry.as_caller(Caller::Anonymous), caller(Role::Read), alice.clone(), admin.clone()] {
        assert_eq!(reader.saved_query(query.name.as_str()).as_ref(), Some(query));
        assert_eq!(reader.saved_queries(), saved);
    }
    let refused = [
        alice.remove_query(query.name.as_str()).map(drop),
        alice.save_query(name.clone(), query.query.clone()).map(drop),
        registry.as_caller(Caller::Anonymous).remove_query(name.clone()).map(drop),
    ];
    assert!(refused.iter().all(|result| matches!(result, Err(Error::NotOwner { .. }))), "{refused:?}");
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    admin.save_query_with(query.name.as_str(), query.query.clone(), private).unwrap();
    assert_eq!(alice.saved_query(query.name.as_str()), None);
    let public = AccessRequest { visibility: Some(Visibility::Public), ..AccessRequest::default() };
    let (changed, is_new) = admin.save_query_with(name, query.query.clone(), public).unwrap();
    assert_eq!((&changed.owner, changed.visibility, is_new), (&None, Visibility::Public, false));
}

fn check(directory: &Path) {
    let registry = Registry::open(directory).unwrap();
    let thing = |id: &str| registry.find(id).unwrap().unwrap_or_else(|| panic!("{id} is gone"));
    let member = |id: &str, name: &str| serde_json::from_str::<Value>(thing(id).text()).unwrap()[name].clone();
    assert_eq!(registry.len(), 4);
    assert!(registry.find("urn:example:gone").unwrap().is_none());
    assert_eq!(
        (member("urn:example:one", "title"), member("urn:example:one", "description")),
        ("One".into(), "Changed.".into())
    );
    let owner = |id: &str| thing(id).access().owner.as_ref().map(ToString::to_string);
    assert_eq!(owner("urn:example:one").as_deref(), Some("weather-team"));
    assert_eq!(thing("urn:example:private").access().visibility, Visibility::Private);
    assert_eq!(thing("urn:example:expiring").expiry().expires.unwrap().to_string(), "2999-01-01T00:00:00.000Z");
    assert!(thing("urn:example:one").created() < thing("urn:example:one").modified());

    let card = registry.list().map(Result::unwrap).find(|thing| thing.format() == Some("a2a")).unwrap();
    let exported = registry.export(card.id(), Format::A2a, None).unwrap();
    let exported: Value = serde_json::from_slice(&exported.bytes).unwrap();
    assert_eq!((&exported["name"], &exported["skills"][0]["id"]), (&"Card".into(), &"say".into()));

    let changes = registry.changes(Seq::ZERO, 100).unwrap();
    let kinds: Vec<String> = changes.changes.iter().map(|change| change.kind.to_string()).collect();
    assert_eq!((kinds.len(), kinds.iter().filter(|kind| *kind == "thing_deleted").count()), (8, 1), "{kinds:?}");
    assert_eq!(registry.keys().list()[0].owner.to_string(), "weather-team");
    let namespace = &registry.namespaces().list()[0];
    assert_eq!((namespace.name.as_str(), namespace.members.len()), ("weather", 1));
    assert_has_query(&registry);
    registry.close();
}
