//! What the command line says when something is wrong, and what needs no registry.

use std::{path::Path, process::Command};

use serde_json::Value;

use super::{run, stderr, stdout};
use crate::support::{TestRegistry, agent, unreachable_url};

#[test]
fn registry_that_is_not_there_is_explained() {
    let output = run(&["list", "--url", "http://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Connection refused"), "{}", stderr(&output));
    assert!(stderr(&output).contains("is `agentdex serve` running"), "{}", stderr(&output));
}

#[test]
fn url_that_is_none_is_explained() {
    for (url, why) in
        [("ftp://registry.example", "neither http:// nor https://"), ("not a url", "not the URL of a registry")]
    {
        let output = run(&["list", "--url", url]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

#[test]
fn url_without_a_scheme_is_one_of_http() {
    let output = run(&["list", "--url", "127.0.0.1:1"]);
    assert!(stderr(&output).contains("the registry at http://127.0.0.1:1/ can't be reached"), "{}", stderr(&output));
}

#[test]
fn unknown_flag_is_a_usage_error() {
    assert_eq!(run(&["list", "--frobnicate"]).status.code(), Some(2));
}

#[test]
fn openapi_is_json() {
    let document: Value = serde_json::from_str(&stdout(&run(&["openapi"]))).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with('3'), "{document}");
    assert!(document["paths"].as_object().unwrap().contains_key("/things"));
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains("AGENTDEX_COMPLETE"), "{shell}: {script}");
    }
}

/// Completes words in bash, the last of which is incomplete. Returns the candidates.
fn completed_in_bash(words: &[&str], url: &str) -> Vec<String> {
    let mut script = stdout(&run(&["completions", "bash"]));
    let last = words.len() - 1;
    script += &format!("COMP_WORDS=({})\nCOMP_CWORD={last}\n", words.join(" "));
    script += &format!("_clap_complete_agentdex agentdex \"{}\" \"{}\"\n", words[last], words[last - 1]);
    script += "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    let program = Path::new(env!("CARGO_BIN_EXE_agentdex")).parent().unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &script]).env("AGENTDEX_URL", url);
    let output = bash.env("PATH", format!("{}:/usr/bin:/bin", program.display())).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn commands_options_and_ids_are_completed() {
    let registry = TestRegistry::start();
    for id in ["urn:example:tides", "urn:example:taxi", "urn:other:trams"] {
        registry.put(&format!("/things/{id}"), agent(id, "Agent")).expect(201);
    }
    let url = registry.url("");
    let complete = |words: &[&str]| completed_in_bash(words, &url);
    assert!(complete(&["agentdex", "val"]).contains(&"validate".to_owned()));
    assert!(complete(&["agentdex", "serve", "--keep"]).is_empty());
    assert!(complete(&["agentdex", "serve", "--mqtt-l"]).contains(&"--mqtt-listen".to_owned()));
    let ids = complete(&["agentdex", "get", "urn:example:t"]);
    assert_eq!(ids, ["urn:example:taxi", "urn:example:tides"]);
    assert_eq!(complete(&["agentdex", "remove", "urn:other:trams", "urn:o"]), ["urn:other:trams"]);
    let of_keys = complete(&["agentdex", "keys", "revoke", "urn:"]);
    assert!(!of_keys.iter().any(|word| word.starts_with("urn:")), "{of_keys:?}");
    // Without a registry, there are no ids.
    let ids = completed_in_bash(&["agentdex", "get", "urn:example:t"], &unreachable_url(""));
    assert!(!ids.iter().any(|word| word.starts_with("urn:")), "{ids:?}");
}

#[test]
fn folder_without_documents_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["validate", "register", "td"] {
        let output = run(&[command, folder.path().to_str().unwrap()]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{command}");
        assert!(stderr(&output).contains("no .json, .jsonld"), "{command}: {}", stderr(&output));
    }
}

#[test]
fn missing_file_is_told_once() {
    let missing = "/there/is/none.json";
    let folder = tempfile::tempdir().unwrap();
    let occupied = folder.path().join("occupied");
    std::fs::write(&occupied, "").unwrap();
    for arguments in [
        vec!["register", missing],
        vec!["td", missing],
        vec!["validate", missing, "--component", missing],
        vec!["serve", "--data", occupied.to_str().unwrap()],
        vec!["serve", "--config", missing],
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let told = stderr(&output);
        assert_eq!(told.matches("(os error").count(), 1, "{arguments:?}: {told}");
    }
}
