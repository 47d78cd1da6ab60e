//! Documents that describe no agent, that describe one twice, or that are spelled as JSON-LD allows.

use std::fs;

use serde_json::{Value, json};

use super::{json_lines, run, run_with_input, stderr, stdout};
use crate::process::ServerProcess;

const SKILL: &str =
    "---\nname: tide-tables\ndescription: Use when: somebody asks about tides\n---\n# Tides\nLook it up.\n";

/// Documents of other kinds, and the words that name them.
fn others() -> [(&'static str, String, &'static str); 10] {
    let skill = json!({"name": "tides", "type": "skill-md", "description": "Tides.", "url": "/skills/tides/SKILL.md"});
    let listed = json!({"name": "tides", "description": "Tides.", "files": ["SKILL.md"]});
    let entry = json!({"identifier": "urn:air:a", "type": "application/a2a-agent-card+json", "url": "https://a.example/c.json"});
    [
        (
            "index.json",
            json!({"$schema": "https://schemas.agentskills.io/x.json", "url": "https://a.example", "skills": [skill]})
                .to_string(),
            "an index of Agent Skills",
        ),
        ("skills.json", json!({"skills": [listed]}).to_string(), "an index of Agent Skills"),
        ("SKILL.md", SKILL.to_owned(), "an Agent Skill (SKILL.md)"),
        ("skill.yaml", SKILL.replace("when: ", "when "), "an Agent Skill (SKILL.md)"),
        ("ard.json", json!({"specVersion": "1.0", "entries": [entry]}).to_string(), "ARD manifest"),
        (
            "openapi.json",
            json!({"openapi": "3.1.0", "info": {"title": "Tides"}, "paths": {}}).to_string(),
            "an OpenAPI document",
        ),
        (
            "async.yaml",
            "asyncapi: 3.0.0\ninfo: {title: Tides, version: 1.0.0}\nchannels: {}\n".to_owned(),
            "an AsyncAPI document",
        ),
        ("rpc.json", json!({"openrpc": "1.3.2", "info": {"title": "Tides"}, "methods": []}).to_string(), "an OpenRPC document"),
        (
            "arazzo.json",
            json!({"arazzo": "1.0.1", "info": {"title": "Tides"}, "workflows": []}).to_string(),
            "an Arazzo document",
        ),
        (
            "collection.json",
            json!({"info": {"name": "Tides", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
                "item": []})
            .to_string(),
            "a Postman collection",
        ),
    ]
}

#[test]
fn document_of_another_kind_is_named_for_what_it_is() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let folder = tempfile::tempdir().unwrap();
    for (name, text, words) in others() {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let validated = run(&["validate", path]);
        assert!(!validated.status.success() && stdout(&validated).contains(words), "{name}: {}", stdout(&validated));
        let registered = run(&["register", path, "--url", server.url()]);
        assert!(!registered.status.success() && stderr(&registered).contains(words), "{name}: {}", stderr(&registered));
        let asked = run(&["register", path, "--format", "a2a", "--url", server.url()]);
        assert!(!asked.status.success() && stderr(&asked).contains(words), "{name}: {}", stderr(&asked));
    }
}

#[test]
fn of_equal_files_in_a_folder_one_is_registered() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let card = |name: &str| {
        json!({"name": name, "description": "Helps.", "version": "1.0.0", "url": format!("https://{name}.example/a2a"),
            "skills": [{"id": "help", "name": "Help", "description": "Helps", "tags": []}]})
    };
    for (file, name) in [("a.json", "alder"), ("b.json", "alder"), ("c.json", "birch")] {
        fs::write(folder.path().join(file), card(name).to_string()).unwrap();
    }
    let output = run(&["register", folder.path().to_str().unwrap(), "--url", server.url()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("2 created"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("b.json") && stderr(&output).contains("same description as"),
        "{}",
        stderr(&output)
    );
    let changed = card("alder").to_string().replace("Helps.", "Helps a lot.");
    fs::write(folder.path().join("d.json"), changed).unwrap();
    fs::write(folder.path().join("e.json"), card("elm").to_string()).unwrap();
    let output = run(&["register", folder.path().to_str().unwrap(), "--url", server.url()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("1 created, 0 updated, 1 unchanged, 2 failed"), "{}", stdout(&output));
    assert!(stderr(&output).contains("a.json: urn:"), "{}", stderr(&output));
    assert!(stderr(&output).contains("is described differently in"), "{}", stderr(&output));
    ["d.json", "e.json"].iter().for_each(|file| fs::remove_file(folder.path().join(file)).unwrap());
    let twice = folder.path().join("c.json");
    let twice = twice.to_str().unwrap();
    let output = run(&["register", twice, twice, "--url", server.url()]);
    assert!(stdout(&output).contains("unchanged"), "{} {}", stdout(&output), stderr(&output));
    let output = run(&["td", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn id_of_json_ld_is_the_id() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let thing = json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "@id": "urn:example:hall", "title": "Hall",
        "security": "n", "securityDefinitions": {"n": {"scheme": "nosec"}}});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hall.json");
    fs::write(&path, thing.to_string()).unwrap();
    let output = run(&["register", path.to_str().unwrap(), "--url", server.url()]);
    assert_eq!(stdout(&output), "created urn:example:hall\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("`@id` is read as `id`"), "{}", stderr(&output));
    let list: Vec<Value> = json_lines(&run(&["list", "--json", "--url", server.url()]));
    assert_eq!((&list[0]["id"], list[0].get("@id")), (&json!("urn:example:hall"), None));
}

#[test]
fn registration_that_has_expired_is_warned_of() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let thing = json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:past", "title": "Past",
        "registration": {"expires": "2020-01-01T00:00:00Z"}, "security": "n", "securityDefinitions": {"n": {"scheme": "nosec"}}});
    let output = run_with_input(&["register", "-", "--url", server.url()], &thing.to_string());
    assert!(stderr(&output).contains("is in the past, so the Thing is removed"), "{}", stderr(&output));
}
