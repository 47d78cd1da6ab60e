//! Tests of edits with all documents of collections published by third parties.

use std::{fs, path::PathBuf};

use super::*;
use crate::edits::change::Change;

/// The documents of the collection that are imported; none, with a note, where it is missing.
fn collection(folder: &str, format: Format, options: &[ImportOptions]) -> Option<Vec<(String, ImportOptions, String)>> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = shared.join("corpus").join(folder);
    let Ok(files) = fs::read_dir(&folder) else {
        println!("skipped: {} is missing", folder.display());
        return None;
    };
    let mut documents = Vec::new();
    for file in files.map(|file| file.unwrap().path()).filter(|file| file.extension().is_some_and(|end| end == "json"))
    {
        let text = fs::read_to_string(&file).unwrap();
        let is_imported = |options: &&ImportOptions| {
            format.import().unwrap().to_things(&Input::json(text.as_bytes()), options).is_ok()
        };
        if let Some(options) = options.iter().find(is_imported) {
            documents.push((file.display().to_string(), options.clone(), text));
        }
    }
    Some(documents)
}

/// Edits three members of each document of a collection; `missing` are those that the format has no place for.
fn edit_all(folder: &str, format: Format, options: &[ImportOptions], places: &[&str], missing: &[&str]) {
    let Some(documents) = collection(folder, format, options) else { return };
    let (export, mut whole, mut undone, mut refused) = (format.export().unwrap(), 0, 0, Vec::new());
    for (file, options, document) in &documents {
        let import = format.import().unwrap();
        let things = import.to_things(&Input::json(document.as_bytes()), options).unwrap().things;
        // What is stored has no secrets.
        let (base, stored) = (things[0].description.value(), &things[0].source.bytes);
        let mut edited = base.clone();
        edited["support"] = "mailto:me@example.org".into();
        edited["title"] = "Another title".into();
        edited["description"] = "Another description.".into();
        let exported = match export.with_edits(&Input::json(stored), options, base, &edited) {
            // What it was called or described as is somewhere else in it, too.
            Err(Error::NotExpressible { .. }) => {
                refused.push(file.as_str());
                continue;
            }
            exported => exported.unwrap(),
        };
        let (before, after): (Value, Value) =
            (serde_json::from_slice(stored).unwrap(), serde_json::from_slice(&exported.bytes).unwrap());
        let assert_differ_at = |other: &Value, places: &[&str]| {
            for pointer in changes(&before, other).iter().map(Change::pointer) {
                let of_component =
                    pointer.strip_prefix("/$referenced_components/").and_then(|rest| rest.split_once('/'));
                let place = of_component.map_or(&pointer[1..], |(_, place)| place);
                assert!(places.contains(&place), "{file}: {pointer}");
            }
        };
        assert_differ_at(&after, places);
        let warned: Vec<_> = exported.warnings.iter().map(|warning| warning.pointer.as_str()).collect();
        assert!(warned.iter().all(|pointer| missing.contains(pointer)), "{file}: {warned:?}");
        let options = options.clone().by_default("id", base["id"].as_str().unwrap());
        let again = imported(format, &exported.bytes, &options);
        for name in ["support", "title", "description"] {
            let is_there = again[name] == edited[name];
            assert_ne!(is_there, warned.contains(&format!("/{name}").as_str()), "{file}: {name} {warned:?}");
        }
        whole += usize::from(warned.is_empty());
        let back = export.with_edits(&Input::json(&exported.bytes), &options, &again, base).unwrap();
        undone += usize::from(back.bytes == *stored);
        // A description may have been null, and metadata missing.
        assert_differ_at(&serde_json::from_slice(&back.bytes).unwrap(), &["description", "metadata"]);
    }
    let count = documents.len();
    println!(
        "{folder}: {count} documents edited, {} refused ({refused:?}), {whole} have all of the edit; undone, {undone} are as they came",
        refused.len()
    );
    assert!(count > 20 && undone * 2 > count, "{folder}");
}

#[test]
fn every_configuration_of_the_collection_is_exported_with_an_edit() {
    let mut sdk = ImportOptions::default();
    sdk.set(Format::AgentSpec, "profile", "sdk").unwrap();
    let places = ["name", "description", "metadata", "metadata/thingDescriptionEdits"];
    edit_all("agent-spec", Format::AgentSpec, &[ImportOptions::default(), sdk], &places, &[]);
}

#[test]
fn every_card_of_the_collection_is_exported_with_an_edit() {
    let options = [ImportOptions::default(), options()];
    let places = ["name", "description", "signatures"];
    edit_all("a2a", Format::A2a, &options, &places, &["/support", "/a2a:signatures"]);
}
