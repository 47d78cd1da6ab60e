//! The commands in README and docs/ do what the texts say. What needs a counterpart that tests don't have is marked in the text
//! with `<!-- not run: … -->`, and counted as skipped.

use super::{
    markdown::Document,
    reader::{Reader, steps},
};
use crate::support::skipped;

/// Runs the commands of documents in order, in one folder, and returns how many there are.
fn follow(documents: &[Document]) -> usize {
    let mut reader = Reader::start();
    documents.iter().map(|document| follow_one(&mut reader, document)).sum()
}

fn follow_one(reader: &mut Reader, document: &Document) -> usize {
    let others = ["", "json", "rust", "text", "toml", "yaml"];
    let blocks = document.blocks().into_iter().filter(|block| !others.contains(&block.language.as_str()));
    let blocks: Vec<_> = blocks.map(|block| (steps(&block.language, &block.text), block.lacks)).collect();
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
    reader.close_terminals();
    blocks.iter().map(|(steps, _)| steps.len()).sum()
}

#[test]
fn commands_of_the_readme_work() {
    let commands = follow(&[Document::read("README.md")]);
    assert!(commands > 10, "{commands} commands: are they found?");
}

#[test]
fn commands_of_the_tutorial_and_the_guides_work_in_order_in_one_folder() {
    let commands = follow(&chapters(|name| name == "docs/tutorial.md" || name.starts_with("docs/guide/")));
    assert!(commands > 50, "{commands} commands: are they found?");
}

#[test]
fn commands_of_the_other_chapters_work() {
    let chapters = chapters(|name| !name.starts_with("docs/guide/") && name != "docs/tutorial.md");
    let commands: usize = chapters.iter().map(|chapter| follow(std::slice::from_ref(chapter))).sum();
    assert!(commands > 8, "{commands} commands: are they found?");
}

/// The chapters with these names, in the order of the summary.
fn chapters(is_in: impl Fn(&str) -> bool) -> Vec<Document> {
    let listed = Document::read("docs/SUMMARY.md").links().into_iter().map(|link| format!("docs/{link}"));
    listed.filter(|name| is_in(name)).map(|name| Document::read(&name)).collect()
}
