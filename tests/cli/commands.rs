//! What people do with a registry from day to day, beyond one document in and one out.

use std::fs;

use serde_json::Value;

use super::{agent, json_lines, run, run_with_input, stderr, stdout};
use crate::{process::ServerProcess, support::nth};

fn server() -> (tempfile::TempDir, ServerProcess) {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    (data, server)
}

fn register(server: &ServerProcess, id: &str, title: &str) {
    let output = run_with_input(&["register", "-", "--url", server.url()], &agent(id, title));
    assert!(output.status.success(), "{}", stderr(&output));
}

/// The descriptions of a registry without what it adds.
fn descriptions(server: &ServerProcess) -> Vec<Value> {
    let mut things = json_lines(&run(&["list", "--json", "--url", server.url()]));
    for thing in &mut things {
        thing.as_object_mut().unwrap().remove("registration");
    }
    things
}

#[test]
fn list_of_one_registry_is_registered_with_another() {
    let (_data, first) = server();
    // As people write it, over several lines.
    for (id, title) in [("urn:test:a", "Line\\nbreak"), ("urn:test:b", "Beta"), ("urn:test:c", "Gamma")] {
        register(&first, id, title);
    }
    let list = stdout(&run(&["list", "--json", "--url", first.url()]));
    assert_eq!(list.lines().count(), 3, "{list}");

    let (_data, second) = server();
    let copied = run_with_input(&["register", "-", "--url", second.url()], &list);
    assert!(stdout(&copied).ends_with("3 created, 0 updated, 0 unchanged, 0 failed\n"), "{}", stdout(&copied));
    assert_eq!(descriptions(&second), descriptions(&first));

    // A file by its ending; a bad line spoils nothing but itself, and is repeated at the end.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agents.ndjson");
    fs::write(&file, list.replacen("\"urn:test:b\"", "7", 1)).unwrap();
    let file = file.to_str().unwrap();
    let again = run(&["register", file, "--url", second.url()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stdout(&again).ends_with("0 created, 0 updated, 2 unchanged, 1 failed\n"), "{}", stdout(&again));
    let failed = stderr(&again);
    assert_eq!(failed.matches(&format!("{file}:2: ")).count(), 2, "{failed}");

    let quiet = run(&["register", file, "--quiet", "--url", second.url()]);
    assert_eq!((quiet.status.code(), stdout(&quiet)), (Some(1), String::new()));
    assert_eq!(stderr(&quiet).matches(&format!("{file}:2: ")).count(), 1, "{}", stderr(&quiet));
}

#[test]
fn file_without_an_id_stays_one_agent() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let anonymous = agent("", "Anonymous").replace("\"id\": \"\",", "");
    let [one, other] = ["one.json", "other.json"].map(|name| folder.path().join(name));
    for file in [&one, &other] {
        fs::write(file, &anonymous).unwrap();
    }
    let register = |flags: &[&str]| {
        let output = run(&[&["register", one.to_str().unwrap(), "--json", "--url", server.url()], flags].concat());
        json_lines(&output).remove(0)
    };
    let first = register(&[]);
    assert_eq!(first["created"], true, "{first}");
    let second = register(&[]);
    assert_eq!((&second["id"], &second["unchanged"]), (&first["id"], &true.into()));
    let new = register(&["--new-id"]);
    assert_eq!(new["created"], true, "{new}");
    // Another file is another agent, however alike they are.
    let output = run(&["register", other.to_str().unwrap(), "--url", server.url()]);
    assert!(stdout(&output).starts_with("created urn:uuid:"), "{}", stdout(&output));
    assert_eq!(descriptions(&server).len(), 3);
}

#[test]
fn agent_is_found_by_its_title_as_long_as_that_names_one() {
    let (_data, server) = server();
    register(&server, "urn:test:a", "Alpha agent");
    register(&server, "urn:test:b", "Alpha agent of others");
    let get = |title: &str| run(&["get", title, "--json", "--url", server.url()]);
    assert_eq!(json_lines(&get("alpha agent"))[0]["id"], "urn:test:a");
    register(&server, "urn:test:c", "Alpha agent");
    let several = stderr(&get("Alpha agent"));
    assert!(several.contains("urn:test:a") && several.contains("urn:test:c"), "{several}");
    assert!(stderr(&get("Omega")).contains("agentdex list"));
}

#[test]
fn commands_about_one_agent_take_its_title() {
    let (_data, server) = server();
    register(&server, "urn:test:a", "Alpha agent");
    register(&server, "urn:test:b", "Beta agent");
    let done = |arguments: &[&str]| {
        let output = run(&[arguments, &["--url", server.url()]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(done(&["patch", "Alpha agent", r#"{"description": "New"}"#]), "updated urn:test:a\n");
    assert!(done(&["history", "alpha agent"]).contains("updated"));
    let unnamed = run(&["export", "Alpha", "--format", "a2a", "--url", server.url()]);
    assert!(stderr(&unnamed).contains("there is no agent \"Alpha\""), "{}", stderr(&unnamed));
    assert!(done(&["access", "Alpha agent"]).contains("public"));
    assert_eq!(done(&["remove", "Beta agent"]), "removed urn:test:b\n");
    let again = run(&["remove", "Beta agent", "--url", server.url()]);
    assert!(stderr(&again).contains("there is no agent \"Beta agent\""), "{}", stderr(&again));
    // What the log still has of an agent that is gone is found by its id.
    assert!(done(&["history", "urn:test:b"]).contains("removed"));
}

#[test]
fn changes_are_told_of_one_agent_and_of_all() {
    let (_data, server) = server();
    register(&server, "urn:test:a", "A");
    register(&server, "urn:test:b", "B");
    let patch = |patch: &str| stdout(&run(&["patch", "urn:test:a", patch, "--url", server.url()]));
    assert_eq!(patch(r#"{"title": "New"}"#), "updated urn:test:a\n");
    assert_eq!(patch(r#"{"title": "New"}"#), "unchanged urn:test:a\n");
    assert!(run(&["delete", "urn:test:b", "--url", server.url()]).status.success());

    let history = stdout(&run(&["history", "urn:test:a", "--url", server.url()]));
    let lines: Vec<&str> = history.lines().collect();
    assert!(lines[0].contains("created") && lines[1].contains("updated"), "{history}");
    assert_eq!(lines[2].trim(), r#"{"title":"New"}"#);
    let since = nth(2).to_string();
    let output = run(&["changes", "--json", "--since", &since, "--url", server.url()]);
    // A number alone is asked for as a position of this log, and said to be one.
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    let position = note.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert!(note.starts_with(&format!("note: --since {since} ")) && position.ends_with(&format!("-{since}")), "{note}");
    let changes = json_lines(&output);
    let again = run(&["changes", "--json", "--since", &position, "--url", server.url()]);
    let note = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(note.starts_with("note: continue with --since ") && note.lines().count() == 1, "{note}");
    assert_eq!(json_lines(&again), changes);
    let other = run(&["changes", "--since", "00000000000000ab-1", "--url", server.url()]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("a different log"), "{other:?}");
    let told: Vec<_> = changes.iter().map(|change| (change["kind"].as_str(), change["id"].as_str())).collect();
    assert_eq!(
        told,
        [(Some("thing_updated"), Some("urn:test:a")), (Some("thing_deleted"), Some("urn:test:b"))],
        "{changes:?}"
    );
}

#[test]
fn registry_is_named_before_or_after_the_command_and_without_a_scheme() {
    let (_data, server) = server();
    register(&server, "urn:test:a", "A");
    let address = server.url().strip_prefix("http://").unwrap();
    for arguments in [["--url", address, "status"], ["status", "--url", address]] {
        let status = run(&arguments);
        let text = stdout(&status);
        assert!(text.starts_with("ready at http://") && text.contains("agents    1"), "{text}{}", stderr(&status));
    }
    let refused = run(&["--url", address, "openapi"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--url"), "{}", stderr(&refused));
}
