//! Flows with what they should give, run by the program against the stub that lies beside them. They aren't part of the
//! project; without them this test says so and ends.

use std::{env, path::PathBuf, process::Command};

use crate::support::skipped;

/// Flows whose results are still wrong: conversions of types between nodes, checks of inputs and outputs, and components
/// that ask.
const WRONG: [&str; 17] = [
    "agent",
    "bool-int",
    "client-tool",
    "conversation-seen",
    "flow-input-unknown",
    "flow-input-wrong-type",
    "float-int",
    "int-bool",
    "int-string",
    "list-int-string",
    "llm-node",
    "llm-node-structured",
    "managerworkers-node",
    "sacp-tool-whole",
    "sensitive-headers",
    "swarm",
    "tool-output-wrong-type",
];

#[test]
fn flows_of_the_corpus_give_what_they_should() {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = env::var_os("AGENTDEX_SHARED").map_or(beside, PathBuf::from).join("corpus/flows");
    let runner = folder.join("run.py");
    if !runner.exists() {
        return skipped("corpus/flows", &folder.display().to_string());
    }
    let mut command = Command::new("python3");
    command.arg(&runner).env("AGENTDEX", env!("CARGO_BIN_EXE_agentdex")).env("PYTHONDONTWRITEBYTECODE", "1");
    let Ok(output) = command.output() else { return skipped("Python", "install python3") };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let verdicts: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, verdict)| (name, verdict.trim()))
        .filter(|(_, verdict)| *verdict == "right" || verdict.starts_with("wrong: "))
        .collect();
    assert!(verdicts.len() >= 48, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let (right, wrong): (Vec<_>, Vec<_>) = verdicts.into_iter().partition(|(_, verdict)| *verdict == "right");
    let worse: Vec<_> = wrong.iter().filter(|(name, _)| !WRONG.contains(name)).collect();
    assert!(worse.is_empty(), "{worse:#?}");
    let better: Vec<_> = right.iter().filter(|(name, _)| WRONG.contains(name)).collect();
    assert!(better.is_empty(), "no longer wrong: take them out of the list: {better:?}");
}
