//! What commands say while they work, and when there is nothing to say.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use serde_json::json;

use super::{agent, run, run_with_input, stderr, stdout, terminal::on_terminal, wait_for_subscriber};
use crate::{
    process::{ServerProcess, agentdex},
    support::TestRegistry,
};

/// A file with so many agents, one a line.
fn agents(count: usize) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".ndjson").tempfile().unwrap();
    let one_line = |number| agent(&format!("urn:test:{number}"), &format!("Agent {number}")).replace('\n', " ") + "\n";
    fs::write(file.path(), (0..count).map(one_line).collect::<String>()).unwrap();
    file
}

#[test]
fn many_agents_are_counted_on_a_terminal_and_listed_elsewhere() {
    let registry = TestRegistry::start();
    let file = agents(60);
    let path = file.path().to_str().unwrap();
    let Some(shown) = on_terminal(&registry, &["register", path]) else { return };
    assert!(shown.contains("60 created, 0 updated") && !shown.contains("created urn:test:"), "{shown}");
    assert!(shown.contains("/60 documents"), "{shown}");
    let verbose = on_terminal(&registry, &["register", path, "--verbose"]).unwrap();
    assert!(verbose.contains("unchanged urn:test:59") && verbose.contains("60 unchanged"), "{verbose}");
    let quiet = on_terminal(&registry, &["register", path, "--quiet"]).unwrap();
    assert!(quiet.contains("/60 documents") && !quiet.contains("unchanged"), "{quiet}");
    let piped = run(&["register", path, "--url", &registry.url("")]);
    assert_eq!(stdout(&piped).lines().count(), 61, "{}", stdout(&piped));
    assert_eq!(stderr(&piped), "");
}

#[test]
fn failures_among_many_are_listed_on_a_terminal() {
    let registry = TestRegistry::start();
    let file = agents(30);
    let broken = fs::read_to_string(file.path()).unwrap().replace("\"title\": \"Agent 7\"", "\"title\": 7");
    fs::write(file.path(), broken).unwrap();
    let Some(shown) = on_terminal(&registry, &["register", file.path().to_str().unwrap()]) else { return };
    assert!(shown.contains("29 created") && shown.contains(".ndjson:8:"), "{shown}");
}

#[test]
fn records_and_checks_show_progress_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let registry = TestRegistry::start();
    let file = agents(40);
    assert_eq!(run(&["register", file.path().to_str().unwrap(), "--url", &registry.url("")]).status.code(), Some(0));
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (records, backup, data) = (path("records"), path("backup"), path("data"));
    let Some(shown) = on_terminal(&registry, &["records", "export", &records]) else { return };
    assert!(shown.contains("/40 agents"), "{shown}");
    let shown = on_terminal(&registry, &["records", "import", &records]).unwrap();
    assert!(shown.contains("40 unchanged") && shown.contains("KiB"), "{shown}");
    assert_eq!(run(&["backup", &backup, "--url", &registry.url("")]).status.code(), Some(0));
    assert_eq!(run(&["restore", &backup, "--data", &data]).status.code(), Some(0));
    let shown = on_terminal(&registry, &["check", "--data", &data]).unwrap();
    assert!(shown.contains("/3 ") && shown.contains("in order"), "{shown}");
    let piped = run(&["check", "--data", &data]);
    assert_eq!((stderr(&piped).as_str(), stdout(&piped).lines().count()), ("", 1));
}

#[test]
fn commands_with_nothing_to_print_say_so() {
    let registry = TestRegistry::start();
    let url = registry.url("");
    for (arguments, words) in [
        (vec!["audit"], "No entries"),
        (vec!["namespaces", "list"], "No namespaces"),
        (vec!["imports"], "No source is tracked"),
        (vec!["list"], "No agents"),
    ] {
        let output = run(&[arguments.as_slice(), &["--url", &url]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(words), "{arguments:?}: {said}");
        let json = run(&[arguments.as_slice(), &["--url", &url, "--json"]].concat());
        assert_eq!(stderr(&json), "", "{arguments:?}");
    }
    let answer = json!({"ask": {"forms": [{"href": "http://127.0.0.1:1/"}]}});
    let text = agent("urn:test:mute", "Mute").replacen('{', &format!("{{\"actions\": {answer}, "), 1);
    assert_eq!(run_with_input(&["register", "-", "--url", &url], &text).status.code(), Some(0));
    let silent = run(&["chat", "urn:test:mute", "--url", &url]);
    assert!(stderr(&silent).contains("nothing was sent"), "{}", stderr(&silent));
}

/// Starts `watch` with its standard error in a pipe.
fn watch(url: &str) -> (std::process::Child, impl Iterator<Item = String>) {
    let mut command = agentdex();
    let mut watch = command.args(["watch", "--url", url]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watch.stderr.take().unwrap()).lines().map_while(Result::ok);
    (watch, lines)
}

/// Stops a registry while it is watched, starts one over a directory on its port, and returns what `watch` says once it is
/// reconnected.
fn reconnected(change: impl Fn(&std::path::Path) -> std::path::PathBuf) -> String {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(&data.path().join("a"), &[]);
    let url = server.url().to_owned();
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let register = |id: &str| {
        assert!(run_with_input(&["register", "-", "--url", &url], &agent(id, id)).status.success());
    };
    register("urn:test:before");
    let (mut watch, mut said) = watch(&url);
    wait_for_subscriber(&url);
    assert_eq!(server.stop().code(), Some(0));
    let interrupted = said.next().unwrap();
    assert!(interrupted.contains("trying again"), "{interrupted}");
    let _server = ServerProcess::start(&change(data.path()), &["--listen", &address]);
    let again = said.next().unwrap();
    watch.kill().unwrap();
    watch.wait().unwrap();
    again
}

#[test]
fn nothing_was_missed_if_the_registry_is_the_same() {
    let again = reconnected(|data| data.join("a"));
    assert_eq!(again, "reconnected; nothing was missed");
}

#[test]
fn another_registry_at_the_address_is_not_said_to_be_the_same() {
    let again = reconnected(|data| data.join("b"));
    assert!(again.starts_with("reconnected, but") && !again.contains("nothing was missed"), "{again}");
}

#[test]
fn watch_says_that_it_is_connected() {
    let registry = TestRegistry::start();
    let program = agentdex();
    let watched = |seconds: u64| {
        let line = format!("timeout -s INT {seconds} '{}' watch", program.get_program().to_str().unwrap());
        let mut command = Command::new("script");
        let command = command.args(["-qec", &line, "/dev/null"]).env("AGENTDEX_URL", registry.url(""));
        command.stdin(Stdio::null()).output().map(|output| stdout(&output))
    };
    // A busy machine takes longer.
    for seconds in [3, 15, 60] {
        match watched(seconds) {
            Ok(text) if text.contains("watching http://127.0.0.1") => return,
            Ok(text) => println!("after {seconds} s: {text}"),
            Err(_) => return,
        }
    }
    panic!("it never said that it watches");
}
