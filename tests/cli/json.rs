//! `--json` on all commands, the shape of errors, and exit statuses.

use std::fs;

use serde_json::{Value, json};

use super::{agent, json_lines, run, run_with_input, stderr, stdout};
use crate::process::ServerProcess;

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1";

fn server() -> (tempfile::TempDir, ServerProcess) {
    let directory = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(&directory.path().join("data"), &[]);
    (directory, server)
}

/// The one line of JSON on standard output.
fn result(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 1, "{arguments:?}: {lines:?}");
    lines[0].clone()
}

/// The object on standard error.
fn error(arguments: &[&str], status: i32) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    let told = stderr(&output);
    assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
    let object: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{arguments:?}: {told}"));
    assert!(object["error"].as_str().is_some_and(|error| !error.is_empty()), "{arguments:?}: {object}");
    object
}

#[test]
fn unreachable_registry_is_an_object_in_all_commands() {
    let folder = tempfile::tempdir().unwrap();
    let [new, records] = ["new", "records"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    fs::write(&records, "{}\n").unwrap();
    for arguments in [
        vec!["list"],
        vec!["search", "x"],
        vec!["search", "--jsonpath", "$"],
        vec!["get", "urn:x"],
        vec!["export", "urn:x", "--format", "a2a"],
        vec!["ask", "x"],
        vec!["chat", "urn:x"],
        vec!["call", "urn:x", "y"],
        vec!["read", "urn:x", "y"],
        vec!["write", "urn:x", "y", "1"],
        vec!["events", "urn:x", "y"],
        vec!["run", "urn:x"],
        vec!["patch", "urn:x", "{}"],
        vec!["history", "urn:x"],
        vec!["changes"],
        vec!["status"],
        vec!["imports"],
        vec!["access", "urn:x"],
        vec!["namespaces", "list"],
        vec!["namespaces", "claim", "pond"],
        vec!["namespaces", "remove", "pond"],
        vec!["audit"],
        vec!["keys", "list"],
        vec!["keys", "create", "--role", "read", "--owner", "us"],
        vec!["clock", "accept"],
        vec!["cluster", "status"],
        vec!["watch"],
        vec!["backup", &new],
        vec!["records", "export", &new],
        vec!["records", "import", &records],
        vec!["sacp", "prompt", "urn:x"],
    ] {
        let object = error(&[arguments.as_slice(), &["--url", NOWHERE]].concat(), 1);
        assert!(object["error"].as_str().unwrap().contains("can't be reached"), "{arguments:?}: {object}");
        assert!(object["hint"].as_str().unwrap().contains("agentdex serve"), "{arguments:?}: {object}");
        let _ = fs::remove_file(&new);
    }
    // Of several agents each has its line.
    for arguments in [
        vec!["remove", "urn:x", "urn:y"],
        vec!["refresh", "urn:x", "urn:y"],
        vec!["untrack", "urn:x", "urn:y"],
        vec!["keys", "revoke", "x", "y"],
    ] {
        let output = run(&[arguments.as_slice(), &["--url", NOWHERE, "--json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let lines = json_lines(&output);
        assert_eq!(lines.len(), 2, "{arguments:?}: {lines:?}");
        assert!(lines.iter().all(|line| line["error"].is_string() && line["id"].is_string()), "{lines:?}");
    }
}

#[test]
fn local_commands_fail_with_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing");
    let nothing = nothing.to_str().unwrap();
    for arguments in [
        vec!["restore", nothing, "--data", nothing],
        vec!["check", "--data", nothing],
        vec!["salvage", "--data", nothing, "--to", nothing],
        vec!["mqtt", "resync", "--data", nothing, "--mqtt-url", "mqtt://127.0.0.1:1"],
        vec!["keys", "list", "--data", "/dev/null/x"],
        vec!["clock", "accept", "--data", nothing],
        vec!["backup", nothing, "--data", nothing],
        vec!["serve", "--config", nothing],
        vec!["td", nothing],
        vec!["sacp", "check", nothing],
    ] {
        error(&arguments, 1);
    }
    assert_eq!(error(&["demo", "--auth"], 2)["problem"], Value::Null);
    assert_eq!(run(&["validate", nothing, "--json"]).status.code(), Some(1));
    assert_eq!(json_lines(&run(&["validate", nothing, "--json"])).len(), 1);
}

#[test]
fn object_has_the_problem_of_the_registry() {
    let (_directory, server) = server();
    let object = error(&["history", "urn:example:nobody", "--url", server.url()], 1);
    assert_eq!((&object["problem"]["code"], &object["problem"]["status"]), (&json!("not-found"), &json!(404)));
    let bad = agent("urn:example:bad", "Bad").replace("\"Bad\"", "1");
    let output = run_with_input(&["register", "-", "--json", "--url", server.url()], &bad);
    let line = &json_lines(&output)[0];
    assert_eq!(line["problem"]["code"], "invalid-thing-description", "{line}");
    assert!(line["problem"]["validationErrors"].as_array().is_some_and(|errors| !errors.is_empty()), "{line}");
}

#[test]
fn every_command_prints_its_result() {
    let (directory, server) = server();
    let url = ["--url", server.url()];
    let with_url = |arguments: &[&str]| result(&[arguments, &url].concat());
    let id = "urn:example:frog";
    let registered = run_with_input(&[&["register", "-"], url.as_slice()].concat(), &agent(id, "Frog"));
    assert_eq!(registered.status.code(), Some(0));

    assert_eq!(with_url(&["patch", id, r#"{"title": "Toad"}"#])["effect"], "updated");
    assert_eq!(with_url(&["patch", id, r#"{"title": "Toad"}"#])["effect"], "unchanged");
    assert_eq!(with_url(&["get", id])["title"], "Toad");
    assert!(with_url(&["status"])["things"].is_u64());
    assert_eq!(with_url(&["access", id])["visibility"], "public");
    assert!(with_url(&["clock", "accept"])["now"].is_string());
    assert_eq!(with_url(&["imports"]), json!([]));
    assert_eq!(with_url(&["namespaces", "list"]), json!([]));
    assert!(with_url(&["search", "toad"])["hits"].is_array());

    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (backup, records, restored) = (path("backup"), path("records"), path("restored"));
    assert!(with_url(&["backup", &backup])["bytes"].as_u64() > Some(100));
    assert_eq!(result(&["restore", &backup, "--data", &restored])["agents"], 1);
    assert_eq!(with_url(&["records", "export", &records])["agents"], 1);
    assert_eq!(with_url(&["records", "import", &records])["unchanged"], 1);
    assert_eq!(with_url(&["remove", id])["effect"], "removed");

    assert_eq!(result(&["check", "--data", &restored])["verdict"], "in-order");
    let key = result(&["keys", "create", "--role", "admin", "--owner", "ops", "--data", &restored]);
    assert!(key["key"].as_str().is_some_and(|key| key.starts_with("adx_")), "{key}");
    assert_eq!(result(&["keys", "list", "--data", &restored])[0]["owner"], "ops");
    let revoked = result(&["keys", "revoke", key["id"].as_str().unwrap(), "--data", &restored]);
    assert_eq!(revoked["effect"], "revoked");
    assert_eq!(result(&["salvage", "--data", &restored, "--to", &path("salvaged")])["agents"], 1);

    let card = path("card.json");
    fs::write(&card, include_str!("../../examples/agents/weather.json")).unwrap();
    assert_eq!(result(&["validate", &card])["valid"], true);
    assert!(result(&["sacp", "prompt"])["instructions"].is_string());
    assert_eq!(result(&["completions", "fish"])["shell"], "fish");
    let document: Value = serde_json::from_str(&stdout(&run(&["openapi", "--json"]))).unwrap();
    assert!(document["paths"].is_object());
}

#[test]
fn wrong_use_exits_with_2() {
    let (_directory, server) = server();
    let url = server.url();
    for arguments in [
        vec!["list", "--limit", "abc"],
        vec!["list", "--frobnicate"],
        vec!["serach"],
        vec!["serve", "--listen", "foo"],
        vec!["serve", "--listen", "127.0.0.1:99999"],
        vec!["serve", "--mqtt-listen", "foo"],
        vec!["serve", "--min-ttl", "20", "--max-ttl", "10"],
        vec!["serve", "--max-connections", "0"],
        vec!["serve", "--public-read"],
        vec!["serve", "--no-mqtt", "--allow-fetch", "a b"],
        vec!["serve", "--no-mqtt", "--cors-origin", "not an origin"],
        vec!["demo", "--auth"],
        vec!["list", "--url", "ftp://registry.example"],
        vec!["list", "--url", url, "--api-key", "nonsense"],
        vec!["openapi", "--url", url],
        vec!["search", "x", "--facets", "colour", "--url", url],
        vec!["imports", "--status", "blue", "--url", url],
        vec!["search", "--jsonpath", "$[", "--url", url],
        vec!["register", "https://agent.example/card.json", "--url", url],
        vec!["export", "urn:x", "--format", "td", "--url", url],
        vec!["export", "urn:x", "--format", "a2a", "--version", "7", "--url", url],
        vec!["call", "urn:x", "y", "--input", "{", "--url", url],
        vec!["ask", "--agent", "urn:x", "y", "z", "--url", url],
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        error(&arguments, 2);
    }
}
