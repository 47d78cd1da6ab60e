//! A `PUT` or `PATCH` without a version changes what is served and no other version: all sequences of three writes, against a
//! model of a map.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry};

const ID: &str = "urn:example:agent";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Put,
    /// Under the version of its place: 1.0.0, 2.0.0 and 3.0.0, or the other way round.
    PutVersion,
    Patch,
}

const STEPS: [Step; 3] = [Step::Put, Step::PutVersion, Step::Patch];

/// The titles of the versions, by their numbers; 0 is what has none.
#[derive(Debug, Default)]
struct Model {
    titles: BTreeMap<u32, String>,
}

impl Model {
    fn served(&mut self) -> Option<&mut String> {
        self.titles.values_mut().next_back()
    }

    /// Takes a step; false if there is nothing that it could change.
    fn take(&mut self, step: Step, version: u32, title: &str) -> bool {
        match (step, self.served()) {
            (Step::PutVersion, _) => drop(self.titles.insert(version, title.to_owned())),
            (_, Some(served)) => title.clone_into(served),
            (Step::Put, None) => drop(self.titles.insert(0, title.to_owned())),
            (Step::Patch, None) => return false,
        }
        true
    }
}

fn description(title: &str) -> Value {
    json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": ID, "title": title,
        "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
    })
}

fn send(registry: &TestRegistry, step: Step, version: u32, title: &str, parameters: &str) -> Answer {
    let put = |path: String| {
        let call = registry.call("PUT", &path).header("prefer", "return=effect");
        call.body("application/td+json", description(title).to_string()).send()
    };
    match step {
        Step::Put => put(format!("/things/{ID}?dry_run=false{parameters}")),
        Step::PutVersion => put(format!("/things/{ID}?version={version}.0.0{parameters}")),
        Step::Patch => {
            let call = registry.call("PATCH", &format!("/things/{ID}")).header("prefer", "return=effect");
            call.body("application/merge-patch+json", json!({"title": title}).to_string()).send()
        }
    }
}

/// The versions as they are listed, the served one first, each with its title.
fn listed(registry: &TestRegistry) -> Vec<(u32, String)> {
    let versions = registry.get(&format!("/things/{ID}/versions"));
    if versions.status == 404 {
        return Vec::new();
    }
    let titles = registry.registry().versions(ID).unwrap();
    let title = |text: &str| serde_json::from_str::<Value>(text).unwrap()["title"].as_str().unwrap().to_owned();
    let versions = versions.json();
    let numbers = versions.as_array().unwrap().iter().map(|one| one["version"].as_str().map_or(0, number));
    numbers.zip(titles).map(|(number, version)| (number, title(version.text()))).collect()
}

fn number(version: &str) -> u32 {
    version.split('.').next().unwrap().parse().unwrap()
}

fn agree(registry: &TestRegistry, model: &mut Model, said: &str) {
    let expected: Vec<(u32, String)> = model.titles.clone().into_iter().rev().collect();
    assert_eq!(listed(registry), expected, "{said}");
    let served = registry.get(&format!("/things/{ID}"));
    assert_eq!(served.status == 200, model.served().is_some(), "{said}");
    if let Some(title) = model.served() {
        assert_eq!(served.json()["title"], *title, "{said}");
    }
    for (number, title) in expected.iter().filter(|(number, _)| *number > 0) {
        let version = registry.get(&format!("/things/{ID}?version={number}.0.0")).expect(200).json();
        assert_eq!(version["title"], *title, "{said}, version {number}");
    }
    assert_eq!(registry.registry().check().unwrap().faults, [], "{said}");
}

#[test]
fn write_without_a_version_changes_what_is_served_and_no_other_version() {
    let registry = TestRegistry::start();
    for versions in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
        for code in 0..27 {
            let steps = [code / 9, code / 3 % 3, code % 3].map(|step| STEPS[step]);
            let mut model = Model::default();
            for (place, (step, version)) in steps.into_iter().zip(versions).enumerate() {
                let (title, said) = (format!("Text {place}"), format!("{steps:?} {versions:?} at {place}"));
                let is_taken = model.take(step, version, &title);
                let answer = send(&registry, step, version, &title, "");
                assert_eq!(answer.status < 300, is_taken, "{said}: {}", answer.text());
                let is_dropped = answer.text().contains("dropped");
                assert!(!is_dropped, "{said}: {}", answer.text());
                agree(&registry, &mut model, &said);
            }
            // What lies below is served again, one after the other.
            while let Some((version, _)) = model.titles.pop_last() {
                match version {
                    0 => registry.delete(&format!("/things/{ID}")).expect(204),
                    _ => registry.delete(&format!("/things/{ID}?version={version}.0.0")).expect(204),
                };
                agree(&registry, &mut model, &format!("{steps:?} {versions:?} without {version}"));
            }
        }
    }
}

#[test]
fn version_that_is_stored_below_what_is_served_is_told() {
    let registry = TestRegistry::start();
    send(&registry, Step::PutVersion, 2, "Two", "").expect(201);
    let answer = send(&registry, Step::PutVersion, 1, "One", "").expect(200);
    assert!(answer.text().contains("not-served"), "{}", answer.text());
    assert_eq!(
        (answer.json()["effect"].clone(), answer.header("agentdex-effect")),
        (json!("versions-updated"), "versions-updated".to_owned())
    );
    // The same again changes nothing.
    for (version, title) in [(1, "One"), (2, "Two")] {
        let answer = send(&registry, Step::PutVersion, version, title, "").expect(200);
        assert_eq!(answer.json()["effect"], "unchanged", "{version}");
    }
    // Nothing of it is an event, whether it is another text or gone.
    let (last, tag) = (
        registry.get("/changes?since=0").json()["changes"].clone(),
        registry.get(&format!("/things/{ID}")).header("etag"),
    );
    let answer = send(&registry, Step::PutVersion, 1, "First", "").expect(200);
    assert_eq!(answer.json()["effect"], "versions-updated");
    let removal =
        registry.call("DELETE", &format!("/things/{ID}?version=1.0.0")).header("prefer", "return=effect").send();
    assert_eq!(removal.expect(200).json()["effect"], "versions-updated");
    assert_eq!(listed(&registry), [(2, "Two".to_owned())]);
    assert_eq!(registry.get("/changes?since=0").json()["changes"], last);
    assert_eq!(registry.get(&format!("/things/{ID}")).header("etag"), tag);
}

#[test]
fn import_of_a_version_that_is_not_served_is_told_apart_from_one_that_changes_nothing() {
    let registry = TestRegistry::start();
    let import = |version: &str, parameters: &str| {
        let server = json!({"name": "com.example/w", "description": "Wind", "version": version});
        let call = registry.call("POST", &format!("/import/mcp-server{parameters}"));
        call.body("application/json", server.to_string()).send()
    };
    let id = import("2.0.0", "").expect(201).json()["ids"].clone();
    for dry_run in [true, false] {
        let answer = import("1.0.0", if dry_run { "?dry_run=true" } else { "" }).expect(200).json();
        assert_eq!((&answer["versionsUpdated"], &answer["updated"]), (&id, &json!([])), "{answer}");
    }
    for version in ["1.0.0", "2.0.0"] {
        let answer = import(version, "").expect(200).json();
        assert_eq!((&answer["versionsUpdated"], &answer["updated"]), (&json!([]), &json!([])), "{answer}");
    }
}

#[test]
fn import_that_replaces_everything_says_what_it_drops() {
    let registry = TestRegistry::start();
    let path = "/things/urn:agentdex:mcp:com.example%2Fw";
    let import = |version: &str, parameters: &str| {
        let server = json!({"name": "com.example/w", "description": "Wind", "version": version});
        let call = registry.call("POST", &format!("/import/mcp-server{parameters}"));
        let answer = call.body("application/json", server.to_string()).send();
        assert!(answer.status < 300, "{}", answer.text());
        answer.text().contains("declarations-ended")
    };
    assert!(!import("1.0.0", "?replace=true"), "there was nothing");
    assert!(!import("1.0.0", "?replace=true"), "it is the same");
    import("2.0.0", "");
    assert!(import("3.0.0", "?replace=true&dry_run=true"));
    assert!(import("3.0.0", "?replace=true"));
    assert_eq!(registry.get(&format!("{path}/versions")).json().as_array().unwrap().len(), 1);
    // An edit is dropped with the document that it lay over.
    let edit = registry.call("PATCH", path).body("application/merge-patch+json", r#"{"title": "Mine"}"#).send();
    edit.expect(204);
    assert!(import("3.0.0", "?replace=true"));
    assert_ne!(registry.get(path).json()["title"], "Mine");
    assert!(!import("3.0.0", "?replace=true"));
    assert_eq!(registry.registry().check().unwrap().faults, []);
}

#[test]
fn nothing_is_dropped_but_by_replace() {
    let registry = TestRegistry::start();
    for (version, title) in [(1, "One"), (2, "Two")] {
        send(&registry, Step::PutVersion, version, title, "");
    }
    let answer = send(&registry, Step::Put, 0, "Three", "&replace=true").expect(200);
    assert!(answer.text().contains("declarations-ended"), "{}", answer.text());
    assert_eq!(listed(&registry), [(0, "Three".to_owned())]);
    send(&registry, Step::PutVersion, 4, "Four", "").expect(200);
    let answer = send(&registry, Step::PutVersion, 5, "Five", "&replace=true").expect(200);
    assert!(answer.text().contains("declarations-ended"), "{}", answer.text());
    assert_eq!(listed(&registry), [(5, "Five".to_owned())]);
    assert_eq!(registry.registry().check().unwrap().faults, []);
}

#[test]
fn lowest_version_beyond_twenty_is_dropped_with_a_warning() {
    let registry = TestRegistry::start();
    send(&registry, Step::Put, 0, "Plain", "").expect(201);
    for version in 1..=19 {
        assert!(
            !send(&registry, Step::PutVersion, version + 10, "V", "").text().contains("version-dropped"),
            "{version}"
        );
    }
    // What has no version is below all others.
    let answer = send(&registry, Step::PutVersion, 40, "V", "").expect(200);
    assert!(answer.text().contains("version-dropped"), "{}", answer.text());
    assert_eq!(listed(&registry).len(), 20);
    assert!(listed(&registry).iter().all(|(version, _)| *version > 0));
    // So is a version that is lower than all that are kept.
    let answer = send(&registry, Step::PutVersion, 1, "V", "").expect(200);
    assert!(answer.text().contains("version-dropped"), "{}", answer.text());
    assert!(listed(&registry).iter().all(|(version, _)| *version > 10));
    assert_eq!(registry.registry().check().unwrap().faults, []);
}

#[test]
fn unrelated_text_by_hand_is_an_edit_of_what_was_imported() {
    let registry = TestRegistry::start();
    let server = |version: &str| {
        let server = json!({"name": "com.example/w", "description": "Wind", "version": version});
        registry.call("POST", "/import/mcp-server").body("application/json", server.to_string()).send()
    };
    server("1.0.0").expect(201);
    let path = "/things/urn:agentdex:mcp:com.example%2Fw";
    let mut other = description("Something else");
    other["id"] = json!("urn:agentdex:mcp:com.example/w");
    let put = |parameters: &str| {
        let call = registry.call("PUT", &format!("{path}{parameters}")).header("prefer", "return=effect");
        call.body("application/td+json", other.to_string()).send().expect(200)
    };
    assert!(!put("").text().contains("declarations-ended"));
    assert_eq!(registry.get(path).json()["title"], "Something else");
    let original = registry.get(&format!("{path}/mcp-server?edits=false")).expect(200);
    assert!(original.text().contains("Wind"), "{}", original.text());
    // A version that is put by hand is served as it was put.
    let mut by_hand = other.clone();
    by_hand["title"] = json!("By hand");
    let call = registry.call("PUT", &format!("{path}?version=2.0.0"));
    call.body("application/td+json", by_hand.to_string()).send().expect(204);
    assert_eq!(registry.get(path).json()["title"], "By hand");
    registry.delete(&format!("{path}?version=2.0.0")).expect(204);
    assert_eq!(registry.get(path).json()["title"], "Something else");
    assert!(put("?replace=true").text().contains("declarations-ended"));
    assert!(!registry.get(&format!("{path}/versions")).text().contains("mcp-server"));
}

#[test]
fn empty_version_is_refused_and_nothing_done() {
    let registry = TestRegistry::start();
    for version in ["1.0.0", "2.0.0"] {
        let call = registry.call("PUT", &format!("/things/{ID}?version={version}"));
        assert!(call.body("application/td+json", description(version).to_string()).send().status < 300);
    }
    let versions = || registry.get(&format!("/things/{ID}/versions")).expect(200).json();
    let before = versions();
    for (method, path, parameter) in [
        ("GET", "?version=", "version"),
        ("GET", "?version", "version"),
        ("GET", "?version=%20", "version"),
        ("PUT", "?version=", "version"),
        ("DELETE", "?version=", "version"),
        ("DELETE", "?version=&dry_run=true", "version"),
        ("GET", "/agent-card?version=", "version"),
        ("GET", "/agent-card?thing_version=", "thing_version"),
        ("GET", "/mcp-server?thing_version=", "thing_version"),
    ] {
        let call = registry.call(method, &format!("/things/{ID}{path}"));
        let call = call.body("application/td+json", description("Empty").to_string());
        assert_eq!(call.send().problem(400, "invalid-parameter")["parameter"], parameter, "{method} {path}");
    }
    assert_eq!(versions(), before);
}
