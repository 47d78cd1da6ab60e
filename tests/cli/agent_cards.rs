//! Agent cards and LMOS capability files on the command line: validate, td, register, export.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{agent, json_lines, run, run_with_input, stderr, stdout};
use crate::process::ServerProcess;

const CARDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/a2a");
const CAPABILITY_FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/lmos");

fn server() -> (tempfile::TempDir, ServerProcess) {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    (data, server)
}

/// A card of 0.3 without anything odd.
pub(super) fn card(name: &str) -> Value {
    json!({
        "protocolVersion": "0.3.0",
        "name": name,
        "description": "Greets",
        "version": "1.0.0",
        "url": "https://greeter.example/a2a",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "greet", "name": "Greet", "description": "Says hello", "tags": []}],
    })
}

fn capability_file() -> Value {
    json!({"supportedChannels": ["web"], "capabilities": [{"name": "pay-bill", "version": "1.2.0"}]})
}

fn write(folder: &Path, name: &str, text: impl ToString) -> String {
    let path = folder.join(name);
    fs::write(&path, text.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn example(name: &str) -> String {
    format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn pointers(findings: &Value) -> Vec<&str> {
    findings.as_array().unwrap().iter().map(|finding| finding["pointer"].as_str().unwrap()).collect()
}

#[test]
fn examples_are_valid_without_a_warning() {
    let verdicts = json_lines(&run(&["validate", "--json", CARDS, CAPABILITY_FILES]));
    let told: Vec<_> = verdicts.iter().map(|verdict| (&verdict["format"], verdict["valid"] == true)).collect();
    assert_eq!(told, [(&json!("a2a"), true), (&json!("a2a"), true), (&json!("lmos-capabilities"), true)]);
    assert!(verdicts.iter().all(|verdict| verdict["warnings"] == json!([])), "{verdicts:#?}");
}

#[test]
fn cards_and_capability_files_are_told_from_others_and_checked_by_their_rules() {
    let folder = tempfile::tempdir().unwrap();
    let mut odd = card("Odd");
    odd["protocolVersion"] = json!("1.0");
    let mut file = capability_file();
    file["capabilities"] = json!({"name": "pay-bill"});
    write(folder.path(), "a.json", odd);
    write(folder.path(), "b.json", json!({"supportedInterfaces": 7, "skills": []}));
    write(folder.path(), "c.json", capability_file());
    write(folder.path(), "d.json", file);
    write(folder.path(), "e.json", agent("urn:test:e", "E"));
    write(
        folder.path(),
        "f.yaml",
        "name: Y\nversion: '1'\nskills: []\nsupportedInterfaces:\n  - url: https://y.example/a2a\n    protocolBinding: JSONRPC\n",
    );
    let output = run(&["validate", "--json", folder.path().to_str().unwrap()]);
    let verdicts = json_lines(&output);
    assert_eq!(output.status.code(), Some(1));
    let told: Vec<_> =
        verdicts.iter().map(|verdict| (verdict["format"].as_str().unwrap(), verdict["valid"] == true)).collect();
    let (card, file) = ("a2a", "lmos-capabilities");
    assert_eq!(told, [(card, true), (card, false), (file, true), (file, false), ("td", true), (card, true)]);
    assert_eq!(pointers(&verdicts[0]["warnings"]), ["/protocolVersion"]);
    assert_eq!(verdicts[1]["violations"][0]["rule"], "not-a-card", "{}", verdicts[1]);
    // Without an id it is valid all the same: one can be given when it is registered.
    assert_eq!(verdicts[2]["warnings"], json!([]), "{}", verdicts[2]);
}

#[test]
fn format_that_is_asked_for_says_why_a_document_has_another() {
    let output = run_with_input(&["validate", "--format", "lmos-capabilities", "-"], &card("A").to_string());
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("it looks like an A2A agent card"), "{}", stdout(&output));
    let output = run_with_input(&["td", "--format", "a2a", "-"], &agent("urn:test:a", "A"));
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("a2a document is invalid"), "{}", stderr(&output));
}

#[test]
fn descriptions_of_cards_and_capability_files_are_valid() {
    let output = run(&["td", CARDS, CAPABILITY_FILES]);
    let things: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((things.as_array().unwrap().len(), stderr(&output).as_str()), (3, ""));
    for thing in things.as_array().unwrap() {
        let valid = run_with_input(&["validate", "--strict", "--json", "-"], &thing.to_string());
        assert_eq!(json_lines(&valid)[0]["valid"], true, "{}", stdout(&valid));
    }
}

#[test]
fn what_is_odd_about_a_card_is_told_with_its_place() {
    let mut odd = card("Odd");
    odd["documentationUrl"] = json!("docs");
    let output = run_with_input(&["td", "-"], &odd.to_string());
    assert!(output.status.success() && stderr(&output).starts_with("warning: -: /documentationUrl: "), "{output:?}");
    let based = run_with_input(&["td", "-", "--base", "https://greeter.example/x/card.json"], &odd.to_string());
    let thing: Value = serde_json::from_str(&stdout(&based)).unwrap();
    assert_eq!((&thing["links"][0]["href"], stderr(&based)), (&json!("https://greeter.example/x/docs"), String::new()));
}

#[test]
fn id_is_given_to_one_document_that_has_a_place_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "a.json", capability_file());
    let without = run(&["td", &file]);
    assert!(stderr(&without).contains("[no-identity]"), "{}", stderr(&without));
    let thing: Value = serde_json::from_str(&stdout(&run(&["td", &file, "--id", "my agent"]))).unwrap();
    assert_eq!(thing["id"], "urn:agentdex:my%20agent");
    let several: &[&str] = &[&file, CARDS];
    let number = "--id sets the id of a single agent, but there are 3 documents";
    let description = example("agents/weather.json");
    for (command, arguments, status, words) in [
        ("td", several, 2, number),
        ("register", several, 2, number),
        ("register", &[description.as_str()], 1, "of the format td contains its own id"),
    ] {
        let output = run(&[&[command, "--id", "urn:test:a"], arguments].concat());
        assert_eq!(output.status.code(), Some(status), "{command}");
        assert!(stderr(&output).contains(words), "{command}: {}", stderr(&output));
    }
    let secured = run(&["register", &file, "--security", "bearer"]);
    let refused =
        "--security is only for agent-spec; a document of the format lmos-capabilities declares its own security";
    assert!(stderr(&secured).contains(refused), "{}", stderr(&secured));
}

#[test]
fn documents_of_all_formats_are_registered_side_by_side() {
    let (_data, server) = server();
    let register = |flags: &[&str]| {
        let everything = [&example("agents/weather.json"), &example("agent-spec"), CARDS, CAPABILITY_FILES];
        run(&[&["register", "--url", server.url()], everything.as_slice(), flags].concat())
    };
    let first = register(&[]);
    assert!(stdout(&first).ends_with("6 created, 0 updated, 0 unchanged, 0 failed\n"), "{}", stdout(&first));
    assert!(stdout(&first).contains("created urn:example:agents:tariffs\n"), "{}", stdout(&first));
    let again = json_lines(&register(&["--json"]));
    assert!(again.iter().filter(|line| line["ids"].is_array()).all(|line| line["updated"] == json!([])), "{again:#?}");
    for (filters, count) in [
        (["--format", "a2a"], 2),
        (["--channel", "app"], 1),
        (["--capability", "compare-tariffs@^1.2"], 1),
        (["--capability", "compare-tariffs@^2"], 0),
    ] {
        let found = run(&["search", filters[0], filters[1], "--json", "--url", server.url()]);
        assert_eq!(json_lines(&found)[0]["total"], count, "{filters:?}");
    }
}

#[test]
fn registered_card_is_had_back_in_each_version() {
    let (_data, server) = server();
    let file = example("a2a/recipes.json");
    let registered = run(&["register", &file, "--id", "urn:test:recipes", "--url", server.url()]);
    assert_eq!(stdout(&registered), "created urn:test:recipes\n", "{}", stderr(&registered));
    let export = |flags: &[&str]| {
        run(&[&["export", "--format", "a2a", "urn:test:recipes", "--url", server.url()], flags].concat())
    };
    let original = fs::read_to_string(file).unwrap();
    assert_eq!(stdout(&export(&[])), original);
    assert_eq!(stdout(&export(&["--version", "0.3"])), original);
    let newer: Value = serde_json::from_str(&stdout(&export(&["--version", "1.0"]))).unwrap();
    assert_eq!(newer["supportedInterfaces"][0]["url"], "https://recipes.larder.example/a2a");
    let unknown = export(&["--version", "7"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("supported versions are 1.0, 0.3"), "{}", stderr(&unknown));
    let missing = run(&["export", "--format", "a2a", "urn:test:none", "--url", server.url()]);
    assert!(stderr(&missing).contains("agentdex list"), "{}", stderr(&missing));
}

#[test]
fn registered_capability_file_is_had_back() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{}\n", capability_file());
    let file = write(folder.path(), "capabilities.json", &text);
    let base = "https://bills.example/.well-known/capabilities.json";
    let registered = run(&["register", &file, "--base", base, "--json", "--url", server.url()]);
    let id = json_lines(&registered)[0]["ids"][0].as_str().unwrap().to_owned();
    assert!(id.starts_with("urn:uuid:"), "{id}");
    let export = |flags: &[&str]| run(&[&["export", id.as_str(), "--url", server.url()], flags].concat());
    assert_eq!(stdout(&export(&["--format", "lmos-capabilities"])), text);
    let versioned = export(&["--format", "lmos-capabilities", "--version", "1.0"]);
    assert_eq!(versioned.status.code(), Some(2));
    assert!(stderr(&versioned).contains("this format has only one version"), "{}", stderr(&versioned));
    let card = export(&["--format", "a2a"]);
    assert_eq!((card.status.code(), stdout(&card).as_str()), (Some(1), ""));
    assert!(stderr(&card).contains("a2a"), "{}", stderr(&card));
}

#[test]
fn own_export_changes_nothing_and_a_lesser_one_replaces_an_agent_only_when_asked_to() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let registered =
        run(&["register", &example("a2a/recipes.json"), "--id", "urn:test:recipes", "--url", server.url()]);
    assert!(registered.status.success(), "{}", stderr(&registered));
    let export = |format: &str| run(&["export", "--format", format, "urn:test:recipes", "--url", server.url()]);
    let (card, exported) = (stdout(&export("a2a")), export("lmos-capabilities"));
    // What a capability file doesn't say is told.
    assert!(stderr(&exported).contains("not-expressed"), "{}", stderr(&exported));
    let file = write(folder.path(), "file.json", stdout(&exported));
    let again = run(&["register", &file, "--url", server.url()]);
    assert_eq!(stdout(&again), "unchanged urn:test:recipes\n", "{}", stderr(&again));
    let mut lesser: Value = serde_json::from_str(&stdout(&exported)).unwrap();
    lesser["capabilities"].as_array_mut().unwrap().pop();
    let file = write(folder.path(), "lesser.json", lesser.to_string());
    let refused = run(&["register", &file, "--url", server.url()]);
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    for words in ["the stored original document (format a2a)", "the actions ", "--replace"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(stdout(&export("a2a")), card);
    let replaced = run(&["register", &file, "--replace", "--url", server.url()]);
    assert_eq!(stdout(&replaced), "updated urn:test:recipes\n", "{}", stderr(&replaced));
    assert_eq!(export("a2a").status.code(), Some(1));
}

#[test]
fn what_is_odd_is_told_when_a_card_is_registered() {
    let (_data, server) = server();
    let mut odd = card("Odd");
    odd["protocolVersion"] = json!("1.0");
    let output = run_with_input(&["register", "-", "--url", server.url()], &odd.to_string());
    assert!(stdout(&output).starts_with("created urn:uuid:") && stdout(&output).lines().count() == 1, "{output:?}");
    assert!(stderr(&output).starts_with("warning: -: /protocolVersion: "), "{}", stderr(&output));
    let again = run_with_input(&["register", "-", "--json", "--url", server.url()], &odd.to_string());
    let line = json_lines(&again).remove(0);
    assert_eq!((pointers(&line["warnings"]), stderr(&again)), (vec!["/protocolVersion"], String::new()));
}

#[test]
fn card_in_yaml_is_registered_as_json() {
    let (_data, server) = server();
    let text = "name: Y\nversion: '1'\nskills: []\nurl: https://y.example/a2a\ncapabilities: {}\n";
    let output = run_with_input(&["register", "-", "--id", "urn:test:y", "--url", server.url()], text);
    assert!(output.status.success(), "{}", stderr(&output));
    let card = run(&["export", "--format", "a2a", "urn:test:y", "--url", server.url()]);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&card)).unwrap()["name"], "Y");
}

#[test]
fn card_that_is_none_is_told_place_by_place() {
    let (_data, server) = server();
    let broken = json!({"supportedInterfaces": 7, "skills": []});
    let output = run_with_input(&["register", "-", "--url", server.url()], &broken.to_string());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("\n  (root): not an A2A card: "), "{}", stderr(&output));
    assert!(stderr(&output).contains("\n  (root): `name` is missing"), "{}", stderr(&output));
}

#[test]
fn edited_files_of_which_no_id_is_made_replace_their_agents() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let (mut file, mut relative) = (capability_file(), card("Greeter"));
    relative["url"] = json!("/a2a");
    let register = |name: &str, document: &Value| {
        let path = write(folder.path(), name, document);
        let output = run(&["register", &path, "--url", server.url()]);
        assert!(output.status.success(), "{}", stderr(&output));
        let (verb, id) =
            stdout(&output).trim_end().split_once(' ').map(|(verb, id)| (verb.to_owned(), id.to_owned())).unwrap();
        assert!(id.starts_with("urn:uuid:"), "{id}");
        (verb, id)
    };
    let first = [register("capabilities.json", &file), register("card.json", &relative)];
    assert!(first.iter().all(|(verb, _)| verb == "created") && first[0].1 != first[1].1, "{first:?}");
    (file["supportedChannels"], relative["name"]) = (json!(["app"]), json!("Welcomer"));
    let again = [register("capabilities.json", &file), register("card.json", &relative)];
    let replaced = first.map(|(_, id)| ("updated".to_owned(), id));
    assert_eq!(again, replaced);
}

#[test]
fn version_is_removed_and_with_the_last_one_the_agent() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let id = "urn:example:greeter";
    for version in ["1.0.0", "2.0.0"] {
        let mut card = card("Greeter");
        card["version"] = json!(version);
        let path = write(folder.path(), "card.json", card);
        let registered = run(&["register", &path, "--id", id, "--url", server.url()]);
        assert!(registered.status.success(), "{}", stderr(&registered));
    }
    let remove = |version: &str| run(&["remove", id, "--version", version, "--url", server.url()]);
    let versions = || stdout(&run(&["get", id, "--versions", "--url", server.url()]));
    let unknown = remove("3.0.0");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("3.0.0"), "{}", stderr(&unknown));
    assert_eq!(versions().lines().count(), 2, "{}", versions());
    let removed = remove("2.0.0");
    assert_eq!((stdout(&removed), stderr(&removed)), (format!("removed {id} 2.0.0\n"), String::new()));
    assert_eq!(versions(), "1.0.0  a2a  served\n");
    let removed = remove("1.0.0");
    assert_eq!(
        (stdout(&removed), stderr(&removed)),
        (format!("removed {id} 1.0.0, its last version\n"), String::new())
    );
    let gone = run(&["get", id, "--url", server.url()]);
    assert!(stderr(&gone).contains("there is no agent"), "{gone:?}");
}
