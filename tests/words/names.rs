//! Identifiers and names of files use the words of the field.
//!
//! `exceptions.txt` lists the names that have private words still: a line for each file, with its path and its names. The
//! list may only shrink: a name that is gone is taken out, and a name that isn't in the list gets another word. A file that
//! moves, is split or starts to use a listed item takes its names along, by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::LazyLock,
};

use regex::Regex;

use super::{EXPRESSIONS, expression};
use crate::layers::source;

/// Words that are private in names, beside those of [`super::WORDS`], and the words to use instead.
const WORDS: &[(&str, &str)] = &[
    (r"\balike\b", "similar, equal"),
    (r"\berrands?\b", "task, attempt"),
    (r"\bforetells?\b|\bforetold\b", "dry run"),
    (r"\bgathered\b", "outcome, result"),
    (r"\bguarding\b", "guardian"),
    (r"\bhappenings?\b", "activity, event"),
    (r"\bheard\b|\btold\b", "received, reported"),
    (r"\bleads?\b|\bled\b", "commit, prefix, source"),
    (r"\boutlooks?\b", "schedule, next attempt"),
    (r"\bsights?\b", "caller, access, visibility"),
];

/// Words that say nothing as the name of a file: adverbs, participles and pronouns.
const FILE_NAMES: &[(&str, &str)] = &[(
    r"^(held|listening|looks|named|networking|own|refused|several|shown|signs|taken in|tear|together|turns|unseen|who)$",
    "the type or concept in the file",
)];

const EXCEPTIONS: &str = include_str!("exceptions.txt");

/// Names with private words, by the path of the file that has them.
type Names = BTreeMap<String, BTreeSet<String>>;

static IN_NAMES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| compiled(WORDS));
static IN_FILE_NAMES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| compiled(FILE_NAMES));

fn compiled(words: &[(&str, &'static str)]) -> Vec<(Regex, &'static str)> {
    words.iter().map(|(word, instead)| (expression(word), *instead)).collect()
}

#[test]
fn names_with_private_words_are_known_and_get_fewer() {
    let (found, known) = (found(), exceptions(EXCEPTIONS));
    let new = difference(&found, &known);
    assert!(new.is_empty(), "names with private words, to be named otherwise:\n{}", described(&new));
    let gone = difference(&known, &found);
    assert!(gone.is_empty(), "gone; take them out of tests/words/exceptions.txt:\n{}", lines(&gone));
}

/// Returns the names with private words in all files but those of tests, whose names are sentences.
fn found() -> Names {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_of_tests = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
    let files = source::files().into_iter().filter(|path| !is_of_tests(path));
    let named = files.map(|path| {
        let names = private_names(&path, &std::fs::read_to_string(root.join(&path)).unwrap());
        (path.display().to_string(), names)
    });
    named.filter(|(_, names)| !names.is_empty()).collect()
}

/// Returns the name of a file and the identifiers of its code, if they have private words.
fn private_names(path: &Path, text: &str) -> BTreeSet<String> {
    let code = source::code(text);
    let is_identifier = |token: &&str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let identifiers = source::tokens(&code).into_iter().filter(is_identifier).filter(|name| instead_of(name).is_some());
    let file = path.file_name().unwrap().to_str().unwrap();
    let file = Some(file).filter(|file| instead_of(file).is_some());
    identifiers.chain(file).map(str::to_owned).collect()
}

/// Returns what to write instead of a name: an identifier, or the name of a file with its ending.
fn instead_of(name: &str) -> Option<&'static str> {
    let stem = name.strip_suffix(".rs");
    let words = words(stem.unwrap_or(name));
    let of_file = IN_FILE_NAMES.iter().filter(|_| stem.is_some());
    let mut all = EXPRESSIONS.iter().chain(&*IN_NAMES).chain(of_file);
    all.find(|(expression, _)| expression.is_match(&words)).map(|(_, instead)| *instead)
}

/// Returns the words of a name, in lower case and with spaces between them.
fn words(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut words = String::with_capacity(name.len());
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let begins_word = character.is_uppercase()
            && before.is_some_and(|before| !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase()));
        if begins_word || *character == '_' {
            words.push(' ');
        }
        if *character != '_' {
            words.extend(character.to_lowercase());
        }
    }
    words
}

fn exceptions(list: &str) -> Names {
    let line = |line: &str| {
        let (path, names) = line.split_once(": ").unwrap_or_else(|| panic!("not a path and names: {line}"));
        (path.to_owned(), names.split(' ').map(str::to_owned).collect())
    };
    list.lines().map(line).collect()
}

/// Returns the names of the first that the second lacks.
fn difference(names: &Names, without: &Names) -> Names {
    let of_file = |(path, names): (&String, &BTreeSet<String>)| {
        let known = without.get(path);
        let rest = names.iter().filter(|name| !known.is_some_and(|known| known.contains(*name))).cloned();
        (path.clone(), rest.collect::<BTreeSet<_>>())
    };
    names.iter().map(of_file).filter(|(_, names)| !names.is_empty()).collect()
}

/// Returns names as the list has them.
fn lines(names: &Names) -> String {
    let line = |(path, names): (&String, &BTreeSet<String>)| {
        format!("{path}: {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(" "))
    };
    names.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn described(names: &Names) -> String {
    let each = names.iter().flat_map(|(path, names)| names.iter().map(move |name| (path, name)));
    let line =
        |(path, name): (&String, &String)| format!("{path}: {name}: write: {}", instead_of(name).unwrap_or_default());
    each.map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn private_names_are_found() {
    let names = |path: &str, text: &str| private_names(Path::new(path), text).into_iter().collect::<Vec<_>>();
    for name in ["mend_context", "settleId", "is_led", "ROUNDS_LED", "HTTPErrand", "sight_tag", "comes_into_sight"] {
        assert_eq!(names("src/x.rs", &format!("fn f() {{ let {name} = 1; }}")), [name]);
    }
    for name in ["Commender", "recommended", "misleading", "leading_zeros", "settlement", "insight", "followed_by"] {
        assert!(names("src/x.rs", &format!("fn {name}() {{}}")).is_empty(), "{name}");
    }
    let text = "// lead\nconst T: &str = \"sight\"; #[cfg(test)] mod tests { fn foretell() {} }";
    assert!(names("src/lists.rs", text).is_empty());
    assert_eq!(names("src/http/who.rs", "fn who() {}"), ["who.rs"]);
    assert_eq!(names("src/no_guarding.rs", ""), ["no_guarding.rs"]);
}

#[test]
fn list_fails_for_more_names_and_for_fewer() {
    let (listed, found) = (exceptions("a.rs: lead sight\nb.rs: led"), exceptions("a.rs: lead outlook\nc.rs: errand"));
    assert_eq!(lines(&difference(&found, &listed)), "a.rs: outlook\nc.rs: errand");
    assert_eq!(lines(&difference(&listed, &found)), "a.rs: sight\nb.rs: led");
    assert!(difference(&listed, &listed).is_empty());
}
