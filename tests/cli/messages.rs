//! Messages that say what was probably meant.

use std::fs;

use super::{agent, run, run_with_input, stderr, stdout};
use crate::{process::ServerProcess, support::TestRegistry};

/// A registry with a few agents.
fn registry() -> TestRegistry {
    let registry = TestRegistry::start();
    for (id, title) in [
        ("urn:test:world-clock", "World clock"),
        ("urn:test:tides", "Tide agent"),
        ("urn:test:weather", "Weather agent"),
    ] {
        registry.put(&format!("/things/{id}"), agent(id, title)).expect(201);
    }
    registry.get("/search?q=clock&consistent=true").expect(200);
    registry
}

/// The message of a command that fails with this status.
fn failed(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stderr(&output)
}

#[test]
fn agents_that_were_meant_are_suggested() {
    let registry = registry();
    let url = registry.url("");
    for (arguments, meant) in [
        (vec!["get", "clock"], "World clock (urn:test:world-clock)"),
        (vec!["get", "Tide agnt"], "Tide agent (urn:test:tides)"),
        (vec!["get", "urn:test:world-clok"], "World clock (urn:test:world-clock)"),
        (vec!["get", "urn:other:tides"], "Tide agent (urn:test:tides)"),
        (vec!["history", "Wether"], "Weather agent (urn:test:weather)"),
        (vec!["remove", "weather"], "Weather agent (urn:test:weather)"),
        (vec!["patch", "clock", "{}"], "World clock (urn:test:world-clock)"),
        (vec!["access", "tide"], "Tide agent (urn:test:tides)"),
        (vec!["export", "clock", "--format", "a2a"], "World clock (urn:test:world-clock)"),
        (vec!["call", "clock"], "World clock (urn:test:world-clock)"),
    ] {
        let message = failed(&[arguments.as_slice(), &["--url", &url]].concat(), 1);
        assert!(message.contains("did you mean") && message.contains(meant), "{arguments:?}: {message}");
    }
    let message = failed(&["get", "zzzzzz", "--url", &url], 1);
    assert!(!message.contains("did you mean") && message.contains("agentdex list"), "{message}");
    let found = run(&["find", "clock", "--url", &url]);
    assert!(stdout(&found).contains("World clock"), "{}{}", stdout(&found), stderr(&found));
}

#[test]
fn values_of_filters_that_were_meant_are_suggested() {
    let registry = registry();
    let url = registry.url("");
    for (arguments, meant) in [
        (["search", "--security", "noscec"], "`nosec`"),
        (["search", "--capability", "greeet"], "`greet`"),
        (["search", "--lexical", "+capability:greeet"], "`greet`"),
        (["list", "--capability", "gret"], "`greet`"),
        (["list", "--type", "lmos:agnt"], "`lmos:Agent`"),
    ] {
        let output = run(&[&arguments[..], &["--url", &url]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        assert!(stdout(&output).contains(meant), "{arguments:?}: {}", stdout(&output));
    }
}

#[test]
fn addresses_that_are_nearly_right_are_corrected() {
    let registry = registry();
    let url = registry.url("").trim_end_matches('/').to_owned();
    let tls = url.replace("http://", "https://");
    for arguments in [["list"].as_slice(), &["status"], &["search", "x"], &["get", "x"]] {
        let message = failed(&[arguments, &["--url", &tls]].concat(), 1);
        assert!(message.contains("doesn't speak TLS") && message.contains("http://"), "{arguments:?}: {message}");
        assert!(!message.contains("InvalidContentType") && !message.contains("running there"), "{message}");
    }
    for resource in ["things", "search", "docs", "things/"] {
        let with_resource = format!("{url}/{resource}");
        let message = failed(&["list", "--url", &with_resource], 2);
        let leave = format!("remove /{}", resource.trim_end_matches('/'));
        assert!(message.contains(&leave) && message.contains(&format!("--url {url}\n")), "{message}");
    }
}

#[test]
fn patch_that_is_not_json_is_written_as_json() {
    for (patch, meant) in [
        ("title=New", r#"'{"title":"New"}'"#),
        ("title", r#"'{"title": "New"}'"#),
        ("[1]", r#"'{"title": "New"}'"#),
        ("{title: 1}", r#"'{"title": "New"}'"#),
    ] {
        // It is checked before the registry is asked.
        let message = failed(&["patch", "urn:test:x", patch, "--url", "http://127.0.0.1:1"], 2);
        assert!(message.contains(meant), "{patch}: {message}");
    }
}

#[test]
fn data_is_named_or_described() {
    let registry = registry();
    let url = registry.url("");
    let answer = run(&["search", "--have", "place, days: integer", "--want", "summary", "--url", &url]);
    assert_eq!(answer.status.code(), Some(0), "{}", stderr(&answer));
    for (given, words) in [
        ("days: int", "days: int"),
        ("{", "not a data schema in JSON"),
        ("missing.json", "No such file"),
        (",", "no names given"),
    ] {
        let output = run(&["search", "--have", given, "--url", &url]);
        assert_ne!(output.status.code(), Some(0), "{given}");
        assert!(stderr(&output).contains(words), "{given}: {}", stderr(&output));
    }
}

#[test]
fn numbers_that_are_none_are_quoted() {
    for arguments in [
        ["list", "--limit", "abc"].as_slice(),
        &["list", "--offset", "-1"],
        &["search", "x", "--limit", "1.5"],
        &["search", "x", "--offset", "ten"],
        &["changes", "--limit", "x"],
        &["audit", "--since", "x"],
        &["call", "a", "b", "--timeout", "x"],
        &["events", "a", "b", "--count", "x"],
        &["events", "a", "b", "--for", "x"],
        &["run", "a", "--max-calls", "x"],
        &["demo", "--port", "x"],
        &["serve", "--default-ttl", "x"],
    ] {
        let message = failed(arguments, 2);
        assert!(!message.contains("invalid digit"), "{arguments:?}: {message}");
        assert!(message.contains("not a whole number"), "{arguments:?}: {message}");
    }
}

#[test]
fn words_may_start_with_a_hyphen_and_options_may_not_be_misspelled() {
    let registry = registry();
    let url = registry.url("");
    let found = run(&["search", "agent", "-tide", "--url", &url]);
    let text = stdout(&found);
    assert!(text.contains("Weather agent") && !text.contains("Tide agent"), "{text}{}", stderr(&found));
    let found = run(&["search", "-hotel", "+weather", "--limit", "1", "--url", &url]);
    assert!(stdout(&found).contains("1 to 1 of"), "{}{}", stdout(&found), stderr(&found));
    for command in ["search", "watch"] {
        let message = failed(&[command, "agent", "--limti", "5", "--url", &url], 2);
        assert!(message.contains("--limti"), "{command}: {message}");
    }
}

#[test]
fn misspelled_flags_are_not_explained_as_values() {
    for arguments in [["search", "x", "--kind", "a"], ["list", "--kind", "a", "-v"], ["get", "urn:a", "--kind", "a"]] {
        let message = failed(&arguments, 2);
        assert!(message.contains("--kind") && !message.contains("as a value"), "{arguments:?}: {message}");
    }
}

#[test]
fn files_and_folders_that_are_not_there_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = ServerProcess::start(folder.path().join("data").as_ref(), &[]);
    for (arguments, told) in [
        (vec!["backup", &path("none/x.backup"), "--url", server.url()], "there is no folder"),
        (vec!["restore", &path("none.backup"), "--data", &path("other")], "`agentdex backup`"),
    ] {
        let message = failed(&arguments, 1);
        assert!(message.contains(told) && !message.contains("os error"), "{arguments:?}: {message}");
    }
}

#[test]
fn hints_are_apart_in_json() {
    let registry = registry();
    let url = registry.url("");
    for command in ["get", "history"] {
        let message = failed(&[command, "zzzzzz", "--json", "--url", &url], 1);
        let said: serde_json::Value = serde_json::from_str(message.lines().last().unwrap()).unwrap();
        let error = said["error"].as_str().unwrap();
        assert!(!error.contains('\n') && said["hint"].as_str().unwrap().contains("agentdex list"), "{message}");
    }
}

#[test]
fn files_without_a_document_are_told_from_invalid_ones() {
    let folder = tempfile::tempdir().unwrap();
    let prose = folder.path().join("README.md");
    fs::write(&prose, "# Title\n\n*Note*: a *b* of `c`.\n").unwrap();
    let line = folder.path().join("notes.txt");
    fs::write(&line, "just a line").unwrap();
    for file in [&prose, &line] {
        let file = file.to_str().unwrap();
        for command in ["validate", "td", "register"] {
            let output =
                run(&[command, file, "--url", "http://127.0.0.1:1"][..if command == "register" { 4 } else { 2 }]);
            let said = stdout(&output) + &stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{command}: {said}");
            assert!(said.contains("neither JSON nor YAML"), "{command}: {said}");
        }
    }
    let missing = run(&["validate", "nofile.json"]);
    assert!(stdout(&missing).starts_with("nofile.json: unreadable: No such file"), "{}", stdout(&missing));
}

#[test]
fn sparql_that_is_not_offered_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(&directory.path().join("data"), &[]);
    let message = failed(&["search", "--sparql", "ASK {}", "--url", server.url()], 1);
    assert!(message.contains("doesn't offer SPARQL") && message.contains("serve --sparql"), "{message}");
    assert!(!message.contains("/search?q="), "{message}");
}

#[test]
fn command_that_was_meant_is_suggested_alone() {
    for (typed, meant) in [("serach", "search"), ("lsit", "list"), ("wtach", "watch"), ("validte", "validate")] {
        let message = failed(&[typed], 2);
        assert!(message.contains(&format!("'{meant}'")), "{typed}: {message}");
        assert_eq!(message.matches('\'').count(), 6, "{typed}: {message}");
    }
    assert!(failed(&["completions"], 2).contains("bash|zsh|fish"), "{}", failed(&["completions"], 2));
}

#[test]
fn key_that_goes_into_a_variable_is_said_to_be_on_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let arguments = ["keys", "create", "--role", "admin", "--owner", "ops", "--data", data.to_str().unwrap()];
    let output = run_with_input(&arguments, "");
    assert!(stdout(&output).starts_with("adx_"), "{}", stderr(&output));
    assert!(stderr(&output).contains("written to standard output"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("adx_"), "{}", stderr(&output));
}
