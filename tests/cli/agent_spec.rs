//! Open Agent Spec on the command line: validate, td, register, export.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{json_lines, run, run_with_input, stderr, stdout};
use crate::process::ServerProcess;

fn configuration(id: &str, name: &str) -> Value {
    json!({
        "component_type": "Agent",
        "agentspec_version": "25.4.1",
        "id": id,
        "name": name,
        "description": "Answers questions",
        "metadata": {},
        "inputs": [],
        "outputs": [],
        "llm_config": {
            "component_type": "VllmConfig",
            "id": format!("{id}-llm"),
            "name": "llm",
            "url": "https://llm.example/v1",
            "model_id": "small",
        },
        "system_prompt": "Answer in one sentence.",
        "tools": [],
    })
}

const IN_YAML: &str = "\
# who it is
component_type: Agent
agentspec_version: 25.4.1
id: weather
name: Weather
description: Answers questions
metadata: {}
inputs: []
outputs: []
llm_config:
  component_type: VllmConfig
  id: weather-llm
  name: llm
  url: https://llm.example/v1
  model_id: small
system_prompt: Answer in one sentence.
tools: []
";

fn write(folder: &Path, name: &str, text: impl ToString) -> String {
    let path = folder.join(name);
    fs::write(&path, text.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn server() -> (tempfile::TempDir, ServerProcess) {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    (data, server)
}

#[test]
fn configurations_are_told_from_descriptions_and_checked_by_their_rules() {
    let folder = tempfile::tempdir().unwrap();
    let mut broken = configuration("broken", "Broken");
    broken["llm_config"]["model_id"] = json!(7);
    broken["unheard"] = json!(1);
    write(folder.path(), "a.json", configuration("a", "A"));
    write(folder.path(), "b.json", broken);
    write(folder.path(), "c.json", super::agent("urn:test:c", "C"));
    write(folder.path(), "d.yaml", IN_YAML);
    write(folder.path(), "e.json5", format!("// an agent\n{}", configuration("e", "E")));
    let output = run(&["validate", "--json", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let verdicts = json_lines(&output);
    let told: Vec<_> = verdicts.iter().map(|verdict| (&verdict["format"], verdict["valid"] == true)).collect();
    let (spec, td) = (json!("agent-spec"), json!("td"));
    assert_eq!(told, [(&spec, true), (&spec, false), (&td, true), (&spec, true), (&spec, true)], "{verdicts:#?}");
    let (violations, warnings) = (&verdicts[1]["violations"], &verdicts[1]["warnings"]);
    assert_eq!(
        (&violations[0]["severity"], &violations[0]["pointer"]),
        (&json!("error"), &json!("/llm_config/model_id"))
    );
    let warned: Vec<_> =
        warnings.as_array().unwrap().iter().map(|warning| (&warning["severity"], &warning["pointer"])).collect();
    assert!(warned.contains(&(&json!("warning"), &json!("/unheard"))), "{warnings}");
}

#[test]
fn examples_are_valid_by_the_language_and_by_its_sdk() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/agent-spec");
    for profile in ["spec", "sdk"] {
        let output = run(&["validate", "--json", "--profile", profile, folder]);
        let verdicts = json_lines(&output);
        assert!(output.status.success() && verdicts.len() >= 2, "{verdicts:?}");
        assert!(verdicts.iter().all(|verdict| verdict["warnings"] == json!([])), "{verdicts:?}");
    }
}

#[test]
fn profile_decides_whose_rules_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = configuration("a", "A");
    document["agentspec_version"] = json!("99.1.0");
    let file = write(folder.path(), "a.json", document);
    assert!(run(&["validate", &file]).status.success());
    assert!(run(&["validate", "--profile", "spec", &file]).status.success());
    assert_eq!(run(&["validate", "--profile", "sdk", &file]).status.code(), Some(1));
    assert_eq!(run(&["validate", "--profile", "other", &file]).status.code(), Some(2));
}

#[test]
fn people_read_a_sentence_a_finding() {
    let output = run_with_input(&["validate", "-"], &configuration("a", "A").to_string());
    assert!(stdout(&output).contains("-: valid (agent-spec)"), "{}", stdout(&output));
    let mut document = configuration("a", "A");
    document.as_object_mut().unwrap().remove("name");
    let output = run_with_input(&["validate", "-"], &document.to_string());
    assert!(stdout(&output).contains("invalid (agent-spec)\n  error at "), "{}", stdout(&output));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn components_beside_the_document_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = configuration("a", "A");
    let llm = document["llm_config"].take();
    document["llm_config"] = json!({"$component_ref": "a-llm"});
    let file = write(folder.path(), "a.json", document);
    let component = write(folder.path(), "llm.json", json!({"$referenced_components": {"a-llm": llm}}));
    assert_eq!(run(&["validate", &file]).status.code(), Some(1));
    assert!(run(&["validate", &file, "--component", &component]).status.success());
    assert!(run(&["td", &file, "--component", &component]).status.success());
    let (_data, server) = server();
    let register = run(&["register", &file, "--component", &component, "--url", server.url()]);
    assert!(stdout(&register).starts_with("created urn:agentspec:local:a"), "{}", stderr(&register));
    let missing = run(&["validate", &file, "--component", "/there/is/none.json"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("none.json"), "{}", stderr(&missing));
}

#[test]
fn document_of_no_known_format_hears_what_was_looked_for() {
    let output = run_with_input(&["validate", "--json", "-"], r#"{"name": "A"}"#);
    let verdict = json_lines(&output).remove(0);
    assert_eq!((&verdict["violations"][0]["rule"], &verdict["format"]), (&json!("unclear-format"), &Value::Null));
    assert!(verdict["violations"][0]["message"].as_str().unwrap().contains("`component_type`"), "{verdict}");
    let forced = run_with_input(&["validate", "--json", "--format", "td", "-"], r#"{"name": "A"}"#);
    assert_eq!(json_lines(&forced)[0]["format"], "td");
    let output = run_with_input(&["td", "-"], r#"{"name": "A"}"#);
    assert!(stderr(&output).contains("`component_type`"), "{}", stderr(&output));
    assert_eq!(run(&["td", "--format", "toml", "-"]).status.code(), Some(2));
}

#[test]
fn standard_input_may_be_yaml() {
    let output = run_with_input(&["validate", "--json", "-"], IN_YAML);
    assert_eq!(
        (&json_lines(&output)[0]["format"], &json_lines(&output)[0]["valid"]),
        (&json!("agent-spec"), &json!(true))
    );
    let output = run_with_input(&["validate", "--json", "-"], &format!("---\n{IN_YAML}\tx: 1"));
    assert_eq!(json_lines(&output)[0]["violations"][0]["rule"], "malformed-yaml");
    let output = run_with_input(&["validate", "--json", "-"], &format!("// five\n{}", configuration("a", "A")));
    assert_eq!(json_lines(&output)[0]["warnings"][0]["rule"], "not-json");
}

#[test]
fn one_description_is_printed_as_it_is_and_several_as_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "a.yaml", IN_YAML);
    let one: Value = serde_json::from_str(&stdout(&run(&["td", &file]))).unwrap();
    assert_eq!((&one["id"], &one["title"]), (&json!("urn:agentspec:local:weather"), &json!("Weather")));
    let valid = run_with_input(&["validate", "--strict", "--json", "-"], &one.to_string());
    assert_eq!(json_lines(&valid)[0]["valid"], true, "{}", stdout(&valid));
    write(folder.path(), "b.json", configuration("b", "B"));
    let output = run(&["td", folder.path().to_str().unwrap(), "--publisher", "acme"]);
    let several: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let ids: Vec<_> = several.as_array().unwrap().iter().map(|thing| thing["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["urn:agentspec:acme:weather", "urn:agentspec:acme:b"]);
}

#[test]
fn yaml_json_and_json5_of_one_configuration_give_one_description() {
    let folder = tempfile::tempdir().unwrap();
    let document = configuration("weather", "Weather");
    let files = [
        write(folder.path(), "a.yaml", IN_YAML),
        write(folder.path(), "b.json", &document),
        write(folder.path(), "c.json5", format!("// an agent\n{document}")),
    ];
    let [yaml, json, json5] = files.map(|file| stdout(&run(&["td", &file])));
    assert!(json.contains("\"urn:agentspec:local:weather\""), "{json}");
    assert_eq!(yaml, json);
    assert_eq!(json5, json);
}

#[test]
fn descriptions_are_written_to_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let files =
        [write(folder.path(), "weather.yaml", IN_YAML), write(folder.path(), "b.json", configuration("b", "B"))];
    let out = folder.path().join("out/tds");
    let output = run(&["td", &files[0], &files[1], "--out", out.to_str().unwrap()]);
    assert_eq!(stdout(&output).lines().count(), 2, "{}", stderr(&output));
    let written: Value = serde_json::from_str(&fs::read_to_string(out.join("weather.td.json")).unwrap()).unwrap();
    assert_eq!(written["title"], "Weather");
    assert!(out.join("b.td.json").is_file());
    let twice = run(&["td", &files[0], &files[0], "--out", out.to_str().unwrap()]);
    assert!(twice.status.success() && stdout(&twice).lines().count() == 1, "{}", stdout(&twice));
    assert!(stderr(&twice).contains("skipped: same description as"), "{}", stderr(&twice));
}

#[test]
fn failed_document_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut broken = configuration("a", "A");
    broken["llm_config"]["model_id"] = json!(7);
    broken["system_prompt"] = json!(7);
    write(folder.path(), "a.json", broken);
    write(folder.path(), "b.json", configuration("b", "B"));
    write(folder.path(), "c.json", super::agent("urn:test:c", "C"));
    let output = run(&["td", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let only: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(only["title"], "B");
    let told = stderr(&output);
    assert!(
        told.contains("a.json") && told.contains("/llm_config/model_id") && told.contains("/system_prompt"),
        "{told}"
    );
    assert!(told.contains("c.json: the document is already a W3C Thing Description"), "{told}");
}

#[test]
fn configurations_and_descriptions_are_registered_side_by_side() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", configuration("a", "A"));
    write(folder.path(), "b.yaml", IN_YAML);
    write(folder.path(), "c.json", super::agent("urn:test:c", "C"));
    let path = folder.path().to_str().unwrap();
    let output = run(&["register", path, "--url", server.url()]);
    assert!(
        stdout(&output).ends_with("3 created, 0 updated, 0 unchanged, 0 failed\n"),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let again = json_lines(&run(&["register", path, "--json", "--url", server.url()]));
    assert_eq!((&again[0]["ids"], &again[0]["created"]), (&json!(["urn:agentspec:local:a"]), &json!([])));
    assert_eq!(again[2]["created"], false);
    let unchanged = run(&["register", &format!("{path}/b.yaml"), "--url", server.url()]);
    assert!(stdout(&unchanged).starts_with("unchanged urn:agentspec:local:weather"), "{}", stdout(&unchanged));
    // The same agent in another syntax: what is JSON is YAML.
    let file = write(folder.path(), "a.yaml", configuration("a", "A"));
    for expected in ["original updated urn:agentspec:local:a", "unchanged urn:agentspec:local:a"] {
        let output = run(&["register", &file, "--url", server.url()]);
        assert!(stdout(&output).starts_with(expected), "{expected}: {}", stdout(&output));
    }
    let found = run(&["search", "--format", "agent-spec", "--json", "--url", server.url()]);
    assert_eq!(json_lines(&found)[0]["total"], 2);
}

#[test]
fn refused_configuration_is_told_place_by_place() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let mut broken = configuration("a", "A");
    broken["llm_config"]["model_id"] = json!(7);
    let file = write(folder.path(), "a.json", broken);
    let output = run(&["register", &file, "--url", server.url()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("llm_config.model_id"), "{}", stderr(&output));
    let output = run(&["register", &file, "--format", "td", "--url", server.url()]);
    assert!(stderr(&output).contains("Thing Description"), "{}", stderr(&output));
}

#[test]
fn imported_agent_asks_for_a_time_to_live() {
    let (_data, server) = server();
    let output = run_with_input(&["register", "-", "--ttl", "3600", "--url", server.url()], IN_YAML);
    assert!(output.status.success(), "{}", stderr(&output));
    let thing = run(&["get", "urn:agentspec:local:weather", "--json", "--url", server.url()]);
    let thing: Value = serde_json::from_str(&stdout(&thing)).unwrap();
    assert_eq!(thing["registration"]["ttl"], 3600);
}

#[test]
fn registered_configuration_is_exported_again() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{}\n", configuration("a", "A"));
    let file = write(folder.path(), "a.json", &text);
    assert!(run(&["register", &file, "--publish-prompts", "--url", server.url()]).status.success());
    let export = |flags: &[&str]| {
        let command = [&["export", "--format", "agent-spec", "urn:agentspec:local:a", "--url", server.url()], flags];
        run(&command.concat())
    };
    assert_eq!(stdout(&export(&[])), text);
    let out = folder.path().join("out.json");
    assert_eq!(stdout(&export(&["--out", out.to_str().unwrap()])), "");
    assert_eq!(fs::read_to_string(out).unwrap(), text);
    let unclear = run(&["export", "urn:agentspec:local:a", "--url", server.url()]);
    assert_eq!(unclear.status.code(), Some(2), "{}", stderr(&unclear));
    assert!(stderr(&unclear).contains("--format is missing; it can be agent-spec, a2a"), "{}", stderr(&unclear));
    let missing = run(&["export", "--format", "agent-spec", "urn:test:none", "--url", server.url()]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("agentdex list"), "{}", stderr(&missing));
}

#[test]
fn original_in_yaml_is_exported_in_json_when_asked() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let text = "# Mine\ncomponent_type: RemoteTool\nagentspec_version: 25.4.1\nid: clock\nname: clock\n\
        url: https://tools.example/time\nhttp_method: GET\nheaders: {}\ndata: {}\nquery_params: {}\ninputs: []\noutputs: []\n";
    let file = write(folder.path(), "clock.yaml", text);
    assert!(run(&["register", &file, "--url", server.url()]).status.success());
    let export = |flags: &[&str]| {
        let command =
            [&["export", "--format", "agent-spec", "urn:agentspec:local:clock", "--url", server.url()], flags];
        run(&command.concat())
    };
    let own = stdout(&export(&[]));
    assert!(own.starts_with("component_type: RemoteTool"), "{own}");
    let name = |json: &str| serde_json::from_str::<Value>(json).unwrap()["name"].clone();
    assert_eq!(name(&stdout(&export(&["--json"]))), "clock");
    for (file, is_json) in [("out.json", true), ("out.yaml", false)] {
        let out = folder.path().join(file);
        export(&["--out", out.to_str().unwrap()]);
        let written = fs::read_to_string(out).unwrap();
        assert_eq!((written == own, is_json && name(&written) == "clock"), (!is_json, is_json), "{written}");
    }
}

#[test]
fn what_can_not_be_exported_says_why() {
    let (_data, server) = server();
    let td = super::agent("urn:test:c", "C");
    assert!(run_with_input(&["register", "-", "--url", server.url()], &td).status.success());
    let output = run(&["export", "--format", "agent-spec", "urn:test:c", "--url", server.url()]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("agent-spec"), "{}", stderr(&output));
}

#[test]
fn hostile_files_are_refused_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let mut bomb = String::from("component_type: Agent\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..10 {
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(","));
    }
    let started = std::time::Instant::now();
    for (name, text, words) in [
        ("large.json", " ".repeat(50_000_000), "the limit of 16777216 bytes"),
        ("large.yaml", "# ".repeat(25_000_000), "the limit of 16777216 bytes"),
        ("deep.json", format!("{{\"component_type\":{}", "[".repeat(1_000_000)), "malformed JSON"),
        ("deep5.json5", format!("{{component_type:{}", "[".repeat(1_000_000)), "nested deeper"),
        ("deeper.json", format!("{{\"component_type\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000)), "nesting"),
        ("deep.yaml", format!("component_type: {}", "[".repeat(1_000_000)), "nesting"),
        ("bomb.yaml", bomb, "aliases"),
    ] {
        let output = run(&["td", &write(folder.path(), name, text)]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(words) && stderr(&output).len() < 1000, "{name}: {}", stderr(&output));
    }
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn files_of_one_call_describe_different_agents_at_different_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (
        write(folder.path(), "a.json", configuration("a", "A")),
        write(folder.path(), "b.json", configuration("b", "B")),
    );
    let again = write(folder.path(), "c.json", configuration("a", "C"));
    let (_data, server) = server();
    let register = |arguments: &[&str]| {
        let output = run(&[&["register", "--url", server.url()], arguments].concat());
        (output.status.success(), stderr(&output))
    };
    let (succeeded, message) = register(&[&a, &b, &again]);
    let conflict = |file, other| format!("{file}: urn:agentspec:local:a is described differently in {other};");
    assert!(
        !succeeded && [conflict(&a, &again), conflict(&again, &a)].iter().all(|line| message.contains(line)),
        "{message}"
    );
    let listed = || stdout(&run(&["list", "--json", "--url", server.url()])).lines().count();
    assert_eq!(listed(), 1);
    let (succeeded, message) = register(&[&a, &b, "--base", "https://agents.example/x"]);
    assert!(!succeeded && message.contains("include {id} or {name}"), "{message}");
    assert_eq!(listed(), 1);
    let (succeeded, message) = register(&[&a, &b, "--base", "https://agents.example/{id}"]);
    assert!(succeeded, "{message}");
    assert!(register(&[&a, "--base", "https://agents.example/x"]).0);
    assert_eq!(run(&["td", &a, &again]).status.code(), Some(1));
}

#[test]
fn export_says_which_values_have_to_be_supplied() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "a.json", configuration("a", "A"));
    let (_data, server) = server();
    assert!(run(&["register", &file, "--url", server.url()]).status.success());
    let output = run(&["export", "urn:agentspec:local:a", "--format", "agent-spec", "--url", server.url()]);
    let note = stderr(&output);
    assert!(note.contains("the document lacks 1 value") && note.contains("\n  a.system_prompt\n"), "{note}");
    assert!(note.contains("components_registry={\"a.system_prompt\": …}"), "{note}");
    assert!(serde_json::from_str::<Value>(&stdout(&output)).is_ok());
}

/// Registers files with these flags, and returns what is printed.
fn register(server: &ServerProcess, arguments: &[&str]) -> String {
    let output = run(&[&["register", "--url", server.url()], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

fn ids(server: &ServerProcess) -> Vec<String> {
    let list = json_lines(&run(&["list", "--json", "--url", server.url()]));
    list.iter().map(|thing| thing["id"].as_str().unwrap().to_owned()).collect()
}

/// A configuration without an id.
fn anonymous(name: &str) -> Value {
    let mut configuration = configuration("x", name);
    configuration.as_object_mut().unwrap().remove("id");
    configuration
}

#[test]
fn edited_file_without_an_id_replaces_its_agent() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let (json, yaml) = (anonymous("Json"), IN_YAML.replace("id: weather\n", ""));
    let file = write(folder.path(), "a.json", &json);
    let created = register(&server, &[&file]);
    let id = created.trim_end().strip_prefix("created urn:uuid:").unwrap_or_else(|| panic!("{created}")).to_owned();
    let id = format!("urn:uuid:{id}");
    assert_eq!(register(&server, &[&file]), format!("unchanged {id}\n"));
    let mut edited = json.clone();
    (edited["name"], edited["description"]) = (json!("Edited"), json!("Answers other questions"));
    write(folder.path(), "a.json", &edited);
    assert_eq!(register(&server, &[&file]), format!("updated {id}\n"));
    assert_eq!(ids(&server), [id.as_str()]);
    // The document stays as it is in the file.
    let export = ["export", "--format", "agent-spec", &id, "--url", server.url()];
    assert_eq!(serde_json::from_str::<Value>(&stdout(&run(&export))).unwrap()["name"], "Edited");
    assert_eq!(serde_json::from_str::<Value>(&stdout(&run(&export))).unwrap().get("id"), None);

    // Another file is another agent, also with the same content and in one call; YAML is no different.
    let (copy, other) = (write(folder.path(), "b.json", &edited), write(folder.path(), "c.yaml", &yaml));
    let copies = register(&server, &[&file, &copy, &other]);
    assert!(copies.ends_with("2 created, 0 updated, 1 unchanged, 0 failed\n"), "{copies}");
    write(folder.path(), "c.yaml", yaml.replace("name: Weather", "name: Climate"));
    assert!(register(&server, &[&other]).starts_with("updated urn:uuid:"));
    assert_eq!(ids(&server).len(), 3);
    // A new one if that is asked for, or the one that is given.
    assert!(register(&server, &["--new-id", &file]).starts_with("created urn:uuid:"));
    assert_eq!(register(&server, &["--id", "urn:test:given", &file]), "created urn:test:given\n");
    assert_eq!(ids(&server).len(), 5);
}

#[test]
fn parts_of_an_edited_file_without_an_id_are_those_of_its_agent() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let nested = |mut agent: Value| {
        agent.as_object_mut().unwrap().remove("agentspec_version");
        agent
    };
    // One worker has an id, the other none.
    let team = |description: &str, worker: &str| {
        json!({
            "component_type": "ManagerWorkers", "agentspec_version": "25.4.2", "name": "Team", "description": description,
            "inputs": [], "outputs": [], "group_manager": nested(configuration("boss", "Boss")),
            "workers": [nested(configuration("hand", "Hand")), nested(anonymous(worker))],
        })
    };
    let register = |team: Value| {
        let file = write(folder.path(), "team.json", team);
        register(&server, &["--nested", &file]);
        let list = json_lines(&run(&["list", "--json", "--url", server.url()]));
        let (parts, wholes): (Vec<_>, Vec<_>) =
            list.into_iter().partition(|thing| thing["registration"].get("agentdex:partOf").is_some());
        let [whole] = wholes.as_slice() else { panic!("{wholes:#?}") };
        let part_of = |part: &Value| part["registration"]["agentdex:partOf"].clone();
        assert!(parts.iter().all(|part| part_of(part) == json!([whole["id"]])), "{parts:#?}");
        let mut titles: Vec<String> = parts.iter().map(|part| part["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        let mut linked: Vec<&str> =
            whole["links"].as_array().unwrap().iter().map(|link| link["href"].as_str().unwrap()).collect();
        linked.sort_unstable();
        let mut known: Vec<&str> = parts.iter().map(|part| part["id"].as_str().unwrap()).collect();
        known.sort_unstable();
        assert_eq!(linked, known);
        (whole["id"].as_str().unwrap().to_owned(), titles)
    };
    let (id, titles) = register(team("Works", "Foot"));
    assert_eq!(titles, ["Boss", "Foot", "Hand"]);
    assert_eq!(register(team("Rests", "Foot")), (id.clone(), titles));
    let titles = ["Boss", "Hand", "Toe"].map(str::to_owned).to_vec();
    assert_eq!(register(team("Rests", "Toe")), (id, titles));
}

#[test]
fn parts_that_an_import_removes_are_named_in_a_warning() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let [manager, worker] = [("boss", "Boss"), ("hand", "Hand")].map(|(id, name)| {
        let mut agent = configuration(id, name);
        agent.as_object_mut().unwrap().remove("agentspec_version");
        agent
    });
    let team = json!({
        "component_type": "ManagerWorkers", "agentspec_version": "25.4.2", "id": "team", "name": "Team",
        "inputs": [], "outputs": [], "group_manager": manager, "workers": [worker],
    });
    let file = write(folder.path(), "team.json", team);
    let register = |flags: &[&str]| run(&[&["register", &file, "--url", server.url()], flags].concat());
    let nested = register(&["--nested"]);
    assert_eq!(
        (stdout(&nested).lines().count(), stderr(&nested).contains("[parts-removed]")),
        (3, false),
        "{nested:?}"
    );
    let alone = register(&["--quiet", "--replace"]);
    assert_eq!(stdout(&alone), "");
    let said = stderr(&alone);
    let warning = said.lines().find(|line| line.contains("[parts-removed]")).unwrap_or_else(|| panic!("{said}"));
    for words in ["warning: ", "urn:agentspec:local:boss", "urn:agentspec:local:hand", "--nested"] {
        assert!(warning.contains(words), "{warning}");
    }
    assert_eq!(ids(&server), ["urn:agentspec:local:team"]);
    // What is removed is printed as that, and nothing is said once nothing is removed any more.
    assert!(!stderr(&register(&[])).contains("[parts-removed]"));
    register(&["--nested"]);
    let removed = "removed urn:agentspec:local:boss\nremoved urn:agentspec:local:hand\n";
    assert!(stdout(&register(&["--replace"])).ends_with(removed));
}

#[test]
fn edit_of_an_export_keeps_what_flags_gave() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "solo.json", configuration("solo", "Solo"));
    let run_with = |arguments: &[&str]| run(&[arguments, &["--url", server.url()]].concat());
    let id = "urn:agentspec:local:solo";
    assert!(
        run_with(&["register", &file, "--base", "https://agents.example/solo", "--security", "bearer"])
            .status
            .success()
    );
    let exported = stdout(&run_with(&["export", "--format", "agent-spec", id]));
    let edited = write(folder.path(), "edited.json", exported.replace("Answers questions", "Answers all questions"));
    let output = run_with(&["register", &edited]);
    assert!(stderr(&output).contains("[options-kept]"), "{output:?}");
    let thing: Value = serde_json::from_str(&stdout(&run_with(&["get", id, "--json"]))).unwrap();
    assert_eq!(thing["actions"]["Solo"]["forms"][0]["href"], "https://agents.example/solo");
    assert_eq!((&thing["security"], &thing["description"]), (&json!("bearer_sc"), &json!("Answers all questions")));
}
