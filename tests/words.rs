//! Code, messages, help texts and documents use the words of the field: private words don't come back.
//!
//! Words that are private in names only, such as `sight`, are in [`names`], patterns of sentences in [`patterns`].
//! `--help` and the OpenAPI document are generated from comments and texts of the sources.

mod names;
mod patterns;

use std::{fs, path::Path, sync::LazyLock};

use regex::Regex;

/// Private words (regular expressions, without regard to case), and the words to use instead.
const WORDS: &[(&str, &str)] = &[
    (r"\blook(s|ed|ing)? (at|after|again)\b|\b(a|each|next|two) looks?\b|\blooker\b", "poll, refresh, read, check"),
    (r"\bunfollow|\bfollowed import|\b(is|are) (no longer )?followed(\.|,|;|:|$| [^b])|\bfollowing of\b", "is tracked"),
    (r"\bmend(s|ed|ing)?\b", "fix, normalize, repair"),
    (r"\b(hears?|heard) of\b|\b(is|are|was|were|unless) told\b|\b(is|are) said\b", "be notified of, receive, report"),
    (r"\bhad back\b|\bhanded (out|on|in)\b|\bg[ia]ven? back\b|\bgives back\b", "exported, returned"),
    (r"\bflights\b|\b(a|the|each|its|one) flight\b", "in-flight message"),
    (r"\bfarewells?\b", "disconnect reason"),
    (r"\bpage marks?\b|\bunmarked\b", "page token, registry-owned members"),
    (r"\bwhat is kept\b|\bare kept there\b", "stored, cached"),
    (r"\bsettle[sd]?\b|\bsettling\b", "reconcile, decide"),
    (r"\bconvict(s|ed)?\b|\bacquit(s|ted)?\b|\bsuspects?\b", "quarantine a poison message"),
    (
        r"\b(is|are) no (integer|number|URL|URI|absolute|valid|object|list|JSON)\b",
        "is not an integer, is not a valid URL",
    ),
    (r"\basks? nobody\b", "does not authenticate clients"),
    (r"\bwhose rules count\b", "validation profile"),
    (r"\bpass so many over\b", "number of results to skip"),
    (r"\bat most so many\b", "maximum number of results"),
    (r"\banew\b|\bwholly\b", "again, completely"),
    (
        r"\bodd, or fixed\b|\bit is so now\b|\balso what lacks\b|\bwhat follows the log\b",
        "words of a reader of the page",
    ),
];

#[test]
fn private_words_do_not_come_back() {
    let found: Vec<String> = texts().into_iter().flat_map(|(path, text)| private_words(&path, &text)).collect();
    assert!(found.is_empty(), "{} private words:\n{}", found.len(), found.join("\n"));
}

#[test]
fn private_words_are_found() {
    let count = |text: &str| private_words("src/x.rs", text).len();
    for text in ["// Mends what is broken.", "Looks at a source again", "pass so many over", "it is no URL: {error}"] {
        assert_eq!(count(text), 1, "{text}");
    }
    for text in ["a comma is followed by a space", "an in-flight message", "room for one more", "recommended"] {
        assert_eq!(count(text), 0, "{text}");
    }
}

/// Compiled [`WORDS`].
static EXPRESSIONS: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| WORDS.iter().map(|(word, instead)| (expression(word), *instead)).collect());

fn expression(word: &str) -> Regex {
    Regex::new(&format!("(?im){word}")).unwrap()
}

fn private_words(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (expression, instead) in &*EXPRESSIONS {
        for word in expression.find_iter(text) {
            let line = text[..word.start()].matches('\n').count() + 1;
            found.push(format!("{path}:{line}: {:?}: write: {instead}", word.as_str()));
        }
    }
    found
}

/// The sources, the examples and the documents, by path.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> =
        ["README.md", "CHANGELOG.md", "SECURITY.md", "openapi/agentdex.json"].map(|name| root.join(name)).into();
    let mut folders = ["src", "crates", "examples", "docs"].map(|name| root.join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read =
        |path: &Path| (path.strip_prefix(root).unwrap().display().to_string(), fs::read_to_string(path).unwrap());
    paths.iter().map(|path| read(path)).collect()
}
