//! Configurations of all component types and broken copies of them, against what the language's SDK
//! makes of them and what its text demands. They aren't part of the project; without them these
//! tests say so and end.

use std::{fs, path::PathBuf};

use agentdex::convert::{
    Syntax,
    agent_spec::{Configuration, Profile},
};
use serde::Deserialize;

use crate::support::skipped;

/// Documents whose expectation the `spec` profile doesn't share, with the reason.
const SPEC_DISAGREEMENTS: &[(&str, &str)] = &[
    ("mut_0164.json", "all that this transport uses was there in 25.4.1; the newer `sensitive_headers` is null"),
    ("mut_0287.json", "all inputs that are left without a source have a default"),
];

#[derive(Deserialize)]
struct Row {
    file: String,
    kind: String,
    verdict: String,
    expect: String,
    #[serde(default)]
    mutation: Option<String>,
}

/// The rows of the collection and their configurations; none, with a note, where it is missing.
fn collection() -> Option<Vec<(Row, Configuration)>> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus/agent-spec");
    let Ok(verdicts) = fs::read_to_string(folder.join("verdicts.jsonl")) else {
        skipped("corpus/agent-spec", &folder.display().to_string());
        return None;
    };
    let row = |line: &str| {
        let row: Row = serde_json::from_str(line).unwrap();
        let text = fs::read(folder.join(&row.file)).unwrap();
        (row, Configuration::parse(&text, Syntax::Json, &[]).unwrap())
    };
    Some(verdicts.lines().map(row).collect())
}

/// The rows in which a profile doesn't say what is expected.
fn disagreements(
    rows: &[(Row, Configuration)],
    profile: Profile,
    expected: impl Fn(&Row) -> Option<&str>,
) -> Vec<&Row> {
    let disagrees = |(row, configuration): &&(Row, Configuration)| {
        let accepts = configuration.validate(profile).is_valid();
        expected(row).is_some_and(|expected| (expected == "accept") != accepts)
    };
    rows.iter().filter(disagrees).map(|(row, _)| row).collect()
}

fn list(rows: &[&Row]) -> Vec<String> {
    let name = |row: &&Row| format!("{} {}", row.file, row.mutation.as_deref().unwrap_or("valid"));
    rows.iter().map(name).collect()
}

#[test]
fn the_sdk_profile_accepts_and_refuses_what_the_sdk_does() {
    let Some(rows) = collection() else { return };
    assert!(rows.iter().filter(|(row, _)| row.kind == "valid").count() >= 300);
    let wrong = disagreements(&rows, Profile::Sdk, |row| Some(&row.verdict));
    assert_eq!(list(&wrong), [""; 0]);
}

#[test]
fn the_spec_profile_accepts_and_refuses_what_the_text_demands() {
    let Some(rows) = collection() else { return };
    let wrong = disagreements(&rows, Profile::Spec, |row| Some(row.expect.as_str()).filter(|text| *text != "unclear"));
    let is_explained = |row: &&&Row| SPEC_DISAGREEMENTS.iter().any(|(file, _)| *file == row.file);
    let (explained, unexplained): (Vec<&Row>, Vec<&Row>) = wrong.iter().partition(|row| is_explained(row));
    assert_eq!(list(&unexplained), [""; 0]);
    assert_eq!(explained.len(), SPEC_DISAGREEMENTS.len(), "a disagreement is gone: take it off the list");
}
