//! Thing Descriptions and agent cards that other people wrote, through the registry and back. The documents
//! aren't part of the project; without them these tests say so and end.

use std::{collections::BTreeMap, fs, path::PathBuf};

use agentdex::{
    convert::a2a::{Card, Generation},
    td::{Document, Layers, validate},
};
use serde_json::Value;

use crate::{
    a2a::corpus::cards,
    support::{TestRegistry, skipped},
};

/// The documents that the W3C schema and the playground call valid.
fn valid_documents() -> Option<Vec<Value>> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus/td");
    let Ok(verdicts) = fs::read_to_string(folder.join("verdicts.jsonl")) else {
        skipped("corpus/td", &folder.display().to_string());
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

#[test]
fn real_cards_come_back_byte_for_byte_and_in_the_other_version() {
    let Some(cards) = cards() else { return };
    let registry = TestRegistry::start();
    for (number, (file, bytes)) in cards.iter().enumerate() {
        let path = format!("/import/a2a?id=urn:card:{number}");
        let imported = registry.call("POST", &path).body("application/json", bytes.clone()).send().expect(201);
        let thing = registry.get(&imported.header("location")).expect(200);
        let report = validate(&Document::parse(&thing.body).unwrap(), Layers::All);
        assert!(report.is_valid(), "{file}: {report}");
        let path = format!("/things/urn:card:{number}/agent-card");
        assert_eq!(&registry.get(&path).expect(200).body, bytes, "{file}");
        let new = Card::parse(&registry.get(&format!("{path}?version=1.0")).expect(200).body).unwrap();
        assert_eq!(new.generation(), Generation::V1, "{file}");
    }
    let found = registry.get("/search?format=a2a&signature=unsigned&consistent=true&limit=1").json();
    assert_eq!(found["total"], cards.len());
}
