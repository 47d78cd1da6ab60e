//! The commands in README and docs/ do what the texts say. What needs a counterpart that tests don't have is marked in the text
//! with `<!-- not run: … -->`, and counted as skipped.

use super::{
    markdown::{Document, guide},
    reader::{Reader, steps},
};
use crate::support::skipped;

/// Runs the commands of documents, and returns how many there are.
fn follow(documents: &[Document]) -> usize {
    documents.iter().map(follow_one).sum()
}

fn follow_one(document: &Document) -> usize {
    let others = ["", "json", "rust", "text", "toml", "yaml"];
    let blocks = document.blocks().into_iter().filter(|block| !others.contains(&block.language.as_str()));
    let blocks: Vec<_> = blocks.map(|block| (steps(&block.language, &block.text), block.lacks)).collect();
    let mut reader = Reader::start();
    'blocks: for (steps, lacks) in &blocks {
        if let Some(lacks) = lacks {
            skipped(lacks, &format!("what a command in {} needs", document.name));
            continue;
        }
        for step in steps {
            println!("{}: {}", document.name, step.command);
            if let Some(program) = step.missing_program() {
                skipped(program, &format!("{program}, which {} calls", document.name));
                // What follows may need what it does.
                break 'blocks;
            }
            reader.follow(step);
        }
    }
    blocks.iter().map(|(steps, _)| steps.len()).sum()
}

#[test]
fn commands_of_the_readme_work() {
    let commands = follow(&[Document::read("README.md")]);
    assert!(commands > 10, "{commands} commands: are they found?");
}

#[test]
fn commands_of_the_guides_work() {
    let commands = follow(&part(|name| name.starts_with("docs/guide/")));
    assert!(commands > 30, "{commands} commands: are they found?");
}

#[test]
fn commands_of_the_other_chapters_work() {
    let commands = follow(&part(|name| name.starts_with("docs/") && !name.starts_with("docs/guide/")));
    assert!(commands > 8, "{commands} commands: are they found?");
}

/// The documents of the guide with these names.
fn part(is_in: impl Fn(&str) -> bool) -> Vec<Document> {
    guide().into_iter().filter(|document| is_in(&document.name)).collect()
}
