//! Thing Descriptions of a collection as JSON-LD: every name and identifier in them means something.

use agentdex::convert::a2a::{self, Card};

use super::*;
use crate::support::{run_agent_spec, skipped};

/// The agent cards of the collection, by the names of their files.
fn cards() -> Vec<(String, Vec<u8>)> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let Ok(folder) = fs::read_dir(shared.join("corpus/a2a")) else {
        skipped("corpus/a2a", &shared.display().to_string());
        return Vec::new();
    };
    let files = folder.map(|entry| entry.unwrap().path());
    let cards = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    cards.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())).collect()
}

#[test]
fn every_thing_expands_without_relative_or_empty_iris() {
    let mut things = String::new();
    let mut add = |conversion: &Conversion| {
        for thing in &conversion.things {
            things.push_str(thing.description.text());
            things.push('\n');
        }
    };
    for (_, document) in collection().iter().filter(|(file, _)| file.starts_with("valid")) {
        let shown = Options { nested: true, publish_prompts: true, base: Some("https://h/{id}".into()), ..options() };
        for options in [Options { tools: true, ..options() }, shown] {
            if let Ok(conversion) = convert(document, &options) {
                add(&conversion);
            }
        }
    }
    for (_, card) in cards() {
        let options = a2a::Options { id: Some("urn:example:card".into()), ..a2a::Options::default() };
        if let Ok(conversion) = Card::parse(&card).and_then(|card| card.to_thing(&options)) {
            add(&conversion);
        }
    }
    let contexts = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/contexts");
    let Some(found) = run_agent_spec(include_str!("../jsonld.py"), contexts, &things) else { return };
    assert_eq!(found, "");
}

#[test]
fn nothing_of_the_collection_is_hidden_but_secrets() {
    // The language marks these; the cards have none.
    const MARKED: [&str; 4] = ["api_key", "client_id", "client_secret", "key_file"];
    let is_marked = |warning: &Violation| {
        warning.rule == "secret-field" && MARKED.iter().any(|field| warning.pointer.ends_with(field))
    };
    let is_hidden = |warning: &Violation| {
        (warning.rule.starts_with("secret-") || warning.rule == "user-info") && !is_marked(warning)
    };
    let mut hidden = Vec::new();
    for (file, document) in collection() {
        let Ok(conversion) = convert(&document, &Options { publish_prompts: true, ..options() }) else { continue };
        hidden.extend(conversion.warnings.into_iter().filter(is_hidden).map(|warning| format!("{file}: {warning:?}")));
    }
    for (file, card) in cards() {
        let Ok(card) = Card::parse(&card) else { continue };
        hidden
            .extend(card.warnings().iter().filter(|found| is_hidden(found)).map(|found| format!("{file}: {found:?}")));
    }
    assert_eq!(hidden, Vec::<String>::new());
}
