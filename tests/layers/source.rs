//! The source files of the workspace's packages, their code without comments and texts, and its tokens.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A package of the workspace: its name, its folder, and path (`src/store/mod.rs`) and code of its files.
pub(crate) struct Package {
    pub name: String,
    pub folder: PathBuf,
    pub files: Vec<(PathBuf, String)>,
}

/// The program and the crates that it is made of.
pub(crate) fn packages() -> Vec<Package> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = crates.chain([root.to_owned()]).collect();
    folders.sort();
    folders.into_iter().map(package).collect()
}

fn package(folder: PathBuf) -> Package {
    let mut files = Vec::new();
    collect(&folder.join("src"), &mut files);
    files.sort();
    let read = |file: PathBuf| {
        let path = file.strip_prefix(&folder).unwrap().to_owned();
        (path, code(&fs::read_to_string(&file).unwrap()))
    };
    let files = files.into_iter().map(read).collect();
    let name = manifest(&folder)["package"]["name"].as_str().unwrap().to_owned();
    Package { name, folder, files }
}

/// The manifest in a folder.
pub(super) fn manifest(folder: &Path) -> toml::Table {
    fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// Source without comments, texts and characters in quotes.
pub(super) fn code(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(character) = rest.chars().next() {
        // The length of what is left out; 0 for a character of code.
        let skipped = match character {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_quoted(rest),
            '\'' => quoted_character(rest),
            _ => 0,
        };
        if skipped == 0 {
            code.push(character);
        }
        rest = &rest[if skipped == 0 { character.len_utf8() } else { skipped }..];
    }
    code
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (index, character) in rest.char_indices().skip(1) {
        match character {
            '"' if !escaped => return index + 1,
            _ => escaped = !escaped && character == '\\',
        }
    }
    rest.len()
}

/// The length of a raw string; 0 for an `r` that starts none.
fn raw_quoted(rest: &str) -> usize {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    if !rest[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = 2 + hashes;
    rest[start..].find(&end).map_or(rest.len(), |index| start + index + end.len())
}

/// The length of a character in quotes; 0 for a quote that starts a lifetime.
fn quoted_character(rest: &str) -> usize {
    if rest[1..].starts_with('\\') {
        // The escaped character itself may be a quote.
        return rest.match_indices('\'').find(|(index, _)| *index > 2).map_or(rest.len(), |(index, _)| index + 1);
    }
    match rest.char_indices().nth(2) {
        Some((index, '\'')) => index + 1,
        _ => 0,
    }
}

/// Names, `::`, and all other characters one by one; without what is compiled for tests only.
pub(super) fn tokens(code: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), code);
    while let Some(character) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match character {
            _ if is_name(character) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => character.len_utf8(),
        };
        if !character.is_whitespace() {
            tokens.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    without_tests(&tokens)
}

/// Leaves out each item after `#[cfg(test)]` or another condition that names `test`.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let (mut remaining, mut index) = (Vec::new(), 0);
    while index < tokens.len() {
        if tokens[index..].starts_with(&["#", "[", "cfg", "("]) {
            let end = index + matching(&tokens[index + 1..]) + 1;
            if tokens[index..end].contains(&"test") {
                let item = &tokens[end..];
                let body = item.iter().position(|token| ["{", ";"].contains(token)).unwrap_or(item.len() - 1);
                index = end + body + if item[body] == "{" { matching(&item[body..]) } else { 1 };
                continue;
            }
        }
        remaining.push(tokens[index]);
        index += 1;
    }
    remaining
}

/// How many tokens there are up to the end of the bracket that the first one opens.
pub(super) fn matching(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}
