//! Who may use whom: rooms use rooms of lower layers only, and a foreign crate is named only in the
//! rooms that are there to hide it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The rooms, the lowest layer first. Within the first rooms may use each other, else never sideways.
const LAYERS: [&[&str]; 5] = [
    &["change", "config", "error", "td"],
    &["convert", "store", "search", "fetch", "signature", "policy", "sacp"],
    &["registry"],
    &["http", "mqtt", "client", "consumer"],
    &["cli"],
];

/// Sideways, and meant so: the WebSocket at `/mqtt` is a door of the HTTP server to the MQTT endpoint.
const EXCEPTIONS: [(&str, &str); 1] = [("http", "mqtt")];

/// Names that lib.rs hands on at the root of the crate, and the room they come from.
const HANDED_ON: [(&str, &str); 2] = [("Registry", "registry"), ("Builder", "registry")];

/// Crates (or the start of their names) and the rooms that may name them.
const CRATES: [(&str, &[&str]); 23] = [
    ("actix", &["http"]),
    ("utoipa", &["http"]),
    ("metrics", &["http"]),
    ("multer", &["http"]),
    ("sled", &["store"]),
    ("tantivy", &["search"]),
    ("oxigraph", &["search"]),
    ("mqtt_protocol_core", &["mqtt", "consumer"]),
    ("rumqttc", &["mqtt", "consumer"]),
    ("reqwest", &["fetch", "client", "consumer"]),
    ("ring", &["mqtt", "fetch", "signature", "client", "consumer"]),
    ("serde_json_canonicalizer", &["signature"]),
    ("flate2", &["fetch"]),
    ("rustls", &["mqtt", "fetch", "client", "consumer"]),
    ("jsonschema", &["td"]),
    ("serde_saphyr", &["convert"]),
    ("json5", &["cli"]),
    ("toml", &["config"]),
    ("anyhow", &["cli"]),
    ("clap", &["cli"]),
    ("indicatif", &["cli"]),
    ("comfy_table", &["cli"]),
    ("tokio", &["store", "registry", "http", "mqtt", "client", "consumer", "fetch", "cli"]),
];

#[test]
fn rooms_use_lower_layers_only() {
    let breaches: Vec<String> =
        rooms().iter().flat_map(|(room, path, code)| layer_breaches(room, path, code)).collect();
    assert!(breaches.is_empty(), "against the layers:\n{}", breaches.join("\n"));
}

#[test]
fn crates_are_named_in_their_rooms_only() {
    let breaches: Vec<String> =
        rooms().iter().flat_map(|(room, path, code)| crate_breaches(room, path, code)).collect();
    assert!(breaches.is_empty(), "named outside of their rooms:\n{}", breaches.join("\n"));
}

#[test]
fn every_room_has_a_layer() {
    let unknown: BTreeSet<String> =
        rooms().into_iter().map(|(room, ..)| room).filter(|room| layer_of(room).is_none()).collect();
    assert!(unknown.is_empty(), "rooms without a layer: {unknown:?}");
}

#[test]
fn breaches_are_found() {
    let path = Path::new("src/store/keys.rs");
    let upward = code("use crate::{Result, change::Seq, registry::{self, Thing}, http};");
    assert_eq!(layer_breaches("store", path, &upward).len(), 2);
    assert_eq!(layer_breaches("store", path, &code("fn f(r: &crate::Registry) {}")).len(), 1);
    let sideways = code("use crate::search::Index; // crate::http\nconst T: &str = \"crate::http\";");
    assert_eq!(layer_breaches("store", path, &sideways).len(), 1);
    let around = code("use super::super::cli::run;\nuse super::committer;");
    assert_eq!(layer_breaches("store", path, &around).len(), 1);
    assert_eq!(crate_breaches("store", path, &code("use tantivy::Index;\nuse sled::Db;")).len(), 1);
    assert_eq!(crate_breaches("td", path, &code("#[actix_web::main]\nasync fn main() {}")).len(), 1);
    assert!(layer_breaches("registry", path, &code("use crate::{store::Store, td};")).is_empty());
}

fn layer_of(room: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&room))
}

fn layer_breaches(room: &str, path: &Path, code: &str) -> Vec<String> {
    let Some(own) = layer_of(room) else { return Vec::new() };
    let forbidden = |used: &str| {
        let is_exception = EXCEPTIONS.contains(&(room, used));
        layer_of(used).is_some_and(|layer| used != room && !is_exception && (layer > own || (layer == own && own > 0)))
    };
    let used: BTreeSet<String> = used_names(path, code)
        .into_iter()
        .map(|name| HANDED_ON.iter().find(|(item, _)| *item == name).map_or(name, |(_, room)| (*room).to_owned()))
        .collect();
    used.iter().filter(|used| forbidden(used)).map(|used| format!("{}: {room} uses {used}", path.display())).collect()
}

/// The names that follow `crate::`, or a chain of `super::` that reaches the root.
fn used_names(path: &Path, code: &str) -> Vec<String> {
    let depth = path.components().count() - 1 - usize::from(path.ends_with("mod.rs"));
    let to_root = "super::".repeat(depth);
    ["crate::", &to_root].iter().flat_map(|start| code.split(start).skip(1).flat_map(names_at_start)).collect()
}

/// Of `a::b`, a; of `{a, b::{c, d}}`, a and b.
fn names_at_start(rest: &str) -> Vec<String> {
    let name =
        |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut depth, mut names, mut at_start) = (0, Vec::new(), true);
    for (index, character) in group.char_indices() {
        if at_start && !character.is_whitespace() {
            names.push(name(&group[index..]));
            at_start = false;
        }
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            _ => {}
        }
    }
    names
}

fn crate_breaches(room: &str, path: &Path, code: &str) -> Vec<String> {
    let named = |name: &str| {
        code.match_indices(name).any(|(index, _)| {
            let before = code[..index].chars().next_back();
            let starts = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'));
            let rest = code[index..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            starts && rest.starts_with("::")
        })
    };
    let foreign = CRATES.iter().filter(|(name, rooms)| !rooms.contains(&room) && named(name));
    foreign.map(|(name, rooms)| format!("{}: {name} belongs to {rooms:?}", path.display())).collect()
}

/// The room, path and code of every file of the library.
fn rooms() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    files
        .into_iter()
        .filter(|file| !file.ends_with("src/lib.rs") && !file.ends_with("src/main.rs"))
        .map(|file| {
            let path = file.strip_prefix(root).unwrap().to_owned();
            let room = path.components().nth(1).unwrap().as_os_str().to_string_lossy();
            let code = code(&fs::read_to_string(&file).unwrap());
            (room.trim_end_matches(".rs").to_owned(), path, code)
        })
        .collect()
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

/// Source without comments and without what is in quotes.
fn code(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(character) = rest.chars().next() {
        // How much is left out; 0 for a character of code.
        let skipped = match character {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_quoted(rest),
            '\'' if rest.starts_with("'\"'") => 3,
            '\'' if rest.starts_with("'\\\"'") => 4,
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
