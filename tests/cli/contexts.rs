//! `agentdex context`: registries by name, and the precedence of flags, variables and contexts.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{run, stderr, stdout};
use crate::process::{ServerProcess, agentdex};

const NOWHERE: &str = "http://127.0.0.1:1";

/// A folder for configuration.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("agentdex/contexts.json")
    }

    fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = agentdex();
        command.args(arguments).env("XDG_CONFIG_HOME", self.0.path()).envs(variables.iter().copied()).output().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(&[], arguments)
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// The URL that a command asks, from the error that nobody listens there.
    fn asked(&self, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let output = self.run_with(variables, arguments);
        let told = stderr(&output);
        let (_, rest) = told.split_once("the registry at ").unwrap_or_else(|| panic!("{arguments:?}: {told}"));
        rest.split_once(" can't be reached").unwrap().0.to_owned()
    }
}

#[test]
fn contexts_are_added_used_listed_and_removed() {
    let home = Home::new();
    assert!(home.done(&["context", "list"]).contains("No contexts"));
    assert!(home.done(&["context", "add", "one", "--url", "http://127.0.0.1:1"]).contains("current"));
    home.done(&["context", "add", "two", "--url", "http://127.0.0.1:2"]);
    assert_eq!(home.asked(&[], &["list"]), "http://127.0.0.1:1/");
    home.done(&["context", "use", "two"]);
    assert_eq!(home.asked(&[], &["list"]), "http://127.0.0.1:2/");
    assert_eq!(home.asked(&[], &["list", "--context", "one"]), "http://127.0.0.1:1/");
    assert_eq!(home.asked(&[("AGENTDEX_CONTEXT", "one")], &["list"]), "http://127.0.0.1:1/");
    let listed: Value = serde_json::from_str(&home.done(&["context", "list", "--json"])).unwrap();
    assert_eq!(listed[1]["name"], "two");
    assert_eq!((&listed[0]["current"], &listed[1]["current"]), (&json!(false), &json!(true)));
    let again = home.run(&["context", "add", "one", "--url", NOWHERE]);
    assert_eq!(again.status.code(), Some(1));
    home.done(&["context", "add", "one", "--url", "http://127.0.0.1:3", "--force", "--use"]);
    assert_eq!(home.asked(&[], &["list"]), "http://127.0.0.1:3/");
    home.done(&["context", "remove", "one"]);
    assert_eq!(home.asked(&[], &["list", "--context", "two"]), "http://127.0.0.1:2/");
    // None is in use any more.
    assert!(!home.done(&["context", "list"]).contains("current"));
    for wrong in [
        &["context", "use", "three"][..],
        &["list", "--context", "three"],
        &["context", "add", "a b", "--url", NOWHERE],
        &["context", "add", "four"],
        &["context", "add", "four", "--url", "ftp://x"],
        &["context", "add", "four", "--url", NOWHERE, "--api-key", "nonsense"],
        &["list", "--context", "two", "--url", NOWHERE],
    ] {
        assert_eq!(home.run(wrong).status.code(), Some(2), "{wrong:?}: {}", stderr(&home.run(wrong)));
    }
}

#[test]
fn flags_and_variables_come_before_contexts() {
    let home = Home::new();
    home.done(&["context", "add", "one", "--url", "http://127.0.0.1:1"]);
    let variable = [("AGENTDEX_URL", "http://127.0.0.1:2")];
    assert_eq!(home.asked(&variable, &["list"]), "http://127.0.0.1:2/");
    assert_eq!(home.asked(&variable, &["list", "--url", "http://127.0.0.1:3"]), "http://127.0.0.1:3/");
    // A flag comes before a variable.
    assert_eq!(home.asked(&variable, &["list", "--context", "one"]), "http://127.0.0.1:1/");
}

#[test]
fn file_is_for_its_owner_alone() {
    let home = Home::new();
    home.done(&["context", "add", "one", "--url", NOWHERE]);
    let mode = || fs::metadata(home.file()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    for open in [0o604, 0o640, 0o602, 0o660] {
        fs::set_permissions(home.file(), fs::Permissions::from_mode(open)).unwrap();
        for arguments in [&["list"][..], &["context", "list"], &["context", "add", "two", "--url", NOWHERE]] {
            let refused = home.run(arguments);
            assert_eq!(refused.status.code(), Some(1), "{open:o} {arguments:?}");
            assert!(stderr(&refused).contains("chmod 600"), "{open:o} {arguments:?}: {}", stderr(&refused));
        }
    }
    // Whoever names another registry needs no context.
    assert_eq!(home.asked(&[], &["list", "--url", NOWHERE]), "http://127.0.0.1:1/");
    fs::set_permissions(home.file(), fs::Permissions::from_mode(0o600)).unwrap();
    home.done(&["context", "add", "two", "--url", NOWHERE]);
    assert_eq!(mode(), 0o600);
    fs::write(home.file(), "{\"contexts\": {\"s3cret\"").unwrap();
    let broken = home.run(&["list"]);
    assert!(stderr(&broken).contains("contexts.json") && !stderr(&broken).contains("s3cret"), "{}", stderr(&broken));
}

#[test]
fn key_of_a_context_is_for_its_registry_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let create = ["keys", "create", "--role", "admin", "--owner", "ops", "--data", data.to_str().unwrap()];
    let key = stdout(&run(&create)).trim().to_owned();
    let server = ServerProcess::start(&data, &["--auth"]);
    let home = Home::new();
    let variable = [("AGENTDEX_API_KEY", key.as_str())];
    let added = home.run_with(&variable, &["context", "add", "prod", "--url", server.url()]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    assert_eq!(home.done(&["list"]), "No agents. `agentdex register FILE` registers one.\n");
    let url = [("AGENTDEX_URL", server.url())];
    for (variables, arguments) in [(&[][..], &["list", "--url", server.url()][..]), (&url, &["list"])] {
        let output = home.run_with(variables, arguments);
        assert!(stderr(&output).contains("API key"), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    }
    // A key that is given comes first.
    let other = format!("adx_{}_{}", "0".repeat(8), "x".repeat(43));
    let output = home.run(&["list", "--api-key", &other]);
    assert_ne!(output.status.code(), Some(0), "{}", stdout(&output));
    for arguments in [&["context", "list"][..], &["context", "list", "--json"], &["context", "use", "prod", "--json"]] {
        assert!(!home.done(arguments).contains(&key), "{arguments:?}");
    }
}
