//! Source files of the workspace's packages, their code without comments and string literals, and its tokens.

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

/// Reads the package in a folder.
pub(super) fn package(folder: PathBuf) -> Package {
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

/// Paths of all source files from the top of the repository.
pub(crate) fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("build.rs")];
    for folder in ["benches", "crates", "examples", "fuzz", "src", "tests"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    files.into_iter().map(|file| file.strip_prefix(root).unwrap().to_owned()).collect()
}

/// Adds the source files of a folder, without what Cargo builds there.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// Returns the source without comments, string literals and character literals. In attributes, strings that are paths
/// (`skip_serializing_if = "crate::is_default"`) stay without their quotes, and the file of `path = "…"` stays with them.
pub(crate) fn code(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    // Open brackets of an attribute.
    let mut attribute: usize = 0;
    while let Some(character) = rest.chars().next() {
        match character {
            '[' if attribute > 0 || code.ends_with('#') || code.ends_with("#!") => attribute += 1,
            ']' => attribute = attribute.saturating_sub(1),
            '"' if attribute > 0 => {
                let kept = path_in_attribute(&code, &rest[..quoted(rest)]);
                code.push_str(kept);
            }
            _ => {}
        }
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

/// Returns the part of a string literal in an attribute that is code; `before` is the code in front of it.
fn path_in_attribute<'a>(before: &str, literal: &'a str) -> &'a str {
    let text = literal.trim_matches('"');
    let is_path = text.contains("::") && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
    match before.trim_end().strip_suffix('=').is_some_and(|before| before.trim_end().ends_with("path")) {
        true => literal,
        false if is_path => text,
        false => "",
    }
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

/// Returns names, `::`, quoted paths of files, and all other characters one by one, without items that are compiled for
/// tests only.
pub(crate) fn tokens(code: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), code);
    while let Some(character) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match character {
            _ if is_name(character) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            _ => character.len_utf8(),
        };
        if !character.is_whitespace() {
            tokens.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    without_tests(&tokens)
}

/// Leaves out each item after `#[cfg(test)]` or `#[cfg(all(test, …))]`, but for declarations of modules: their files are
/// read.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let (mut remaining, mut index) = (Vec::new(), 0);
    while index < tokens.len() {
        if tokens[index..].starts_with(&["#", "[", "cfg", "("]) {
            let end = index + matching(&tokens[index + 1..]) + 1;
            if is_for_tests(&tokens[index + 4..end]) {
                let item = &tokens[end..];
                let body = item.iter().position(|token| ["{", ";"].contains(token)).unwrap_or(item.len() - 1);
                let is_file = item[body] == ";" && item[..body].contains(&"mod");
                index = end + if is_file { 0 } else { body + matching(&item[body..]) };
                continue;
            }
        }
        remaining.push(tokens[index]);
        index += 1;
    }
    remaining
}

/// True if a condition holds in tests only: `test` or `all(test, …)`.
fn is_for_tests(condition: &[&str]) -> bool {
    let is_negated = condition.iter().any(|token| ["not", "any"].contains(token));
    condition[0] == "test" || (condition[0] == "all" && condition.contains(&"test") && !is_negated)
}

/// Returns the number of tokens up to the end of the bracket that the first one opens; 1 if it opens none.
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
