//! Damaged directories: refused with what to do, checked without being changed, and salvaged.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use super::{agent, run, stderr, stdout};
use crate::{
    process::ServerProcess,
    support::{Answer, Call},
};

/// A registry that was stopped: 120 agents of Alice, of which one is private, and a key of Bob's that was revoked.
struct Registry {
    home: tempfile::TempDir,
    admin: String,
    alice: String,
    bob: String,
}

impl Registry {
    fn made() -> Registry {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data").to_str().unwrap().to_owned();
        let create = |role: &str, owner: &str| {
            let created = run(&["keys", "create", "--role", role, "--owner", owner, "--data", &data]);
            stdout(&created).trim().to_owned()
        };
        let (admin, alice, bob) = (create("admin", "ops"), create("register", "alice"), create("register", "bob"));
        let registry = Registry { home, admin, alice, bob };
        let server = registry.serve("data");
        for number in 0..120 {
            let put = registry.call(&server, "PUT", &format!("/things/urn:test:{number}"), &registry.alice);
            put.body("application/td+json", agent(&format!("urn:test:{number}"), "An agent")).send().expect(201);
        }
        let private = registry.call(&server, "PUT", "/things/urn:test:7/access", &registry.alice);
        private.body("application/json", json!({"visibility": "private"}).to_string()).send().expect(204);
        let id = registry.bob.split('_').nth(1).unwrap().to_owned();
        registry.call(&server, "DELETE", &format!("/keys/{id}"), &registry.admin).send().expect(204);
        assert!(server.stop().success());
        registry
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    fn serve(&self, name: &str) -> ServerProcess {
        ServerProcess::start(self.path(name).as_ref(), &["--auth", "--public-read"])
    }

    fn call(&self, server: &ServerProcess, method: &str, path: &str, key: &str) -> Call {
        Call::new(method, &format!("{}{path}", server.url())).header("authorization", &format!("Bearer {key}"))
    }

    fn get(&self, server: &ServerProcess, path: &str, key: &str) -> Answer {
        self.call(server, "GET", path, key).send()
    }

    /// Turns a bit of the log of the store, at so many hundredths of what is used of it.
    fn flip(&self, hundredths: usize) {
        let log = self.home.path().join("data/store/db");
        let mut bytes = fs::read(&log).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[used * hundredths / 100] ^= 8;
        fs::write(log, bytes).unwrap();
    }
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path().display().to_string(), fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn one_wrong_bit_is_refused_and_changes_nothing() {
    let registry = Registry::made();
    let data = registry.path("data");
    for hundredths in [10, 55, 90, 99] {
        registry.flip(hundredths);
        let before = files(data.as_ref());
        let checked = run(&["check", "--data", &data]);
        assert!(matches!(checked.status.code(), Some(3 | 4)), "{}{}", stdout(&checked), stderr(&checked));
        assert!(stdout(&checked).contains(&format!("agentdex salvage --data {data}")), "{}", stdout(&checked));
        for arguments in [
            &["serve", "--auth", "--no-mqtt", "--listen", "127.0.0.1:0", "--data", &data][..],
            &["keys", "list", "--data", &data],
            &["backup", "-", "--data", &data],
        ] {
            let refused = run(arguments);
            let said = stderr(&refused);
            assert_eq!(refused.status.code(), Some(3), "{said}");
            assert!(said.contains("nothing was changed") && said.contains("agentdex restore FILE"), "{said}");
            assert!(!said.contains("panicked"), "{said}");
        }
        assert!(files(data.as_ref()) == before, "{hundredths}: something was written");
        registry.flip(hundredths);
    }
    // Nothing was destroyed by all that: once the bit is right again, everything is there.
    let checked = run(&["check", "--data", &data]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    let server = registry.serve("data");
    registry.get(&server, "/things", &registry.bob).problem(401, "invalid-credentials");
    assert_eq!(registry.get(&server, "/things?limit=1000", &registry.alice).json().as_array().unwrap().len(), 120);
    registry.get(&server, "/things/urn:test:7", "").expect(401);
}

#[test]
fn what_can_be_read_is_salvaged_and_shown_to_nobody() {
    let registry = Registry::made();
    let (data, to) = (registry.path("data"), registry.path("salvaged"));
    // Somewhere in what isn't only garbage by now.
    let salvage = |hundredths: usize| {
        registry.flip(hundredths);
        let before = files(data.as_ref());
        let salvaged = run(&["salvage", "--data", &data, "--to", &to]);
        let said = stdout(&salvaged);
        assert!(salvaged.status.success(), "{said}{}", stderr(&salvaged));
        assert!(files(data.as_ref()) == before, "something was written");
        if said.contains("all agents are now private") {
            return Some(said);
        }
        registry.flip(hundredths);
        fs::remove_dir_all(&to).unwrap();
        None
    };
    let said = (50..100).step_by(3).find_map(salvage).expect("one of them costs something");
    assert!(said.trim_end().ends_with(" --auth"), "{said}");
    assert!(said.contains("revoked keys: "), "{said}");
    let checked = run(&["check", "--data", &to]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    let created = run(&["keys", "create", "--role", "admin", "--owner", "ops", "--data", &to]);
    let admin = stdout(&created).trim().to_owned();
    let server = registry.serve("salvaged");
    for former in [&registry.admin, &registry.alice, &registry.bob] {
        registry.get(&server, "/things", former).problem(401, "invalid-credentials");
    }
    let things = registry.get(&server, "/things?limit=1000", &admin).expect(200).json();
    let things = things.as_array().unwrap().len();
    // What isn't there is named.
    let lost = said.lines().filter(|line| line.starts_with("lost: the record")).count();
    assert!(things > 60 && things + lost >= 120, "{things} are there, {lost} are named: {said}");
    let seen = Call::new("GET", &format!("{}/things", server.url())).send().expect(200).json();
    assert_eq!(seen, json!([]));
    drop(server);
    // There is something in it now.
    let again = run(&["salvage", "--data", &data, "--to", &to]);
    assert!(stderr(&again).contains("the directory is not empty"), "{}", stderr(&again));
}

#[test]
fn files_that_were_put_back_are_taken_on_demand() {
    let registry = Registry::made();
    let (data, older) = (registry.path("data"), registry.path("older"));
    copy(data.as_ref(), older.as_ref());
    let server = registry.serve("data");
    registry.call(&server, "DELETE", "/things/urn:test:1", &registry.alice).send().expect(204);
    assert!(server.stop().success());
    // The store alone: the witness knows better.
    let store = Path::new(&data).join("store");
    fs::remove_dir_all(&store).unwrap();
    copy(&Path::new(&older).join("store"), &store);
    let refused = run(&["keys", "list", "--data", &data]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(stderr(&refused).contains("the store is older than its last recorded state"), "{}", stderr(&refused));
    assert_eq!(run(&["check", "--data", &data]).status.code(), Some(4));
    // The same without the witness: the search index knows.
    let witness = fs::read(Path::new(&data).join("witness")).unwrap();
    fs::remove_file(Path::new(&data).join("witness")).unwrap();
    let refused = run(&["keys", "list", "--data", &data]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert_eq!(run(&["check", "--data", &data]).status.code(), Some(4));
    fs::write(Path::new(&data).join("witness"), witness).unwrap();

    let accepted = run(&["salvage", "--data", &data, "--accept-rollback"]);
    assert!(accepted.status.success(), "{}", stderr(&accepted));
    assert!(stdout(&accepted).contains("revoked keys: "), "{}", stdout(&accepted));
    assert!(stdout(&accepted).trim_end().ends_with(" --auth"), "{}", stdout(&accepted));
    let server = registry.serve("data");
    registry.get(&server, "/things", &registry.alice).problem(401, "invalid-credentials");
    let there = Call::new("GET", &format!("{}/things/urn:test:1", server.url())).send();
    there.expect(200);
    assert!(server.stop().success());
    let created = run(&["keys", "create", "--role", "admin", "--owner", "ops", "--data", &data]);
    let server = registry.serve("data");
    let trail = run(&["audit", "--url", server.url(), "--api-key", stdout(&created).trim()]);
    let revoked = |key: &str| format!("trusted: DELETE /keys/{}\n", key.split('_').nth(1).unwrap());
    let trail = stdout(&trail);
    assert!([&registry.admin, &registry.alice].iter().all(|key| trail.contains(&revoked(key))), "{trail}");
    assert!(server.stop().success());
    let checked = run(&["check", "--data", &data]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
}

#[test]
fn a_large_page_that_is_lost_costs_what_was_on_it() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = ServerProcess::start(&data, &[]);
    let text = |number: u32| "word ".repeat(40_000 + number as usize);
    for number in 0..60 {
        let id = format!("urn:large:{number:02}");
        let mut thing: Value = serde_json::from_str(&agent(&id, "Large")).unwrap();
        thing["description"] = text(number).into();
        let put = Call::new("PUT", &format!("{}/things/{id}", server.url()));
        put.body("application/td+json", thing.to_string()).send().expect(201);
    }
    assert!(server.stop().success());
    // What was written before the last start is read when somebody comes by.
    assert!(ServerProcess::start(&data, &[]).stop().success());
    let blobs: Vec<_> =
        fs::read_dir(data.join("store/blobs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(blobs.len() > 2, "{blobs:?}");
    let mut partly = 0;
    for blob in &blobs {
        let damaged = home.path().join("damaged");
        let _ = fs::remove_dir_all(&damaged);
        copy(&data, &damaged);
        fs::remove_file(damaged.join("store/blobs").join(blob)).unwrap();
        let damaged = damaged.to_str().unwrap();
        let checked = run(&["check", "--data", damaged]);
        println!("{blob:?}: {:?} {}", checked.status, stdout(&checked));
        if matches!(checked.status.code(), Some(0)) {
            continue;
        }
        assert_eq!(checked.status.code(), Some(3), "{}{}", stdout(&checked), stderr(&checked));
        let served = run(&["keys", "list", "--data", damaged]);
        if served.status.code() == Some(3) {
            continue;
        }
        partly += 1;
        assert!(stdout(&checked).contains("the record \"urn:large:"), "{}", stdout(&checked));
        let server = ServerProcess::start(damaged.as_ref(), &[]);
        let things = Call::new("GET", &format!("{}/things?limit=1000", server.url())).send().expect(200).json();
        let there = things.as_array().unwrap().len();
        assert!((1..60).contains(&there), "{there} are there");
        Call::new("GET", &format!("{}/changes?since=0&limit=1000", server.url())).send().expect(200);
        let metrics = Call::new("GET", &format!("{}/metrics", server.url())).send().expect(200);
        let damaged = metrics.text().lines().find_map(|line| line.strip_prefix("agentdex_damaged_records "));
        assert!(damaged.unwrap().parse::<u32>().unwrap() >= 60 - there as u32, "{damaged:?}, {there} are there");
    }
    assert!(partly > 0, "no page of texts was lost");
}

#[test]
fn damaged_configuration_of_the_store_is_damage() {
    let registry = Registry::made();
    let (data, conf) = (registry.path("data"), registry.home.path().join("data/store/conf"));
    let whole = fs::read(&conf).unwrap();
    let mut of_others = 0;
    for byte in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1;
        fs::write(&conf, bytes).unwrap();
        let checked = run(&["check", "--data", &data]);
        let (said, errors) = (stdout(&checked), stderr(&checked));
        assert!(matches!(checked.status.code(), Some(0 | 3)), "byte {byte}: {said} {errors}");
        assert!(errors.is_empty(), "byte {byte}: {errors}");
        of_others += usize::from(said.contains("store/conf"));
        // What is refused names the store as a whole.
        if said.starts_with("the store: ") {
            assert!(said.contains(&format!("agentdex salvage --data {data}")), "byte {byte}: {said}");
            let served = run(&["serve", "--data", &data, "--listen", "127.0.0.1:0", "--no-mqtt"]);
            let errors = stderr(&served);
            assert!(served.status.code() == Some(3) && errors.contains("agentdex salvage"), "byte {byte}: {errors}");
        }
    }
    assert!(of_others > 0, "some of it seems to be of another program");
}
