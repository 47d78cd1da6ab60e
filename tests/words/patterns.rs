//! Patterns of sentences that have to be read twice: their shares in comments and pages may only fall.
//!
//! `patterns.txt` records the shares in per mille, a line for each crate and each group of pages: of the crate's doc
//! comments, and of the pages' sentences. A share above its record fails, and so does one clearly below it, which asks to
//! lower the record. With `AGENTDEX_UPDATE_DOCS` set, the records are lowered and missing lines are added; no record is
//! raised.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use crate::{layers::source, support::assert_checked_in};

const RECORDS: &str = "tests/words/patterns.txt";

/// Distance in per mille from which on a record is to be lowered.
const CLEARLY_BELOW: usize = 5;

/// A pattern: its name in the records, and whether a sentence matches it.
type Pattern = (&'static str, fn(&Sentence) -> bool);

const OF_COMMENTS: &[Pattern] = &[
    ("the", |sentence| sentence.is_first && sentence.defines_by_clause(&["the"])),
    ("an", |sentence| sentence.is_first && sentence.defines_by_clause(&["a", "an"])),
    ("pronoun", |sentence| sentence.is_first && sentence.begins_with_pronoun()),
    ("what", Sentence::has_what_clause),
    ("relative", Sentence::has_two_relative_clauses),
    ("none", |sentence| sentence.has("none")),
    ("where", |sentence| sentence.has("where")),
    ("one", Sentence::has_one_for_noun),
];

const OF_PAGES: &[Pattern] = &[
    ("what", Sentence::has_what_clause),
    ("relative", Sentence::has_two_relative_clauses),
    ("none", |sentence| sentence.has("none")),
    ("where", |sentence| sentence.has("where")),
    ("one", Sentence::has_one_for_noun),
    ("long", |sentence| sentence.words.len() > 30),
];

const RELATIVE_PRONOUNS: &[&str] = &["that", "which", "who", "whom", "whose"];

/// First words of a comment that refer to something outside of it.
const PRONOUNS: &[&str] = &[
    "all",
    "another",
    "any",
    "both",
    "each",
    "every",
    "everything",
    "it",
    "its",
    "most",
    "nothing",
    "one",
    "ones",
    "other",
    "others",
    "some",
    "such",
    "that",
    "their",
    "these",
    "they",
    "this",
    "those",
    "what",
    "whatever",
    "which",
    "who",
];

/// A sentence, without its code.
struct Sentence {
    /// Words in lower case.
    words: Vec<String>,
    /// Number of words up to the first comma, semicolon, or colon.
    clause: usize,
    /// True for the first sentence of a comment or of a paragraph.
    is_first: bool,
}

impl Sentence {
    fn new(text: &str, is_first: bool) -> Sentence {
        let words = |text: &str| {
            let words =
                text.split(|c: char| !c.is_alphanumeric() && !"'’_".contains(c)).filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect::<Vec<_>>()
        };
        let clause = text.split([',', ';', ':']).next().unwrap_or_default();
        Sentence { words: words(text), clause: words(clause).len(), is_first }
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    /// True for "The X that Y" or "An X that Y": an article, a noun, and a relative clause in place of a definition.
    fn defines_by_clause(&self, articles: &[&str]) -> bool {
        let clause = &self.words[..self.clause];
        let has_article = clause.first().is_some_and(|first| articles.contains(&first.as_str()));
        has_article && clause.iter().skip(2).any(|word| RELATIVE_PRONOUNS.contains(&word.as_str()))
    }

    fn begins_with_pronoun(&self) -> bool {
        match self.words.as_slice() {
            [first, second, ..] if first == "the" => second == "same",
            [first, ..] => PRONOUNS.contains(&first.as_str()),
            [] => false,
        }
    }

    /// True for a clause in place of a noun, such as "what it has", but not for "what to do".
    fn has_what_clause(&self) -> bool {
        let followed = |index: usize| self.words.get(index + 1).map(String::as_str);
        let mut whats =
            (0..self.words.len()).filter(|index| ["what", "whatever"].contains(&self.words[*index].as_str()));
        whats.any(|index| !matches!(followed(index), Some("to" | "if")))
    }

    fn has_two_relative_clauses(&self) -> bool {
        let is_relative = |index: &usize| RELATIVE_PRONOUNS.contains(&self.words[*index].as_str());
        let is_purpose = |index: &usize| *index > 0 && self.words[index - 1] == "so";
        (0..self.words.len()).filter(|index| is_relative(index) && !is_purpose(index)).count() >= 2
    }

    /// True for "one" or "ones" in place of a noun, but not for the number, as in "one of", "one or more", or "at most one".
    fn has_one_for_noun(&self) -> bool {
        let word = |index: Option<usize>| index.and_then(|index| self.words.get(index)).map(String::as_str);
        (0..self.words.len()).any(|index| {
            let is_number = matches!(word(index.checked_sub(1)), Some("least" | "most" | "than" | "length"))
                || matches!(word(Some(index + 1)), Some("of" | "or" | "per"));
            self.words[index] == "ones" || self.words[index] == "one" && !is_number
        })
    }
}

/// Returns the sentences of a comment or of a page. Code, headings, and the frames of tables are left out.
fn sentences(text: &str) -> Vec<Sentence> {
    let mut blocks = vec![String::new()];
    let mut is_code = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.starts_with("```") {
            continue;
        }
        if line.starts_with('|') {
            blocks.extend(line.split('|').filter(|cell| cell.split_whitespace().count() > 5).map(str::to_owned));
            blocks.push(String::new());
        } else if line.is_empty() || line.starts_with('#') || line.starts_with("<!--") {
            blocks.push(String::new());
        } else {
            if line.starts_with("- ") || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok()) {
                blocks.push(String::new());
            }
            let block = blocks.last_mut().unwrap();
            block.push_str(line.trim_start_matches("- "));
            block.push(' ');
        }
    }
    blocks.iter().flat_map(|block| sentences_of(&without_code(block))).collect()
}

/// Splits a paragraph after `.`, `?`, `!`, or `:` that a capital letter or code follows.
fn sentences_of(block: &str) -> Vec<Sentence> {
    let (mut sentences, mut start) = (Vec::new(), 0);
    for (index, end) in block.match_indices(['.', '?', '!', ':']) {
        let rest = &block[index + end.len()..];
        let next = rest.trim_start().trim_start_matches(['*', '(', '[', '"']).chars().next();
        if rest.starts_with(' ') && next.is_none_or(|next| next.is_uppercase() || next == '_') {
            sentences.push(Sentence::new(&block[start..index], start == 0));
            start = index + end.len();
        }
    }
    sentences.push(Sentence::new(&block[start..], start == 0));
    sentences.retain(|sentence| !sentence.words.is_empty());
    sentences
}

/// Replaces each piece of code by `_`.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(number, part)| if number % 2 == 0 { part } else { "_" }).collect()
}

/// Returns the doc comments of a source: runs of lines with `///` or with `//!`.
fn comments(source: &str) -> Vec<String> {
    let mut comments: Vec<String> = Vec::new();
    let mut before = "";
    for line in source.lines().map(str::trim_start) {
        let kind = ["///", "//!"].into_iter().find(|kind| line.starts_with(kind)).unwrap_or_default();
        if !kind.is_empty() {
            if kind != before {
                comments.push(String::new());
            }
            let comment = comments.last_mut().unwrap();
            comment.push_str(&line[kind.len()..]);
            comment.push('\n');
        }
        before = kind;
    }
    comments
}

/// Shares in per mille by name of the pattern.
type Shares = BTreeMap<String, usize>;

/// Returns the shares of groups of sentences that match each pattern, rounded up.
fn shares(patterns: &[Pattern], groups: &[Vec<Sentence>]) -> Shares {
    let share = |(name, is_match): &Pattern| {
        let count = groups.iter().filter(|sentences| sentences.iter().any(is_match)).count();
        ((*name).to_owned(), (count * 1000).div_ceil(groups.len().max(1)))
    };
    patterns.iter().map(share).collect()
}

/// Returns the shares of a crate's comments. Only the first sentence of a comment is checked for its beginning.
fn shares_of_comments<'a>(sources: impl Iterator<Item = &'a str>) -> Shares {
    let sentences = |comment: String| {
        let mut sentences = sentences(&comment);
        sentences.iter_mut().skip(1).for_each(|sentence| sentence.is_first = false);
        sentences
    };
    shares(OF_COMMENTS, &sources.flat_map(comments).map(sentences).collect::<Vec<_>>())
}

fn shares_of_pages<'a>(pages: impl Iterator<Item = &'a str>) -> Shares {
    shares(OF_PAGES, &pages.flat_map(sentences).map(|sentence| vec![sentence]).collect::<Vec<_>>())
}

/// Returns the current shares of all crates and pages.
fn current() -> BTreeMap<String, Shares> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut pages = vec![PathBuf::from("README.md"), PathBuf::from("SECURITY.md")];
    collect_pages(root, Path::new("docs"), &mut pages);
    for path in source::files().into_iter().chain(pages) {
        if let Some(group) = group_of(&path) {
            texts.entry(group).or_default().push(fs::read_to_string(root.join(path)).unwrap());
        }
    }
    let shares = |(group, texts): (String, Vec<String>)| {
        let is_code = group == "src" || group.starts_with("crates/");
        let texts = texts.iter().map(String::as_str);
        (group, if is_code { shares_of_comments(texts) } else { shares_of_pages(texts) })
    };
    texts.into_iter().map(shares).collect()
}

/// Returns the line of the records to which a file belongs: its crate, or the top of its path for pages and the program.
fn group_of(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["crates", name, "src", ..] => Some(format!("crates/{name}")),
        [top @ ("src" | "docs" | "README.md" | "SECURITY.md"), ..] => Some((*top).to_owned()),
        _ => None,
    }
}

/// Adds the pages below a folder, except for those made from the program.
fn collect_pages(root: &Path, folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = folder.join(entry.unwrap().file_name());
        if root.join(&path).is_dir() {
            if !path.ends_with("reference") {
                collect_pages(root, &path, pages);
            }
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
}

fn parse(records: &str) -> BTreeMap<String, Shares> {
    let share = |share: &str| {
        let (name, share) = share.split_once('=').unwrap_or_else(|| panic!("not a pattern and its share: {share}"));
        (name.to_owned(), share.parse().unwrap_or_else(|_| panic!("not a share in per mille: {share}")))
    };
    let line = |line: &str| {
        let (group, shares) = line.split_once(": ").unwrap_or_else(|| panic!("not a group and its shares: {line}"));
        (group.to_owned(), shares.split(' ').map(share).collect())
    };
    records.lines().map(line).collect()
}

fn print(records: &BTreeMap<String, Shares>) -> String {
    records.iter().fold(String::new(), |mut text, (group, shares)| {
        let shares: Vec<String> = shares.iter().map(|(name, share)| format!("{name}={share}")).collect();
        let _ = writeln!(text, "{group}: {}", shares.join(" "));
        text
    })
}

/// Returns the records with lower shares taken over, and with missing ones added.
fn lowered(records: &BTreeMap<String, Shares>, current: &BTreeMap<String, Shares>) -> BTreeMap<String, Shares> {
    let shares = |(group, shares): (&String, &Shares)| {
        let record = |name: &String| records.get(group).and_then(|shares| shares.get(name)).copied();
        let lowest = shares.iter().map(|(name, share)| (name.clone(), record(name).unwrap_or(*share).min(*share)));
        (group.clone(), lowest.collect())
    };
    current.iter().map(shares).collect()
}

/// Returns what is wrong with the records.
fn faults(records: &BTreeMap<String, Shares>, current: &BTreeMap<String, Shares>) -> Vec<String> {
    let mut faults = Vec::new();
    for (group, shares) in current {
        let Some(record) = records.get(group) else {
            faults.push(format!("{group}: it has no record"));
            continue;
        };
        for (name, share) in shares {
            match record.get(name) {
                None => faults.push(format!("{group}: {name} has no record")),
                Some(record) if share > record => {
                    faults.push(format!(
                        "{group}: {name} rose from {record} to {share} per mille: rewrite the new sentences"
                    ));
                }
                Some(record) if share + CLEARLY_BELOW <= *record => {
                    faults.push(format!("{group}: {name} fell from {record} to {share} per mille: lower the record"));
                }
                Some(_) => {}
            }
        }
    }
    let gone = records.keys().filter(|group| !current.contains_key(*group));
    faults.extend(gone.map(|group| format!("{group}: it is gone: remove its record")));
    faults
}

#[test]
fn patterns_become_rarer() {
    let current = current();
    if std::env::var_os("AGENTDEX_UPDATE_DOCS").is_some() {
        let records = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDS)).unwrap_or_default();
        assert_checked_in(RECORDS, &print(&lowered(&parse(&records), &current)));
    }
    let records = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDS)).unwrap_or_default();
    let faults = faults(&parse(&records), &current);
    assert!(faults.is_empty(), "{RECORDS}, which AGENTDEX_UPDATE_DOCS=1 lowers:\n{}", faults.join("\n"));
}

#[test]
fn patterns_are_found() {
    let found = |comment: &str| {
        let shares = shares_of_comments(std::iter::once(comment));
        let names: Vec<_> = shares.into_iter().filter(|(_, share)| *share > 0).map(|(name, _)| name).collect();
        names.join(" ")
    };
    for (comment, expected) in [
        ("/// The capabilities that agents have.", "the"),
        ("/// An action which changes nothing.", "an"),
        ("/// Its id.", "pronoun"),
        ("/// The same with options.", "pronoun"),
        ("/// Returns what it has.", "what"),
        ("/// Finds agents that have a tag which was given.", "relative"),
        ("/// Returns the format; none if there is no format.", "none"),
        ("/// Fails where the disk is full.", "where"),
        ("/// Replaces the old record by the new one.", "one"),
        ("//! Reads a record.\n//!\n//! Records are read from\n//! where they lie.", "where"),
    ] {
        assert_eq!(found(comment), expected, "{comment}");
    }
    for comment in [
        "/// Returns the format, or `None` if there is no format. Say what to do, so that it is done.",
        "/// The number of agents: those that are public count.",
        "/// Returns at most one record, or one or more of its parts.",
        "/// Id of the agent.\n/// ```\n/// // what one has, where\n/// ```",
        "// The capabilities that agents have.",
    ] {
        assert_eq!(found(comment), "", "{comment}");
    }
}

#[test]
fn comments_and_sentences_are_told_apart() {
    let source = "//! A module.\n\n/// A type.\n/// Two lines.\nstruct A; // no\n    /// A field.\n    a: u8,";
    assert_eq!(comments(source), [" A module.\n", " A type.\n Two lines.\n", " A field.\n"]);
    let lengths = |text: &str| sentences(text).iter().map(|sentence| sentence.words.len()).collect::<Vec<_>>();
    assert_eq!(
        lengths("# Title\nOne two. Three e.g. four.\n- Five\n  six: `code` here.\n\n```\ncode\n```"),
        [2, 4, 2, 2]
    );
    assert_eq!(lengths("| a | six words are in this cell | b |\n|---|---|---|"), [6]);
    let sentences = sentences(&"word ".repeat(31));
    assert!(OF_PAGES.iter().any(|(name, is_match)| *name == "long" && is_match(&sentences[0])));
}

#[test]
fn records_may_only_fall() {
    let (records, current) = (parse("a: one=20 what=30\nb: one=5"), parse("a: one=21 what=25\nc: one=7"));
    let found = faults(&records, &current);
    let expected = ["a: one rose", "a: what fell", "c: it has no record", "b: it is gone"];
    assert!(found.len() == 4 && expected.iter().zip(&found).all(|(part, fault)| fault.contains(part)), "{found:?}");
    assert!(faults(&records, &records).is_empty());
    assert_eq!(print(&lowered(&records, &current)), "a: one=20 what=25\nc: one=7\n");
    assert!(faults(&parse("a: one=20"), &parse("a: one=16")).is_empty());
}
