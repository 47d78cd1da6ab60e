//! Thing Descriptions that other people wrote, through the registry and back. The documents aren't
//! part of the project; without them this test says so and ends.

use std::{collections::BTreeMap, fs, path::PathBuf};

use agentdex::td::{Document, Layers, validate};
use serde_json::Value;

use crate::support::TestRegistry;

/// The documents that the W3C schema and the playground call valid.
fn valid_documents() -> Option<Vec<Value>> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus/td");
    let Ok(verdicts) = fs::read_to_string(folder.join("verdicts.jsonl")) else {
        println!("skipped: there is no collection {}", folder.display());
        return None;
    };
    let verdicts = verdicts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let valid = verdicts.filter(|verdict| {
        verdict["version"].is_string() && verdict["schema_valid"] == true && verdict["semantically_wrong"] != true
    });
    let read = |verdict: Value| fs::read(folder.join(verdict["file"].as_str().unwrap())).unwrap();
    // A document that repeats a member is refused, but read by serde_json.
    let admissible = |text: &Vec<u8>| validate(&Document::parse(text).unwrap(), Layers::All).is_valid();
    Some(valid.map(read).filter(admissible).map(|text| serde_json::from_slice(&text).unwrap()).collect())
}

#[test]
fn real_documents_come_back_valid_and_whole() {
    let Some(documents) = valid_documents() else { return };
    assert!(documents.len() > 200, "only {} documents", documents.len());
    let registry = TestRegistry::start();
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    let call = registry.call("POST", "/things/batch").body("application/x-ndjson", lines);
    let results: Vec<Value> =
        call.send().expect(200).text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(results.len(), documents.len());

    // Several documents share an id; the last one stays.
    let mut sent = BTreeMap::new();
    for (document, result) in documents.iter().zip(&results) {
        let id = result["id"].as_str().unwrap_or_else(|| panic!("{result} for {document}"));
        sent.insert(id.to_owned(), document);
    }
    let list = registry.get("/things").expect(200).json();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), sent.len());
    for thing in list {
        let report = validate(&Document::parse(thing.to_string().as_bytes()).unwrap(), Layers::All);
        assert!(report.is_valid(), "{report} in {thing}");
        let before = sent[thing["id"].as_str().unwrap()];
        for (name, value) in before.as_object().unwrap() {
            let is_ours = ["id", "@context", "registration"].contains(&name.as_str());
            assert!(is_ours || thing[name] == *value, "{name} of {}", thing["id"]);
        }
    }
}
