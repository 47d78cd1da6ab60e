//! A clock that is set: what is registered stays, the log's time doesn't go back, and expiry follows the clock.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{run, stderr, stdout};
use crate::{
    process::ServerProcess,
    support::{Call, eventually, skipped},
};

const LASTING: &str = "urn:example:lasting";
const EXPIRING: &str = "urn:example:expiring";

/// The library that lets a process see another time, named by `AGENTDEX_FAKETIME`; without it the test is skipped.
pub fn library() -> Option<PathBuf> {
    let library = std::env::var_os("AGENTDEX_FAKETIME").map(PathBuf::from).filter(|library| library.is_file());
    if library.is_none() {
        skipped("libfaketime", "AGENTDEX_FAKETIME that names libfaketimeMT.so.1");
    }
    library
}

struct Clocked {
    server: ServerProcess,
}

impl Clocked {
    fn start(data: &Path, library: &Path, clock: &Path) -> Clocked {
        Clocked { server: ServerProcess::start_with_clock(data, &[], library, clock) }
    }

    fn call(&self, method: &str, path: &str) -> Call {
        Call::new(method, &format!("{}{path}", self.server.url().trim_end_matches('/')))
    }

    fn put(&self, id: &str, title: &str, registration: Value, status: u16) {
        let thing = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent", "id": id, "title": title, "security": "none",
            "securityDefinitions": {"none": {"scheme": "nosec"}}, "registration": registration,
        });
        let call = self.call("PUT", &format!("/things/{id}"));
        call.body("application/td+json", thing.to_string()).send().expect(status);
    }

    fn registration(&self, id: &str) -> Value {
        self.call("GET", &format!("/things/{id}")).send().expect(200).json()["registration"].clone()
    }

    fn changes(&self) -> Vec<Value> {
        self.call("GET", "/changes").send().expect(200).json()["changes"].as_array().unwrap().clone()
    }
}

#[test]
fn clock_that_is_set_back_and_forth_loses_nothing() {
    let Some(library) = library() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (data, clock) = (directory.path().join("data"), directory.path().join("clock"));
    let set = |offset: &str| fs::write(&clock, offset).unwrap();
    set("+0h");
    let registry = Clocked::start(&data, &library, &clock);
    registry.put(LASTING, "First", json!({}), 201);
    registry.put(EXPIRING, "Expires", json!({"ttl": 3600}), 201);
    let before = [LASTING, EXPIRING].map(|id| registry.registration(id));

    // Back, while it runs and over a restart.
    set("-5h");
    registry.put(LASTING, "Second", json!({}), 204);
    assert_eq!(registry.registration(LASTING)["created"], before[0]["created"]);
    assert_eq!(registry.registration(EXPIRING)["expires"], before[1]["expires"]);
    assert_eq!(registry.server.stop().code(), Some(0));
    let registry = Clocked::start(&data, &library, &clock);
    registry.put(LASTING, "Third", json!({}), 204);
    registry.put("urn:example:late", "Late", json!({}), 201);
    let registration = registry.registration(LASTING);
    assert!(registration["modified"].as_str() >= before[0]["modified"].as_str(), "{registration}");
    assert_eq!(registry.registration(EXPIRING)["expires"], before[1]["expires"]);
    let times: Vec<String> =
        registry.changes().iter().map(|change| change["at"].as_str().unwrap().to_owned()).collect();
    assert_eq!(times.len(), 5);
    assert!(times.is_sorted(), "the log's time goes back: {times:?}");

    // And far ahead: what expires does so, the rest stays.
    set("+5h");
    eventually("it expires", || registry.call("GET", &format!("/things/{EXPIRING}")).send().status == 404);
    eventually("it is purged", || registry.changes().last().unwrap()["reason"] == "expired");
    registry.registration(LASTING);
    let last = registry.changes().len();

    // What was written ahead of the time is still there and can be changed when the clock is right again.
    set("+0h");
    registry.put(LASTING, "Fourth", json!({}), 204);
    let changes = registry.changes();
    assert_eq!(changes.len(), last + 1);
    assert!(changes.iter().map(|change| change["at"].as_str()).is_sorted(), "{changes:?}");
    assert_eq!(registry.server.stop().code(), Some(0));
}

/// The notes of a registry that is ready.
fn notes(registry: &Clocked) -> Vec<String> {
    let health = || registry.call("GET", "/health/ready").send();
    eventually("readiness", || health().status == 200);
    let ready = health().expect(200).json();
    assert_eq!(ready["status"], "ready");
    let notes = ready["notes"].as_array().cloned().unwrap_or_default();
    notes.iter().map(|note| note.as_str().unwrap().to_owned()).collect()
}

#[test]
fn clock_that_was_ahead_is_said_until_it_is_accepted() {
    let Some(library) = library() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (data, clock) = (directory.path().join("data"), directory.path().join("clock"));
    let set = |offset: &str| fs::write(&clock, offset).unwrap();
    let created = |registry: &Clocked, id: &str| registry.registration(id)["created"].as_str().unwrap().to_owned();
    set("+400d");
    let registry = Clocked::start(&data, &library, &clock);
    registry.put("urn:example:ahead", "Ahead", json!({}), 201);
    assert_eq!(notes(&registry), [""; 0]);
    assert_eq!(registry.server.stop().code(), Some(0));

    set("+0d");
    let registry = Clocked::start(&data, &library, &clock);
    let [note] = &notes(&registry)[..] else { panic!("there is one note") };
    assert!(note.contains("399 days behind the last change") || note.contains("400 days behind"), "{note}");
    assert!(note.contains("agentdex clock accept"), "{note}");
    assert!(registry.server.log().contains("behind the last change"), "{}", registry.server.log());
    let status = run(&["status", "--url", registry.server.url()]);
    assert!(stdout(&status).contains("behind the last change"), "{}", stdout(&status));
    // Nothing is refused meanwhile, and the log's time stays.
    registry.put("urn:example:held", "Held", json!({}), 201);
    let ahead = created(&registry, "urn:example:ahead");
    assert_eq!(created(&registry, "urn:example:held"), ahead);

    let accepted = run(&["clock", "accept", "--url", registry.server.url()]);
    assert!(stdout(&accepted).starts_with("the time of the log was "), "{}{}", stdout(&accepted), stderr(&accepted));
    assert_eq!(notes(&registry), [""; 0]);
    eventually("that is logged", || registry.server.log().contains("the clock is no longer behind the last change"));
    let again = run(&["clock", "accept", "--url", registry.server.url()]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stdout(&again));
    // Also after a restart before which nothing was written.
    assert_eq!(registry.server.stop().code(), Some(0));
    let registry = Clocked::start(&data, &library, &clock);
    assert_eq!(notes(&registry), [""; 0]);
    registry.put("urn:example:right", "Right", json!({}), 201);
    let right = created(&registry, "urn:example:right");
    assert!(right < ahead, "{right} {ahead}");
    assert_eq!(registry.server.stop().code(), Some(0));
    let checked = run(&["check", "--data", data.to_str().unwrap()]);
    let expected = "note: the change 1: the system clock was ahead at the time; the latest timestamp is ";
    assert!(stdout(&checked).contains(expected), "{}", stdout(&checked));
    assert!(stdout(&checked).ends_with("3 descriptions, 3 changes: all in order\n"), "{}", stdout(&checked));

    // In a directory that no server has.
    set("+400d");
    let registry = Clocked::start(&data, &library, &clock);
    registry.put("urn:example:again", "Ahead again", json!({}), 201);
    assert_eq!(registry.server.stop().code(), Some(0));
    let accepted = run(&["clock", "accept", "--data", data.to_str().unwrap()]);
    assert!(stdout(&accepted).starts_with("the time of the log was "), "{}{}", stdout(&accepted), stderr(&accepted));
    set("+0d");
    let registry = Clocked::start(&data, &library, &clock);
    assert_eq!(notes(&registry), [""; 0]);
    registry.put("urn:example:last", "Last", json!({}), 201);
    assert!(created(&registry, "urn:example:last") < ahead);
    assert_eq!(registry.server.stop().code(), Some(0));
    let nowhere = run(&["clock", "accept", "--data", directory.path().join("nothing").to_str().unwrap()]);
    assert!(stderr(&nowhere).contains("this directory contains no registry"), "{}", stderr(&nowhere));
}
