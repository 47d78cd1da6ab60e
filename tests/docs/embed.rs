//! The lines of Rust in README, compiled as they stand there, and run twice.

use std::{error::Error, path::Path};

use agentdex::{Registry, registry::Since, search::Search, td::Description};

use super::markdown::Document;

fn lines_of_readme(directory: &Path) -> Result<(), Box<dyn Error>> {
    let registry = Registry::open(directory)?;
    let changes = registry.subscribe(Since::Now);
    registry.put(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?; // or JSON
    for hit in registry.search(Search::words("weather forecast").consistent())?.hits {
        println!("{:.2} {}", hit.score, hit.id);
    }
    registry.close(); // ends subscriptions
    changes.for_each(|change| println!("{change:?}"));
    Ok(())
}

#[test]
fn lines_of_readme_run_twice_make_one_agent_and_end() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        lines_of_readme(directory.path()).unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        assert_eq!(registry.len(), 1);
        let found = registry.search(Search::words("weather forecast").consistent()).unwrap();
        assert_eq!(found.hits[0].id, "urn:example:weather");
        registry.close();
    }
}

#[test]
fn lines_that_run_are_those_of_readme_and_of_the_guide() {
    let source = include_str!("embed.rs");
    let (_, body) =
        source.split_once("fn lines_of_readme(directory: &Path) -> Result<(), Box<dyn Error>> {\n").unwrap();
    let (body, _) = body.split_once("    Ok(())\n").unwrap();
    let body: String = body.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap())).collect();
    for name in ["README.md", "docs/guide/embed.md"] {
        let blocks = Document::read(name).blocks();
        let block = blocks.iter().find(|block| block.language == "rust").unwrap();
        let (imports, lines) = block.text.split_once("\n\n").unwrap();
        assert!(source.contains(imports), "{name}: {imports}");
        assert_eq!(lines.replace("\"agents\"", "directory"), body, "{name}");
        assert_eq!(lines.lines().count(), 8, "{name}");
    }
}
