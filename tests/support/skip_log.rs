//! The file in which tests that lack a counterpart are recorded: the target `main` writes it, `skips` reads it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// The file. Its first line is the [`invocation`], each of the others a test, a tab and what it lacks.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("skipped-tests")
}

/// The process that runs the targets one after the other, so that nobody reads the file of an earlier run.
#[cfg(unix)]
pub fn invocation() -> String {
    std::os::unix::process::parent_id().to_string()
}

/// Unknown here: the file is believed, whoever wrote it.
#[cfg(not(unix))]
pub fn invocation() -> String {
    String::new()
}

/// Counts tests, and those that lack each counterpart. Many counterparts are there, and only the variable that names
/// them isn't.
pub fn summary(lines: &str) -> String {
    let skips: BTreeSet<(&str, &str)> = lines.lines().filter_map(|line| line.split_once('\t')).collect();
    if skips.is_empty() {
        return "skipped: none".to_owned();
    }
    let tests: BTreeSet<&str> = skips.iter().map(|(test, _)| *test).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, counterpart) in &skips {
        *counts.entry(counterpart).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(counterpart, count)| format!("{counterpart} {count}")).collect();
    let plural = if tests.len() == 1 { "" } else { "s" };
    format!(
        "skipped: {} test{plural} ({}); CONTRIBUTING.md says what to install and to set",
        tests.len(),
        counts.join(", ")
    )
}
