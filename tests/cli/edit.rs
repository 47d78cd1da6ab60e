//! `agentdex edit`: nothing that was typed is lost.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{agent, run, run_with_input, stderr, stdout};
use crate::process::{ServerProcess, agentdex};

const ID: &str = "urn:test:frog";

struct Fixture {
    folder: TempDir,
    server: ServerProcess,
}

impl Fixture {
    fn start() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let server = ServerProcess::start(&folder.path().join("data"), &[]);
        let fixture = Fixture { folder, server };
        let registered = run_with_input(&["register", "-", "--url", fixture.server.url()], &agent(ID, "Frog"));
        assert!(registered.status.success(), "{}", stderr(&registered));
        fixture
    }

    /// A script that is called with the file to edit.
    fn script(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("editor");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn edit_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = agentdex();
        command.args(["edit", ID]).args(arguments).env("AGENTDEX_URL", self.server.url());
        command.env("TMPDIR", self.folder.path().join("tmp")).env_remove("VISUAL").env_remove("EDITOR");
        command.envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap()
    }

    fn edit(&self, script: &str) -> Output {
        self.edit_with(&[("EDITOR", self.script(script).to_str().unwrap())], &[])
    }

    /// The files that are left in the folder for temporary files.
    fn left(&self) -> Vec<PathBuf> {
        fs::read_dir(self.folder.path().join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn title(&self) -> String {
        let thing: Value =
            serde_json::from_str(&stdout(&run(&["get", ID, "--json", "--url", self.server.url()]))).unwrap();
        thing["title"].as_str().unwrap().to_owned()
    }

    /// The one file that is left: the message names it, and it has this text.
    fn assert_kept(&self, output: &Output, text: &str) {
        let left = self.left();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(stderr(output).contains(left[0].to_str().unwrap()), "{}", stderr(output));
        let kept = fs::read_to_string(&left[0]).unwrap();
        assert!(kept.contains(text), "{kept}");
    }
}

#[test]
fn change_is_stored_and_leaves_no_file() {
    let fixture = Fixture::start();
    let output = fixture.edit("! grep -q registration \"$1\" && sed -i s/Frog/Toad/ \"$1\"");
    assert_eq!(stdout(&output), format!("updated {ID}\n"), "{}", stderr(&output));
    assert_eq!((fixture.title().as_str(), fixture.left().len()), ("Toad", 0));
    let json = fixture.edit_with(&[("EDITOR", "sed -i s/Toad/Newt/")], &["--json"]);
    let effect: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!((&effect["id"], &effect["effect"]), (&ID.into(), &"updated".into()));
}

#[test]
fn text_that_stays_changes_nothing() {
    let fixture = Fixture::start();
    let output = fixture.edit("true");
    assert_eq!(stdout(&output), format!("unchanged {ID}\n"), "{}", stderr(&output));
    assert!(fixture.left().is_empty());
}

#[test]
fn visual_comes_before_editor_and_may_have_arguments() {
    let fixture = Fixture::start();
    let output = fixture.edit_with(&[("VISUAL", "sed -i -e s/Frog/Toad/"), ("EDITOR", "false")], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fixture.title(), "Toad");
}

#[test]
fn others_can_not_read_the_text() {
    let fixture = Fixture::start();
    let seen = fixture.folder.path().join("mode");
    let output = fixture.edit(&format!("stat -c %a \"$1\" > {}", seen.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(seen).unwrap().trim(), "600");
}

#[test]
fn broken_text_is_opened_again() {
    let fixture = Fixture::start();
    let output = fixture.edit(
        "if grep -q broken \"$1\"; then sed -i -e s/broken// -e s/Frog/Toad/ \"$1\"; else echo broken >> \"$1\"; fi",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("not a JSON object"), "{}", stderr(&output));
    assert_eq!((fixture.title().as_str(), fixture.left().len()), ("Toad", 0));
}

#[test]
fn text_that_stays_broken_is_kept() {
    for (script, words) in [
        ("printf '{\"title\": \"Mine\",' > \"$1\"", "not a JSON object"),
        ("sed -i 's/\"Frog\"/[\"Mine\"]/' \"$1\"", "not valid"),
        ("sed -i 's/\"Frog\"/\"Mine\", \"support\": null/' \"$1\"", "is null"),
    ] {
        let fixture = Fixture::start();
        let output = fixture.edit(script);
        assert_eq!(output.status.code(), Some(1), "{script}: {}", stdout(&output));
        assert!(stderr(&output).contains(words), "{script}: {}", stderr(&output));
        fixture.assert_kept(&output, "Mine");
        assert_eq!(fixture.title(), "Frog", "{script}");
    }
}

#[test]
fn editor_that_fails_or_is_not_there_is_named() {
    let fixture = Fixture::start();
    let output = fixture.edit("sed -i s/Frog/Mine/ \"$1\"; exit 3");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("editor ended"), "{}", stderr(&output));
    fixture.assert_kept(&output, "Mine");
    let fixture = Fixture::start();
    let missing = fixture.edit_with(&[("EDITOR", "/no/such/editor")], &[]);
    assert!(
        stderr(&missing).contains("/no/such/editor") && stderr(&missing).contains("VISUAL"),
        "{}",
        stderr(&missing)
    );
}

/// A script that changes the agent, and then the text.
fn meanwhile(command: &str) -> String {
    let program = agentdex().get_program().to_str().unwrap().to_owned();
    format!("'{program}' {command} || exit 9\nsed -i s/Frog/Mine/ \"$1\"")
}

#[test]
fn conflict_says_who_changed_what_and_keeps_the_text() {
    let fixture = Fixture::start();
    let output = fixture.edit(&meanwhile(&format!("patch {ID} '{{\"description\": \"Theirs\"}}'")));
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let told = stderr(&output);
    assert!(told.contains("changed while you edited it") && told.contains("Theirs"), "{told}");
    fixture.assert_kept(&output, "Mine");
    assert_eq!(fixture.title(), "Frog");
}

#[test]
fn agent_that_was_removed_meanwhile_keeps_the_text() {
    let fixture = Fixture::start();
    let output = fixture.edit(&meanwhile(&format!("remove {ID}")));
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    fixture.assert_kept(&output, "Mine");
}

#[test]
fn conflict_names_the_owner_of_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let create = |owner: &str| {
        let arguments = ["keys", "create", "--role", "admin", "--owner", owner, "--data", data.to_str().unwrap()];
        stdout(&run(&arguments)).trim().to_owned()
    };
    let (mine, theirs) = (create("us"), create("them"));
    let server = ServerProcess::start(&data, &["--auth"]);
    let with = |key: &str, arguments: &[&str], editor: &str| {
        let mut command = agentdex();
        command.args(arguments).env("AGENTDEX_URL", server.url()).env("AGENTDEX_API_KEY", key);
        command.env("TMPDIR", folder.path()).env_remove("VISUAL").env("EDITOR", editor).stdin(Stdio::null());
        command.output().unwrap()
    };
    let file = folder.path().join("agent.json");
    fs::write(&file, agent(ID, "Frog")).unwrap();
    assert!(with(&mine, &["register", file.to_str().unwrap()], "").status.success());
    let script = folder.path().join("editor");
    let change = meanwhile(&format!("patch {ID} '{{\"description\": \"Theirs\"}}' --api-key {theirs}"));
    fs::write(&script, format!("#!/bin/sh\n{change}\n")).unwrap();
    let output = with(&mine, &["edit", ID], &format!("sh {}", script.display()));
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("  them, "), "{}", stderr(&output));
}

#[test]
fn agent_that_is_not_there_opens_no_editor() {
    let fixture = Fixture::start();
    let output = run(&["edit", "urn:test:nobody", "--url", fixture.server.url()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("there is no agent"), "{}", stderr(&output));
}

#[test]
fn no_editor_is_started_without_a_terminal() {
    let fixture = Fixture::start();
    let output = fixture.edit_with(&[], &[]);
    assert_eq!(output.status.code(), Some(2), "{}{}", stdout(&output), stderr(&output));
    assert!(stderr(&output).contains("agentdex patch"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}
