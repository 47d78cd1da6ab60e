//! What the command line says when something is wrong, and what needs no registry.

use serde_json::Value;

use super::{run, stderr, stdout};

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
        assert!(script.contains("validate") && script.contains("keep-alive"), "{shell}: {script}");
    }
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
