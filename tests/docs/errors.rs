//! The page of error codes: it has all that the source has, each with its status.

use std::{collections::BTreeSet, fs, path::Path};

use regex::Regex;

use super::markdown::Document;

const PAGE: &str = "docs/reference/errors.md";

/// The sources below a folder, without their tests.
fn sources(folder: &str) -> String {
    let (mut text, mut folders) = (String::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let source = fs::read_to_string(&path).unwrap();
                text.push_str(source.split("#[cfg(test)]").next().unwrap());
            }
        }
    }
    text
}

/// The status with this name of a constant.
fn status(name: &str) -> u16 {
    let all = (100..600).filter_map(|code| reqwest::StatusCode::from_u16(code).ok());
    let named = |status: &reqwest::StatusCode| {
        let phrase = status.canonical_reason().unwrap_or_default().to_uppercase().replace(['-', ' '], "_");
        phrase == name
    };
    all.into_iter().find(named).unwrap_or_else(|| panic!("{name} is no status")).as_u16()
}

/// The codes that responses have, with their statuses; of the demo's agents none.
fn codes_of_the_server() -> BTreeSet<(u16, String)> {
    let http = sources("crates/server/src/http");
    let made = Regex::new(r#"\(\s*StatusCode::(\w+),\s*"([a-z-]+)""#).unwrap();
    let mut codes: BTreeSet<_> =
        made.captures_iter(&http).map(|found| (status(&found[1]), found[2].to_owned())).collect();
    codes.remove(&(422, "unknown-city".to_owned()));
    let table = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/server/src/http/problem.rs"));
    let table = table.unwrap();
    let (_, table) = table.split_once("let status = match code {").unwrap();
    let (table, _) = table.split_once("_ => return").unwrap();
    let row = Regex::new(r#"((?:\s*\|?\s*"[a-z-]+")+) => StatusCode::(\w+)"#).unwrap();
    for found in row.captures_iter(table) {
        let names = found[1].split('"').skip(1).step_by(2);
        codes.extend(names.map(|name| (status(&found[2]), name.to_owned())));
    }
    codes
}

/// The codes of the library.
fn codes_of_the_library() -> BTreeSet<String> {
    let source = sources("crates/agentdex/src");
    let (_, body) = source.split_once("pub fn code(&self) -> &'static str {").unwrap();
    let (body, _) = body.split_once("\n    }\n").unwrap();
    Regex::new(r#"=> "([a-z-]+)""#).unwrap().captures_iter(body).map(|found| found[1].to_owned()).collect()
}

#[test]
fn every_code_has_a_cause_and_a_remedy() {
    let page = Document::read(PAGE);
    let row = Regex::new(r"(?m)^\| (\d{3}|–) \| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$").unwrap();
    let (mut served, mut inside) = (BTreeSet::new(), BTreeSet::new());
    for found in row.captures_iter(page.text()) {
        let (status, code) = (&found[1], found[2].to_owned());
        let is_new = match status.parse() {
            Ok(status) => served.insert((status, code)),
            Err(_) => inside.insert(code),
        };
        assert!(is_new, "{PAGE} has {} twice", &found[0]);
        assert!([&found[3], &found[4]].iter().all(|text| text.trim().len() > 5), "{}", &found[0]);
    }
    let rows = page.text().lines().filter(|line| line.starts_with("| ") && line.contains("| `")).count();
    assert_eq!(rows, served.len() + inside.len(), "a row of {PAGE} is not read");
    let expected = codes_of_the_server();
    assert!(expected.len() > 50, "{expected:?}");
    let [missing, extra] = [expected.difference(&served), served.difference(&expected)];
    let [missing, extra] = [missing.collect::<Vec<_>>(), extra.collect::<Vec<_>>()];
    assert!(missing.is_empty() && extra.is_empty(), "{PAGE} lacks {missing:?}, and has {extra:?}");
    let names: BTreeSet<String> = served.into_iter().map(|(_, code)| code).collect();
    let expected: BTreeSet<String> = codes_of_the_library().difference(&names).cloned().collect();
    assert_eq!(inside, expected, "codes that are never served");
}
