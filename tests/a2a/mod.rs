//! A2A agent cards: read, turned into Things, from one generation to the other, and back.

pub mod corpus;
mod edited;
mod exporting;
mod hostile;
mod mapping;
mod mixed;
mod oddities;
mod reading;
mod sdk;
mod versions;

use std::{fs, path::PathBuf};

use agentdex::{
    convert::{
        Error,
        a2a::{Card, Generation, Options},
    },
    td::{self, Document, Identity, Strictness, Violation},
};
use serde_json::Value;

/// A card of ours.
fn fixture(name: &str) -> Vec<u8> {
    fs::read(folder().join(format!("{name}.json"))).unwrap()
}

/// All cards of ours, with their names.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 5);
    files
        .iter()
        .map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(file).unwrap()))
        .collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/a2a")
}

fn card(card: &Value) -> Card {
    Card::parse(card.to_string().as_bytes()).unwrap()
}

/// The Thing of a card, which is admitted as it is.
fn thing(card: &Card) -> Value {
    thing_with(card, &Options::default()).0
}

/// The Thing of a card, and what was said about the card.
fn thing_with(card: &Card, options: &Options) -> (Value, Vec<Violation>) {
    let conversion = card.to_thing(options).unwrap();
    let [converted] = conversion.things.as_slice() else { panic!("{} things", conversion.things.len()) };
    let document = Document::parse(converted.description.text().as_bytes()).unwrap();
    let admission = td::admit(document, Identity::Own, Strictness::Strict).unwrap_or_else(|error| match error {
        td::Error::Invalid(report) => panic!("{:#?}\n{}", report.violations, converted.description.text()),
        other => panic!("{other}"),
    });
    assert_eq!(admission.thing.id(), converted.id);
    // A flow may have lost an endpoint that nobody should be sent to.
    assert!(admission.warnings.iter().all(|warning| warning.rule == "oauth2-flow"), "{:#?}", admission.warnings);
    (admission.thing.value().clone(), conversion.warnings)
}

fn rendition(card: &Card, generation: Generation) -> Value {
    serde_json::from_slice(&card.as_version(generation).bytes).unwrap()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Rules and pointers of findings.
fn found(findings: &[Violation]) -> Vec<(&str, &str)> {
    findings.iter().map(|finding| (finding.rule.as_ref(), finding.pointer.as_str())).collect()
}

/// What is wrong with a document that is refused.
fn refusal(json: &[u8]) -> String {
    match Card::parse(json) {
        Err(Error::InvalidSource { format: "a2a", report }) => report.violations[0].message.clone(),
        other => panic!("{other:?}"),
    }
}
