//! `agentdex queries`, `diff` and `version`.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{agent, agent_cards::card, run, run_with_input, stderr, stdout, wait_for_subscriber};
use crate::process::{ServerProcess, agentdex};

fn server() -> (tempfile::TempDir, ServerProcess) {
    let directory = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(&directory.path().join("data"), &[]);
    (directory, server)
}

fn done(server: &ServerProcess, arguments: &[&str]) -> String {
    let output = run(&[arguments, &["--url", server.url()]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn register(server: &ServerProcess, text: &str) {
    let output = run_with_input(&["register", "-", "--url", server.url()], text);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn queries_are_saved_listed_watched_and_deleted() {
    let (_directory, server) = server();
    assert!(done(&server, &["queries", "list"]).contains("No saved queries"));
    let create = ["queries", "create", "frogs", "frog", "-toad", "--lexical", "--capability", "greet"];
    done(&server, &create);
    let listed: Value = serde_json::from_str(&done(&server, &["queries", "list", "--json"])).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["query"]["q"]), (&json!("frogs"), &json!("frog -toad")));
    assert_eq!(listed[0]["query"]["capability"], json!(["greet"]));
    assert_eq!(listed[0]["query"]["mode"], "lexical");
    let listed = done(&server, &["queries", "list"]);
    assert!(listed.contains("frog -toad --lexical --capability greet") && listed.contains("1 query"), "{listed}");

    let taken = run(&[&create[..], &["--url", server.url()]].concat());
    assert!(taken.status.code() == Some(1) && stderr(&taken).contains("--force"), "{}", stderr(&taken));
    done(&server, &[&create[..], &["--force"]].concat());

    let mut command = agentdex();
    command.args(["queries", "watch", "frogs", "--json", "--url", server.url()]);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    wait_for_subscriber(server.url());
    register(&server, &agent("urn:test:toad", "Toad"));
    register(&server, &agent("urn:test:frog", "Frog"));
    let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(event["data"]["id"], "urn:test:frog", "{event}");
    watch.kill().unwrap();
    watch.wait().unwrap();

    assert_eq!(done(&server, &["queries", "delete", "frogs"]), "removed frogs\n");
    for gone in [["queries", "delete", "frogs"], ["queries", "watch", "frogs"]] {
        assert_eq!(run(&[&gone[..], &["--url", server.url()]].concat()).status.code(), Some(1), "{gone:?}");
    }
    for wrong in [
        &["queries", "create", "x", "y", "--threshold", "2"][..],
        &["queries", "create", "x", "y", "--created-from", "2026-01-01"],
        &["queries", "create", "x", "y", "--frobnicate"],
    ] {
        let output = run(&[wrong, &["--url", server.url()]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

/// Saved queries have no bounds of time.
#[test]
fn help_of_queries_offers_only_filters_that_can_be_saved() {
    let help = |arguments: &[&str]| stdout(&run(&[arguments, &["--help"]].concat()));
    for bound in ["--created-from", "--created-before", "--modified-from", "--modified-before"] {
        assert!(!help(&["queries", "create"]).contains(bound), "{bound}");
        assert!(help(&["search"]).contains(bound) && help(&["list"]).contains(bound), "{bound}");
    }
    assert!(help(&["queries", "create"]).contains("--capability"));
}

#[test]
fn agents_versions_and_files_are_compared() {
    let (directory, server) = server();
    let file = directory.path().join("frog.json");
    fs::write(&file, agent("urn:test:toad", "Toad")).unwrap();
    let file = file.to_str().unwrap();
    for (version, name) in [("1.0.0", "Frog"), ("1.1.0", "Toad")] {
        let mut card = card(name);
        card["version"] = json!(version);
        let path = directory.path().join("card.json");
        fs::write(&path, card.to_string()).unwrap();
        done(&server, &["register", path.to_str().unwrap(), "--id", "urn:test:frog"]);
    }
    register(&server, &agent("urn:test:newt", "Newt"));

    let between = done(&server, &["diff", "urn:test:frog@1.0.0", "urn:test:frog@1.1.0"]);
    let has_line = |start: &str| between.lines().any(|line| line.starts_with(start) && line.contains("\"title\""));
    assert!(has_line("- ") && has_line("+ ") && between.contains("Frog"), "{between}");
    assert!(!between.contains("registration"), "{between}");
    let agents: Value = serde_json::from_str(&done(&server, &["diff", "Toad", "urn:test:newt", "--json"])).unwrap();
    assert_eq!(agents["patch"]["title"], "Newt", "{agents}");
    assert_eq!(agents["equal"], false);
    let same = done(&server, &["diff", "urn:test:newt", "Newt"]);
    assert_eq!(same, "no difference\n");

    // Two files need no registry, and members may be in another order.
    let other = directory.path().join("other.json");
    fs::write(&other, "{\"b\": [1, 2], \"a\": {\"y\": 1, \"x\": 2.0}}").unwrap();
    let third = directory.path().join("third.yaml");
    fs::write(&third, "a:\n  x: 2.0\n  y: 1\nb: [1, 2]\n").unwrap();
    let files = [other.to_str().unwrap(), third.to_str().unwrap()];
    let output = run(&["diff", files[0], files[1], "--url", "http://127.0.0.1:1"]);
    assert_eq!(stdout(&output), "no difference\n", "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&run(&["diff", files[0], file, "--json"]))).unwrap();
    assert_eq!(json["patch"]["title"], "Toad");
    let missing = run(&["diff", "urn:test:frog", "urn:test:nobody", "--url", server.url()]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("there is no agent"), "{}", stderr(&missing));
}

#[test]
fn versions_of_program_and_registry_are_printed() {
    let (_directory, server) = server();
    let version = env!("CARGO_PKG_VERSION");
    let text = done(&server, &["version"]);
    assert!(text.starts_with(&format!("agentdex {version}\nregistry {version} at http://")), "{text}");
    let json: Value = serde_json::from_str(&done(&server, &["version", "--json"])).unwrap();
    assert_eq!((&json["client"], &json["registry"]["version"]), (&json!(version), &json!(version)));
    let own = run(&["version", "--client", "--url", "http://127.0.0.1:1"]);
    assert_eq!((own.status.code(), stdout(&own)), (Some(0), format!("agentdex {version}\n")));
    let unreachable = run(&["version", "--url", "http://127.0.0.1:1"]);
    assert_eq!((unreachable.status.code(), stdout(&unreachable)), (Some(1), format!("agentdex {version}\n")));
}
