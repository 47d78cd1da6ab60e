//! A disk that is full: writes are refused, reads go on, nothing that was acknowledged is lost, and writes are taken
//! again once there is room. The disk is a small one in memory, which only root may mount.

use std::{
    collections::BTreeMap,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    process::{ServerProcess, agentdex},
    support::{Answer, Call, SmallDisk, directory_on_disk, eventually},
};

fn agent(number: u32) -> Value {
    // Words that differ, so that the index grows as well.
    let words: Vec<String> = (0..4000).map(|word| format!("w{number}x{word}")).collect();
    json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": format!("urn:example:{number}"), "title": "Large",
        "description": words.join(" "), "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
    })
}

fn put(server: &ServerProcess, number: u32) -> Answer {
    let call = Call::new("PUT", &format!("{}/things/urn:example:{number}", server.url()));
    call.body("application/td+json", agent(number).to_string()).send()
}

fn get(server: &ServerProcess, path: &str) -> Answer {
    Call::new("GET", &format!("{}{path}", server.url())).send()
}

fn total(server: &ServerProcess) -> Value {
    get(server, "/things?limit=1&format=collection").expect(200).json()["total"].clone()
}

#[test]
fn full_disk_refuses_writes_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount(32) else { return };
    let data = disk.path().join("data");
    let server = ServerProcess::start(&data, &[]);
    // So that the index has something before the disk is full.
    assert_eq!(put(&server, 0).status, 201);
    get(&server, "/search?q=large&limit=1&consistent=true").expect(200);
    let acknowledged = (1..2000).take_while(|number| match put(&server, *number) {
        answer if answer.status == 201 => true,
        answer => {
            answer.problem(507, "disk-full");
            false
        }
    });
    let acknowledged = 1 + acknowledged.count() as u32;
    assert!((20..2000).contains(&acknowledged), "{acknowledged} agents fill 32 MiB");

    // Everything that doesn't write goes on.
    get(&server, "/things/urn:example:0").expect(200);
    get(&server, "/health/live").expect(200);
    let filler = fill(&disk, 2 << 20);
    get(&server, "/health/ready").problem(503, "not-ready");
    assert!(get(&server, "/metrics").expect(200).text().contains("agentdex_writable 0"));
    // The index may lack room as well; what it has is found.
    assert!(get(&server, "/search?q=large&limit=1").expect(200).json()["total"].as_u64() > Some(0));
    // Writes that make room or take away a right may use the reserve. The index may still take some of it.
    let is_taken = |call: Call| {
        fill(&disk, 2 << 20);
        let status = call.send().status;
        assert!(matches!(status, 204 | 507), "{status}");
        status == 204
    };
    eventually("a removal", || is_taken(Call::new("DELETE", &format!("{}/things/urn:example:0", server.url()))));
    eventually("a change of access", || {
        let access = Call::new("PUT", &format!("{}/things/urn:example:1/access", server.url()));
        is_taken(access.body("application/json", r#"{"owner": "us", "visibility": "private"}"#.to_owned()))
    });
    let removed = 1;
    std::fs::remove_file(filler).unwrap();
    assert_eq!(total(&server), acknowledged - removed);

    // Room is noticed without a restart.
    disk.grow(80);
    let started = Instant::now();
    while put(&server, acknowledged).status != 201 {
        assert!(started.elapsed() < Duration::from_secs(600), "no write is taken: {}", server.log());
        thread::sleep(Duration::from_millis(50));
    }
    let all_found = || {
        let found = get(&server, "/search?q=large&limit=1&consistent=true");
        found.status == 200 && found.json()["total"] == acknowledged + 1 - removed
    };
    while !all_found() {
        assert!(started.elapsed() < Duration::from_secs(600), "the index stays behind: {}", server.log());
        thread::sleep(Duration::from_millis(200));
    }

    server.kill();
    let server = ServerProcess::start(&data, &[]);
    for number in removed..=acknowledged {
        let found = get(&server, &format!("/things/urn:example:{number}")).expect(200).json();
        assert_eq!(found["description"], agent(number)["description"], "{number}");
    }
    assert_eq!(total(&server), acknowledged + 1 - removed);
}

/// Fills a disk but for a number of bytes; the file that is returned takes the rest.
fn fill(disk: &SmallDisk, free: u64) -> std::path::PathBuf {
    let filler = disk.path().join("filler");
    let file = std::fs::File::create(&filler).unwrap();
    let space = rustix::fs::statvfs(disk.path()).unwrap();
    let length = space.f_bavail * space.f_frsize - free;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length).unwrap();
    filler
}

#[test]
fn a_key_that_is_revoked_while_the_disk_is_full_stays_revoked() {
    let Some(disk) = SmallDisk::mount(96) else { return };
    let data = disk.path().join("data");
    let create = |role: &str| {
        let mut create = agentdex();
        let output =
            create.args(["keys", "create", "--role", role, "--owner", "us", "--data"]).arg(&data).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (admin, [one, other]) = (create("admin"), ["register"; 2].map(create));
    let id = |key: &str| key.split('_').nth(1).unwrap().to_owned();
    let server = ServerProcess::start(&data, &["--auth"]);
    let call = |server: &ServerProcess, method: &str, path: &str, key: &str| {
        Call::new(method, &format!("{}{path}", server.url())).header("authorization", &format!("Bearer {key}")).send()
    };
    // There is no room for writes, and some for what takes away.
    let filler = fill(&disk, 6 << 20);
    let agent = agent(0).to_string();
    let put = Call::new("PUT", &format!("{}/things/urn:example:0", server.url()));
    put.header("authorization", &format!("Bearer {one}"))
        .body("application/td+json", agent)
        .send()
        .problem(507, "disk-full");
    call(&server, "DELETE", &format!("/keys/{}", id(&one)), &admin).expect(204);
    call(&server, "GET", "/things", &one).problem(401, "invalid-credentials");
    // There is none at all.
    std::fs::remove_file(&filler).unwrap();
    let filler = fill(&disk, 512 << 10);
    call(&server, "DELETE", &format!("/keys/{}", id(&other)), &admin).problem(507, "disk-full");
    call(&server, "GET", "/things", &other).problem(401, "invalid-credentials");
    let listed = call(&server, "GET", "/keys", &admin).expect(200).json();
    let revoking: Vec<&Value> =
        listed.as_array().unwrap().iter().filter(|key| key["revoking"] == true).map(|key| &key["id"]).collect();
    assert_eq!(revoking, [&json!(id(&other))]);
    call(&server, "DELETE", &format!("/keys/{}", id(&other)), &admin).problem(507, "disk-full");
    // It is tried until there is room.
    std::fs::remove_file(filler).unwrap();
    eventually("the revocation is stored", || {
        call(&server, "GET", "/keys", &admin).expect(200).json().as_array().unwrap().len() == 1
    });
    server.kill();
    let server = ServerProcess::start(&data, &["--auth"]);
    for key in [&one, &other] {
        call(&server, "GET", "/things", key).problem(401, "invalid-credentials");
    }
    assert_eq!(call(&server, "GET", "/keys", &admin).expect(200).json().as_array().unwrap().len(), 1);
}

/// Turns a bit of what is used of a store's log, at so many hundredths of it.
fn flip(data: &Path, hundredths: usize) {
    let log = data.join("store/db");
    let bytes = std::fs::read(&log).unwrap();
    let place = bytes.iter().rposition(|byte| *byte != 0).unwrap() * hundredths / 100;
    // In its place: there is no room for another one.
    let file = std::fs::File::options().write(true).open(log).unwrap();
    file.write_all_at(&[bytes[place] ^ 8], place as u64).unwrap();
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// The exit status of a command about a directory, and all that it says.
fn run(arguments: &[&str], data: &Path) -> (Option<i32>, String) {
    let output = agentdex().args(arguments).arg("--data").arg(data).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code(), said)
}

#[test]
fn a_damaged_store_is_not_opened_without_room_for_what_that_overwrites() {
    let Some(disk) = SmallDisk::mount(96) else { return };
    let data = disk.path().join("data");
    let server = ServerProcess::start(&data, &[]);
    for number in 0..150 {
        let id = format!("urn:example:{number}");
        let agent = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": id, "title": "Small",
            "description": "word ".repeat(200), "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
        });
        let put = Call::new("PUT", &format!("{}/things/{id}", server.url()));
        put.body("application/td+json", agent.to_string()).send().expect(201);
    }
    assert!(server.stop().success());
    // sled takes the log up to here for all that was written, and goes on writing there.
    flip(&data, 20);
    let filler = fill(&disk, 64 << 10);
    let before = files(&data);
    for command in [&["keys", "list"][..], &["serve", "--listen", "127.0.0.1:0", "--no-mqtt"]] {
        let (status, said) = run(command, &data);
        assert_eq!(status, Some(1), "{said}");
        assert!(
            said.contains("saving the files that the recovery of the store in") && said.contains("No space left"),
            "{said}"
        );
        assert!(files(&data) == before, "{command:?} changed something");
        assert!(!data.join("store.undo").exists());
    }
    // A check has its copy elsewhere.
    let (status, said) = run(&["check"], &data);
    assert!(matches!(status, Some(3 | 4)), "{said}");
    std::fs::remove_file(filler).unwrap();
    let (status, said) = run(&["keys", "list"], &data);
    assert_eq!(status, Some(3), "{said}");
    assert!(files(&data) == before, "a refusal changed something");
    flip(&data, 20);
    let server = ServerProcess::start(&data, &[]);
    assert_eq!(total(&server), 150);
}

#[test]
fn a_directory_that_can_only_be_read_is_checked_and_salvaged() {
    let Some(disk) = SmallDisk::mount(80) else { return };
    let data = disk.path().join("data");
    let server = ServerProcess::start(&data, &[]);
    (0..20).for_each(|number| drop(put(&server, number).expect(201)));
    assert!(server.stop().success());
    assert!(disk.run("remount,ro"));
    let (status, said) = run(&["check"], &data);
    assert!(status == Some(0) && said.contains("20 descriptions") && said.contains("all in order"), "{said}");
    assert!(disk.run("remount,rw"));
    flip(&data, 50);
    assert!(disk.run("remount,ro"));
    let (status, said) = run(&["check"], &data);
    assert!(matches!(status, Some(3 | 4)) && said.contains("agentdex salvage"), "{said}");
    let home = directory_on_disk();
    let to = home.path().join("salvaged");
    let (status, said) = run(&["salvage", "--to", to.to_str().unwrap()], &data);
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = run(&["check"], &to);
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn directory_that_can_not_be_written_is_said_to_be_so() {
    let Some(disk) = SmallDisk::mount(80) else { return };
    let data = disk.path().join("data");
    let server = ServerProcess::start(&data, &[]);
    put(&server, 0).expect(201);
    assert!(server.stop().success());
    assert!(disk.run("remount,ro"));
    let other = disk.path().join("other");
    for directory in [&data, &other] {
        let mut serve = agentdex();
        let output = serve.args(["serve", "--listen", "127.0.0.1:0", "--no-mqtt", "--data"]).arg(directory).output();
        let output = output.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        let named = format!("using the data directory {}, which must be writable", directory.display());
        assert!(error.contains(&named) && error.contains("Read-only file system"), "{error}");
    }
    // Nothing of it is lost by that.
    assert!(disk.run("remount,rw"));
    let server = ServerProcess::start(&data, &[]);
    get(&server, "/things/urn:example:0").expect(200);
}
