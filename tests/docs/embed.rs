//! The Rust in README and in the guide to embedding, compiled as it is printed, and run twice.

mod parts;
mod program;

use agentdex::{
    Registry,
    registry::{Event, Since},
    search::Search,
};

use super::markdown::Document;

/// The Rust in a document.
fn printed(name: &str) -> Vec<String> {
    let blocks = Document::read(name).blocks();
    blocks.into_iter().filter(|block| block.language == "rust").map(|block| block.text).collect()
}

#[test]
fn program_runs_twice_makes_one_agent_and_ends() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        program::main(directory.path()).unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        assert_eq!(registry.len(), 1);
        let found = registry.search(Search::words("weather forecast").consistent()).unwrap();
        assert_eq!(found.hits[0].id, "urn:example:weather");
        registry.close();
    }
}

#[test]
fn printed_event_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    program::main(directory.path()).unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let Some(Ok(event)) = registry.subscribe(Since::Oldest).next() else { panic!("an agent was registered") };
    assert!(matches!(event, Event::Change(_)));
    assert!(event.to_string().ends_with("Z thing_created urn:example:weather"), "{event}");
    registry.close();
}

#[test]
fn parts_of_the_guide_run_twice() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        program::main(directory.path()).unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        parts::read(&registry).unwrap();
        parts::import(&registry).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(parts::call_from_asynchronous_code(&registry)).unwrap();
        assert_eq!(registry.len(), 2);
        parts::subscribe_and_close(&registry).unwrap();
    }
}

#[test]
fn program_that_runs_is_that_of_readme_and_of_the_guide() {
    let source = include_str!("embed/program.rs");
    for name in ["README.md", "docs/guide/embed.md"] {
        let program = printed(name).swap_remove(0);
        let (imports, function) = program.split_once("\n\n").unwrap();
        assert!(source.contains(imports), "{name}: {imports}");
        let function =
            function.replace("fn main()", "pub fn main(directory: &Path)").replace("\"agents\"", "directory");
        assert!(source.ends_with(&function), "{name}: {function}");
    }
}

#[test]
fn parts_that_run_are_those_of_the_guide() {
    // Without the indentation of the functions that they are in.
    let source: String = include_str!("embed/parts.rs")
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect();
    let parts = printed("docs/guide/embed.md").split_off(1);
    assert_eq!(parts.len(), 4);
    for part in parts {
        assert!(source.contains(&part), "{part}");
    }
}
