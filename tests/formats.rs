//! Data directories as earlier versions wrote them: each format that a version had is a fixture, which every later
//! version opens with all that is in it.

use std::{fs, path::Path, process::Command};

use agentdex::{Registry, access::Visibility, change::Seq, convert::Format};
use serde_json::Value;

use crate::process::ServerProcess;

/// The data directories: of format 3 one that agentdex 0.1.0 wrote, with agents of an owner (one is private, one expires,
/// one is an agent card, one was removed), an API key, a namespace and a saved query.
fn fixtures() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store");
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn everything_in_a_directory_of_an_earlier_version_is_there() {
    let fixtures = fixtures();
    assert!(fixtures.iter().any(|fixture| fixture.ends_with("format-3.tar.gz")));
    for fixture in fixtures {
        let directory = tempfile::tempdir().unwrap();
        let unpacked = Command::new("tar").arg("-xzf").arg(&fixture).arg("-C").arg(directory.path()).status().unwrap();
        assert!(unpacked.success(), "{}", fixture.display());
        check(directory.path());
        // A server starts on it, and it is the same afterwards.
        let server = ServerProcess::start(directory.path(), &["--auth"]);
        assert_eq!(server.stop().code(), Some(0));
        check(directory.path());
    }
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
    assert_eq!(registry.saved_queries().len(), 1);
    registry.close();
}
