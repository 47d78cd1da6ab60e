//! Texts that people wrote without any harm in mind have no flags, or few that are known. The documents aren't part of
//! the project; without them these tests say so and end.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use agentdex::td::flags;
use serde_json::{Value, json};

use crate::support::skipped;

/// What is flagged in those collections: the file, or the id of the agent, where, and what for.
const KNOWN: [&str; 0] = [];

fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus");
    if !folder.join("td").is_dir() {
        skipped("corpus/td", &folder.display().to_string());
        return None;
    }
    Some(folder)
}

fn documents(folder: &Path) -> Vec<(String, Value)> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let read = |path: PathBuf| Some((name(&path), serde_json::from_slice(&fs::read(&path).ok()?).ok()?));
    fs::read_dir(folder).unwrap().filter_map(|entry| read(entry.unwrap().path())).collect()
}

fn agents(path: &Path) -> Vec<(String, Value)> {
    let agents = fs::read_to_string(path).unwrap();
    let described = |line: &str| {
        let agent: Value = serde_json::from_str(line).unwrap();
        let parameters = agent["parameters"].as_object().unwrap().iter();
        let parameters: serde_json::Map<String, Value> =
            parameters.map(|(name, text)| (name.clone(), json!({"description": text}))).collect();
        let thing = json!({"title": agent["title"], "description": agent["description"], "properties": parameters});
        (agent["id"].as_str().unwrap().to_owned(), thing)
    };
    agents.lines().map(described).collect()
}

#[test]
fn harmless_documents_have_no_flags() {
    let Some(folder) = corpus() else { return };
    let mut all = Vec::new();
    for name in ["td", "a2a", "agent-spec"] {
        all.extend(documents(&folder.join(name)));
    }
    for name in ["metatool", "seal-tools"] {
        all.extend(agents(&folder.join("relevance").join(name).join("agents.jsonl")));
    }
    assert!(all.len() > 5_000, "only {} documents", all.len());
    let found = all.iter().flat_map(|(name, document)| {
        flags(document).into_iter().map(move |flag| format!("{name} {} {} {}", flag.pointer, flag.kind, flag.found))
    });
    let found: BTreeSet<String> = found.collect();
    assert_eq!(found, KNOWN.map(str::to_owned).into(), "of {} documents", all.len());
}
