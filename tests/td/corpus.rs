//! Thing Descriptions that other people wrote, and broken copies of them, against the verdicts of the
//! W3C schemas. The documents aren't part of the project; without them these tests say so and end.

use std::{fs, path::PathBuf};

use agentdex::td::{Document, Layers, validate};
use serde::Deserialize;

use crate::support::skipped;

/// Documents whose verdict we don't share, with the reason. There are none.
const DISAGREEMENTS: &[(&str, &str)] = &[];

#[derive(Deserialize)]
struct Verdict {
    file: String,
    version: Option<String>,
    schema_valid: bool,
    #[serde(default)]
    semantically_wrong: bool,
}

/// The rows of a collection and their documents; none, with a note, where it is missing.
fn collection(name: &str) -> Option<Vec<(Verdict, Vec<u8>)>> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus").join(name);
    let Ok(verdicts) = fs::read_to_string(folder.join("verdicts.jsonl")) else {
        skipped(&format!("corpus/{name}"), &folder.display().to_string());
        return None;
    };
    let row = |line: &str| {
        let verdict: Verdict = serde_json::from_str(line).unwrap();
        let text = fs::read(folder.join(&verdict.file)).unwrap();
        (verdict, text)
    };
    Some(verdicts.lines().map(row).collect())
}

fn is_valid(text: &[u8], layers: Layers) -> bool {
    validate(&Document::parse(text).unwrap(), layers).is_valid()
}

/// Compares the schema layer with the verdicts and returns the shares of the valid that are accepted
/// and of the invalid that are refused.
fn agreement(rows: &[(Verdict, Vec<u8>)]) -> (f64, f64) {
    let mut counts = [[0u32; 2]; 2];
    for (verdict, text) in rows.iter().filter(|(verdict, _)| verdict.version.is_some()) {
        let valid = is_valid(text, Layers::Schema);
        counts[usize::from(verdict.schema_valid)][usize::from(valid)] += 1;
        let explained = DISAGREEMENTS.iter().any(|(file, _)| *file == verdict.file);
        assert_eq!(valid != verdict.schema_valid, explained, "{} ({})", verdict.file, verdict.schema_valid);
    }
    let [[refused, wrongly_accepted], [wrongly_refused, accepted]] = counts.map(|row| row.map(f64::from));
    (accepted / (accepted + wrongly_refused), refused / (refused + wrongly_accepted))
}

#[test]
fn the_schemas_agree_with_the_verdicts_on_real_documents() {
    let Some(rows) = collection("td") else { return };
    let (accepted, refused) = agreement(&rows);
    assert!(accepted >= 0.99, "only {accepted:.3} of the valid documents are accepted");
    assert!(refused >= 0.97, "only {refused:.3} of the invalid documents are refused");
}

#[test]
fn the_schemas_agree_with_the_verdicts_on_mutants() {
    let Some(rows) = collection("td-mutants") else { return };
    let (accepted, refused) = agreement(&rows);
    assert!(accepted >= 0.97, "only {accepted:.3} of the valid mutants are accepted");
    assert!(refused >= 0.97, "only {refused:.3} of the broken mutants are refused");
}

#[test]
fn the_version_is_that_of_the_verdicts() {
    let Some(rows) = collection("td") else { return };
    for (verdict, text) in &rows {
        let report = validate(&Document::parse(text).unwrap(), Layers::Schema);
        assert_eq!(report.version.map(|version| version.as_str()), verdict.version.as_deref(), "{}", verdict.file);
    }
}

#[test]
fn what_is_semantically_wrong_is_refused() {
    let Some(rows) = collection("td") else { return };
    let wrong: Vec<_> = rows.iter().filter(|(verdict, _)| verdict.semantically_wrong).collect();
    assert!(!wrong.is_empty());
    for (verdict, text) in wrong {
        assert!(is_valid(text, Layers::Schema) && !is_valid(text, Layers::All), "{}", verdict.file);
    }
}

#[test]
fn the_semantic_checks_refuse_only_what_is_wrong() {
    let Some(rows) = collection("td") else { return };
    let mut documents = 0;
    for (verdict, text) in rows.iter().filter(|(verdict, _)| verdict.schema_valid) {
        let report = validate(&Document::parse(text).unwrap(), Layers::All);
        documents += u32::from(!report.is_valid());
        for found in report.violations {
            let known = ["duplicate-member", "security-undefined", "several-type-links"];
            assert!(known.contains(&found.rule.as_ref()), "{}: {found}", verdict.file);
        }
    }
    assert!(documents <= 5, "{documents} documents that are valid by the schema are refused");
}

#[test]
fn odd_but_real_documents_are_warned_of() {
    let Some(rows) = collection("td") else { return };
    let warned = |rule: &str| {
        let valid = rows.iter().filter(|(verdict, _)| verdict.schema_valid);
        let reports = valid.map(|(_, text)| validate(&Document::parse(text).unwrap(), Layers::All));
        reports.filter(|report| report.warnings.iter().any(|warning| warning.rule == rule)).count()
    };
    // Where languages seem to differ, a data schema has members that are named `titles` or `descriptions`.
    assert_eq!(warned("languages-differ"), 0);
    assert_eq!(warned("title-not-in-titles"), 4);
    assert_eq!(warned("relative-without-base"), 10);
}
