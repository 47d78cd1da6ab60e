//! Backups: taken of a server that runs, or of a directory, and restored.

use std::fs;

use serde_json::Value;

use super::{agent, run, run_with_input, stderr, stdout};
use crate::{process::ServerProcess, support::Call};

const CONFIGURATION: &str = r#"{"component_type": "Agent", "agentspec_version": "25.4.1", "id": "writer", "name": "Writer",
    "llm_config": {"component_type": "VllmConfig", "name": "model", "url": "http://127.0.0.1:1", "model_id": "m"},
    "system_prompt": "Write.", "inputs": [], "outputs": []}"#;

fn get(server: &ServerProcess, path: &str) -> Value {
    let url = format!("{}{path}", server.url());
    crate::support::Call::new("GET", &url).send().expect(200).json()
}

#[test]
fn what_was_backed_up_is_there_again() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (data, file, other) = (path("data"), path("registry.backup"), path("other"));
    let server = ServerProcess::start(data.as_ref(), &[]);
    let register = |text: &str| run_with_input(&["register", "-", "--url", server.url()], text);
    assert!(register(&agent("urn:test:a", "First")).status.success());
    let imported = register(CONFIGURATION);
    assert!(imported.status.success(), "{}", stderr(&imported));
    let query = r#"{"q": "people"}"#;
    let saved = crate::support::Call::new("PUT", &format!("{}/queries/greeters", server.url()));
    assert!(saved.body("application/json", query).send().status < 300);
    let ids = |server: &ServerProcess| -> Vec<String> {
        let things = get(server, "/things");
        things.as_array().unwrap().iter().map(|thing| thing["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = |server: &ServerProcess| {
        let mut thing = get(server, "/things/urn:test:a");
        thing["registration"].as_object_mut().unwrap().remove("retrieved");
        thing
    };
    let before = (ids(&server), first(&server));
    let taken = run(&["backup", &file, "--url", server.url()]);
    assert!(taken.status.success(), "{}", stderr(&taken));
    assert!(stderr(&taken).contains("backup written to"), "{}", stderr(&taken));
    // What comes later isn't in it.
    assert!(register(&agent("urn:test:a", "Second")).status.success());
    assert!(register(&agent("urn:test:b", "Another")).status.success());

    let again = run(&["backup", &file, "--url", server.url()]);
    assert!(stderr(&again).contains("use --force to replace it"), "{}", stderr(&again));
    let restored = run(&["restore", &file, "--data", &other]);
    assert!(
        stdout(&restored).starts_with("2 descriptions restored into") && !stdout(&restored).contains("--auth"),
        "{}{}",
        stdout(&restored),
        stderr(&restored)
    );
    let copy = ServerProcess::start(other.as_ref(), &[]);
    assert_eq!((ids(&copy), first(&copy)), before);
    let found = get(&copy, "/search?q=people&consistent=true");
    assert_eq!(found["hits"][0]["id"], "urn:test:a", "{found}");
    assert_eq!(get(&copy, "/queries")[0]["name"], "greeters");
    let agent_spec = before.0.iter().find(|id| id.contains("writer")).unwrap();
    let exported = get(&copy, &format!("/things/{agent_spec}/agent-spec"));
    assert_eq!(exported["name"], "Writer");
    let position = |server: &ServerProcess| get(server, "/changes?limit=1")["epoch"].clone();
    assert_ne!(position(&copy), position(&server), "subscribers must see that it isn't the same log");
    assert_eq!(get(&copy, "/things/urn:test:a/history")["changes"].as_array().unwrap().len(), 1);

    // Of a directory, when no server has it.
    drop(copy);
    let checked = run(&["check", "--data", &other]);
    assert!(stdout(&checked).ends_with("2 descriptions, 2 changes: all in order\n"), "{}", stdout(&checked));
    let second = path("second.backup");
    assert!(run(&["backup", &second, "--data", &other]).status.success());
    let refused = run(&["restore", &second, "--data", &other]);
    assert!(stderr(&refused).contains("choose another"), "{}", stderr(&refused));
    let third = path("third");
    assert!(run(&["restore", &second, "--data", &third]).status.success());
}

#[test]
fn damaged_backups_leave_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (data, file, target) = (path("data"), path("whole"), path("target"));
    let server = ServerProcess::start(data.as_ref(), &[]);
    for n in 0..20 {
        let text = agent(&format!("urn:test:{n}"), &format!("Agent {n}"));
        assert!(run_with_input(&["register", "-", "--url", server.url()], &text).status.success());
    }
    assert!(run(&["backup", &file, "--url", server.url()]).status.success());
    let whole = fs::read(&file).unwrap();
    let middle = whole.len() / 2;
    let flipped = |place: usize| {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x40;
        bytes
    };
    let longer = [&whole[..], b"\n"].concat();
    for (bytes, words) in [
        (&whole[..middle], "it is truncated"),
        (&whole[..whole.len() - 20], "it is truncated"),
        (&whole[..whole.len() - 1], "it is truncated"),
        (&longer, "unexpected data after the end"),
        (&flipped(middle), "can't be restored"),
        (&flipped(whole.len() - 1), "it is damaged"),
        (&b"{}"[..], "its first line is truncated"),
        (&b"# Readme\n"[..], "it is not a backup"),
        (&b"agentdex-backup 9\n{}\n"[..], "later version"),
        (&b""[..], "truncated"),
    ] {
        fs::write(path("broken"), bytes).unwrap();
        let refused = run(&["restore", &path("broken"), "--data", &target]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains(words), "{words}: {}", stderr(&refused));
        assert!(!home.path().join("target").exists() && !home.path().join("target.restoring").exists());
    }
    let nowhere = run(&["backup", &path("x"), "--data", &path("nothing")]);
    assert!(stderr(&nowhere).contains("this directory contains no registry"), "{}", stderr(&nowhere));
    assert!(!home.path().join("x").exists() && !home.path().join("x.partial").exists());
}

#[test]
fn what_comes_back_is_said() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (data, file) = (path("data"), path("file"));
    let create = |role: &str, owner: &str, data: &str| {
        let created = run(&["keys", "create", "--role", role, "--owner", owner, "--data", data]);
        stdout(&created).trim().to_owned()
    };
    let (admin, alice) = (create("admin", "ops", &data), create("register", "alice", &data));
    let server = ServerProcess::start(data.as_ref(), &["--auth"]);
    let register = |id: &str, query: &str| {
        let url = format!("{}/things/{id}{query}", server.url());
        let put = Call::new("PUT", &url).header("Authorization", &format!("Bearer {alice}"));
        put.body("application/td+json", agent(id, "An agent")).send().expect(201);
    };
    let claimed = Call::new("PUT", &format!("{}/namespaces/crew", server.url()));
    let claimed = claimed.header("Authorization", &format!("Bearer {alice}"));
    claimed.body("application/json", r#"{"members": []}"#).send().expect(201);
    register("urn:a", "");
    register("urn:b", "?visibility=private");
    register("urn:c", "?visibility=private");
    register("urn:d", "?visibility=namespace&namespace=crew");
    let taken = run(&["backup", &file, "--url", server.url(), "--api-key", &admin]);
    assert!(taken.status.success(), "{}", stderr(&taken));
    let id = alice.split('_').nth(1).unwrap();
    let revoked = run(&["keys", "revoke", id, "--url", server.url(), "--api-key", &admin]);
    assert!(revoked.status.success(), "{}", stderr(&revoked));

    let restored = run(&["restore", &file, "--data", &path("with")]);
    let lines: Vec<String> = stdout(&restored).lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("4 descriptions restored into"), "{lines:?}");
    assert_eq!(lines[1], "visibility at that time: 1 public, 1 in namespaces, 2 private");
    assert!(lines[2].starts_with("API keys that are valid again"), "{lines:?}");
    let is_listed = |id: &str, role: &str, owner: &str| {
        let is_line = |line: &String| line.starts_with(id) && line.contains(role) && line.contains(owner);
        lines.iter().filter(|line| is_line(line)).count() == 1
    };
    assert!(
        is_listed(id, "register", "alice") && is_listed(admin.split('_').nth(1).unwrap(), "admin", "ops"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 6);
    // Without it everybody would see what is private.
    assert!(lines[5].contains("agentdex serve --data") && lines[5].ends_with(" --auth"), "{lines:?}");

    let without = run(&["restore", &file, "--data", &path("without"), "--revoke-keys"]);
    assert!(stdout(&without).contains("API keys not restored from the backup: 2"), "{}", stdout(&without));
    assert!(stdout(&without).trim_end().ends_with(" --auth"), "{}", stdout(&without));
    let listed = run(&["keys", "list", "--data", &path("without")]);
    assert_eq!(stdout(&listed), "0 keys\n");
    let checked = run(&["check", "--data", &path("without")]);
    assert!(stdout(&checked).ends_with("all in order\n"), "{}{}", stdout(&checked), stderr(&checked));
    let copy = ServerProcess::start(path("without").as_ref(), &["--auth"]);
    for key in [&admin, &alice] {
        let refused = Call::new("GET", &format!("{}/things", copy.url()));
        refused.header("Authorization", &format!("Bearer {key}")).send().expect(401);
    }
}

#[test]
fn backup_of_an_earlier_version_is_restored_with_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/store/format-3.backup");
    let restored = run(&["restore", file, "--data", home.path().join("data").to_str().unwrap()]);
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert!(stdout(&restored).starts_with("8 descriptions restored into"), "{}", stdout(&restored));
    assert!(
        stderr(&restored).contains("warning: the backup was taken by an earlier version of agentdex"),
        "{}",
        stderr(&restored)
    );
}

#[cfg(unix)]
#[test]
fn directory_that_can_not_be_read_is_not_taken_for_one_without_a_registry() {
    let home = tempfile::tempdir().unwrap();
    let (directory, file) = (home.path().join("loop"), home.path().join("file"));
    std::os::unix::fs::symlink(&directory, &directory).unwrap();
    let (directory, file) = (directory.to_str().unwrap(), file.to_str().unwrap());
    for arguments in [&["backup", file, "--data", directory][..], &["clock", "accept", "--data", directory]] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(1));
        let said = stderr(&refused);
        assert!(said.contains("reading ") && said.contains("symbolic links"), "{arguments:?}: {said}");
    }
}
