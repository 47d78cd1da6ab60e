//! Every semantic rule has fixtures of its own: `tests/fixtures/td/semantics/<rule>/right-….json` and
//! `wrong-….json`.

use std::{collections::BTreeSet, fs, path::Path};

use agentdex::td::{Document, Layers, Report, validate};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/td/semantics");

fn report(path: &Path) -> Report {
    validate(&Document::parse(&fs::read(path).unwrap()).unwrap(), Layers::All)
}

fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn right_fixtures_pass_and_wrong_ones_fail_by_their_rule() {
    for rule in names(FIXTURES) {
        let (mut right, mut wrong) = (0, 0);
        for name in names(Path::new(FIXTURES).join(&rule)) {
            let report = report(&Path::new(FIXTURES).join(&rule).join(&name));
            let found: BTreeSet<_> =
                report.violations.iter().chain(&report.warnings).map(|found| found.rule.as_ref()).collect();
            if name.starts_with("right-") {
                assert_eq!(found, BTreeSet::new(), "{rule}/{name}: {report:#?}");
                right += 1;
            } else {
                assert!(found.contains(rule.as_str()), "{rule}/{name}: {report:#?}");
                wrong += 1;
            }
        }
        assert!(right > 0 && wrong > 0, "{rule} has {right} right and {wrong} wrong fixtures");
    }
}

#[test]
fn every_rule_of_the_table_has_fixtures() {
    let documentation = include_str!("../../crates/td/src/semantics/mod.rs");
    let rows = documentation.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let documented: BTreeSet<_> = rows
        .flat_map(|row| row.split(" | ").next().unwrap().split(", "))
        .map(|rule| rule.trim_matches('`').to_owned())
        .collect();
    assert!(documented.len() > 10, "{documented:?}");
    assert_eq!(documented, names(FIXTURES).into_iter().collect());
}

#[test]
fn violations_say_where_what_and_what_would_be_right() {
    let mut said = String::new();
    for rule in names(FIXTURES) {
        for name in names(Path::new(FIXTURES).join(&rule)) {
            let report = report(&Path::new(FIXTURES).join(&rule).join(&name));
            for found in report.violations.iter().chain(&report.warnings) {
                let found = found.to_string().replace(&"a".repeat(1018), "…");
                said += &format!("{rule}/{}: {found}\n", name.trim_end_matches(".json"));
            }
        }
    }
    insta::assert_snapshot!(said);
}
